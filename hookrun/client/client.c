/* The launcher that agents start: hands its command line to the warm server of this account, or becomes the cold one.
 *
 * Its file name is the agent's name, and `launcher.conf` beside it names the server's socket and the cold command. From
 * the first byte of the request on it never starts a second run; up to there anything unexpected makes it the cold
 * command, and where that cannot be started, the script `gone` beside it. It never reads its standard input. */

#ifdef __linux__
#define _GNU_SOURCE /* struct ucred */
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS has SO_NOSIGPIPE */
#endif

enum { CONF_BYTES = 32768, WORDS = 32, PATH_BYTES = 4096, GREETING_BYTES = 64, GREETING_MS = 2000, DESCRIPTORS = 4 };

extern char **environ;

static char conf[CONF_BYTES + 1];
static char *cold[WORDS]; /* the cold command, up to and with `fire` */
static int cold_words;
static char *socket_base;
static char directory[PATH_BYTES], *agent;
static int arguments; /* of ours, without the name */
static char **argument;

static _Noreturn void fail(const char *message, int status) {
    signal(SIGPIPE, SIG_IGN); /* the status counts, also where nobody reads the message */
    if (write(STDERR_FILENO, message, strlen(message)) < 0)
        _exit(status);
    _exit(status);
}

/* Join a directory and a name. An error of the caller if the result does not fit: it was measured in main(). */
static char *beside(char *path, const char *name) {
    strcpy(path, directory);
    return strcat(path, name);
}

/* Become the script that says that hookrun is missing, in the agent's own form. */
static _Noreturn void gone(void) {
    static char path[PATH_BYTES + 16];
    char **words = malloc(((size_t)arguments + 4) * sizeof *words);
    if (words && access(beside(path, "gone"), R_OK) == 0) {
        words[0] = "sh";
        words[1] = path;
        words[2] = agent;
        memcpy(words + 3, argument, (size_t)arguments * sizeof *words);
        words[3 + arguments] = NULL;
        execv("/bin/sh", words);
    }
    fail("hookrun: not found, so no hook has run\nhint: reinstall it and run `hookrun install`\n", 1);
}

/* Become the cold command. Every descriptor of ours is closed on exec, and signals have their default action again. */
static _Noreturn void go_cold(char *reason) {
    size_t count = (size_t)cold_words;
    char **words = malloc((count + (size_t)arguments + 5) * sizeof *words);
    /* The interpreter may be there without the package: the word before `fire` is the file that it runs. */
    if (words && access(cold[count - 2], R_OK) == 0) {
        memcpy(words, cold, count * sizeof *words);
        words[count++] = "--agent";
        words[count++] = agent;
        memcpy(words + count, argument, (size_t)arguments * sizeof *words);
        count += (size_t)arguments;
        words[count++] = "--cold";
        words[count++] = reason;
        words[count] = NULL;
        execv(words[0], words);
    }
    gone();
}

/* Read launcher.conf: a regular file of this account, 0600, whole. */
static void read_conf(void) {
    static char path[PATH_BYTES + 16];
    struct stat status;
    size_t size = 0;
    /* O_NONBLOCK: a FIFO put in its place must not hold up the call */
    int fd = open(beside(path, "launcher.conf"), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & 07777) != 0600 || status.st_size > CONF_BYTES)
        gone();
    for (ssize_t got; size < CONF_BYTES; size += (size_t)got) {
        got = read(fd, conf + size, CONF_BYTES - size);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got < 0)
            gone();
        else if (got == 0)
            break;
    }
    close(fd);
    if (size == CONF_BYTES || size == 0 || conf[size - 1] != '\n' || memchr(conf, 0, size))
        gone();
    char *line = conf;
    for (int first = 1; *line; first = 0) {
        char *end = strchr(line, '\n');
        *end = 0;
        if (first && strcmp(line, "hookrun-launcher 1") != 0)
            gone();
        if (strncmp(line, "socket ", 7) == 0)
            socket_base = line + 7;
        else if (strncmp(line, "exec ", 5) == 0) {
            if (cold_words == WORDS)
                gone();
            cold[cold_words++] = line + 5;
        }
        line = end + 1;
    }
    if (cold_words < 3 || cold[0][0] != '/' || strcmp(cold[cold_words - 1], "fire") != 0)
        gone();
}

/* Write the name of this cgroup's socket. Return 0 if it does not fit. */
static int socket_path(char *path, size_t size) {
    static const char hex[] = "0123456789abcdef";
    size_t length = strlen(socket_base);
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    unsigned char block[4096];
    ssize_t got = -1;
    if (length + 24 > size) /* "-", 16 digits, ".sock", NUL */
        return 0;
    memcpy(path, socket_base, length);
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && ((got = read(fd, block, sizeof block)) > 0 || (got < 0 && errno == EINTR)))
        for (ssize_t at = 0; at < got; at++)
            hash = (hash ^ block[at]) * 0x100000001b3u;
    if (fd >= 0)
        close(fd);
    if (got == 0) {
        path[length++] = '-';
        for (int shift = 60; shift >= 0; shift -= 4)
            path[length++] = hex[hash >> shift & 15];
    }
    strcpy(path + length, ".sock");
    return 1;
}

/* Connect to the server of this account, without waiting. */
static int connect_server(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    uid_t peer;
    int on = 1;
    if (!socket_path(address.sun_path, sizeof address.sun_path))
        go_cold("socket-path");
    char *slash = strrchr(address.sun_path, '/');
    if (!slash || slash == address.sun_path)
        go_cold("socket-path");
    *slash = 0;
    if (lstat(address.sun_path, &status) < 0)
        go_cold("no-server");
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 07777) != 0700)
        go_cold("socket-directory");
    *slash = '/';
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        go_cold("socket");
#ifdef SO_NOSIGPIPE
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    (void)on;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        go_cold(errno == ENOENT || errno == ECONNREFUSED ? "no-server" : errno == EAGAIN ? "busy" : "connect");
#ifdef SO_PEERCRED
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
        go_cold("foreign-server");
    peer = credentials.uid;
#else
    gid_t group;
    if (getpeereid(fd, &peer, &group) < 0)
        go_cold("foreign-server");
#endif
    if (peer != geteuid())
        go_cold("foreign-server");
    return fd;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Read the greeting. Return whether `on_error` is `block`. */
static int read_greeting(int fd) {
    static char line[GREETING_BYTES + 1];
    size_t size = 0, word;
    int64_t end = now_ms() + GREETING_MS;
    while (size == 0 || line[size - 1] != '\n') {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int64_t left = end - now_ms();
        int ready = left > 0 ? poll(&wait, 1, (int)left) : 0;
        if (ready == 0)
            go_cold("timeout");
        ssize_t got = ready < 0 ? -1 : recv(fd, line + size, GREETING_BYTES - size, 0);
        if (got > 0)
            size += (size_t)got;
        else if (got == 0 || (errno != EINTR && errno != EAGAIN))
            go_cold("no-greeting"); /* closed, or as long as it may be without an end */
    }
    line[size - 1] = 0;
    if (size == 5 && memcmp(line, "go ", 3) == 0 && (line[3] == '0' || line[3] == '1'))
        return line[3] == '1';
    word = strncmp(line, "cold ", 5) == 0 ? strspn(line + 5, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
    go_cold(word > 0 && 5 + word == size - 1 && line[5] != '-' ? line + 5 : "no-greeting");
}

static char *put(char *at, uint64_t value, int bytes) {
    for (; bytes > 0; bytes--, value >>= 8)
        *at++ = (char)value;
    return at;
}

static char *put_text(char *at, const char *text) {
    size_t size = strlen(text) + 1;
    return (char *)memcpy(at, text, size) + size;
}

/* Return the request, `HKR1` and a counted body, and its size. */
static char *make_request(size_t *size) {
    static char *const first[] = {"fire", "--agent"};
    size_t count = 0, bytes = 8 + 16 + sizeof "fire" + sizeof "--agent" + strlen(agent) + 1, limits = 0;
    for (int at = 0; at < arguments; at++)
        bytes += strlen(argument[at]) + 1;
    for (; environ[count]; count++)
        bytes += strlen(environ[count]) + 1;
#ifndef __linux__ /* there the server reads them from /proc */
    limits = 2 * RLIM_NLIMITS + 1;
#endif
    bytes += 8 * limits;
    char *request = bytes - 8 <= UINT32_MAX ? malloc(bytes) : NULL;
    if (!request)
        go_cold("memory");
    mode_t mask = umask(077);
    umask(mask);
    char *at = put(memcpy(request, "HKR1", 4) + 4, bytes - 8, 4);
    at = put(put(at, (uint64_t)arguments + 3, 4), count, 4);
    at = put(put(at, mask, 4), limits, 4);
#ifndef __linux__ /* eight bytes each: soft and hard limit of every resource in the order of their numbers, nice */
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit = {0, 0};
        getrlimit(resource, &limit);
        at = put(put(at, limit.rlim_cur, 8), limit.rlim_max, 8);
    }
    at = put(at, (uint64_t)(int64_t)getpriority(PRIO_PROCESS, 0), 8);
#endif
    at = put_text(put_text(put_text(at, first[0]), first[1]), agent);
    for (int each = 0; each < arguments; each++)
        at = put_text(at, argument[each]);
    for (size_t each = 0; each < count; each++)
        at = put_text(at, environ[each]);
    *size = bytes;
    return request;
}

/* A signal before the request is whole ends this process as it would have ended a cold one at its start: the server sees
 * the connection closed and runs nothing. After that it is passed on as one byte. While a part of the request is being
 * handed over, which may be the last, it waits. */
static const int passed_on[] = {SIGHUP, SIGINT, SIGTERM};
static volatile sig_atomic_t state, waiting[3];
static int server;
enum { DIE, WAIT, PASS_ON };

static void pass_on(int number) {
    char byte = (char)number;
    int error = errno;
    if (state == PASS_ON)
        (void)!send(server, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (state == WAIT)
        waiting[number == SIGHUP ? 0 : number == SIGINT ? 1 : 2] = 1;
    else {
        signal(number, SIG_DFL);
        raise(number); /* is delivered when this handler returns */
    }
    errno = error;
}

static void set_state(int next) {
    state = next;
    for (int at = 0; at < 3; at++)
        if (waiting[at]) {
            waiting[at] = 0;
            raise(passed_on[at]); /* is handled before raise() returns */
        }
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = pass_on}, before;
    for (int at = 0; at < 3; at++)
        sigaddset(&action.sa_mask, passed_on[at]);
    for (int at = 0; at < 3; at++)
        if (sigaction(passed_on[at], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(passed_on[at], &action, NULL);
}

/* Send the request, with the working directory and the standard streams beside its first byte. */
static void send_request(int working_directory, char *request, size_t size) {
    int descriptors[DESCRIPTORS] = {working_directory, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    union {
        char bytes[CMSG_SPACE(sizeof descriptors)];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec part;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptors);
    memcpy(CMSG_DATA(header), descriptors, sizeof descriptors);
    size_t sent = 0;
    catch_signals();
    while (sent < size) {
        part.iov_base = request + sent;
        part.iov_len = size - sent;
        set_state(WAIT);
        ssize_t got = sendmsg(server, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        int error = errno;
        if (got > 0) {
            sent += (size_t)got;
            message.msg_control = NULL;
            message.msg_controllen = 0;
        }
        if (sent == size)
            break;
        set_state(DIE);
        struct pollfd wait = {.fd = server, .events = POLLOUT};
        if (got < 0 && error == EAGAIN)
            poll(&wait, 1, -1);
        else if (got < 0 && error != EINTR) {
            if (sent == 0)
                go_cold("no-request");
            break; /* bound: its answer, or that there is none */
        }
    }
    set_state(PASS_ON);
}

int main(int argc, char **argv) {
    char *slash = argc > 0 && argv[0] ? strrchr(argv[0], '/') : NULL;
    size_t length = slash ? (size_t)(slash + 1 - argv[0]) : 0;
    char answer[2] = {0, 0};
    size_t size, got = 0;
    if (!slash || length >= PATH_BYTES || !slash[1])
        fail("hookrun: the launcher was started without its path, so no hook has run\n", 1);
    memcpy(directory, argv[0], length);
    agent = slash + 1;
    arguments = argc - 1;
    argument = argv + 1;
    int streams = 1; /* before anything is opened in the place of a closed one */
    for (int fd = 0; fd < 3; fd++)
        streams = streams && fcntl(fd, F_GETFD) >= 0;
    read_conf();
    if (!socket_base)
        go_cold("off");
    if (!streams)
        go_cold("streams");
    int working_directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (working_directory < 0)
        go_cold("directory");
    server = connect_server();
    int blocks = read_greeting(server);
    char *request = make_request(&size);
    send_request(working_directory, request, size);
    while (got < sizeof answer) {
        struct pollfd wait = {.fd = server, .events = POLLIN};
        ssize_t bytes = poll(&wait, 1, -1) < 0 ? -1 : recv(server, answer + got, sizeof answer - got, 0);
        if (bytes > 0)
            got += (size_t)bytes;
        else if (bytes == 0 || (errno != EINTR && errno != EAGAIN))
            break;
    }
    if (got == sizeof answer && answer[0] == 'X')
        _exit((unsigned char)answer[1]);
    fail("hookrun: the server ended before it answered\n", blocks ? 2 : 1);
}
