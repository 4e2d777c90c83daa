/* What the launcher does alone where a guard may be asked: it waits for the cold run, and refuses if that ends in any way
 * that is no answer. Part of client.c.
 *
 * launcher.conf says it in these lines, in which AGENT and EVENT are words of the command line:
 *     guard AGENT EVENT SINCE [TOOL ...] ROOT   from this Unix time on one may be asked below this directory
 *     place AGENT VARIABLE                      names the project, as the working directory does
 *     lost AGENT EVENT SECONDS STATUS STDOUT    the answer, and the time that a run has
 *     because TEXT                              the reason, where the exit status is the answer */

/* Exit statuses of a cold run below this process: an answer after which the call continues; the package cannot be
 * loaded, or there is no Python, and nothing of the message was read; a refusal. Any other is no answer. */
enum { ANSWERED = 80, NOT_LOADED = 75, NO_PYTHON = 76, REFUSED = 2 };

/* Milliseconds: for a package that is being replaced, since a change of its directory; for a run after a signal, and
 * after its kill; from a run's deadline to this process's. */
enum { PACKAGE_MS = 2000, CHANGED_MS = 10000, SIGNAL_MS = 5000, KILL_MS = 1000, LEAST_MARGIN_MS = 400, MARGIN_MS = 2500 };

enum { PLACES = 8 };

/* Events that can refuse, where launcher.conf cannot be read. */
static const char *const gates[] = {"PreToolUse", "PermissionRequest", "UserPromptSubmit", "PreSkillShellCommand",
                                    "BeforeTool", "BeforeAgent", "tool.execute.before", "chat.message",
                                    "permission.asked", "tool_call", "input", "pre_tool"};

static char *lost, *because = "hookrun gave no answer";
static char *places[PLACES];
static size_t place_count;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static char *event(void) {
    return argument[0] ? argument[0] : "-";
}

static int may_be_a_gate(void) {
    for (size_t each = 0; each < sizeof gates / sizeof *gates; each++)
        if (strcmp(event(), gates[each]) == 0)
            return 1;
    return 0;
}

/* --- launcher.conf */

/* Return what follows these words and a space at the beginning of a line, else NULL. */
static char *after(char *line, const char *first, const char *second, const char *third) {
    const char *words[] = {first, second, third};
    for (size_t each = 0; each < 3 && words[each]; each++) {
        size_t size = strlen(words[each]);
        if (strncmp(line, words[each], size) != 0 || line[size] != ' ')
            return NULL;
        line += size + 1;
    }
    return line;
}

static int is_below(const char *path, const char *root) {
    size_t size = strlen(root);
    return strcmp(root, "/") == 0 || (strncmp(path, root, size) == 0 && (path[size] == '/' || !path[size]));
}

/* Return whether a guard is in force by now, and here; where this process is may be unknown. */
static int counts(char *guard) {
    char *root = strstr(guard, " /");
    int is_here = !root || !place_count;
    for (size_t each = 0; !is_here && each < place_count; each++)
        is_here = is_below(places[each], root + 1);
    return is_here && atoll(guard) <= (long long)time(NULL);
}

static void read_gate_line(char *line) {
    static char working_directory[PATH_BYTES];
    char *rest;
    if (!place_count && getcwd(working_directory, sizeof working_directory))
        places[place_count++] = working_directory;
    if ((rest = after(line, "guard", agent, event())))
        guarded = guarded || counts(rest);
    else if ((rest = after(line, "place", agent, NULL)) && place_count < PLACES && (rest = getenv(rest)))
        places[place_count++] = rest;
    else if ((rest = after(line, "lost", agent, event())))
        lost = rest;
    else if ((rest = after(line, "because", NULL, NULL)))
        because = rest;
}

/* --- the refusal */

/* Return whether all was written. */
static int put_out(int fd, const char *text, size_t size) {
    while (size > 0) {
        ssize_t got = write(fd, text, size);
        if (got < 0 && errno != EINTR)
            return 0;
        text += got < 0 ? 0 : got;
        size -= got < 0 ? 0 : (size_t)got;
    }
    return 1;
}

/* Leave a line for the log, which the next run writes: the Unix time, the agent, the event. */
static void leave_note(void) {
    char line[512], *at = put_decimal(line, (unsigned)time(NULL));
    if (strlen(agent) + strlen(event()) > sizeof line - 32)
        return;
    at = stpcpy(stpcpy(stpcpy(stpcpy(stpcpy(at, " "), agent), " "), event()), "\n");
    int fd = open(beside("pending"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd >= 0)
        put_out(fd, line, (size_t)(at - line));
    close(fd);
}

/* Refuse by the exit status and stderr: something may be on stdout already, or the form is not known. */
static _Noreturn void refuse_by_status(void) {
    signal(SIGPIPE, SIG_IGN);
    put_out(STDERR_FILENO, because, strlen(because));
    put_out(STDERR_FILENO, "\n", 1);
    _exit(REFUSED);
}

/* Refuse in the agent's own form. */
static _Noreturn void refuse(void) {
    char *status = lost ? strchr(lost, ' ') : NULL, *text = status ? strchr(status + 1, ' ') : NULL;
    leave_note();
    signal(SIGPIPE, SIG_IGN);
    if (!text || !put_out(STDOUT_FILENO, text + 1, strlen(text + 1)) || !put_out(STDOUT_FILENO, "\n", 1) || atoi(status))
        refuse_by_status();
    _exit(0);
}

/* --- the cold run below this process */

/* Return when its answer is waited for no longer, by the option or, without one, by launcher.conf. */
static int64_t deadline(void) {
    char *text = lost;
    for (char **word = argument; *word; word++)
        if (strcmp(*word, "--deadline") == 0 && word[1])
            text = word[1];
    double limit = text ? atof(text) * 1000 : 0, margin = limit / 10;
    if (!(limit > 0 && limit < 1e9)) /* none, or no number */
        return INT64_MAX;
    margin = margin < LEAST_MARGIN_MS ? LEAST_MARGIN_MS : margin > MARGIN_MS ? MARGIN_MS : margin;
    return now_ms() + (int64_t)(limit + margin);
}

static pid_t child;
static volatile sig_atomic_t passed;

static void pass_to_child(int number) {
    if (number != SIGCHLD) {
        passed = number;
        kill(child, number);
    }
}

/* End as any run does after a signal that came from the agent. */
static void end_if_signalled(void) {
    if (passed)
        _exit(strcmp(agent, "copilot") == 0 ? 0 : 128 + passed); /* it takes any other status for a refusal */
}

static char *output;
static size_t output_size;

/* Read what the child has written; return read(2)'s count. */
static ssize_t read_output(int fd) {
    static size_t room;
    if (output_size == room) {
        char *more = realloc(output, room + (1 << 16));
        if (!more)
            refuse();
        output = more;
        room += 1 << 16;
    }
    ssize_t got = read(fd, output + output_size, room - output_size);
    if (got < 0 && errno != EINTR && errno != EAGAIN)
        refuse(); /* of half an answer nothing is known */
    output_size += got > 0 ? (size_t)got : 0;
    return got;
}

/* Wait for the child's end and return its status; -1 if it does not end. */
static int wait_for(int fd, const sigset_t *signals) {
    int64_t end = deadline();
    int status, is_open = 1, is_killed = 0;
    pid_t ended;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
        int64_t left = end - now_ms();
        if (left <= 0 && is_killed)
            return -1;
        if (left <= 0) { /* it may be stopped */
            kill(child, SIGKILL);
            is_killed = 1;
            end = now_ms() + (left = KILL_MS);
        }
        int64_t most = is_open ? 1000 : 20; /* whatever becomes of SIGCHLD */
        left = left < most ? left : most;
        struct timespec wait = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
        fd_set set;
        FD_ZERO(&set);
        if (is_open)
            FD_SET(fd, &set);
        int before = passed;
        if (pselect(fd + 1, &set, NULL, NULL, &wait, signals) > 0)
            is_open = read_output(fd) != 0;
        if (passed != before && end > now_ms() + SIGNAL_MS)
            end = now_ms() + SIGNAL_MS;
    }
    return ended == child ? status : -1;
}

static int lacks_python;

/* Start the cold command, wait for it, and end with its answer, or refuse. Returns if it could not be loaded. */
static void run_below(char *reason) {
    static const int watched[] = {SIGCHLD, SIGHUP, SIGINT, SIGTERM};
    struct sigaction action = {.sa_handler = pass_to_child}, usual;
    sigset_t before;
    int out[2];
    for (int at = 0; at < 4; at++)
        sigaddset(&action.sa_mask, watched[at]);
    sigprocmask(SIG_BLOCK, &action.sa_mask, &before); /* they come within pselect(2) only */
    for (int at = 0; at < 4; at++)
        if (sigaction(watched[at], NULL, &usual) == 0 && (at == 0 || usual.sa_handler != SIG_IGN))
            sigaction(watched[at], &action, NULL);
    if (pipe(out) < 0 || out[0] >= FD_SETSIZE || fcntl(out[0], F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(out[1], F_SETFD, FD_CLOEXEC) < 0 || fcntl(out[0], F_SETFL, O_NONBLOCK) < 0)
        refuse();
    pid_t parent = getpid();
    child = fork();
    if (child < 0)
        refuse();
    if (child == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it is ended with this process, as if it were the same */
#endif
        if (getppid() == parent && dup2(out[1], STDOUT_FILENO) == STDOUT_FILENO &&
            sigprocmask(SIG_SETMASK, &before, NULL) == 0)
            become(cold, cold_words, reason);
        _exit(errno == ENOENT || errno == ENOEXEC ? NO_PYTHON : 127);
    }
    close(out[1]);
    int status = wait_for(out[0], &before), code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    while (read_output(out[0]) > 0)
        continue;
    close(out[0]);
    lacks_python = code == NO_PYTHON;
    if (status != -1 && (code == NOT_LOADED || lacks_python) && !passed) {
        output_size = 0;
        sigprocmask(SIG_SETMASK, &before, NULL);
        return;
    }
    if (status != -1 && (code == ANSWERED || code == REFUSED)) {
        signal(SIGPIPE, SIG_IGN);
        _exit(put_out(STDOUT_FILENO, output, output_size) && code == ANSWERED ? 0 : REFUSED);
    }
    end_if_signalled();
    refuse();
}

/* Return whether the package's directory, or what is left of its path, has just changed: it may be being replaced. */
static int is_being_replaced(const char *program) {
    char path[PATH_BYTES], *slash;
    struct stat status;
    if (strlen(program) >= sizeof path)
        return 0;
    strcpy(path, program);
    do {
        slash = strrchr(path, '/');
        if (!slash || slash == path)
            return 0;
        *slash = 0;
    } while (stat(path, &status) < 0);
    return llabs((long long)time(NULL) - (long long)status.st_mtime) * 1000 < CHANGED_MS;
}
