"""The file of cases beside a new hook: those of its template, or, where it has conditions, cases of these."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from hookrun.events import WITH_TOOL
from hookrun.scaffold import templates
from hookrun.scaffold.templates import PURPOSES

if TYPE_CHECKING:
    from collections.abc import Mapping

SUFFIX = ".hooktest.yaml"
ANY_TOOL = "some_tool"
"""What a tool is called of which nothing is said."""

SET = re.compile(r"\[(!?)(.)[^\]]*\]")
"""A set of a glob, such as `[abc]`."""


def text(purpose: str, entry: Mapping[str, object], config: str) -> str:
    """Return the file of cases for a declaration that was made from a template; `config` is its path from there."""
    event, name = str(entry["event"]), str(entry["name"])
    tools = _tools(purpose, entry) if event in WITH_TOOL else []
    defaults = {"event": event, **({"tool": tools[0]} if tools else {}), "hook": name}
    when = entry.get("when")
    if isinstance(when, dict):
        body = _of_conditions(purpose, when)
    else:
        body = templates.cases(purpose, {"event": event}) + "".join(_of_tool(purpose, tool) for tool in tools[1:])
    head = f"config: {config}\ndefaults: {_flow(defaults)}\ncases:\n"
    return f"# What {name} does, case by case: hookrun test\n{head}{body}"


def _tools(purpose: str, entry: Mapping[str, object]) -> list[str]:
    """Return a tool for each alternative of the declaration's matcher."""
    matcher = entry.get("matcher", PURPOSES[purpose].matcher)
    return [example(each) or ANY_TOOL for each in str(matcher).split("|")] if matcher is not None else []


def _of_tool(purpose: str, tool: str) -> str:
    """Return a case of one more tool, which passes."""
    args = _fields({"tool_args": dict(PURPOSES[purpose].args)})
    return f"  - name: {tool} is looked at too\n    tool: {tool}\n{args}    expect: {{failure: null, fired: true}}\n"


def _of_conditions(purpose: str, when: Mapping[str, object]) -> str:
    """Return one case that meets all conditions, and one in which the first is not met."""
    met: dict[str, object] = {"tool_args": dict(PURPOSES[purpose].args)}
    for path, pattern in when.items():
        _put(met, path.split("."), example(str(pattern)))
    first = next(iter(when))
    unmet = json.loads(json.dumps(met))
    _put(unmet, first.split("."), None)
    return (
        f"  - name: it runs where its conditions are met\n{_fields(met)}    expect: {{failure: null, fired: true}}\n"
        f"  - name: it does not run without {first}\n{_fields(unmet)}    expect: {{fired: false}}\n"
    )


def _put(context: dict[str, object], path: list[str], value: str | None) -> None:
    for step in path[:-1]:
        inner = context.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        context = inner
    context[path[-1]] = value


def _fields(context: Mapping[str, object]) -> str:
    args = context["tool_args"]
    others = {key: value for key, value in context.items() if key != "tool_args"}
    lines = f"    args: {_flow(args)}\n" if args else ""
    return lines + (f"    context: {_flow(others)}\n" if others else "")


def _flow(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def example(pattern: str) -> str:
    """Return a text that a glob describes: nothing in the place of `*`, one character in that of `?` and of a set."""
    plain = SET.sub(lambda found: "x" if found.group(1) else found.group(2), pattern)
    return plain.replace("*", "").replace("?", "x")
