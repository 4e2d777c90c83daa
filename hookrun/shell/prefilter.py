"""Rule out cheaply that a line runs some programs, to spare parsing: most lines end here."""

from __future__ import annotations

from hookrun.core.globs import glob
from hookrun.shell.programs import having

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Characters from which a shell makes words not in the line; and NUL, which it may omit.
MADE_UP = ("$", "`", "{", "\0")

# Shells: they run their input, which any program may have written.
READERS = frozenset(name for name, how in having("line").items() if how == "shell")

# Programs whose line is in other words than what it runs: base64, or a language that is read as if it were shell's.
REWRITING = frozenset(name for name, how in having("line").items() if how in {"cmd", "powershell"})

# Every program that may run its input, or pass it to one: the parser gives a line to no other.
RUN_INPUT = frozenset(having("input"))

# Programs that may read commands from the terminal, besides Python's other versions.
INTERACTIVE = RUN_INPUT.union(having("interprets"), having("opens"), ["python3"])

# Git commands that read or write the files they name; what others do can be restored from git.
#
# `shows`: files are named only after `--`; `restores`: files get the content of some commit.
OF_GIT = {
    **dict.fromkeys(("add", "archive", "blame", "cat-file", "commit", "diff", "hash-object", "show", "stage"), "reads"),
    **dict.fromkeys(("grep", "log", "stash"), "shows"),
    **dict.fromkeys(("checkout", "restore"), "restores"),
    **dict.fromkeys(("mv", "rm"), "writes"),
}

# Git's own commands that people run most: git has no alias for them, and they run no other command of git.
# See git-config(1), `alias.*`.
USUAL_OF_GIT = ("add", "blame", "branch", "commit", "diff", "log", "ls-files", "rev-parse", "show", "status", "tag")

QUOTES = str.maketrans("", "", "'\"\\")
ENDS = str.maketrans(dict.fromkeys(";|&()<>\n\t=,", " "))

# Signs of a line in which a program gets text written by another one or by the line.
FEEDING = ("|", "<<", "<(", ">(", ":::")

# Characters of a word with `*`, `?` or `[`, and such words of a line, that are compared with programs.
MAX_PATTERN, MAX_PATTERNS = 64, 16


def shell_line(args: object) -> str | None:
    """Return the line in a call's arguments, if any. Of a list of words, one alone is a line."""
    command = args.get("command") if isinstance(args, dict) else None
    if isinstance(command, list):
        words = [str(each) for each in command]
        return words[0] if len(words) == 1 else " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    return command if isinstance(command, str) else None


def git_programs(commands: Iterable[str]) -> tuple[str, ...]:
    """Return the programs that may run one of git's commands, for `may_run`: an alias of git's may be any of them."""
    return (*having("git"), *(f"git-{name}" for name in commands))


def may_run(line: str, names: Iterable[str]) -> bool:
    """Return whether a line may run one of the (lower-case) programs. False is certain."""
    if any(sign in line for sign in MADE_UP) or may_run_input(line):
        return True
    names = tuple(names)
    line = _without_usual_git(line, names)
    # The end of a word counts: `su -crm` runs rm.
    return any(
        program in READERS or program in REWRITING or word.endswith(names) for word, program in _programs(line)
    ) or _may_match(line, names)


def _without_usual_git(line: str, names: tuple[str, ...]) -> str:
    """Return a line without `git COMMAND` of usual commands that are not among the programs."""
    asked_for = {name.removeprefix("git-") for name in names if name.startswith("git-")}
    usual = "|".join(name for name in USUAL_OF_GIT if name not in asked_for)
    if (
        not (asked_for and usual) or "git" not in line or "GIT_" in line
    ):  # variables of git's may name programs and aliases
        return line
    import re  # most lines have no need of it

    # Not after `<`: `xargs git <status` runs what is in the file. Not with quotes: they may be in a longer word.
    return re.sub(rf"\bgit[ \t]+(?:{usual})(?=[\s;|&)]|\Z)", " ", line)


def may_run_input(line: str) -> bool:
    """Return whether a program may run its input, and that is not verbatim in the line."""
    bare = line.replace("\\\n", "").translate(QUOTES)
    return any(sign in bare for sign in FEEDING) and any(
        program in RUN_INPUT or (word[0] == "-" and word.endswith(tuple(READERS))) for word, program in _programs(line)
    )


def may_read_terminal(line: str) -> bool:
    """Return whether a line may run a program that reads commands from the terminal. False is certain."""
    if any(sign in line for sign in MADE_UP) or _may_match(line, tuple(INTERACTIVE)):
        return True
    return any(program in INTERACTIVE or program.startswith(("python", "pypy")) for _, program in _programs(line))


def _programs(line: str) -> Iterator[tuple[str, str]]:
    """Yield each word of a line in lower case, without quotes, and the program it names as a command."""
    bare = line.replace("\\\n", "").translate(QUOTES).lower()
    for word in bare.translate(ENDS).split():
        yield word, word.rstrip("/").rpartition("/")[2].lstrip("!").removesuffix(".exe")  # `git -c alias.x=!sh`


def _may_match(line: str, names: tuple[str, ...]) -> bool:
    """Return whether a word may match one of the programs' names. Odd words count: comparing them takes time."""
    patterns = {each for each in _programs(line) if any(sign in each[1] for sign in "*?[")}
    if len(patterns) > MAX_PATTERNS or any(len(program) > MAX_PATTERN for _, program in patterns):
        return True
    return any(word[0] == "-" or any(glob(program, name) for name in names) for word, program in patterns)
