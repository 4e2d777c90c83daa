"""Warn about declarations that are valid but cannot work as meant: names that no tool, argument or field has."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from hookrun.agents import AGENTS, OTHERS
from hookrun.agents.known_tools import ARGUMENTS, OTHER_CALLERS, PASSED_THROUGH, native_tools, title
from hookrun.config.diagnostics import Diagnostic
from hookrun.config.discovery import LAYER_FILES, LOCAL_FILE, MANAGED_DIRECTORY, PROJECT_FILES
from hookrun.config.document import MAX_BYTES
from hookrun.config.schema import CONTEXT_FIELDS, MILLISECONDS
from hookrun.context import FIELDS, MISNAMED
from hookrun.events import ALIASES, WITH_TOOL
from hookrun.globs import glob
from hookrun.state import config_directory
from hookrun.text import closest, quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from hookrun.config.discovery import ConfigFiles
    from hookrun.config.validate_value import Location

KNOWN_AGENTS = tuple(dict.fromkeys((*AGENTS, *OTHERS, *OTHER_CALLERS)))
"""Agents that a hook can be limited to without a warning: those that run the hooks of another's settings included."""

EXPRESSION = re.compile(r"\.[*+]|[\\^$(){}+]")
"""What only a regular expression has: no tool is called like that."""

RULE = re.compile(r"([A-Za-z_]+)\((.*?)(?::?\*)?\)?")
"""A permission rule, such as `Bash(rm:*)`, whole or cut at a `|`."""

SEPARATED = re.compile(r".+[_/-].+", re.DOTALL)
"""A name that may be of an MCP server and its tool: some agents write them so."""

NEAR = 0.85
"""Likeness from which a name that could be of an MCP server's tool is taken for a misspelled one."""


def warn_suspicious(
    values: dict[str, object], events: list[str], entry: dict[str, object], at: Location, own: Collection[str]
) -> None:
    """Warn about values of a hook that are valid but rarely intended; `own` are the events of a program."""
    timeout = values.get("timeout")
    if "timeout" in entry and isinstance(timeout, float) and timeout >= MILLISECONDS:
        expected, advice = "seconds (these are probably milliseconds)", f"write {timeout / 1000:g}"
        at.at("timeout").warn(f"{timeout:g} seconds", expected, advice)
    agents = _texts(values.get("agents"))
    for agent in agents if "agents" in entry else ():
        if agent not in KNOWN_AGENTS:
            found = f"the unknown agent {quote(agent)}"
            near = closest(agent, KNOWN_AGENTS)
            at.at("agents").warn(found, "an agent that hookrun knows", "correct it", nearest=near)
    if "," in str(values.get("name", "")):
        at.at("name").warn('a "," in the name', "a name that HOOKRUN_SKIP can list", "use another character")
    matcher = _texts(values.get("matcher"))
    # A program's own events carry its own tools and fields, and an agent that is not known has its own, too.
    foreign = any(event in own for event in events) or any(agent not in KNOWN_AGENTS for agent in agents)
    _lint_matcher(matcher, events, at.at("matcher"), None if foreign else agents or AGENTS)
    for name in ("when", "unless"):
        conditions = values.get(name)
        for path, patterns in conditions.items() if isinstance(conditions, dict) and not foreign else ():
            _lint_condition(str(path), _texts(patterns), at.at(name, path), _Scope(events, agents or AGENTS, matcher))


def _texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


# --- matchers


def _lint_matcher(matcher: list[str], events: list[str], at: Location, agents: Collection[str] | None) -> None:
    if matcher and agents is not None and not any(event in WITH_TOOL for event in events):
        found = f"a matcher on {', '.join(events)}"
        at.warn(found, "a matcher only on events with a tool (here it never matches)", "remove it")
        return
    for each in matcher:
        if each != each.strip():
            found = f"spaces around {quote(each)}"
            at.warn(found, "the tool's name as it is (spaces never match)", "remove the spaces")
        elif agents is not None:
            _lint_tool(each, at, {*ARGUMENTS, *_names(agents)})


def _names(agents: Iterable[str]) -> Iterator[str]:
    for agent in agents:
        yield from native_tools(agent)


def _lint_tool(pattern: str, at: Location, known: Collection[str]) -> None:
    """Warn about a glob that matches none of the known names of tools, and none that a tool of an MCP server has."""
    if any(glob(pattern, name) for name in known) or can_be_mcp(pattern):
        return
    shown = quote(pattern)
    rule = RULE.fullmatch(pattern)
    if rule is not None:
        tool = min(_canonical(rule[1]))
        condition = {"tool_args." + ARGUMENTS.get(tool, ("command",))[0]: f"{rule[2]}*"}
        expected = "a glob on the tool's name (a permission rule never matches)"
        advice = f'write "matcher": {quote(tool)}, and "when": {quote(condition)}'
        at.warn(f"the permission rule {shown}", expected, advice)
        return
    if EXPRESSION.search(pattern):
        plain = re.sub(r"\.[*+]", "*", pattern).strip("^$()")
        expected = "a glob on the tool's name (as a glob, this regular expression matches no tool)"
        advice = f"write {quote(plain)}" if not EXPRESSION.search(plain) else "write globs, with | between them"
        at.warn(shown, expected, advice if plain != "*" else 'write "*", or remove the matcher')
        return
    if pattern.startswith(MCP):
        expected = "the whole name of an MCP server's tool (a server's name matches nothing)"
        at.warn(shown, expected, f"write {quote(pattern.rstrip('_*') + '__*')}")
        return
    owners = [each for each in KNOWN_AGENTS if any(glob(pattern, name) for name in native_tools(each))]
    if owners:
        tables = [native_tools(each) for each in owners]
        tools = dict.fromkeys(f"`{ours}`" for table in tables for name, ours in table.items() if glob(pattern, name))
        only = f"{' and '.join(map(title, owners))}'s name only"
        at.warn(shown, f"hookrun's name of the tool: this is {only}", f"write {' or '.join(tools)}")
        return
    word = re.sub(r"[*?]|\[[^]]*\]", "", pattern)
    names = {name.lower(): name for name in (*_names(AGENTS), *ARGUMENTS)}
    is_separated = SEPARATED.fullmatch(word) is not None
    could_be = "*" in pattern or is_separated
    near = get_close_matches(word.lower(), names, n=1, cutoff=NEAR if is_separated else 0.7 if could_be else 0.6)
    if near or not could_be:
        expected = f"a tool that an agent has (this never matches); hookrun's names are {', '.join(ARGUMENTS)}"
        at.warn(shown, expected, "correct it", nearest=names[near[0]] if near else None)


MCP = "mcp__"
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
SERVER, MARK, MARKED, TOOL = range(len(MCP) + 1, len(MCP) + 5)
"""States after the first character of a server's name, one `_`, two, and the first character of a tool's name."""


def can_be_mcp(pattern: str) -> bool:
    """Return whether a glob can match `mcp__SERVER__TOOL`, whatever the two are called.

    >>> can_be_mcp("mcp__git*"), can_be_mcp("mcp__.*"), can_be_mcp("mcp__git")
    (True, False, False)
    """
    states = {0}
    position = 0
    while position < len(pattern) and states:
        char = pattern[position]
        position += 1
        if char == "*":
            before: set[int] = set()
            while before != states:
                before, states = states, states | _after(states, None)
            continue
        if char == "[" and (end := pattern.find("]", position + 1)) >= 0:
            char, position = "?", end + 1
        states = _after(states, None if char == "?" else char)
    return TOOL in states


def _after(states: set[int], char: str | None) -> set[int]:
    """Return the states that follow on a character; None is any character."""
    found: set[int] = set()
    is_name = char is None or char in NAME
    for state in states:
        if state < len(MCP):
            found |= {state + 1} if char in (None, MCP[state]) else set()
            continue
        if is_name:
            found.add({len(MCP): SERVER, SERVER: SERVER, MARK: SERVER, MARKED: TOOL, TOOL: TOOL}[state])
        elif state == TOOL and char in (".", "/"):
            found.add(TOOL)
        if state in (SERVER, MARK) and char in (None, "_"):
            found.add(MARK if state == SERVER else MARKED)
    return found


# --- conditions


class _Scope(NamedTuple):
    """Where a condition applies: the hook's events, agents and matcher."""

    events: list[str]
    agents: Collection[str]
    matcher: list[str]


def _lint_condition(path: str, patterns: list[str], at: Location, hook: _Scope) -> None:
    """Warn about a condition on a field or argument that there is none of, or on a value that it never has."""
    first, _, rest = path.partition(".")
    if first not in CONTEXT_FIELDS:
        instead = MISNAMED.get(first)
        near = None if instead else closest(first, CONTEXT_FIELDS)
        if instead or near is not None:
            advice = f"write {instead}" if instead else "correct it if it is mistyped"
            at.warn(f"the unknown context field {quote(first)}", "a path into the context", advice, nearest=near)
    elif not rest and FIELDS.get(first) is dict:
        at.warn(f"{first}, which is an object", "a path into it (an object never matches)", f"write {first}.NAME")
    elif first == "tool_args":
        _lint_argument(rest.partition(".")[0], at, hook.matcher)
    for pattern in patterns:
        if path == "tool_name":
            canonical = {ours for agent in hook.agents for ours in native_tools(agent).values()}
            _lint_tool(pattern, at, {*ARGUMENTS, *canonical})
        elif path == "agent_tool_name":
            _lint_tool(pattern, at, set(_names(hook.agents)))
        elif path == "agent" and not any(glob(pattern, each) for each in KNOWN_AGENTS):
            near = closest(pattern, KNOWN_AGENTS)
            at.warn(f"the unknown agent {quote(pattern)}", "an agent that hookrun knows", "correct it", nearest=near)
        elif path == "event" and not any(glob(pattern, each) for each in hook.events):
            expected = f"an event of the hook, by hookrun's name: {', '.join(hook.events)} (this never matches)"
            at.warn(quote(pattern), expected, "correct it", nearest=closest(pattern, [*hook.events, *ALIASES]))


def _lint_argument(name: str, at: Location, matcher: list[str]) -> None:
    """Warn about an argument that none of the matcher's tools has, where all of them are tools with known arguments."""
    tools = {ours for each in matcher for ours in _canonical(each)}
    if not tools or any(tool not in ARGUMENTS for tool in tools):
        return
    shared = list(dict.fromkeys(each for tool in sorted(tools) for each in ARGUMENTS[tool]))
    if name in shared or any(name in PASSED_THROUGH[tool] for tool in tools) or name.isdecimal():
        return
    found = f"the unknown argument {quote(name)}"
    expected = f"an argument of {' or '.join(sorted(tools))}: {', '.join(shared)}"
    at.warn(found, expected, "correct it (as it is, the condition never holds)", nearest=closest(name, shared))


def _canonical(alternative: str) -> set[str]:
    """Return hookrun's names of the tools that an alternative of a matcher names; itself if it is a glob or unknown."""
    ours = {native_tools(agent)[alternative] for agent in KNOWN_AGENTS if alternative in native_tools(agent)}
    return {alternative} if alternative in ARGUMENTS or not ours else ours


# --- files

SUFFIX = r"(?:\.local)?\.(?:json[5c]?|toml|ya?ml)"
MISTAKEN: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(rf"\.?(?:coder|hookrun){SUFFIX}", re.IGNORECASE), (*PROJECT_FILES, LOCAL_FILE)),
    (re.compile(rf"\.?(?:coder|hookrun|hooks?){SUFFIX}", re.IGNORECASE), LAYER_FILES),
)
"""In a project, and in the directories of the user and the administrator: names that are nearly one that is read there,
and the names that are."""


def unread_files(found: ConfigFiles, read: Collection[str]) -> Iterator[Diagnostic]:
    """Yield a warning for each file that is not read, but whose name is nearly one of those that are.

    A file of another program is left out: one that is not called after hookrun and holds no hooks.
    """
    project, others = MISTAKEN
    places = dict.fromkeys(found.searched, project)
    places |= dict.fromkeys((MANAGED_DIRECTORY, config_directory(found.home)), others)
    for directory, (mistaken, names) in places.items():
        for name in _listed(directory):
            path = f"{directory.rstrip('/')}/{name}"
            if mistaken.fullmatch(name) and name not in names and path not in read and _has_hooks(path):
                expected = f"one of {', '.join(names)} (hookrun does not read this file)"
                yield Diagnostic(
                    path, 1, 1, "", f"the name {quote(name)}", expected, f"rename it to {names[0]}", severity="warning"
                )


def _listed(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _has_hooks(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return "hookrun" in os.path.basename(path).lower() or b"hooks" in file.read(MAX_BYTES)
    except OSError:
        return True
