"""Find the calls of `hookrun fire --agent` that a shell would make for a line; comments and arguments are none.

A project's line runs its PROJECT_SCRIPT.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.shell.simple_command import SimpleCommand

PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
# Options of Python that take the next word.
VALUED = frozenset({"-W", "-X", "--check-hash-based-pycs"})

# An agent's launcher: it calls `hookrun fire --agent` with its name, and for its home if it has an event.
LAUNCHER_PATH = re.compile(
    r"(?P<home>(?:/.*)?)/\.local/share/hookrun/(?!gone$)(?P<agent>[a-z][a-z0-9_-]*)(?:\.(?P<event>[A-Z][A-Za-z]*))?",
    re.DOTALL,
)

# Programs around a call that do nothing else.
QUIET = frozenset({"[", "cd", "command", "echo", "exec", "exit", "hookrun", "printf", "pwd", "sh", "test", "unset"})

# Replaces a project line's script while the rest is read.
SCRIPT_WORD = "\ue000hookrun"


class FireCall:
    """A call of `hookrun fire`: its agent, and the words after `fire`.

    `program` is the word that names hookrun. `alone`: the line is nothing but this call; `others` are its programs that
    do something else.
    """

    __slots__ = ("agent", "alone", "arguments", "others", "program")

    def __init__(self, agent: str, arguments: list[str], program: str, others: list[str], *, alone: bool) -> None:
        self.agent = agent
        self.arguments = arguments
        self.program = program
        self.others = others
        self.alone = alone


def handler_line(handler: Mapping[str, object]) -> object:
    """Return the shell line equivalent to a handler of Claude Code, which may start its words without a shell."""
    command, args = handler.get("command"), handler.get("args")
    if isinstance(command, str) and isinstance(args, list):
        import shlex  # rarely needed

        return shlex.join([command, *map(str, args)])
    return command


# The place of the script in a project's line.
SCRIPT_IN_LINE = re.compile(r"'([^']*)'(?= hookrun )")


def fire_calls(line: str) -> list[FireCall]:
    """Return a shell line's calls of `hookrun fire --agent NAME`, whichever hookrun it names."""
    if not any(each in line for each in ("fire", "/.local/share/hookrun/", PROJECT_SCRIPT)) or "hookrun" not in line:
        return []
    from hookrun.shell.parse_line import parse_line  # rarely needed, and many modules

    if SCRIPT_WORD not in line:  # the script runs only hookrun
        line = SCRIPT_IN_LINE.sub(lambda found: SCRIPT_WORD if is_script(found[1]) else found[0], line)
    parsed = parse_line(line)
    calls = [(command, _place_of_hookrun(command)) for command in parsed.commands]
    # `uvx --from x hookrun fire` is read as three commands: the arguments of the others end with the call.
    ends = tuple(" ".join(word.text for word in each.words) for each, at in calls if at is not None)
    others = [each for each, at in calls if at is None and not " ".join(each.arguments).endswith(ends)]
    programs = [each.program for each in others if each.program not in {*QUIET, SCRIPT_WORD}]
    only = len(parsed.commands) == 1 and parsed.problem is None
    return [call for each, at in calls if at is not None for call in _calls(each, at, programs, only=only)]


def _calls(command: SimpleCommand, at: int, others: list[str], *, only: bool) -> Iterator[FireCall]:
    words = [word.text for word in command.words]
    if words[at].endswith(PROJECT_SCRIPT):
        if len(words) > at + 2:
            arguments = ["--agent", *words[at + 1 : at + 3], "--scope", "project"]
            yield FireCall(words[at + 1], arguments, words[at], others, alone=False)
        return
    launcher = LAUNCHER_PATH.fullmatch(words[at])
    if launcher is None and words[at + 1 : at + 2] != ["fire"]:
        return
    arguments = words[at + 2 :] if launcher is None else [*launcher_arguments(launcher), *words[at + 1 :]]
    agent = _agent(arguments)
    plain = not (command.wrappers or command.assignments or command.redirections or command.beside)
    if agent is not None:
        yield FireCall(agent, arguments, words[at], others, alone=only and plain and at == 0)


def launcher_arguments(launcher: re.Match[str]) -> list[str]:
    """Return the arguments implied by a launcher's name, given its path's match."""
    home, agent, event = launcher.group("home", "agent", "event")
    return ["--agent", agent] if event is None else ["--agent", agent, event, "--home", home or "/"]


def _place_of_hookrun(command: SimpleCommand) -> int | None:
    """Return which word names hookrun: the program, or what an interpreter runs; None if none does."""
    program, words = command.program, [word.text for word in command.words]
    if program.partition("@")[0] == "hookrun" or (
        words and (words[0].endswith("/hookrun") or LAUNCHER_PATH.fullmatch(words[0]))
    ):
        return 0
    if program == "sh" and f"/{''.join(words[1:2])}".endswith(f"/{PROJECT_SCRIPT}"):
        return 1
    if words[:2] == ["/bin/sh", "-c"] and words[2:4] == [SCRIPT_WORD, SCRIPT_NAME]:
        return next((at for at in (6, 9) if words[at + 1 : at + 2] == ["fire"]), None)
    if words[1:2] == ["-I"] and words[2:3] and _is_hookrun(words[2]):  # whatever the interpreter's name is
        return 2
    at = _operand(words) if PYTHON.fullmatch(program) is not None else None
    return at if at is not None and _is_hookrun(words[at]) else None


def _operand(words: list[str]) -> int | None:
    """Return the first word that is no option of Python: the script or module."""
    position = 1
    while position < len(words):
        word = words[position]
        if word[:1] == "-" and word[-1:] in {"c", "m"}:
            return position + 1 if word[-1:] == "m" and position + 1 < len(words) else None
        if word[:1] != "-":
            return position
        position += 2 if word in VALUED else 1
    return None


def _is_hookrun(word: str) -> bool:
    return word.endswith("hookrun/__main__.py") or word.rpartition("/")[2] == "hookrun"


def _agent(arguments: list[str]) -> str | None:
    for index, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == "--agent":
            return value if equals else next(iter(arguments[index + 1 : index + 2]), None)
    return None


# --- a project's line

# How the script in a project's line began, before it was a file of its own.
BEGINS = "_v=$2; _m=$3; shift 3; "

# The end of the path of the script in a project, wiring/run.txt: it finds the user's launcher or hookrun at run time.
PROJECT_SCRIPT = ".hookrun/run"

# A managed line's at a gate: it passes on the answer of what it starts; without one it refuses if the machine has a
# config, which counts as having a guard. The arguments: the refusal, what to say without a config where hookrun is
# gone, the config's directory.
GUARDED = (
    "_r=$1; _w=$2; _d=$3; shift 3; _c=127; "
    'if [ -x "$1" ] && [ -f "$3" ]; then _w=$("$@"); _c=$?; fi; '
    'case $_c in (0|2) ;; (*) for _f in "$_d"/hooks.json "$_d"/hooks.yaml "$_d"/hooks.yml; do '
    '[ -e "$_f" ] && { _w=$_r; _c=0; break; }; done; '
    '[ -f "$3" ] && [ -x "$1" ] || _c=0;; esac; [ "$_w" ] && printf "%s\\n" "$_w"; exit "$_c"'
)

# SHA-256 of earlier versions' scripts.
EARLIER_SCRIPTS = frozenset(
    {
        "376a73e7bd725599060df735387965a97af3542a63c5c2a96f29173d37fb3a3e",
        "99041c3b3899cf707e71fcef81a222eb597e9e079f2acdad11a3b54568f788d3",
        "9cedb6bdc39ddfe620dd184333822fb2db4d6aa236abe52d48d9e0e92f435710",
    }
)

# The script's name, the word before its arguments.
SCRIPT_NAME = "hookrun"

# How many arguments precede those of hookrun.
SCRIPT_ARGUMENTS, GUARDED_ARGUMENTS = 3, 6


def is_script(text: str) -> bool:
    """Return whether a text is a managed line's script, or an earlier version's of a project."""
    if text == GUARDED or not text.startswith(BEGINS):
        return text == GUARDED
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest() in EARLIER_SCRIPTS


def arguments_of_fire(words: list[str]) -> list[str] | None:
    """Return the words after `fire` in a command that runs the script, None for others."""
    fire = 4 + (GUARDED_ARGUMENTS if words[2:3] == [GUARDED] else SCRIPT_ARGUMENTS)
    if words[:2] != ["/bin/sh", "-c"] or words[3:4] != [SCRIPT_NAME] or words[fire : fire + 1] != ["fire"]:
        return None
    if not is_script(words[2]):
        return None
    return words[fire + 1 :]
