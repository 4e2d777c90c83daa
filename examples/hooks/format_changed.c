/* Format the file that the agent has just changed, and say so when that changed its bytes.
 *
 * Build: cc -O2 -o format_changed format_changed.c
 *
 * Event file_changed. Reads "file_path" from the context on stdin. The formatter is started without a shell, so a file
 * name is never code; its output goes to stderr, because stdout belongs to the verdict. No formatter for this kind of
 * file, or none on PATH, or the file is gone: nothing to do, no output, exit 0. Anything that goes wrong: exit 1. */

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPACE " \t\r\n"

/* The first line with the right ending whose program is on PATH is used. The file's name is added as last argument. */
static const struct formatter {
    const char *ending;
    const char *argv[4];
} FORMATTERS[] = {
    {".py", {"ruff", "format"}},
    {".py", {"black", "--quiet"}},
    {".go", {"gofmt", "-w"}},
    {".rs", {"rustfmt", "--edition", "2021"}}, /* on its own it takes the edition to be 2015: no async */
    {".js", {"prettier", "--write"}},
    {".mjs", {"prettier", "--write"}},
    {".jsx", {"prettier", "--write"}},
    {".ts", {"prettier", "--write"}},
    {".tsx", {"prettier", "--write"}},
    {".json", {"prettier", "--write"}},
    {".css", {"prettier", "--write"}},
    {".c", {"clang-format", "-i"}},
    {".h", {"clang-format", "-i"}},
    {".sh", {"shfmt", "-w"}},
};

struct bytes {
    char *data; /* with a zero byte after the last one */
    size_t size;
};

static _Noreturn void fail(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("format_changed: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    exit(1);
}

static void *allocate(void *old, size_t size)
{
    void *memory = realloc(old, size);
    if (memory == NULL)
        fail("out of memory");
    return memory;
}

static struct bytes read_all(int descriptor, const char *what)
{
    struct bytes all = {allocate(NULL, 65536), 0};
    size_t room = 65536;
    for (;;) {
        ssize_t count = read(descriptor, all.data + all.size, room - all.size - 1);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            fail("cannot read %s: %s", what, strerror(errno));
        if (count == 0)
            break;
        all.size += (size_t)count;
        if (all.size + 1 == room)
            all.data = allocate(all.data, room *= 2);
    }
    all.data[all.size] = '\0';
    return all;
}

static struct bytes read_file(const char *path)
{
    int descriptor = open(path, O_RDONLY);
    if (descriptor < 0)
        fail("cannot open %s: %s", path, strerror(errno));
    struct bytes all = read_all(descriptor, path);
    close(descriptor);
    return all;
}

/* --- JSON: just enough to find one string of the outermost object, whatever else the context holds ---------------- */

/* From the first character of a string to its closing quote; NULL when there is none. */
static const char *string_end(const char *at)
{
    for (; *at != '"'; at++)
        if (*at == '\0' || (*at == '\\' && *++at == '\0'))
            return NULL;
    return at;
}

/* From the first character of any value to the one after it; NULL when there is no value. */
static const char *value_end(const char *at)
{
    int depth = 0;
    do {
        at += strspn(at, SPACE ",:");
        if (*at == '"') {
            at = string_end(at + 1);
            if (at == NULL)
                return NULL;
            at++;
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (depth > 0 && (*at == '}' || *at == ']')) {
            depth--;
            at++;
        } else {
            size_t length = strcspn(at, SPACE ",:{}[]\"");
            if (length == 0)
                return NULL;
            at += length;
        }
    } while (depth > 0);
    return at;
}

/* The four hexadecimal digits of \uXXXX as a number; -1 when they are none. */
static long four_digits(const char *at)
{
    char digits[5] = {0};
    for (int i = 0; i < 4; i++) {
        if (at[i] == '\0' || strchr("0123456789abcdefABCDEF", at[i]) == NULL)
            return -1;
        digits[i] = at[i];
    }
    return strtol(digits, NULL, 16);
}

static char *put_utf8(char *out, long point)
{
    if (point < 0x80) {
        *out++ = (char)point;
    } else if (point < 0x800) {
        *out++ = (char)(0xC0 | point >> 6);
        *out++ = (char)(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        *out++ = (char)(0xE0 | point >> 12);
        *out++ = (char)(0x80 | (point >> 6 & 0x3F));
        *out++ = (char)(0x80 | (point & 0x3F));
    } else {
        *out++ = (char)(0xF0 | point >> 18);
        *out++ = (char)(0x80 | (point >> 12 & 0x3F));
        *out++ = (char)(0x80 | (point >> 6 & 0x3F));
        *out++ = (char)(0x80 | (point & 0x3F));
    }
    return out;
}

/* The text between two quotes, decoded, in new memory; NULL when it has a wrong escape, a zero byte or half a pair of
 * surrogates: such a text cannot be a file's name. */
static char *decoded(const char *in, const char *end)
{
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char *text = allocate(NULL, (size_t)(end - in) + 1), *out = text; /* no escape is shorter than what it stands for */
    while (in < end) {
        if (*in != '\\') {
            *out++ = *in++;
            continue;
        }
        const char *found = strchr(escapes, in[1]);
        if (found != NULL) {
            *out++ = meanings[found - escapes];
            in += 2;
            continue;
        }
        long point = in[1] == 'u' ? four_digits(in + 2) : -1;
        in += 6;
        if (point >= 0xD800 && point < 0xDC00) {
            long low = in[0] == '\\' && in[1] == 'u' ? four_digits(in + 2) : -1;
            point = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00) : -1;
            in += 6;
        } else if (point >= 0xDC00 && point < 0xE000) {
            point = -1;
        }
        if (point <= 0) {
            free(text);
            return NULL;
        }
        out = put_utf8(out, point);
    }
    *out = '\0';
    return text;
}

/* The string under this key of the outermost object, in new memory; NULL when the key is missing or no string. Given
 * twice, the last one counts, as in every JSON library. */
static char *string_member(const char *at, const char *wanted)
{
    char *result = NULL;
    at += strspn(at, SPACE);
    if (*at != '{')
        fail("stdin is not a JSON object");
    do {
        at++;
        at += strspn(at, SPACE);
        if (*at == '}' && result == NULL)
            break; /* {} */
        const char *key = at + 1, *key_end = *at == '"' ? string_end(key) : NULL;
        if (key_end == NULL)
            fail("stdin is not valid JSON: a key was expected");
        char *name = decoded(key, key_end);
        at = key_end + 1;
        at += strspn(at, SPACE);
        const char *value = *at == ':' ? at + 1 + strspn(at + 1, SPACE) : NULL;
        at = value != NULL ? value_end(value) : NULL;
        if (at == NULL)
            fail("stdin is not valid JSON: a value was expected");
        if (name != NULL && strcmp(name, wanted) == 0) {
            free(result);
            result = *value == '"' ? decoded(value + 1, at - 1) : NULL;
            if (*value == '"' && result == NULL)
                fail("%s is not a text that can name a file", wanted);
        }
        free(name);
        at += strspn(at, SPACE);
    } while (*at == ',');
    if (*at != '}')
        fail("stdin is not valid JSON: the object does not end");
    return result;
}

static void print_json_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned)*text);
        else
            putchar(*text);
    }
}

/* --- the formatter ------------------------------------------------------------------------------------------------ */

/* The program's path in new memory, NULL when PATH has none. An empty entry means "here": not looked at, because a
 * project could put a program of that name there. */
static char *on_path(const char *program)
{
    const char *entry = getenv("PATH");
    while (entry != NULL) {
        size_t length = strcspn(entry, ":");
        size_t size = length + strlen(program) + 2;
        char *candidate = allocate(NULL, size);
        snprintf(candidate, size, "%.*s/%s", (int)length, entry, program);
        struct stat status;
        if (length > 0 && stat(candidate, &status) == 0 && S_ISREG(status.st_mode) && access(candidate, X_OK) == 0)
            return candidate;
        free(candidate);
        entry = entry[length] == ':' ? entry + length + 1 : NULL;
    }
    return NULL;
}

/* Run the formatter on the file and wait for it; does not return when it failed. */
static void run(const char *program, const struct formatter *formatter, char *file)
{
    char *argv[6] = {NULL};
    int count = 0;
    for (; count < 4 && formatter->argv[count] != NULL; count++)
        argv[count] = (char *)formatter->argv[count];
    argv[count] = file;

    pid_t child = fork();
    if (child < 0)
        fail("cannot start %s: %s", program, strerror(errno));
    if (child == 0) {
        int nothing = open("/dev/null", O_RDONLY);
        if (nothing >= 0)
            dup2(nothing, STDIN_FILENO);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execvp(program, argv);
        fprintf(stderr, "format_changed: cannot start %s: %s\n", program, strerror(errno));
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            fail("cannot wait for %s: %s", argv[0], strerror(errno));
    if (WIFSIGNALED(status))
        fail("%s was killed by signal %d on %s", argv[0], WTERMSIG(status), file);
    if (WEXITSTATUS(status) != 0)
        fail("%s failed with exit %d on %s", argv[0], WEXITSTATUS(status), file);
}

int main(void)
{
    struct bytes context = read_all(STDIN_FILENO, "stdin");
    char *path = string_member(context.data, "file_path");
    if (path == NULL || *path == '\0')
        return 0;

    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path, *ending = strrchr(name, '.');
    const struct formatter *formatter = NULL;
    char *program = NULL;
    for (size_t i = 0; ending != NULL && program == NULL && i < sizeof FORMATTERS / sizeof *FORMATTERS; i++) {
        if (strcmp(ending, FORMATTERS[i].ending) == 0) {
            formatter = &FORMATTERS[i];
            program = on_path(formatter->argv[0]);
        }
    }
    struct stat status;
    if (program == NULL || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;

    size_t size = strlen(path) + 3;
    char *file = allocate(NULL, size); /* a relative name may begin with "-", which would be an option */
    snprintf(file, size, "%s%s", *path == '/' ? "" : "./", path);
    struct bytes before = read_file(file);
    run(program, formatter, file);
    struct bytes after = read_file(file);
    if (before.size == after.size && memcmp(before.data, after.data, before.size) == 0)
        return 0;

    fputs("{\"action\": \"continue\", \"additional_context\": \"", stdout);
    print_json_text(name);
    printf(" was formatted with %s\"}\n", formatter->argv[0]);
    return fflush(stdout) == 0 ? 0 : 1;
}
