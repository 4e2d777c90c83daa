"""Decide whether a hook in Claude Code's form runs: by matcher, `if`, duplicates and other programs that run it."""

from __future__ import annotations

import os

from hookrun.claude import hook_protocol
from hookrun.claude.hook_protocol import LEGACY_TOOLS, MATCHES_ALL, TOOL_EVENTS
from hookrun.core.events import CLAUDE_EVENTS
from hookrun.core.fastjson import format_value
from hookrun.core.globs import glob
from hookrun.core.model import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.core.model import ClaudeForm

WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|")
# Characters of a matcher that lists names; at the events of NARROW only WORD.
LIST = WORD | frozenset(", -")


def why_not(claude: ClaudeForm, context: Mapping[str, object]) -> str | None:
    """Return why the hook does not run in this context, with rule and value, or None."""
    if context.get("agent") == claude.agent and _runs_it(claude, context):
        title = "Claude Code" if claude.agent == "claude" else claude.agent
        return f"{title} runs it itself: it is declared in {title}'s own settings"
    event, matcher = claude.event, claude.matcher or ""
    tool = context.get("tool_name")
    if tool not in claude.tools and not _selects(claude, context):
        value = matcher_subject(event, context)
        what = "tool" if event in TOOL_EVENTS else "file" if event == WATCHED else VALUES.get(event, "value")
        named = format_value(value) if value else "of nothing"
        says = "does not list" if event == WATCHED else _test(matcher, event)[1]
        return f"matcher: {format_value(matcher)} {says} the {what} {named}"
    if claude.text and not fits(claude.text, event, str(as_object(context.get("tool_args")).get("command", ""))):
        return f"matcher: {format_value(matcher)} does not match the command"
    if any(tool in tools or matches(twin, event, context) for twin, tools in claude.twins):
        return "the same handler is declared before and applies: Claude Code runs it once"
    if claude.rule is not None:
        from hookrun.claude import permissions

        return permissions.rule_mismatch(claude.rule, claude, context)
    return None


def _selects(claude: ClaudeForm, context: Mapping[str, object]) -> bool:
    """Return whether the matcher, or for another agent's hook its pattern, matches in a context."""
    if claude.pattern is None or claude.event not in TOOL_EVENTS:
        return matches(claude.matcher or "", claude.event, context)
    tool = str(context.get("tool_name"))
    if claude.mcp and tool.startswith("mcp__") and fits(claude.pattern, claude.event, mcp_name(claude.mcp, tool)):
        return True
    return matches(claude.pattern, claude.event, context)


def mcp_name(form: str, tool: str) -> str:
    """Return `mcp__SERVER__TOOL` in an agent's form, with `{0}` and `{1}` for server and tool."""
    _, server, name = f"{tool}____".split("__", 2)
    return form.format(server, name.removesuffix("____"))


def _runs_it(claude: ClaudeForm, context: Mapping[str, object]) -> bool:
    """Return whether the agent reads the file itself: always, or in its starting project."""
    own = claude.own
    if not isinstance(own, str):
        return own
    started = os.environ.get("CLAUDE_PROJECT_DIR") if claude.agent == "claude" else None
    if started:
        return os.path.realpath(started) == os.path.realpath(own)
    cwd = os.path.realpath(str(context.get("working_dir") or "/"))
    return f"{cwd}/".startswith(f"{os.path.realpath(own).rstrip('/')}/")


def matches(matcher: str, event: str, context: Mapping[str, object]) -> bool:
    """Return whether a matcher matches in a context of its event."""
    if event == WATCHED:
        return _is_watched(matcher, context) and fits(matcher, event, matcher_subject(event, context))
    if matcher in MATCHES_ALL or event in WITHOUT_MATCHER:
        return True
    names = hook_protocol.native_tools(context) if event in TOOL_EVENTS else []
    if any(fits(matcher, event, each) for each in names or [matcher_subject(event, context)]):
        return True
    mcp = [name.replace("-", "_") for name in names if name.startswith("mcp__") and "mcp_" in matcher]
    return "[" not in matcher and any(fits(matcher.replace("-", "_"), event, each) for each in mcp)  # as in conditions


def fits(matcher: str, event: str, value: str) -> bool:
    """Return whether a matcher matches a value: as a list of names, else as a valid expression."""
    return matcher in MATCHES_ALL or _test(matcher, event)[0](value)


def _test(matcher: str, event: str) -> tuple[Callable[[str], bool], str]:
    """Return the test of a value, and the words for a value that fails it."""
    listed = names_in(matcher, event)
    if listed is not None:
        current = [LEGACY_TOOLS.get(name, name) for name in listed]
        return lambda value: LEGACY_TOOLS.get(value, value) in current, "does not list"
    globs = globs_of(matcher)
    if globs is not None:
        return lambda value: any(glob(each, name) for name in _names(value) for each in globs), "does not match"
    from hookrun.claude.regex import Expression, RegexError

    try:
        expression = Expression(matcher)
    except RegexError as error:
        return lambda _value: False, f"matches nothing ({error}), so not"
    return lambda value: any(map(expression.search, _names(value))), "does not match"


def _names(value: str) -> list[str]:
    """Return a name with those that older versions had for the tool."""
    return [value, *(name for name, now in LEGACY_TOOLS.items() if now == value)]


def names_in(matcher: str, event: str) -> list[str] | None:
    """Return the names that a matcher lists, or None if it is a regular expression."""
    narrow = event in NARROW
    if not (WORD if narrow else LIST).issuperset(matcher):
        return None
    listed = matcher if narrow else matcher.replace(",", "|")
    return [name for each in listed.split("|") if (name := each.strip())]


def exact_names(matcher: str, event: str) -> list[str]:
    """Return the names in a matcher: those it lists, or the alternatives of an expression that are no more than one."""
    if (listed := names_in(matcher, event)) is not None:
        return listed
    inner = matcher.removeprefix("^").removesuffix("$").removeprefix("(").removeprefix("?:").removesuffix(")")
    sides = inner.split("|") if {"(", "?"}.isdisjoint(inner) else []
    return [name for each in sides if LIST.issuperset(name := each.removeprefix("^").removesuffix("$")) and name]


def globs_of(matcher: str) -> list[str] | None:
    """Return globs for expressions such as `Edit.*|^mcp__(a|b)__`, None for others: importing `re` takes 8 ms."""
    head, opened, rest = matcher.partition("(")
    inside, closed, tail = rest.partition(")")
    if opened and (not closed or "|" in head or "|" in tail):
        return None
    sides = [f"{head}{side}{tail}" for side in inside.split("|")] if opened else matcher.split("|")
    parts = [head, *inside.split("|"), tail] if opened else []
    return [_glob(side) for side in sides] if all(map(_is_simple, [*sides, *parts])) else None


def _is_simple(side: str) -> bool:
    return (WORD | {"-"}).issuperset(side.removeprefix("^").removesuffix("$").replace(".*", ""))


def _glob(side: str) -> str:
    start, end = "*" * (not side.startswith("^")), "*" * (not side.endswith("$"))
    return start + side.removeprefix("^").removesuffix("$").replace(".*", "*") + end


def _is_watched(matcher: str, context: Mapping[str, object]) -> bool:
    """Return whether the matcher lists the context's file, by name, in the working directory."""
    path, cwd = context.get("file_path"), context.get("working_dir")
    if not isinstance(path, str) or not isinstance(cwd, str):
        return False
    directory, _, name = path.rpartition("/")
    return directory == cwd.rstrip("/") and name in matcher.split("|")


# Event -> the payload field that the matcher is compared with.
VALUES = {
    **{event: field for event, (field, *_) in hook_protocol.WORDS.items()},
    "Notification": "notification_type",
    "SubagentStart": "agent_type",
    "SubagentStop": "agent_type",
    "StopFailure": "error",
}

# Events that ignore matchers.
WITHOUT_MATCHER = frozenset({
    "CwdChanged", "MessageDisplay", "PostToolBatch", "Stop", "TaskCompleted", "TaskCreated", "TeammateIdle",
    "UserPromptSubmit", "WorktreeCreate", "WorktreeRemove",
})  # fmt: skip

# The event whose matcher also lists the watched files.
WATCHED = "FileChanged"

# Events whose matchers are lists only if made of letters, digits, `_` and `|`.
NARROW = frozenset({WATCHED, "StopFailure"})


def matcher_subject(event: str, context: Mapping[str, object]) -> str:
    """Return the value that an event's matcher is compared with, "" if none."""
    if event in TOOL_EVENTS:
        return hook_protocol.native_tool(context) or ""
    if event == WATCHED:
        path = context.get("file_path")
        return path.rpartition("/")[2] if isinstance(path, str) else ""
    if event not in VALUES:
        return ""
    found = hook_protocol.build_payload(CLAUDE_EVENTS[event], context).get(VALUES[event])
    return found if isinstance(found, str) else ""
