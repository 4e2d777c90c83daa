/* Waits until the process that started it is killed, and then has the hooks ended that it has left running.
 *
 *     ORPHANS=.../orphans.py hookrun-watcher PYTHON [HOOK...]
 *
 * It is what the shell script in process/spawn.py is, which starts four times as slowly. Standard input ends with that
 * process. Standard output is a pipe to read: each line of it is one more hook, `=` means that no hook runs any more.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read until the end; what is there of it is kept if there is no more memory. */
static size_t read_all(int fd, char **text) {
    size_t size = 0, room = 0;
    for (;;) {
        if (size == room) {
            char *more = realloc(*text, room + (1 << 16));
            if (more == NULL)
                return size;
            *text = more;
            room += 1 << 16;
        }
        ssize_t got = read(fd, *text + size, room - size);
        if (got == 0 || (got < 0 && errno != EINTR))
            return size;
        size += got > 0 ? (size_t)got : 0;
    }
}

int main(int argc, char **argv) {
    char *text = NULL, *orphans = getenv("ORPHANS");
    if (argc < 2 || orphans == NULL || chdir("/") < 0)
        return 1;
    read_all(STDIN_FILENO, &text);
    size_t size = read_all(STDOUT_FILENO, &text), most = (size_t)argc + 4, count = 4;
    for (size_t at = 0; at < size; at++)
        most += text[at] == '\n';
    char **command = calloc(most + 1, sizeof *command);
    if (command == NULL)
        return 1;
    command[0] = argv[1], command[1] = "-I", command[2] = "-S", command[3] = orphans;
    for (int at = 2; at < argc; at++)
        command[count++] = argv[at];
    char *line = text, *end;
    while (size > 0 && (end = memchr(line, '\n', size - (size_t)(line - text))) != NULL) {
        *end = '\0';
        if (strcmp(line, "=") == 0)
            count = 4;
        else
            command[count++] = line;
        line = end + 1;
    }
    if (count == 4)
        return 0;
    command[count] = NULL;
    execv(command[0], command);
    return 127;
}
