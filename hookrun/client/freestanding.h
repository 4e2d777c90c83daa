/* What the programs here need of a C library, for Linux without one (`-ffreestanding -nostdlib`).
 *
 * glibc's start asks the processor about itself some thirty times. Where that is a matter of a hypervisor's, as in a
 * virtual machine, it takes up to 0.3 ms: three times what all else takes from the start of a program to its end. */

#if defined __linux__ && !__STDC_HOSTED__

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined __x86_64__
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");
#elif defined __aarch64__
__asm__(".globl _start\n_start: mov x0, sp\n bl begin\n");
#else
#error "no start for this processor"
#endif

int main(int argc, char **argv);
char **environ;

int *__errno_location(void) {
    static int number;
    return &number;
}

static long ask(long number, long a, long b, long c, long d, long e) {
#ifdef __x86_64__
    long got;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(got)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#else
    register long x8 __asm__("x8") = number, got __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = 0;
    __asm__ volatile("svc 0" : "+r"(got) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
#endif
    if (got < 0 && got > -4096) {
        errno = (int)-got;
        return -1;
    }
    return got;
}

#define ASK(name, a, b, c, d, e) ask(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

/* --- processes and files */

_Noreturn void _exit(int status) {
    for (;;)
        ASK(exit_group, status, 0, 0, 0, 0);
}

__attribute__((used)) _Noreturn void begin(long *stack) {
    char **argv = (char **)(stack + 1);
    environ = argv + stack[0] + 1;
    _exit(main((int)stack[0], argv));
}

/* Memory that is zero and is kept to the end. Its size stands before it. */
enum { SIZE_BYTES = 16 };

void *realloc(void *memory, size_t size) {
    size_t *begins = memory ? (size_t *)((char *)memory - SIZE_BYTES) : NULL;
    long got = begins ? ASK(mremap, begins, *begins, size + SIZE_BYTES, MREMAP_MAYMOVE, 0)
                      : ask(SYS_mmap, 0, (long)size + SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (got == -1)
        return NULL;
    *(size_t *)got = size + SIZE_BYTES;
    return (char *)got + SIZE_BYTES;
}
void *malloc(size_t size) { return realloc(NULL, size); }
void *calloc(size_t count, size_t size) { return realloc(NULL, count * size); }

char *getenv(const char *name) {
    size_t size = strlen(name);
    for (char **each = environ; *each; each++)
        if (strncmp(*each, name, size) == 0 && (*each)[size] == '=')
            return *each + size + 1;
    return NULL;
}

int execv(const char *path, char *const *argv) { return (int)ASK(execve, path, argv, environ, 0, 0); }
int access(const char *path, int mode) { return (int)ASK(faccessat, AT_FDCWD, path, mode, 0, 0); }
int open(const char *path, int flags, ...) { return (int)ASK(openat, AT_FDCWD, path, flags, 0, 0); }
int close(int fd) { return (int)ASK(close, fd, 0, 0, 0, 0); }
int chdir(const char *path) { return (int)ASK(chdir, path, 0, 0, 0, 0); }
int fstat(int fd, struct stat *status) { return (int)ASK(fstat, fd, status, 0, 0, 0); }
int fcntl(int fd, int command, ...) {
    __builtin_va_list more;
    __builtin_va_start(more, command);
    long value = __builtin_va_arg(more, long);
    __builtin_va_end(more);
    return (int)ASK(fcntl, fd, command, value, 0, 0);
}
int lstat(const char *path, struct stat *status) {
    return (int)ASK(newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW, 0);
}
ssize_t read(int fd, void *bytes, size_t size) { return ASK(read, fd, bytes, size, 0, 0); }
ssize_t write(int fd, const void *bytes, size_t size) { return ASK(write, fd, bytes, size, 0, 0); }
mode_t umask(mode_t mask) { return (mode_t)ASK(umask, mask, 0, 0, 0, 0); }
uid_t geteuid(void) { return (uid_t)ASK(geteuid, 0, 0, 0, 0, 0); }
int clock_gettime(clockid_t clock, struct timespec *now) { return (int)ASK(clock_gettime, clock, now, 0, 0, 0); }
#define getpriority(which, who) (20 - (int)ASK(getpriority, which, who, 0, 0, 0))
#define getrlimit(resource, limit) ((void)ASK(prlimit64, 0, resource, 0, limit, 0))

/* --- sockets */

int socket(int family, int type, int protocol) { return (int)ASK(socket, family, type, protocol, 0, 0); }
int getsockopt(int fd, int level, int option, void *value, socklen_t *size) {
    return (int)ASK(getsockopt, fd, level, option, value, size);
}
int connect(int fd, const struct sockaddr *address, socklen_t size) {
    return (int)ASK(connect, fd, address, size, 0, 0);
}
ssize_t recv(int fd, void *bytes, size_t size, int flags) { return ASK(recvfrom, fd, bytes, size, flags, 0); }
ssize_t send(int fd, const void *bytes, size_t size, int flags) { return ASK(sendto, fd, bytes, size, flags, 0); }
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) { return ASK(sendmsg, fd, message, flags, 0, 0); }
int poll(struct pollfd *wait, nfds_t count, int milliseconds) {
    struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    return (int)ASK(ppoll, wait, count, milliseconds < 0 ? NULL : &limit, 0, 0);
}

/* --- signals, in the kernel's own form */

struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

#ifdef __x86_64__
void return_from_signal(void);
__asm__("return_from_signal: mov $15, %eax\n syscall\n");
enum { WITH_RESTORER = 0x04000000 };
#else
#define return_from_signal NULL /* the kernel has one */
enum { WITH_RESTORER = 0 };
#endif

int sigaddset(sigset_t *set, int number) {
    *(unsigned long *)set |= 1UL << (number - 1);
    return 0;
}
int sigprocmask(int how, const sigset_t *set, sigset_t *before) {
    return (int)ASK(rt_sigprocmask, how, set, before, sizeof(unsigned long), 0);
}
int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    struct kernel_action new = {0}, old = {0};
    if (action) {
        new.handler = action->sa_handler;
        new.flags = (unsigned long)action->sa_flags | WITH_RESTORER;
        new.restorer = return_from_signal;
        new.mask = *(const unsigned long *)&action->sa_mask;
    }
    long got = ASK(rt_sigaction, number, action ? &new : NULL, &old, sizeof(unsigned long), 0);
    if (before)
        before->sa_handler = old.handler;
    return (int)got;
}
#define signal(number, action) sigaction(number, &(struct sigaction){.sa_handler = action}, NULL)

/* --- texts. An empty `asm` keeps a compiler from making a loop a call of the function that it is in. */

#define EACH __asm__ volatile("")

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    for (size_t at = 0; at < size; at++) {
        EACH;
        ((char *)to)[at] = ((const char *)from)[at];
    }
    return to;
}
void *memset(void *to, int byte, size_t size) {
    for (size_t at = 0; at < size; at++) {
        EACH;
        ((char *)to)[at] = (char)byte;
    }
    return to;
}
int strncmp(const char *one, const char *other, size_t size) {
    for (; size > 0 && *one && *one == *other; size--, one++, other++)
        EACH;
    return size > 0 ? (unsigned char)*one - (unsigned char)*other : 0;
}
int strcmp(const char *one, const char *other) { return strncmp(one, other, SIZE_MAX); }
int memcmp(const void *one, const void *other, size_t size) {
    const unsigned char *a = one, *b = other;
    for (; size > 0; size--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}
void *memchr(const void *bytes, int wanted, size_t size) {
    for (const unsigned char *at = bytes; size > 0; size--, at++)
        if (*at == (unsigned char)wanted)
            return (void *)at;
    return NULL;
}
size_t strlen(const char *text) {
    size_t size = 0;
    for (; text[size]; size++)
        EACH;
    return size;
}
char *strchr(const char *text, int wanted) { return memchr(text, wanted, strlen(text) + 1); }
char *strrchr(const char *text, int wanted) {
    char *found = NULL;
    for (; *text; text++)
        if (*text == (char)wanted)
            found = (char *)text;
    return found;
}
char *stpcpy(char *to, const char *text) {
    size_t size = strlen(text);
    return (char *)memcpy(to, text, size + 1) + size;
}
char *strcpy(char *to, const char *text) { return memcpy(to, text, strlen(text) + 1); }
char *strcat(char *to, const char *text) {
    strcpy(to + strlen(to), text);
    return to;
}
size_t strspn(const char *text, const char *wanted) {
    size_t size = 0;
    while (text[size] && strchr(wanted, text[size]))
        size++;
    return size;
}

#endif
