"""Claude Code's form of hooks, a map of events and groups: recognised, and taken apart into handlers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hookrun.config.claude_doubts import VOID, doubt_matcher
from hookrun.config.find import CLAUDE_DIRECTORY, CLAUDE_FILES
from hookrun.config.problem import nearest, shown
from hookrun.events import EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.config.parsed import KeyPath
    from hookrun.config.values import Place

NATIVE = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification", "UserPromptSubmit"),
    *("UserPromptExpansion", "SessionStart", "SessionEnd", "Stop", "StopFailure", "SubagentStart", "SubagentStop"),
    *("PreCompact", "PostCompact", "PreModelSwitch", "PostModelSwitch", "PermissionRequest", "PermissionDenied"),
    *("Setup", "TeammateIdle", "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult", "ConfigChange"),
    *("WorktreeCreate", "WorktreeRemove", "InstructionsLoaded", "CwdChanged", "FileChanged", "DirectoryAdded"),
    "MessageDisplay",
)
"""Every event that Claude Code has, by its own name."""

OF_A_HANDLER = frozenset({"type", "command", "args", "url", "timeout", "onFailure", "async", "if", "shell"})
"""Keys that people write beside `matcher` and `hooks`, where Claude Code does not look at them."""

OF_A_GROUP = ("matcher", "hooks")

PLUGIN_FILE = "/hooks/hooks.json"
PLUGIN_MARK = ".claude-plugin/plugin.json"


class Entry(NamedTuple):
    """One handler as it stands: where, for which event by Claude Code's name, under which matcher."""

    path: KeyPath
    event: str
    matcher: str | None
    handler: object


class VoidError(Exception):
    """Claude Code would not take anything from the file; why has been reported."""


def is_map(hooks: object) -> bool:
    """Tell whether `hooks` are in Claude Code's form: a map of events, or of what are groups with hooks."""
    if not isinstance(hooks, dict):
        return False
    return any(key in NATIVE for key in hooks) or any(
        key in EVENTS or any(isinstance(group, dict) and "hooks" in group for group in groups)
        for key, groups in hooks.items()
        if isinstance(groups, list)
    )


def is_settings(path: str) -> bool:
    """Tell by its name whether a file is Claude Code's settings of a project or a person."""
    directory, _, name = path.rpartition("/")
    return name in CLAUDE_FILES and directory.rpartition("/")[2] == CLAUDE_DIRECTORY


def project_of(path: str) -> str:
    """Return the directory of the project whose settings the file is."""
    return os.path.dirname(os.path.dirname(path)) or "."


def plugin_root(path: str) -> str | None:
    """Return the root of the plugin whose hooks the file declares, None where it is no plugin's."""
    root = path.removesuffix(PLUGIN_FILE)
    return root if root != path and os.path.isfile(f"{root}/{PLUGIN_MARK}") else None


def entries(hooks: dict[str, object], at: Place, *, strict: bool) -> list[Entry]:
    """Return the handlers of a map of events, in order; what is no group or handler is reported and left out.

    An unknown event is a warning, if `strict` an error: in a file that Claude Code does not read there is nothing to be
    lenient for. Where Claude Code would reject the file as a whole, nothing is returned.
    """
    try:
        return list(_entries(hooks, at, strict=strict))
    except VoidError:
        return []


def _entries(hooks: dict[str, object], at: Place, *, strict: bool) -> Iterator[Entry]:
    for event, groups in hooks.items():
        here = at.at(event)
        if event not in NATIVE:
            tell = here.report if strict else here.warn
            expected = (
                "an event of Claude Code, by its name" if strict else "an event of Claude Code (it ignores others)"
            )
            tell(f"the unknown event {shown(event)}", expected, "correct it", nearest=nearest(event, NATIVE))
        elif not isinstance(groups, list):
            here.mistaken(groups, "a list of groups", 'write [{"hooks": [...]}]')
        else:
            for index, group in enumerate(groups):
                yield from _of_group(group, event, here.at(index))


def _of_group(group: object, event: str, at: Place) -> Iterator[Entry]:
    if not isinstance(group, dict):
        at.mistaken(group, f"a group: an object with hooks {VOID}", 'write {"matcher": "Bash", "hooks": [...]}')
        return
    matcher = _matcher(group, at)
    if matcher is not None:
        doubt_matcher(matcher, event, at.at("matcher"))
    for key in group:
        if key not in OF_A_GROUP and key not in OF_A_HANDLER and (near := nearest(key, OF_A_GROUP)):
            expected = (
                "matcher or hooks (Claude Code passes others over: without a matcher the hooks run on everything)"
            )
            at.at(key).warn(f"the unknown key {shown(key)}", expected, "correct it", nearest=near)
    for key in sorted(OF_A_HANDLER.intersection(group)):
        at.at(key).warn(f"{key} beside hooks", f"{key} in each of the hooks (here it does nothing)", "move it there")
    handlers = group.get("hooks")
    if not isinstance(handlers, list):
        at.at("hooks").mistaken(handlers, f"a list of handlers {VOID}", 'write [{"type": "command", "command": "..."}]')
        return
    for index, handler in enumerate(handlers):
        yield Entry((*at.path, "hooks", index), event, matcher, handler)


def _matcher(group: dict[str, object], at: Place) -> str | None:
    """Return the matcher of a group. Raises VoidError for what is no text: the whole file is void then."""
    matcher = group.get("matcher")
    here = at.at("matcher")
    if matcher is None:
        if "matcher" in group:
            expected = "a text, or no matcher at all (Claude Code rejects the whole file; here it is everything)"
            here.warn("null", expected, "remove it")
        return None
    if isinstance(matcher, str):
        return matcher
    advice = "write the names in one text"
    if isinstance(matcher, list):
        advice = f"write {shown('|'.join(str(each) for each in matcher))}"
    here.mistaken(matcher, "a text (Claude Code rejects the whole file: none of its hooks is run)", advice)
    raise VoidError
