/* The launcher that agents start: hands its command line to the warm server of this account, or becomes the cold one.
 *
 * Its file name is the agent's name, with an event where the agent passes no arguments, as in `claude.PreToolUse`, and
 * `launcher.conf` beside it names the server's socket and the cold command. From the first byte of the request on it
 * never starts a second run: if the server ends without an answer, the launcher refuses where the agent can be refused.
 * Up to there anything unexpected makes it the cold command, and where that cannot be started, the script `gone` beside
 * it. It never reads its standard input.
 *
 * Where launcher.conf says that a guard may be asked, it stays the cold command's parent: see gate.h. */

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
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS has SO_NOSIGPIPE */
#endif

enum { REFUSAL_BYTES = 32768, CONF_BYTES = 262144, WORDS = 32, PATH_BYTES = 4096, GREETING_BYTES = 64, GREETING_MS = 2000 };

extern char **environ;

static char conf[CONF_BYTES + 1];
static char *cold[WORDS + 2]; /* the cold command, up to and with `fire`, `--agent` and its name */
static size_t cold_words;
static char *socket_base;
static int guarded; /* a guard may be asked at this event, here */
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

/* Not snprintf: with it, a wheel's client is a fifth larger. */
static char *put_decimal(char *at, unsigned number) {
    if (number > 9)
        at = put_decimal(at, number / 10);
    *at = (char)('0' + number % 10);
    return at + 1;
}

/* Become a command with the reason, if there is one, and our arguments: before them, as the last one may lack its value.
 * Returns only if it cannot be started. Every descriptor of ours is closed on exec, and signals have their default
 * action again. */
static void become(char **command, size_t count, char *reason) {
    size_t arguments = 0;
    while (argument[arguments])
        arguments++;
    char **words = malloc((count + arguments + 5) * sizeof *words);
    if (!words)
        return;
    memcpy(words, command, count * sizeof *words);
    if (reason && guarded) {
        words[count++] = "--answered";
        words[count++] = "80"; /* ANSWERED */
    }
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

#include "gate.h"

/* Become the script that says that hookrun is missing, in the agent's own form. */
static _Noreturn void gone(void) {
    char *command[] = {"/bin/sh", beside("gone"), lacks_python ? "-" : agent, agent}; /* `-`: it need not try */
    if (access(command[1], R_OK) == 0)
        become(command, lacks_python ? 4 : 3, NULL);
    if (guarded)
        refuse();
    fail_without_hooks("hookrun: not found, so no hook has run\nhint: reinstall it and run `hookrun install`\n");
}

/* Run the cold command; wait for a package that is being replaced. */
static _Noreturn void go_cold(char *reason) {
    const char *program = cold[cold_words - 4]; /* the interpreter may be there without the package: this is its file */
    for (int64_t end = now_ms() + PACKAGE_MS;; poll(NULL, 0, 20)) {
        int is_there = access(program, R_OK) == 0 && access(cold[0], X_OK) == 0;
        if (is_there && guarded) {
            run_below(reason);
        } else if (is_there) {
            become(cold, cold_words, reason);
            if (errno == E2BIG) /* it has a few words more than this process */
                fail_without_hooks(
                    "hookrun: the environment is too long, so no hook has run\nhint: shorten its variables\n");
        }
        if (now_ms() < end && is_being_replaced(program))
            continue;
        if (is_there && guarded && !lacks_python)
            refuse();
        gone();
    }
}

/* End where launcher.conf cannot be read though it is there: whether it has a guard is not known. */
static _Noreturn void fail_unread(void) {
    int is_full = errno == EMFILE || errno == ENFILE;
    fail(is_full ? "hookrun: no descriptor is free, so no hook has run\n"
                 : "hookrun: launcher.conf cannot be read, so no hook has run\n",
         may_be_a_gate() ? REFUSED : 1);
}

/* Read launcher.conf: a regular file of this account, 0600, whole. */
static void read_conf(void) {
    struct stat status;
    /* O_NONBLOCK: a FIFO put in its place must not hold up the call */
    int fd = open(beside("launcher.conf"), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != EIO)
        gone();
    if (fd < 0 || fstat(fd, &status) < 0)
        fail_unread();
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 07777) != 0600)
        gone();
    ssize_t size = read(fd, conf, CONF_BYTES);
    if (size < 0)
        fail_unread();
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
        read_gate_line(line);
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
static struct { pid_t pid; uid_t uid; gid_t gid; } peer;
#endif
static char *doubt; /* why the peer is not the server, if it is not */

/* Return whether the peer holds the lock of the socket. */
static int holds_lock(int directory, const char *socket_name) {
    char name[sizeof ((struct sockaddr_un *)0)->sun_path + 8];
    int fd = openat(directory, strcat(strcpy(name, socket_name), ".lock"), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
#ifdef __linux__
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int holds = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid == peer.pid;
#else
    char text[16] = {0}; /* the locks of flock(2) have no owner there: it has written its number into the file */
    int holds = fd >= 0 && read(fd, text, sizeof text - 1) > 0 && atoll(text) == peer.pid;
#endif
    close(fd);
    return holds;
}

/* Return whether the peer's program is the interpreter of the cold command, and its command line that with `serve`. A
 * process in a sandbox of Landlock may not look at the server: no other file of /proc names its domain. */
static int is_the_server(void) {
#ifdef __linux__
    char path[32], line[PATH_BYTES], *end, *at = line;
    struct stat its, ours;
    strcpy(end = put_decimal(stpcpy(path, "/proc/"), (unsigned)peer.pid), "/exe");
    if (stat(path, &its) < 0) {
        doubt = "sandbox";
        return 0;
    }
    if (stat(cold[0], &ours) < 0 || its.st_dev != ours.st_dev || its.st_ino != ours.st_ino)
        return 0;
    strcpy(end, "/cmdline");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, line, sizeof line);
    close(fd);
    for (size_t each = 0; each < cold_words - 2; each++) {
        const char *word = each < cold_words - 3 ? cold[each] : "serve"; /* in the place of `fire` */
        size_t length = strlen(word) + 1;
        if (size < at - line + (ssize_t)length || memcmp(at, word, length) != 0)
            return 0;
        at += length;
    }
#endif
    return 1;
}

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
    if (error)
        go_cold(error == ENOENT || error == ECONNREFUSED ? "no-server" : error == EAGAIN ? "busy" : "connect");
#ifdef SO_PEERCRED
    int unknown = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){sizeof peer});
#else
    int unknown = getpeereid(fd, &peer.uid, &peer.gid) ||
                  getsockopt(fd, SOL_LOCAL, LOCAL_PEERPID, &peer.pid, &(socklen_t){sizeof peer.pid});
#endif
    if (unknown || peer.uid != geteuid())
        go_cold("foreign-server");
    if ((!holds_lock(directory, address.sun_path) || !is_the_server()) && !doubt)
        doubt = "foreign-server";
    close(directory);
    return fd;
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
    passed = number;
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

static int64_t answer_by;
static int is_late, is_broken;

/* Receive exactly so many bytes; return whether they came in time. */
static int receive(char *at, size_t size) {
    while (size > 0) {
        struct pollfd wait = {.fd = server, .events = POLLIN};
        int64_t left = answer_by == INT64_MAX ? -1 : answer_by - now_ms();
        is_late = answer_by != INT64_MAX && left <= 0;
        if (is_late)
            return 0;
        ssize_t got = poll(&wait, 1, (int)left) < 0 ? -1 : recv(server, at, size, 0);
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            is_broken = got < 0;
            return 0;
        }
    }
    return 1;
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
 * one counts. Returns without either. Where a guard may be asked, a status that is no answer is a refusal. */
static void await_answer(void) {
    static char head[10], text[REFUSAL_BYTES];
    static struct { int known; unsigned char status; size_t out, err; } refusal;
    while (receive(head, 2)) {
        unsigned char status = (unsigned char)head[1];
        if (head[0] == 'X' && (status == 0 || status == REFUSED || passed || !guarded))
            _exit(status);
        if (head[0] == 'X') {
            leave_note();
            refuse_by_status();
        }
        if (head[0] != 'R' || !receive(head + 2, 8))
            break;
        size_t out = number(head + 2), err = number(head + 6);
        if (out > sizeof text || err > sizeof text - out)
            break;
        refusal.known = receive(text, out + err); /* half of one is none */
        if (!refusal.known)
            break;
        refusal.status = status;
        refusal.out = out;
        refusal.err = err;
    }
    end_if_signalled();
    if (is_broken && guarded) { /* the server may go on, and its answer be on stdout */
        leave_note();
        refuse_by_status();
    }
    if (refusal.known) {
        leave_note();
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
    int closed = 0; /* looked for before anything is opened in the place of a closed one */
    for (int fd = 0; fd < 3; fd++)
        closed |= (fcntl(fd, F_GETFD) < 0) << fd;
    read_conf();
    for (int fd = 0; guarded && fd < 3; fd++) /* nothing can be written to the first two */
        if (closed & 1 << fd)
            (void)!open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (!socket_base)
        go_cold("off");
    if (closed)
        go_cold("streams");
    int working_directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (working_directory < 0)
        go_cold("directory");
    server = connect_server(working_directory);
    char *request = make_request(&size); /* while the server looks at this process */
    int blocks = read_greeting(server);
    if (doubt)
        go_cold(doubt);
    answer_by = deadline();
    send_request(working_directory, request, size);
    await_answer();
    if (is_late && guarded)
        refuse();
    /* The run was lost before it was known what it is about: the cold command runs no hook again, but refuses. */
    if (!is_late && access(cold[cold_words - 4], R_OK) == 0) {
        if (guarded)
            run_below("lost");
        else
            become(cold, cold_words, "lost");
    }
    if (guarded)
        refuse();
    if (blocks)
        fail("hookrun: the server ended before it answered\n", REFUSED);
    fail_without_hooks("hookrun: the server ended before it answered\n");
}
