"""Find the calls of `hookrun fire --agent` that a shell would make for a line; a comment or an argument is none."""

from __future__ import annotations

from hookrun.shell import lazy_re as re
from hookrun.shell.project_line import SCRIPT, SETTINGS, arguments_of_fire, is_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.shell.simple_command import SimpleCommand

PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
LAUNCHERS = {"uvx": (), "npx": (), "pipx": ("run",), "uv": ("run", "tool")}
"""Programs that run another one by its name -> the words of which one comes before it, if any does."""

VALUED = frozenset({"--from", "--with", "--python", "--spec", "--index", "--project", "--directory", "-p"})
"""Options of these programs, and of Python, that take the next word."""

LAUNCHER_PATH = re.compile(r"/(?:.*/)?\.local/share/hookrun/(?!gone$)([a-z][a-z0-9_-]*)", re.DOTALL)
"""The path of the launcher of an agent, which calls `hookrun fire --agent` with its own name."""

QUIET = frozenset({"[", "cd", "command", "echo", "exec", "exit", "hookrun", "printf", "pwd", "sh", "test", "unset"})
"""Programs around a call that do nothing by themselves."""

SCRIPT_WORD = "\ue000hookrun"
"""Replaces the script of a project's line while the rest is read."""


class FireCall:
    """One call of `hookrun fire`: the agent that it names, and the words after `fire`.

    `program` is the word that names hookrun's program. `alone` tells that the line is this call and nothing else,
    `others` are the programs in it that do something else.
    """

    __slots__ = ("agent", "alone", "arguments", "others", "program")

    def __init__(self, agent: str, arguments: list[str], program: str, others: list[str], *, alone: bool) -> None:
        self.agent = agent
        self.arguments = arguments
        self.program = program
        self.others = others
        self.alone = alone


SCRIPT_IN_LINE = re.compile(r"'([^']*)'(?= hookrun )")
"""Where the script of a project's line would be."""


def _to_script_word(match: re.Match[str]) -> str:
    return SCRIPT_WORD if is_script(match.group(1)) else match.group()


def fire_calls(line: str) -> list[FireCall]:
    """Return the calls of `hookrun fire --agent NAME` in a line of shell, whichever hookrun it names."""
    if "hookrun" not in line or ("fire" not in line and "/.local/share/hookrun/" not in line):
        return []
    from hookrun.shell.parse_line import parse_line  # mostly not needed, and many modules

    # What the script runs is hookrun's own affair.
    parsed = parse_line(line if SCRIPT_WORD in line else SCRIPT_IN_LINE.sub(_to_script_word, line))
    calls = [(command, _place_of_hookrun(command)) for command in parsed.commands]
    others = [each.program for each, at in calls if at is None and each.program not in {*QUIET, SCRIPT_WORD}]
    only = len(parsed.commands) == 1 and parsed.problem is None
    return [call for each, at in calls if at is not None for call in _calls(each, at, others, only=only)]


def _calls(command: SimpleCommand, at: int, others: list[str], *, only: bool) -> Iterator[FireCall]:
    words = [word.text for word in command.words]
    launcher = LAUNCHER_PATH.fullmatch(words[at])
    if launcher is None and words[at + 1 : at + 2] != ["fire"]:
        return
    arguments = words[at + 2 :] if launcher is None else ["--agent", launcher.group(1), *words[at + 1 :]]
    agent = _agent(arguments)
    plain = not (command.wrappers or command.assignments or command.redirections or command.beside)
    if agent is not None:
        yield FireCall(agent, arguments, words[at], others, alone=only and plain and at == 0)


def _place_of_hookrun(command: SimpleCommand) -> int | None:
    """Return which word names hookrun: the program, or what an interpreter or launcher runs; None if none does."""
    program, words = command.program, [word.text for word in command.words]
    if program == "hookrun" or (words and (words[0].endswith("/hookrun") or LAUNCHER_PATH.fullmatch(words[0]))):
        return 0
    if arguments_of_fire([SCRIPT if word == SCRIPT_WORD else word for word in words]) is not None:
        return SETTINGS + 3
    if words[1:2] == ["-I"] and words[2:3] and _is_hookrun(words[2], python=True):  # whatever the interpreter's name is
        return 2
    python = PYTHON.fullmatch(program) is not None
    at = _operand(words, program, python=python) if python or program in LAUNCHERS else None
    return at if at is not None and _is_hookrun(words[at], python=python) else None


def _operand(words: list[str], program: str, *, python: bool) -> int | None:
    """Return the first word that is no option: the script or module, or what a launcher runs."""
    position = 1
    while position < len(words):
        word = words[position]
        if python and word[:1] == "-" and word[-1:] in {"c", "m"}:
            return position + 1 if word[-1:] == "m" and position + 1 < len(words) else None
        if word[:1] != "-" and word not in LAUNCHERS.get(program, ()):
            return position
        position += 2 if word in VALUED else 1
    return None


def _is_hookrun(word: str, *, python: bool) -> bool:
    named = word.endswith("hookrun/__main__.py") if python else False
    return named or word.rpartition("/")[2].partition("@")[0] == "hookrun"


def _agent(arguments: list[str]) -> str | None:
    """Return the agent that the arguments of `hookrun fire` name."""
    for index, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == "--agent":
            return value if equals else next(iter(arguments[index + 1 : index + 2]), None)
    return None
