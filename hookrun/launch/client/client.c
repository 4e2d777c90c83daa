/* The launcher that agents start: hands its command line to the warm server of this account, or becomes the cold one.
 *
 * Its file name is the agent's name, with an event where the agent passes no arguments, as in `claude.PreToolUse`, and
 * `launcher.conf` beside it names the server's socket and the cold command. From the first byte of the request on it
 * never starts a second run: if the server ends without an answer, the launcher refuses where the agent can be refused.
 * Up to there anything unexpected makes it the cold command, and where that cannot be started, the script `gone` beside
 * it. It never reads its standard input. */

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

enum { REFUSAL_BYTES = 32768, CONF_BYTES = 32768, WORDS = 32, PATH_BYTES = 4096, GREETING_BYTES = 64, GREETING_MS = 2000 };

extern char **environ;

static char conf[CONF_BYTES + 1];
static char *cold[WORDS + 2]; /* the cold command, up to and with `fire`, `--agent` and its name */
static size_t cold_words;
static char *socket_base;
static char directory[PATH_BYTES], *agent, **argument; /* of ours, without the name */

static _Noreturn void fail(const char *message, int status) {
    signal(SIGPIPE, SIG_IGN); /* the status counts, also where nobody reads the message */
    (void)!write(STDERR_FILENO, message, strlen(message));
    _exit(status);
}

static char *beside(const char *name) {
    static char path[PATH_BYTES + 16];
    return strcat(strcpy(path, directory), name);
}

/* Become a command with the reason, if there is one, and our arguments: before them, as the last one may lack its value.
 * Returns only if it cannot be started. Every descriptor of ours is closed on exec, and signals have their default
 * action again. */
static void become(char **command, size_t count, char *reason) {
    size_t arguments = 0;
    while (argument[arguments])
        arguments++;
    char **words = malloc((count + arguments + 3) * sizeof *words);
    if (!words)
        return;
    memcpy(words, command, count * sizeof *words);
    if (reason) {
        words[count++] = "--cold";
        words[count++] = reason;
    }
    memcpy(words + count, argument, (arguments + 1) * sizeof *words); /* with the NULL */
    execv(words[0], words);
}

/* End without hooks: 1 is an error that agents show and that refuses nothing; but Copilot takes it as a refusal, here of
 * every tool. */
static _Noreturn void fail_without_hooks(const char *message) {
    fail(message, strcmp(agent, "copilot") == 0 ? 0 : 1);
}

/* Become the script that says that hookrun is missing, in the agent's own form. */
static _Noreturn void gone(void) {
    char *command[] = {"/bin/sh", beside("gone"), agent};
    if (access(command[1], R_OK) == 0)
        become(command, 3, NULL);
    fail_without_hooks("hookrun: not found, so no hook has run\nhint: reinstall it and run `hookrun install`\n");
}

static _Noreturn void go_cold(char *reason) {
    /* The interpreter may be there without the package: the word before `fire` is the file that it runs. */
    if (access(cold[cold_words - 4], R_OK) == 0) {
        become(cold, cold_words, reason);
        if (errno == E2BIG) /* it has a few words more than this process */
            fail_without_hooks("hookrun: the environment is too long, so no hook has run\nhint: shorten its variables\n");
    }
    gone();
}

/* Read launcher.conf: a regular file of this account, 0600, whole. */
static void read_conf(void) {
    struct stat status;
    /* O_NONBLOCK: a FIFO put in its place must not hold up the call */
    int fd = open(beside("launcher.conf"), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        fail("hookrun: no descriptor is free, so no hook has run\n", 1);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & 07777) != 0600)
        gone();
    ssize_t size = read(fd, conf, CONF_BYTES);
    if (size < 1 || size != status.st_size || conf[size - 1] != '\n' || memchr(conf, 0, (size_t)size))
        gone();
    close(fd);
    for (char *line = conf, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        if (line == conf && strcmp(line, "hookrun-launcher 1") != 0)
            gone();
        if (strncmp(line, "socket ", 7) == 0)
            socket_base = line + 7;
        if (strncmp(line, "exec ", 5) == 0 && cold_words < WORDS)
            cold[cold_words++] = line + 5;
    }
    if (cold_words < 3 || cold[0][0] != '/' || strcmp(cold[cold_words - 1], "fire") != 0)
        gone();
    cold[cold_words++] = "--agent";
    cold[cold_words++] = agent;
}

static uint64_t fnv1a(uint64_t hash, const unsigned char *bytes, size_t size) {
    for (; size > 0; size--, bytes++)
        hash = (hash ^ *bytes) * 0x100000001b3u;
    return hash;
}

static char *put(char *at, uint64_t value, int bytes) {
    for (; bytes > 0; bytes--, value >>= 8)
        *at++ = (char)value;
    return at;
}

/* Not snprintf: with it, a wheel's client is a fifth larger. */
static char *put_decimal(char *at, unsigned number) {
    if (number > 9)
        at = put_decimal(at, number / 10);
    *at = (char)('0' + number % 10);
    return at + 1;
}

/* Append to the base of the socket's name a hash of what the server must share with its callers and cannot ask the
 * system about: the cgroup; without cgroups (macOS) soft and hard limit of every resource, and nice. */
static void append_surroundings(char *name) {
    const uint64_t start = 0xcbf29ce484222325u;
    uint64_t hash = start;
    unsigned char block[4096];
    ssize_t got;
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    while ((got = read(fd, block, sizeof block)) > 0)
        hash = fnv1a(hash, block, (size_t)got);
    close(fd);
    if (got < 0) {
        char *at = (char *)block;
        for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
            struct rlimit limit = {0, 0};
            getrlimit(resource, &limit);
            at = put(put(at, limit.rlim_cur, 8), limit.rlim_max, 8);
        }
        at = put(at, (uint64_t)(int64_t)getpriority(PRIO_PROCESS, 0), 8);
        hash = fnv1a(start, block, (size_t)(at - (char *)block));
    }
    *name++ = '-';
    for (int shift = 60; shift >= 0; shift -= 4)
        *name++ = "0123456789abcdef"[hash >> shift & 15];
    strcpy(name, ".sock");
}

#ifdef SO_PEERCRED
static struct ucred peer;
#else
static struct { uid_t uid; gid_t gid; } peer;
#endif

/* Connect to the server of this account, without waiting, by a name in its directory: an address has room for about a
 * hundred bytes, and a home's path may be longer. */
static int connect_server(int working_directory) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    char *slash = strrchr(socket_base, '/');
    if (!slash || strlen(slash) + sizeof "-0123456789abcdef.sock" > sizeof address.sun_path)
        go_cold("socket-path");
    *slash = 0;
    int directory = open(socket_base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        go_cold(errno == ENOENT ? "no-server" : errno == EMFILE || errno == ENFILE ? "socket" : "socket-directory");
    if (fstat(directory, &status) < 0 || status.st_uid != geteuid() || (status.st_mode & 0777) != 0700)
        go_cold("socket-directory");
    append_surroundings(stpcpy(address.sun_path, slash + 1));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        go_cold("socket");
#ifdef SO_NOSIGPIPE
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    if (fchdir(working_directory) < 0) /* it could not come back */
        go_cold("directory");
    if (fchdir(directory) < 0)
        go_cold("socket-directory");
    int error = connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? errno : 0;
    if (fchdir(working_directory) < 0)
        gone(); /* not cold: in another directory are other hooks */
    close(directory);
    if (error)
        go_cold(error == ENOENT || error == ECONNREFUSED ? "no-server" : error == EAGAIN ? "busy" : "connect");
#ifdef SO_PEERCRED
    int unknown = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){sizeof peer});
#else
    int unknown = getpeereid(fd, &peer.uid, &peer.gid);
#endif
    if (unknown || peer.uid != geteuid())
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

/* Go cold in a sandbox of Landlock: the server cannot see it, for no file of /proc names its domain, but a process in one
 * may not look at the server. */
static void check_sandbox(void) {
#ifdef SO_PEERCRED
    char path[32], target[1];
    strcpy(put_decimal(stpcpy(path, "/proc/"), (unsigned)peer.pid), "/root");
    if (readlink(path, target, sizeof target) < 0)
        go_cold("sandbox");
#endif
}

/* Return the request, `HKR3` and a counted body, and its size. */
static char *make_request(size_t *size) {
    char *head[] = {"fire", "--agent", agent, NULL}, **lists[] = {head, argument, environ};
    size_t count[] = {0, 0, 0}, bytes = 8 + 12;
    for (int list = 0; list < 3; list++)
        for (; lists[list][count[list]]; count[list]++)
            bytes += strlen(lists[list][count[list]]) + 1;
    char *request = bytes <= UINT32_MAX ? malloc(bytes) : NULL, *at = request;
    if (!request)
        go_cold("memory");
    mode_t mask = umask(077);
    umask(mask);
    at = put(memcpy(at, "HKR3", 4) + 4, bytes - 8, 4);
    at = put(put(at, count[0] + count[1], 4), count[2], 4);
    at = put(at, mask, 4);
    for (int list = 0; list < 3; list++)
        for (size_t each = 0; each < count[list]; each++)
            at = stpcpy(at, lists[list][each]) + 1;
    *size = bytes;
    return request;
}

static int server;

static void pass_on(int number) {
    char byte = (char)number;
    int error = errno;
    (void)!send(server, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    errno = error;
}

/* Send the request, with the working directory and the standard streams beside its first byte.
 *
 * A signal before the request is whole ends this process as it would have ended a cold one at its start: the server sees
 * the connection closed and runs nothing. After that it is passed on as one byte. While a part is handed over, which may
 * be the last, it waits. */
static void send_request(int working_directory, char *request, size_t size) {
    static const int passed_on[] = {SIGHUP, SIGINT, SIGTERM};
    int descriptors[] = {working_directory, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    union {
        char bytes[CMSG_SPACE(sizeof descriptors)];
        struct cmsghdr header;
    } control = {{0}};
    struct iovec part = {request, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct sigaction action = {.sa_handler = pass_on}, ignored;
    sigset_t before;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof descriptors);
    memcpy(CMSG_DATA(&control.header), descriptors, sizeof descriptors);
    for (int at = 0; at < 3; at++)
        sigaddset(&action.sa_mask, passed_on[at]);
    while (part.iov_len > 0) {
        sigprocmask(SIG_BLOCK, &action.sa_mask, &before);
        ssize_t got = sendmsg(server, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        int error = errno;
        if (got > 0) {
            part.iov_base = (char *)part.iov_base + got;
            part.iov_len -= (size_t)got;
            message.msg_control = NULL;
            message.msg_controllen = 0;
        }
        if (part.iov_len == 0)
            signal(SIGPIPE, SIG_IGN); /* as in every Python */
        for (int at = 0; at < 3 && part.iov_len == 0; at++)
            if (sigaction(passed_on[at], NULL, &ignored) == 0 && ignored.sa_handler != SIG_IGN)
                sigaction(passed_on[at], &action, NULL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        struct pollfd wait = {.fd = server, .events = POLLOUT};
        if (got < 0 && error == EAGAIN)
            poll(&wait, 1, -1);
        else if (got < 0 && error != EINTR && part.iov_len == size)
            go_cold("no-request");
        else if (got < 0 && error != EINTR)
            return; /* bound: its answer, or that there is none */
    }
}

/* Receive exactly so many bytes; return whether they came. */
static int receive(char *at, size_t size) {
    while (size > 0) {
        struct pollfd wait = {.fd = server, .events = POLLIN};
        ssize_t got = poll(&wait, 1, -1) < 0 ? -1 : recv(server, at, size, 0);
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            return 0;
        }
    }
    return 1;
}

static void put_out(int fd, const char *text, size_t size) {
    while (size > 0) {
        ssize_t got = write(fd, text, size);
        if (got < 0 && errno != EINTR)
            return;
        text += got < 0 ? 0 : got;
        size -= got < 0 ? 0 : (size_t)got;
    }
}

static size_t number(const char *at) {
    size_t value = 0;
    for (int byte = 3; byte >= 0; byte--)
        value = value << 8 | (unsigned char)at[byte];
    return value;
}

/* Wait for the answer, `X` and the exit status, and end with it.
 *
 * Before it may come what to answer if there is none: `R`, the status, the sizes of stdout and stderr, and both. The last
 * one counts. Returns without either. */
static void await_answer(void) {
    static char head[10], text[REFUSAL_BYTES];
    static struct { int known; unsigned char status; size_t out, err; } refusal;
    while (receive(head, 2)) {
        if (head[0] == 'X')
            _exit((unsigned char)head[1]);
        if (head[0] != 'R' || !receive(head + 2, 8))
            break;
        size_t out = number(head + 2), err = number(head + 6);
        if (out > sizeof text || err > sizeof text - out)
            break;
        refusal.known = receive(text, out + err); /* half of one is none */
        if (!refusal.known)
            break;
        refusal.status = (unsigned char)head[1];
        refusal.out = out;
        refusal.err = err;
    }
    if (refusal.known) {
        put_out(STDOUT_FILENO, text, refusal.out);
        put_out(STDERR_FILENO, text + refusal.out, refusal.err);
        _exit(refusal.status);
    }
}

/* Take the event out of the launcher's name, where it has one, and put it before the arguments, with the home in which
 * the launcher is: its agent reads the name alone, and so does another agent that runs the first one's hooks. */
static void take_event(int argc) {
    static const char inside[] = "/.local/share/hookrun/";
    char *event = strchr(agent, '.'), **words;
    size_t home = strlen(directory) - strlen(inside);
    if (!event)
        return;
    *event++ = 0;
    if (strlen(directory) < strlen(inside) || strcmp(directory + home, inside) != 0 ||
        !(words = malloc(((size_t)argc + 3) * sizeof *words)))
        gone();
    words[0] = event;
    words[1] = "--home";
    words[2] = home ? strndup(directory, home) : "/";
    memcpy(words + 3, argument, (size_t)argc * sizeof *words); /* with the NULL */
    argument = words;
}

int main(int argc, char **argv) {
    char *slash = argc > 0 && argv[0] ? strrchr(argv[0], '/') : NULL;
    size_t size;
    if (!slash || slash + 1 - argv[0] >= PATH_BYTES || !slash[1])
        fail("hookrun: the launcher was started without its path, so no hook has run\n", 1);
    memcpy(directory, argv[0], (size_t)(slash + 1 - argv[0]));
    agent = slash + 1;
    argument = argv + 1;
    take_event(argc);
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
    server = connect_server(working_directory);
    char *request = make_request(&size); /* while the server looks at this process */
    int blocks = read_greeting(server);
    check_sandbox();
    send_request(working_directory, request, size);
    await_answer();
    /* The run was lost before it was known what it is about: the cold command runs no hook again, but refuses. */
    if (access(cold[cold_words - 4], R_OK) == 0)
        become(cold, cold_words, "lost");
    fail("hookrun: the server ended before it answered\n", blocks ? 2 : 1);
}
