"""The shell line of a call, and its commands: what every recipe that reads shell begins with."""

from __future__ import annotations

import os

from hookrun.shell.prefilter import QUOTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.shell.simple_command import ParsedLine

KNOWN = ("HOME", "USER", "LOGNAME")
"""Variables that an agent's shell has as this process has them."""

LONGEST_SHOWN = 60
"""Characters of a part of a line that are shown."""


def line(context: Mapping[str, object]) -> str | None:
    """Return the line that the call would run, None if it runs none."""
    args = context.get("tool_args")
    command = args.get("command") if isinstance(args, dict) else None
    return command if isinstance(command, str) else None


def directory(context: Mapping[str, object]) -> str:
    """Return where the line would be run."""
    working = context.get("working_dir")
    return working if isinstance(working, str) and working.startswith("/") else project()


def project() -> str:
    """Return the project's root."""
    return os.environ.get("HOOKRUN_PROJECT_DIR", "/")


def reading(context: Mapping[str, object], line: str) -> ParsedLine:
    """Return what the line would run."""
    from hookrun.shell.parse_line import parse_line

    variables = {name: os.environ[name] for name in KNOWN if name in os.environ}
    return parse_line(line, directory=directory(context), variables=variables)


def unread(reading: ParsedLine, dangerous: Callable[[str], object] = lambda _: False) -> str | None:
    """Return why a guard cannot answer for a line, None if it can.

    It cannot for one that is nested too deep or is too long, nor where a part of it is no shell that is understood, and
    is `dangerous` by its text, which is asked without quotes.
    """
    if reading.problem in {"too deep", "too long"}:
        return f"this line is {reading.problem} to be checked: write it as several, or as a script"
    for part in reading.unparsed:
        if dangerous(part.replace("\\\n", "").translate(QUOTES)):
            near = " ".join(part.split())
            near = near if len(near) <= LONGEST_SHOWN else f"{near[:LONGEST_SHOWN]}..."
            return f"this line cannot be read as shell (near `{near}`): write it more simply"
    return None


def block(reason: str) -> dict[str, object]:
    """Return the verdict that refuses a call."""
    return {"action": "block", "message": reason}
