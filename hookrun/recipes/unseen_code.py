"""Find what a line runs unseen by hooks: input typed into a shell that it opens, and downloads.

Some agents do not send typed input to hooks: a bare `bash` or `python3` reads commands from the terminal.
"""

from __future__ import annotations

from itertools import pairwise

from hookrun.recipes.recipe import Option, Recipe, one_of
from hookrun.recipes.shell_recipe import line_of
from hookrun.shell.prefilter import READERS, may_read_terminal
from hookrun.shell.programs import having
from hookrun.shell.words import STDIN, UNKNOWN, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.shell.simple_command import ParsedLine, SimpleCommand

INTERACTIVE = Option(
    "interactive",
    "block",
    "Shells and interpreters that read commands from a terminal (`bash`, `python3`), under agents that hide typed "
    "input from hooks: `block` or `allow`.",
    choices=("block", "allow"),
)

TERMINAL = STDIN | {"/dev/tty"}

# Python's modules that read code.
CONSOLES = frozenset({"IPython", "asyncio", "bpython", "code", "idlelib", "pdb", "ptpython"})

# Options of other interpreters than Python that run a word, or end.
HAS_CODE = r"-[A-Za-z]*[ceE]|-n?p|-v$|--(?:eval|print|command|info|ini|test)(?:=|$)"

SHOWING = frozenset({"-V", "-VV", "--version", "-h", "--help", "-ls", "-list", "-wipe"})
SSH_WITHOUT_SHELL = frozenset({"-G", "-N", "-O", "-Q", "-V", "-W", "-f"})
# Options that show something and end; those of ssh without a shell; those whose value is the next word.
VALUED = frozenset({"-C", "-I", "--import", "--loader", "--require", "-r"})


def may_refuse(recipe: Recipe, context: Mapping[str, object]) -> bool:
    """Return whether `refusal` may have a reason, for a call with a line. False is certain. A wrong option counts."""
    line = line_of(context)
    if line is None or one_of(recipe, INTERACTIVE.name) == "allow":
        return False
    return may_read_terminal(line) and _hides_input(context)


def refusal(recipe: Recipe, context: Mapping[str, object], parsed: ParsedLine) -> Iterator[str]:
    """Yield why a line is blocked: it starts a program that reads commands unseen by hooks."""
    if one_of(recipe, INTERACTIVE.name) == "allow" or not _hides_input(context):
        return
    for program in terminal_readers(parsed):
        yield (
            f"`{program}` would read commands that no hook sees: {context['agent']} does not send typed input to "
            "hooks. Pass the commands in the line: `bash -c ...`, a script or a here-document"
        )


def _hides_input(context: Mapping[str, object]) -> bool:
    from hookrun.agents import sends_typed_input  # loads the agents: only for lines that may matter

    return not sends_typed_input(str(context.get("agent")))


def terminal_readers(parsed: ParsedLine) -> Iterator[str]:
    """Yield a line's commands that would read commands from the terminal."""
    passed_on = False  # `cat | bash`: typed input reaches the shell through the pipe
    for command in parsed.commands:
        reads_elsewhere = (each.reads and each.target.text not in TERMINAL for each in command.redirections)
        if not command.words or command.stdin is not None or any(reads_elsewhere):
            continue
        if command.program in {"cat", "tee"} and not command.piped:
            passed_on = passed_on or command.program == "tee" or TERMINAL.issuperset(command.operands)
        elif (passed_on or not command.piped) and _reads(command):
            yield " ".join((*command.wrappers, command.program))


def _reads(command: SimpleCommand) -> bool:
    program = command.one_of((*READERS, *having("interprets"), "python3")) or command.program
    texts = command.arguments
    if SHOWING.intersection(texts) or not having("adds_words").keys().isdisjoint(command.wrappers):
        return False
    from hookrun.shell.wrappers import nested_line

    line = nested_line(program, command.words, None)
    if line is not None:
        return line.text is None and not (program == "ssh" and SSH_WITHOUT_SHELL.intersection(texts))
    if program in READERS or program in SOURCES:
        return "/dev/tty" in texts
    if program in having("opens"):  # `script FILE` starts one, too
        return len(command.operands) <= (program == "script")
    if _is_python(program):
        return _opens_python(texts) or "PYTHONINSPECT" in command.assignments
    reads_after_code = having("interactive").get(program) in texts[:1]
    return program in having("interprets") and (reads_after_code or not _has_code(program, texts))


def _is_python(program: str) -> bool:
    return program.rstrip(".0123456789") in {"python", "pypy"}


def _opens_python(texts: list[str]) -> bool:
    """Return whether Python reads code: it gets none, or continues with `-i` after it."""
    import re

    waiting = iter(texts)
    interactive = False
    for text in waiting:
        if text in {"-W", "-X"}:
            next(waiting, None)
        elif text[:1] != "-" or text == "-":
            return interactive or text in TERMINAL
        else:
            options = re.split("[cm]", text, maxsplit=1)[0] if text[:2] != "--" else ""
            interactive = interactive or "i" in options
            if options != text and text[:2] != "--":  # `-c CODE` or `-m MODULE`, glued or not
                module = text[len(options) + 1 :] or next(waiting, "")
                return interactive or (text[len(options)] == "m" and module.partition(".")[0] in CONSOLES)
    return True


def _has_code(program: str, texts: list[str]) -> bool:
    """Return whether an interpreter gets its code in words or as a file."""
    import re

    waiting = iter(texts)
    for text in waiting:
        if text in TERMINAL:
            return False
        if (
            (text[:1] != "-" and program not in having("reads_on"))
            or re.match(HAS_CODE, text)
            or (program == "php" and text[:2] in {"-r", "-i", "-m"})
        ):
            return True
        if text in VALUED:
            next(waiting, None)
    return False


# --- downloads: `curl ... | sh` and similar

# Options of interpreters to run something other than their input.
INLINE = r"-[A-Za-z]*[cemEnpr]|--(?:eval|print|command|require|version|help)"

# Options of wget and curl that name the directory for downloads.
INTO = frozenset({"--directory-prefix", "--output-dir", "-P"})

SOURCES = frozenset(name for name, how in having("line").items() if how == "sourced")
READING_LINES = READERS | SOURCES | {"eval"}


class Downloads:
    """The downloads of a line so far."""

    def __init__(self) -> None:
        self._seen = False
        self._files: set[str] = set()

    def runs(self, command: SimpleCommand) -> bool:
        """Return whether a command runs an earlier download of the line; record its own."""
        program = command.one_of(having("downloads")) if command.words else None
        if program is not None:
            self._seen = True
            self._remember(command, program)
            return False
        if not self._seen or not command.words:
            return False
        if command.piped:  # `curl ... | tee x.sh`, `curl ... | gunzip > x.sh`
            self._remember(command, command.program)
        if command.program == UNKNOWN:  # `bash -c "$(curl ...)"`
            return not READING_LINES.isdisjoint(command.wrappers)
        return self._runs_file(command) or _runs_stream(command)

    def _remember(self, command: SimpleCommand, program: str) -> None:
        from hookrun.shell.named_files import option_targets

        named = {each.target.text for each in command.redirections if each.writes}
        named.update(option_targets(program, command.arguments))
        if program == "wget":  # without -O the address has the name
            named.update(text.partition("?")[0].rpartition("/")[2] for text in command.arguments if "/" in text)
        elif program == "tee":
            named.update(command.arguments)
        into = next((after for before, after in pairwise(command.arguments) if before in INTO), "")
        paths = (f"{into}/{each}" if into else each for each in named if each)
        self._files.update(filter(None, (absolute(each, command.directory) for each in paths)))

    def _runs_file(self, command: SimpleCommand) -> bool:
        program = command.words[0].text
        ran = [program] if "/" in program else []
        if _interprets(command):
            ran += command.operands[:1]
        return any(absolute(each, command.directory) in self._files for each in ran)


def _interprets(command: SimpleCommand) -> bool:
    program = command.program
    return program in READERS or program in having("runs_code") or _is_python(program)


def _runs_stream(command: SimpleCommand) -> bool:
    """Return whether a command runs its piped input or a process substitution."""
    if not _interprets(command):
        return False
    import re

    if any(re.match(INLINE, word) for word in command.arguments):
        return UNKNOWN in command.arguments  # `python3 -c "$(curl ...)"`
    first = "".join(command.operands[:1])
    if first == UNKNOWN:
        return True
    from_stdin = command.program in READERS and any(word[:2] == "-s" for word in command.arguments)
    return command.beside and command.stdin is None and (not first or first in STDIN or from_stdin)
