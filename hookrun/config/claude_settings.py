"""Read hooks in Claude Code's form: a map of events to groups of handlers, each handler made a Hook."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hookrun.claude import tables
from hookrun.claude.tables import HANDLER_TARGETS, NATIVE_EVENTS, TOOL_EVENTS, UNSUPPORTED_HANDLERS
from hookrun.config import command_words
from hookrun.config.claude_lint import VOID, lint_matcher, lint_rule
from hookrun.config.discovery import CLAUDE_DIRECTORY, CLAUDE_FILES
from hookrun.config.schema import (
    HOOK_FIELDS,
    MILLISECONDS,
    TRUSTED_LAYERS,
    WORD,
    Bool,
    Choice,
    Field,
    ListOf,
    Number,
    Str,
    names,
)
from hookrun.config.validate import (
    HEADER_VARIABLE,
    OF_THE_BODY,
    ValidatedHook,
    default_name,
    reject_relative_paths,
    unique_name,
    words_of,
)
from hookrun.config.validate_value import Location, validate_into
from hookrun.events import EVENTS
from hookrun.model import Hook
from hookrun.shell.fire_call import fire_calls
from hookrun.text import closest, quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.config.document import Document
    from hookrun.config.parse import KeyPath
    from hookrun.config.validate import Scope

OF_A_HANDLER = frozenset({"type", "command", "args", "url", "timeout", "onFailure", "async", "if", "shell"})
"""Keys of a handler that Claude Code ignores in a group."""

OF_A_GROUP = ("matcher", "hooks")

PLUGIN_FILE = "/hooks/hooks.json"
PLUGIN_MARK = ".claude-plugin/plugin.json"

OURS = names(HOOK_FIELDS)

FIELDS = names(
    (
        Field("command", OURS["command"].shape, "A shell command line, or with `args` a program."),
        Field("args", ListOf(WORD, "a list of arguments", least=0), "The arguments: no shell is used."),
        Field("url", OURS["url"].shape, "An address that the input is posted to."),
        Field("headers", OURS["headers"].shape, "Headers of the request."),
        Field("allowedEnvVars", OURS["allowed_env"].shape, "The variables that headers may use."),
        Field("timeout", Number(0), "Seconds."),
        Field("if", Str("a permission rule such as Bash(git *)"), "A permission rule."),
        Field("async", Bool(), "Whether it is started and not waited for."),
        Field("asyncRewake", Bool(), "The same, and its exit status 2 wakes Claude."),
        Field("shell", Choice(("bash", "powershell")), "The shell of `command`."),
    )
)
"""Claude Code's fields of a handler that have an effect in hookrun."""

CANONICAL_EVENTS = {theirs: ours for ours, theirs in tables.EVENTS.items()}
"""Claude Code's event -> hookrun's, for events that other agents have as well."""

KNOWN = frozenset({"type", "onFailure", "statusMessage", "once", "rewakeMessage", "rewakeSummary", *FIELDS})
ORDINARY, SESSION_END, LONGEST_END, A_DAY = 600.0, 1.5, 60.0, 86_400.0
TIMEOUTS = {"UserPromptSubmit": 30.0, "PreModelSwitch": 30.0, "PostModelSwitch": 30.0, "MessageDisplay": 10.0}
"""Default timeouts in seconds that differ from ORDINARY."""

NEVER_BLOCKS = frozenset({"Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"})
"""Events on which `onFailure` is ignored."""

FILLED = ("${CLAUDE_PROJECT_DIR}/",)
"""Prefixes of words in `args` that are expanded when the hook runs."""

FROM_DEFAULTS = (
    "agents",
    "env",
    "env_policy",
    "exclusive",
    "files",
    "max_output",
    "mode",
    "on_failure",
    "priority",
    "state",
)
"""The `defaults` that apply to Claude Code's form as well, because it has no such fields."""


class HandlerEntry(NamedTuple):
    """A handler as written: its path, Claude Code's event, its matcher."""

    path: KeyPath
    event: str
    matcher: str | None
    handler: object


class FileDroppedError(Exception):
    """Claude Code would reject the whole file; the error has been reported."""


def is_map(hooks: object) -> bool:
    """Return whether `hooks` are in Claude Code's form: a map of events to groups of handlers."""
    if not isinstance(hooks, dict):
        return False
    return any(key in NATIVE_EVENTS for key in hooks) or any(
        key in EVENTS or any(isinstance(group, dict) and "hooks" in group for group in groups)
        for key, groups in hooks.items()
        if isinstance(groups, list)
    )


def is_settings(path: str) -> bool:
    """Return whether a path is that of Claude Code's settings of a project or user."""
    directory, _, name = path.rpartition("/")
    return name in CLAUDE_FILES and directory.rpartition("/")[2] == CLAUDE_DIRECTORY


def project_of(path: str) -> str:
    """Return the directory of the project that the settings file belongs to."""
    return os.path.dirname(os.path.dirname(path)) or "."


def plugin_root(path: str) -> str | None:
    """Return the root of the plugin that the file belongs to, or None."""
    root = path.removesuffix(PLUGIN_FILE)
    return root if root != path and os.path.isfile(f"{root}/{PLUGIN_MARK}") else None


def entries(hooks: dict[str, object], at: Location, *, strict: bool) -> list[HandlerEntry]:
    """Return the handlers of a map of events, in order; report what is no group or handler.

    An unknown event is a warning, or with `strict` (for files that Claude Code does not read) an error. If Claude Code
    would reject the whole file, nothing is returned.
    """
    try:
        return list(_entries(hooks, at, strict=strict))
    except FileDroppedError:
        return []


def _entries(hooks: dict[str, object], at: Location, *, strict: bool) -> Iterator[HandlerEntry]:
    for event, groups in hooks.items():
        here = at.at(event)
        if event not in NATIVE_EVENTS:
            tell = here.report if strict else here.warn
            expected = (
                "an event of Claude Code, by its name" if strict else "an event of Claude Code (it ignores others)"
            )
            tell(f"the unknown event {quote(event)}", expected, "correct it", nearest=closest(event, NATIVE_EVENTS))
        elif not isinstance(groups, list):
            here.type_error(groups, "a list of groups", 'write [{"hooks": [...]}]')
        else:
            for index, group in enumerate(groups):
                yield from _of_group(group, event, here.at(index))


def _of_group(group: object, event: str, at: Location) -> Iterator[HandlerEntry]:
    if not isinstance(group, dict):
        at.type_error(group, f"a group: an object with hooks {VOID}", 'write {"matcher": "Bash", "hooks": [...]}')
        return
    matcher = _matcher(group, at)
    if matcher is not None:
        lint_matcher(matcher, event, at.at("matcher"))
    for key in group:
        if key not in OF_A_GROUP and key not in OF_A_HANDLER and (near := closest(key, OF_A_GROUP)):
            expected = (
                "matcher or hooks (Claude Code passes others over: without a matcher the hooks run on everything)"
            )
            at.at(key).warn(f"the unknown key {quote(key)}", expected, "correct it", nearest=near)
    for key in sorted(OF_A_HANDLER.intersection(group)):
        at.at(key).warn(f"{key} beside hooks", f"{key} in each of the hooks (here it does nothing)", "move it there")
    handlers = group.get("hooks")
    if not isinstance(handlers, list):
        at.at("hooks").type_error(
            handlers, f"a list of handlers {VOID}", 'write [{"type": "command", "command": "..."}]'
        )
        return
    for index, handler in enumerate(handlers):
        yield HandlerEntry((*at.path, "hooks", index), event, matcher, handler)


def _matcher(group: dict[str, object], at: Location) -> str | None:
    """Return the matcher of a group. Raises FileDroppedError if it is no string."""
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
        advice = f"write {quote('|'.join(str(each) for each in matcher))}"
    here.type_error(matcher, "a text (Claude Code rejects the whole file: none of its hooks is run)", advice)
    raise FileDroppedError


def session_end(entries: list[HandlerEntry]) -> float:
    """Return the seconds that all SessionEnd hooks share: the longest of their timeouts, at most LONGEST_END."""
    given = [
        entry.handler.get("timeout")
        for entry in entries
        if entry.event == "SessionEnd" and isinstance(entry.handler, dict)
    ]
    return min(LONGEST_END, max([SESSION_END, *(float(each) for each in given if isinstance(each, int | float))]))


def validate_handler(
    document: Document, entry: HandlerEntry, scope: Scope, *, ends_in: float = SESSION_END, plugin: str | None = None
) -> ValidatedHook:
    """Validate a handler and make its hook. `ends_in` is the time of SessionEnd hooks, `plugin` the plugin's root."""
    checked = ValidatedHook()
    at = Location(document, entry.path, checked.problems)
    event = CANONICAL_EVENTS.get(entry.event)
    if event is None:
        expected = (
            "an event that other agents have, too (this one only Claude Code itself fires: the hook never runs here)"
        )
        at.warn(entry.event, expected, "leave it to Claude Code")
        return checked
    if not isinstance(entry.handler, dict):
        at.type_error(entry.handler, "a handler: an object with type and command", "write one, or remove the item")
        checked.for_file = [*checked.problems]
        return checked
    calls = fire_calls(str(entry.handler.get("command")))
    if calls:  # our own installation: it runs what is configured here anyway
        others = sorted({other for call in calls for other in call.others})
        if others:
            expected = "a handler for each (what calls hookrun is never run as a hook)"
            at.at("command").warn(f"`hookrun fire` beside {', '.join(others)}", expected, "write two handlers")
        return checked

    given = _given(entry.handler, at)
    type_ = entry.handler.get("type")
    error = _unsupported(type_, given, entry, at)
    kind, target = _target(given, str(type_), plugin)
    if scope.layer in TRUSTED_LAYERS:
        reject_relative_paths({kind: target}, at)
    _doubtful(entry, given, at)
    errors = [str(problem) for problem in checked.problems if problem.severity == "error"]
    fields = {name: scope.defaults[name] for name in FROM_DEFAULTS if name in scope.defaults}
    fields |= _meaning(entry, given, ends_in, default=fields.get("on_failure"))
    claude: dict[str, object] = {"event": entry.event}
    claude |= {key: value for key, value in (("matcher", entry.matcher), ("if", given.get("if"))) if value is not None}
    if plugin is not None:
        claude["plugin_root"] = plugin
    checked.hook = Hook.from_dict(
        {
            **fields,
            "name": unique_name(_name(kind, target, scope) if target else str(type_ or "hook"), scope),
            "events": [event],
            "kind": kind,
            "target": target,
            "layer": scope.layer,
            "source": document.path,
            "line": document.position(entry.path)[0],
            "dialect": "claude",
            "cwd": "event",
            "parallel": True,
            "look": command_words.program_and_script(kind, target, filled=FILLED) if scope.reads_commands else [],
            "words": words_of(kind, target, _variables(fields), "claude", scope),
            "error": "; ".join([*errors, *([error] if error else [])]) or None,
            "claude": claude,
        }
    )
    return checked


def _variables(fields: dict[str, object]) -> dict[str, str]:
    env = fields.get("env")
    return {str(name): str(value) for name, value in env.items()} if isinstance(env, dict) else {}


def _given(handler: dict[str, object], at: Location) -> dict[str, object]:
    """Return the valid fields; report the others, and warn about keys that look misspelled."""
    given: dict[str, object] = {}
    for key, value in handler.items():
        if key in FIELDS:
            validate_into(given, FIELDS[key], value, at)
        elif key not in KNOWN and (near := _near(key)):
            at.at(key).warn(
                f"the unknown key {quote(key)}", "a field that Claude Code knows", "correct it", nearest=near
            )
    return given


def _near(key: str) -> str | None:
    return closest(key.partition("_")[0], KNOWN) if "_" in key else closest(key, KNOWN)


def _unsupported(type_: object, given: dict[str, object], entry: HandlerEntry, at: Location) -> str | None:
    """Return why hookrun cannot run a valid handler, or None; report one that Claude Code would reject."""
    if type_ in UNSUPPORTED_HANDLERS:
        found = f"a handler of type {quote(type_)}"
        at.at("type").warn(found, "command or http (hookrun cannot run this one; Claude Code can)", "leave it there")
        return f"{at.document.path}: {found}, which only Claude Code can run"
    if not isinstance(type_, str) or type_ not in HANDLER_TARGETS:
        expected = '"command" or "http", or "prompt", "agent" or "mcp_tool" for Claude Code alone'
        where = at.at("type") if "type" in (entry.handler if isinstance(entry.handler, dict) else ()) else at
        near = closest(type_, [*HANDLER_TARGETS, *UNSUPPORTED_HANDLERS]) if isinstance(type_, str) else None
        found = f"type {quote(type_)}" if type_ is not None else "no type"
        where.report(found, f"{expected} {VOID}", "correct it", nearest=near)
        return None
    needed = HANDLER_TARGETS[str(type_)]
    if needed not in given and isinstance(entry.handler, dict) and needed not in entry.handler:
        at.report(f"no {needed}", f'a handler of type "{type_}" to have one {VOID}', f'add "{needed}"')
    if given.get("shell") == "powershell" and "args" not in given:
        found = 'shell "powershell"'
        at.at("shell").warn(found, "bash, or args (hookrun runs no PowerShell)", "call pwsh with args")
        return f"{at.document.path}: {found}, which hookrun does not run"
    return None


def _target(given: dict[str, object], type_: str, plugin: str | None) -> tuple[str, str | list[str]]:
    """Return the hook's kind and target."""
    if type_ == "http":
        return "url", str(given.get("url", ""))
    command = _in_plugin(str(given.get("command", "")), plugin)
    arguments = given.get("args")
    if type_ == "command" and isinstance(arguments, list):
        return "args", [command, *(_in_plugin(str(each), plugin) for each in arguments)]
    return "command", command if type_ == "command" else ""


def _name(kind: str, target: str | list[str], scope: Scope) -> str:
    if isinstance(target, list):  # the name of a script does not depend on where the project is
        target = [word.removeprefix(FILLED[0]) for word in target]
    return default_name(kind, target, scope)


def _in_plugin(text: str, plugin: str | None) -> str:
    """Expand the plugin's root, which no shell would know."""
    return text if plugin is None else text.replace("${CLAUDE_PLUGIN_ROOT}", plugin)


def _meaning(entry: HandlerEntry, given: dict[str, object], ends_in: float, default: object) -> dict[str, object]:
    """Translate the handler's fields to those of a hook."""
    handler = entry.handler if isinstance(entry.handler, dict) else {}
    background = given.get("async") is True or given.get("asyncRewake") is True
    wanted = handler.get("onFailure", default or "continue")
    blocks = wanted != "continue" and not background and entry.event not in NEVER_BLOCKS
    timeout = given.get("timeout", ends_in if entry.event == "SessionEnd" else TIMEOUTS.get(entry.event, ORDINARY))
    seconds = float(timeout) if isinstance(timeout, int | float) else ORDINARY
    if entry.event == "SessionEnd":
        seconds = min(seconds, ends_in)
    if given.get("async") is True and given.get("asyncRewake") is not True:
        seconds = A_DAY  # Claude Code applies no timeout to such a hook
    meaning: dict[str, object] = {
        "background": background,
        "on_failure": "block" if blocks else "continue",
        "timeout": seconds,
    }
    allowed = [str(each) for each in _list(given.get("allowedEnvVars"))]
    headers = given.get("headers")
    if isinstance(headers, dict):
        meaning["headers"] = {
            name: _only(allowed, str(value)) for name, value in headers.items() if name.lower() not in OF_THE_BODY
        }
    if allowed:
        meaning["allowed_env"] = allowed
    return meaning


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _only(allowed: list[str], text: str) -> str:
    """Remove the variables that a header is not allowed to use."""
    return HEADER_VARIABLE.sub(lambda found: found[0] if (found[1] or found[2]) in allowed else "", text)


def _doubtful(entry: HandlerEntry, given: dict[str, object], at: Location) -> None:
    """Warn about values that Claude Code accepts but that are rarely intended."""
    timeout = given.get("timeout")
    if isinstance(timeout, float) and timeout >= MILLISECONDS:
        found = f"{timeout:g} seconds"
        at.at("timeout").warn(found, "seconds (these are probably milliseconds)", f"write {timeout / 1000:g}")
    if "if" in given and entry.event in TOOL_EVENTS:
        lint_rule(str(given["if"]), at.at("if"))
    elif "if" in given:
        expected = f"if only on {', '.join(sorted(TOOL_EVENTS))} (here the hook never runs)"
        at.at("if").warn(f"if on {entry.event}", expected, "remove it")
    handler = entry.handler if isinstance(entry.handler, dict) else {}
    if handler.get("onFailure", "continue") not in ("continue", "block"):
        at.at("onFailure").warn(
            quote(handler["onFailure"]), '"continue" or "block" (it is read as block)', "correct it"
        )
    for name in headers if isinstance(headers := given.get("headers"), dict) else ():
        if name.lower() in OF_THE_BODY:
            expected = "no header that says where the body ends (it is ignored)"
            at.at("headers", name).warn(f"the header {quote(name)}", expected, "remove it")
    if handler.get("once") is True:
        at.at("once").warn("once", "nothing (Claude Code obeys it in skills only)", "remove it")
    if given.get("asyncRewake") is True:
        at.at("asyncRewake").warn(
            "asyncRewake", "nothing to wake: here it is the same as async", "expect no more of it"
        )
