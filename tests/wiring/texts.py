"""Settings as people write them: JSON with every oddity, made by hypothesis, together with what it holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import settings, strategies as st

from hookrun.wiring.wired_command import FireFlags, HookrunProgram, WiredCommand, fallback_commands

if TYPE_CHECKING:
    from collections.abc import Callable


def shell_line(program: HookrunProgram, flags: FireFlags, gone: str) -> str:
    """Return the line that names hookrun by absolute paths."""
    return WiredCommand(flags, program).line(gone)


def launcher_line(launcher: str, flags: FireFlags, gone: str | None) -> str:
    """Return the line that starts a launcher."""
    return WiredCommand(flags, launcher=launcher).line(gone)


def wired(agent: str, event: str, place: str = "/old") -> str:
    """Return the line that install of a hookrun at another place has written."""
    program = HookrunProgram(f"{place}/bin/python3", f"{place}/lib/hookrun/__main__.py")
    return shell_line(program, FireFlags(agent, event, 595.0), fallback_commands('{"systemMessage": "gone"}'))


FEWER_EXAMPLES = settings(max_examples=60)
"""For tests that write files."""

KEYS = st.text(st.characters(codec="utf-8"), max_size=6)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.sampled_from(["// no comment", "/* nor this */", 'a "quote"', "{", "}", "[1,", ",]", "\\", "é\u2028"]),
)
HANDLERS = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.sampled_from(["./mine.sh", "echo hookrun", "say fire --agent"])},
    optional={"timeout": st.integers(1, 600)},
)
GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(HANDLERS, max_size=2)}, optional={"matcher": st.sampled_from(["Bash", "Edit|Write"])}
)
EVENTS = st.dictionaries(st.sampled_from(["PreToolUse", "PostToolUse", "Stop", "Odd"]), st.lists(GROUPS, max_size=2))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


@st.composite
def agent_settings(draw: st.DrawFn) -> dict[str, object]:
    """Return an agent's settings: its own keys, and perhaps other programs' hooks, in any order."""
    data: dict[str, object] = dict(draw(st.dictionaries(KEYS.filter(lambda key: key != "hooks"), VALUES, max_size=4)))
    if draw(st.booleans()):
        data["hooks"] = draw(EVENTS)
    order = draw(st.permutations(list(data)))
    return {key: data[key] for key in order}


@st.composite
def written(draw: st.DrawFn, *, comments: bool) -> str:
    """Return settings as a text: any indentation, line ends, spaces, and in JSONC comments and trailing commas."""
    data = draw(agent_settings())
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    style = draw(st.sampled_from(["lines", "one line", "any"]))
    if style == "any":
        text = _write(data, lambda: _space(draw, newline, comments=comments), lambda: comments and draw(st.booleans()))
    else:
        unit: str | int | None = draw(st.sampled_from([2, 4, 1])) if style == "lines" else None
        unit = "\t" if unit == 1 else unit
        text = json.dumps(data, indent=unit, ensure_ascii=draw(st.booleans())).replace("\n", newline)
    return text + draw(st.sampled_from(["", newline, newline * 2, " "]))


def _space(draw: st.DrawFn, newline: str, *, comments: bool) -> str:
    pieces = [" ", newline, "\t", ""]
    if comments:
        pieces += [f"// a, note}}]{newline}", '/* { [ " */', f"/*{newline} long */{newline}"]
    return "".join(draw(st.lists(st.sampled_from(pieces), max_size=2)))


def _write(value: object, space: Callable[[], str], trailing: Callable[[], bool]) -> str:
    """Return a value as JSON with arbitrary whitespace wherever it is allowed."""
    if isinstance(value, dict):
        parts = [f"{space()}{json.dumps(key)}{space()}:{_write(each, space, trailing)}" for key, each in value.items()]
        opened, closed = "{", "}"
    elif isinstance(value, list):
        parts = [_write(each, space, trailing) for each in value]
        opened, closed = "[", "]"
    else:
        return space() + json.dumps(value) + space()
    comma = "," + space() if parts and trailing() else ""
    return space() + opened + ",".join(parts) + space() + comma + closed + space()
