"""Reads the shell line of a tool call: the beginning of every recipe that checks commands."""

from __future__ import annotations

import os

from hookrun.recipes.recipe import Option, choice_of, one_of
from hookrun.shell.prefilter import QUOTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.recipes.recipe import Recipe
    from hookrun.shell.simple_command import ParsedLine

KNOWN_VARIABLES = ("HOME", "USER", "LOGNAME", "SHELL")
"""Variables that have the same value in an agent's shell as in this process."""
MAX_SHOWN = 60
"""Characters of an unreadable part of a line that are shown."""

UNSEEN_BY_HOOKS = frozenset({"codex"})
"""Agents that send hooks nothing of what the model types into a program that runs (Codex: `write_stdin`)."""

INTERACTIVE = Option(
    "interactive",
    "block",
    "What is done on Codex with a shell or an interpreter that reads commands from its terminal (`bash`, `python3`): "
    "`block` or `allow`. Codex sends hooks nothing of what is typed there.",
    choice_of("block", "allow"),
)


def shell_line(context: Mapping[str, object]) -> str | None:
    """Return the line that a call runs, None if it runs none."""
    args = context.get("tool_args")
    command = args.get("command") if isinstance(args, dict) else None
    return command if isinstance(command, str) else None


def line_directory(context: Mapping[str, object]) -> str:
    """Return the directory in which the line runs."""
    working = context.get("working_dir")
    return working if isinstance(working, str) and working.startswith("/") else project_directory()


def project_directory() -> str:
    """Return the project's root."""
    return os.environ.get("HOOKRUN_PROJECT_DIR", "/")


def parse(context: Mapping[str, object], line: str) -> ParsedLine:
    """Return the commands that the line runs."""
    from hookrun.shell.parse_line import parse_line  # loads tree-sitter: only for a line that may matter

    variables = {name: os.environ[name] for name in KNOWN_VARIABLES if name in os.environ}
    return parse_line(line, directory=line_directory(context), variables=variables)


def unreadable(parsed: ParsedLine, dangerous: Callable[[str], object] = lambda _: False) -> str | None:
    """Return why a guard cannot vouch for a line, None if it can.

    It cannot if the line is too long or nested too deeply, or if a part of it cannot be parsed as shell and is
    `dangerous`, which is asked of its text without quotes.
    """
    if parsed.problem in {"too deep", "too long"}:
        return f"this line is {parsed.problem} to be checked: write it as several, or as a script"
    for part in parsed.unparsed:
        if dangerous(part.replace("\\\n", "").translate(QUOTES)):
            near = " ".join(part.split())
            near = near if len(near) <= MAX_SHOWN else f"{near[:MAX_SHOWN]}..."
            return f"this line cannot be read as shell (near `{near}`): write it more simply"
    return None


def may_open_unseen(recipe: Recipe, context: Mapping[str, object], line: str) -> bool:
    """Return whether a line may start a program whose commands no hook would see; it surely starts none if not."""
    if context.get("agent") not in UNSEEN_BY_HOOKS or one_of(recipe, INTERACTIVE.name, ("block", "allow")) == "allow":
        return False
    from hookrun.shell.interactive import may_read_terminal

    return may_read_terminal(line)


def opens_unseen(recipe: Recipe, context: Mapping[str, object], line: str, parsed: ParsedLine) -> str | None:
    """Return why a line is blocked that starts a program whose commands no hook would see, None for any other."""
    if not may_open_unseen(recipe, context, line):
        return None
    from hookrun.shell.interactive import terminal_reader

    program = terminal_reader(parsed)
    if program is None:
        return None
    return (
        f"`{program}` would read commands that no hook sees, for Codex sends hooks nothing of what is typed into a "
        f"program. Give it its commands in the line: `bash -c ...`, a script or a here-document"
    )


def block(reason: str) -> dict[str, object]:
    """Return the verdict that blocks a call."""
    return {"action": "block", "message": reason}
