"""Read hooks in the form of Claude Code or another agent (a map of events to groups of handlers) as Hooks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from hookrun.agents.claude import DEFAULT_TIMEOUTS, EVENTS as AGENT_EVENTS, MAX_TIMEOUTS, TOOLS as CLAUDES_TOOLS
from hookrun.agents.dialects import Dialect, dialect
from hookrun.claude import hook_protocol
from hookrun.claude.hook_protocol import HANDLER_TARGETS, NATIVE_EVENTS, TOOL_EVENTS, UNSUPPORTED_HANDLERS
from hookrun.claude.matcher import WITHOUT_MATCHER, exact_names
from hookrun.config import validate
from hookrun.config.command_words import FILLED_IN
from hookrun.config.discovery import CLAUDE_DIRECTORY, CLAUDE_FILES
from hookrun.config.document import Document, Location, errors_in
from hookrun.config.parse import KeyPath
from hookrun.config.schema import WORD
from hookrun.config.shapes import BOOL, NUMBER, Choice, ListOf, Shape, Str, texts, validate_into
from hookrun.core.events import CLAUDE_EVENTS, EVENTS, TOOLS
from hookrun.core.model import UNTRUSTED_LAYERS, as_object
from hookrun.core.text import did_you_mean, one_of, quote, suggest
from hookrun.shell.fire_call import fire_calls, handler_line

OF_A_GROUP = ("matcher", "hooks")

PLUGIN_FILE = "/hooks/hooks.json"
PLUGIN_MARK = ".claude-plugin/plugin.json"

# Claude Code's handler fields that hookrun applies.
FIELDS: dict[str, Shape] = {
    "command": validate.FIELDS["command"].shape,
    "args": ListOf(WORD, "a list of arguments", least=0),
    "url": validate.FIELDS["url"].shape,
    "headers": validate.FIELDS["headers"].shape,
    "allowedEnvVars": validate.FIELDS["allowed_env"].shape,
    "timeout": NUMBER,
    "if": Str("a permission rule such as Bash(git *)"),
    "async": BOOL,
    "asyncRewake": BOOL,
    "shell": Choice(("bash", "powershell")),
}

KNOWN = frozenset({"type", "onFailure", "statusMessage", "once", "rewakeMessage", "rewakeSummary", *FIELDS})
A_DAY = 86_400.0

# Claude Code's reaction to an unreadable file (measured with 2.1.329); hookrun runs the other hooks.
VOID = " (Claude Code rejects the whole file)"

# The `defaults` that also apply to Claude Code's form, which lacks such fields.
FROM_DEFAULTS = (
    "agents", "env", "env_policy", "exclusive", "files", "max_output", "mode", "on_block", "on_failure", "priority",
    "state",
)  # fmt: skip


# Keys of other agents' handlers with effects of their own.
OTHERS: dict[str, Shape] = {"cwd": validate.FIELDS["cwd"].shape, "env": validate.FIELDS["env"].shape}


class HandlerEntry(NamedTuple):
    """A handler as written: its path, its agent's event, its matcher; an `error` of its group fails it."""

    path: KeyPath
    event: str
    matcher: str | None
    handler: object
    error: str = ""
    grouped: bool = True


def is_map(hooks: object) -> bool:
    """Return whether `hooks` are in Claude Code's form."""
    if not isinstance(hooks, dict):
        return False
    return any(key in NATIVE_EVENTS for key in hooks) or any(
        isinstance(group, dict) and "hooks" in group
        for key, groups in hooks.items()
        if isinstance(groups, list) and key != "hooks"
        for group in groups
    )


def is_settings(path: str) -> bool:
    """Return whether a path names a project's or user's Claude Code settings."""
    directory, _, name = path.rpartition("/")
    return name in CLAUDE_FILES and directory.rpartition("/")[2] == CLAUDE_DIRECTORY


def project_of(path: str) -> str:
    """Return the project directory of a settings file."""
    return os.path.dirname(os.path.dirname(path)) or "."


def plugin_root(path: str) -> str | None:
    """Return the root of the plugin around a file, or None."""
    directory = os.path.dirname(path)
    while directory.strip("/") and not os.path.isfile(f"{directory}/{PLUGIN_MARK}"):
        directory = os.path.dirname(directory)
    return directory if directory.strip("/") else None


def entries(hooks: dict[str, object], at: Location, *, strict: bool, agent: str = "claude") -> Iterator[HandlerEntry]:
    """Yield the handlers of a map of an agent's events, in order; report invalid ones and invalid groups.

    An unknown event is a warning; with `strict`, for files that the agent does not read, an error. Where Claude Code
    would reject the whole file, only the wrong part of it does not count: a guard beside it must run in other agents.
    """
    form = dialect(agent)
    known = NATIVE_EVENTS if agent == "claude" else tuple(form.events)
    for event, groups in hooks.items():
        here = at.at(event)
        if event not in known:
            native = next((name for name in known if form.events.get(name) == EVENTS.get(event, "")), None)
            hint = suggest(native) or did_you_mean(event, known, "remove it")
            report = here.report if strict else here.warn
            report(f"{form.title} has no event {quote(event)}", hint)
        elif not isinstance(groups, list):
            here.type_error(groups, "a list of groups", 'write [{"hooks": [...]}]')
        else:
            for index, group in enumerate(groups):
                yield from _of_group(group, event, here.at(index), form)


def _of_group(group: object, event: str, at: Location, form: Dialect) -> Iterator[HandlerEntry]:
    if not isinstance(group, dict):
        at.type_error(group, "an object with `hooks`", 'write {"matcher": "Bash", "hooks": [...]}', note=_void(form))
        return
    matcher, error = _matcher(group, at, form)
    grouped = "hooks" in group or not form.form.get("flat")
    if matcher is not None:
        from hookrun.config.lint import lint_matcher  # most configs have another form

        if form.name == "claude":
            lint_matcher(matcher, event, at.at("matcher"))
        else:
            _lint_others_matcher(matcher, event, at.at("matcher"), form, grouped=grouped)
    if not grouped:
        yield HandlerEntry(at.path, event, matcher, group, error, grouped=False)
        return
    for key in group:
        if key not in OF_A_GROUP and key not in KNOWN and (hint := did_you_mean(key, OF_A_GROUP)):
            at.at(key).warn(f"{form.title} ignores the unknown key {quote(key)}", hint)
    for key in sorted(KNOWN.intersection(group)):
        at.at(key).warn(f"`{key}` has no effect beside `hooks`", "move it into each of the hooks")
    handlers = group.get("hooks")
    if not isinstance(handlers, list):
        hint = 'write [{"type": "command", "command": "..."}]'
        at.at("hooks").type_error(handlers, "a list of handlers", hint, note=_void(form))
        return
    for index, handler in enumerate(handlers):
        yield HandlerEntry((*at.path, "hooks", index), event, matcher, handler, error)


def _lint_others_matcher(matcher: str, event: str, at: Location, form: Dialect, *, grouped: bool) -> None:
    """Warn about a matcher of another agent's hook that has no effect or never matches."""
    if event not in form.events or (matcher in hook_protocol.MATCHES_ALL and grouped):
        return
    claudes = form.claudes_event(event)
    if claudes in WITHOUT_MATCHER:
        at.warn(f"{form.title} ignores the matcher of {event}: the hook always runs", "remove it")
        return
    selection = form.selection(event, matcher, grouped=grouped)
    pattern = str(selection.get("text", selection.get("pattern", "")))
    if not pattern or claudes not in TOOL_EVENTS or selection.get("tools"):
        return
    from hookrun.claude.regex import Expression, RegexError  # few patterns get here

    try:
        expression = Expression(pattern)
    except RegexError as error:
        at.warn(f"invalid regular expression {quote(matcher)}: it never matches", str(error))
        return
    if not any(map(expression.search, form.tools)) and "mcp" not in matcher.lower():
        hint = did_you_mean(matcher, form.tools, f"use {one_of(form.tools)}")
        at.warn(f"{form.title} has no tool {quote(matcher)}: it never matches", hint)


def _void(form: Dialect) -> str:
    return VOID if form.name == "claude" else ""


def _matcher(group: dict[str, object], at: Location, form: Dialect) -> tuple[str | None, str]:
    """Return a group's matcher, None for all tools, and the error if it is not a string."""
    matcher = group.get("matcher")
    here = at.at("matcher")
    if matcher is None:
        if "matcher" in group and form.name == "claude":
            message = "`matcher` is null: Claude Code rejects the whole file; hookrun matches everything"
            here.warn(message, "remove it")
        return None, ""
    if isinstance(matcher, str):
        return matcher, ""
    hint = "write all names in one string"
    if isinstance(matcher, list):
        hint = f"write {quote('|'.join(str(each) for each in matcher))}"
    here.type_error(matcher, "a string", hint, note=_void(form))
    return None, here.problems[-1].text


def _others_tools(matcher: str | None, event: str) -> list[str] | None:
    """Return hookrun's names of the tools that a matcher lists by names that Claude Code does not have."""
    listed = exact_names(matcher or "", event) if event in TOOL_EVENTS else ()
    others = [name for name in listed if name not in {**CLAUDES_TOOLS, **hook_protocol.LEGACY_TOOLS}]
    return [name for name in validate.with_canonical_names(others) if name in TOOLS] or None


def session_end(entries: list[HandlerEntry]) -> float:
    """Return the seconds shared by all SessionEnd hooks: their longest timeout, up to Claude Code's limit."""
    handlers = [as_object(entry.handler) for entry in entries if entry.event == "SessionEnd"]
    given = [handler.get("timeout") for handler in handlers]
    seconds = [float(each) for each in given if isinstance(each, int | float)]
    return min(MAX_TIMEOUTS["SessionEnd"], max([DEFAULT_TIMEOUTS["SessionEnd"], *seconds]))


def validate_handler(
    document: Document,
    entry: HandlerEntry,
    scope: validate.Scope,
    *,
    ends_in: float,
    plugin: str | None,
    agent: str = "claude",
) -> validate.ValidatedHook:
    """Validate an agent's handler and make its hook.

    `ends_in` is the time of Claude Code's SessionEnd hooks, `plugin` the root of its plugin.
    """
    checked = validate.ValidatedHook(entry.path)
    at = Location(document, entry.path, checked.problems)
    form = dialect(agent)
    claudes = agent == "claude"
    event = (CLAUDE_EVENTS if claudes else form.events).get(entry.event)
    if event is None:
        instead = hook_protocol.EVENTS.get(AGENT_EVENTS.get(entry.event, "")) if claudes else None
        hint = f"write it under `{instead}`, which hookrun runs there, too" if instead else None
        at.warn(f"only {form.title} has the event `{entry.event}`: hookrun never runs this hook", hint)
        return checked
    handler = entry.handler
    if not isinstance(handler, dict):
        at.type_error(handler, "an object", 'write {"type": "command", "command": "..."}, or remove it')
        checked.for_file = [*checked.problems]
        return checked
    handler = handler if claudes else in_claudes_keys(handler, form)
    calls = fire_calls(str(handler_line(handler)))
    if calls:  # our own installation runs what is configured here anyway
        others = sorted({other for call in calls for other in call.others})
        if others:
            message = f"hookrun never runs a handler that calls `hookrun fire`, so {', '.join(others)} does not run"
            at.at("command").warn(message, "write a handler for each")
        return checked

    given = _given(handler, at, form)
    type_ = str(handler.get("type") or "hook")
    error = _unsupported(handler, given, at, form)
    ran = _target(given, type_, plugin)
    if scope.layer not in UNTRUSTED_LAYERS:
        validate.reject_relative_paths(ran, at)
    _doubtful(entry.event if claudes else form.claudes_event(entry.event), handler, given, at, form)
    values = {name: scope.defaults[name] for name in FROM_DEFAULTS if name in scope.defaults}
    handler = {"onFailure": values.get("on_failure") or "continue", **handler}
    values |= _meaning(entry.event if claudes else form.claudes_event(entry.event), handler, given, ends_in)
    values |= {
        **ran,
        "dialect": agent,
        "parallel": True,
        "name": validate.unique_name(scope.prefix + str(handler.get("name") or _name(ran, type_, scope)), scope),
    }
    claude = {"event": entry.event, "matcher": entry.matcher, "if": given.get("if"), "plugin_root": plugin}
    claude |= {"tools": _others_tools(entry.matcher, entry.event), "rewakes": given.get("asyncRewake")}
    if not claudes:
        claude = form.selection(entry.event, entry.matcher, grouped=entry.grouped)
        timeout = given.get("timeout")
        values["timeout"] = form.seconds(entry.event, float(timeout) if isinstance(timeout, int | float) else None)
        values |= {name: given[name] for name in OTHERS if name in given}
    values["claude"] = {key: value for key, value in claude.items() if value is not None}
    checked.hook = validate.make_hook(values, [event], at, scope)
    errors = [problem.text for problem in errors_in(checked.problems)]
    errors += [each for each in (error, entry.error) if each]
    checked.hook.error = "; ".join(errors) or None
    return checked


def in_claudes_keys(handler: dict[str, object], form: Dialect) -> dict[str, object]:
    """Return another agent's handler with Claude Code's keys."""
    keys = form.form.get("keys", {})
    renamed = {new: handler[old] for old, new in reversed(keys.items()) if old in handler}
    found = {"type": "command", **{name: value for name, value in handler.items() if name not in keys}, **renamed}
    if isinstance(found.get("onFailure"), bool):
        found["onFailure"] = "block" if found["onFailure"] else "continue"
    return found


def _given(handler: dict[str, object], at: Location, form: Dialect) -> dict[str, object]:
    given: dict[str, object] = {}
    fields = FIELDS if form.name == "claude" else {**FIELDS, **OTHERS}
    known = {*KNOWN, *fields, *OF_A_GROUP, *form.form.get("without_effect", ())}
    for key, value in handler.items():
        if key in fields:
            validate_into(given, key, fields[key], value, at)
        elif key not in known and (hint := did_you_mean(key.partition("_")[0], KNOWN)):
            at.at(key).warn(f"{form.title} ignores the unknown key {quote(key)}", hint)
    return given


def _unsupported(handler: dict[str, object], given: dict[str, object], at: Location, form: Dialect) -> str | None:
    """Return why hookrun cannot run a valid handler, or None; report any that its agent would reject."""
    type_ = handler.get("type")
    if type_ in UNSUPPORTED_HANDLERS:
        message = f"only {form.title} can run handlers of type {quote(type_)}"
        at.at("type").warn(message)
        return f"{at.document.path}: {message}"
    if not isinstance(type_, str) or type_ not in HANDLER_TARGETS:
        where = at.at("type") if "type" in handler else at
        message = f"unknown handler type {quote(type_)}" if type_ is not None else "the handler has no `type`"
        hint = did_you_mean(type_, [*HANDLER_TARGETS, *UNSUPPORTED_HANDLERS], 'write "type": "command" or "http"')
        where.report(f"{message}{_void(form)}", hint)
        return None
    needed = HANDLER_TARGETS[type_]
    if needed not in handler:
        at.report(f'a handler of type "{type_}" needs `{needed}`{_void(form)}', f"add `{needed}`")
    if given.get("shell") == "powershell" and "args" not in given:
        message = "hookrun does not run PowerShell commands"
        at.at("shell").warn(message, "run `pwsh` with `args`")
        return f"{at.document.path}: {message}"
    return None


def _target(given: dict[str, object], type_: str, plugin: str | None) -> validate.Values:
    """Return the one of KINDS that a handler runs, with the plugin's root, which no shell knows, filled in."""
    if type_ == "http":
        return {"url": given.get("url", "")}
    words = [str(given.get("command", "")), *texts(given, "args")]
    if plugin is not None:
        words = [word.replace("${CLAUDE_PLUGIN_ROOT}", plugin) for word in words]
    if type_ == "command" and "args" in given:
        return {"args": words}
    return {"command": words[0] if type_ == "command" else ""}


def _name(ran: validate.Values, type_: str, scope: validate.Scope) -> str:
    (kind,) = ran
    target = validate.target_of(ran, kind)
    if isinstance(target, list):  # a script's name does not depend on where the project is
        target = [word.removeprefix(FILLED_IN[0]) for word in target]
    return validate.default_name(kind, target, scope) if target else type_


def _meaning(event: str, handler: dict[str, object], given: dict[str, object], ends_in: float) -> dict[str, object]:
    background = given.get("async") is True or given.get("asyncRewake") is True
    blocks = handler["onFailure"] != "continue" and not background and event not in hook_protocol.CONTINUES_TURN
    ordinary = ends_in if event == "SessionEnd" else DEFAULT_TIMEOUTS.get(event, DEFAULT_TIMEOUTS[""])
    timeout = given.get("timeout")
    seconds = float(timeout) if isinstance(timeout, int | float) else ordinary
    if event == "SessionEnd":
        seconds = min(seconds, ends_in)
    if given.get("async") is True and given.get("asyncRewake") is not True:
        seconds = A_DAY  # Claude Code applies no timeout here
    meaning: dict[str, object] = {
        "background": background,
        "on_failure": "block" if blocks else "continue",
        "timeout": seconds,
    }
    allowed = texts(given, "allowedEnvVars")
    if allowed:
        meaning["allowed_env"] = allowed
    if "headers" in given:
        meaning["headers"] = {
            name: validate.HEADER_VARIABLE.sub(
                lambda found: found[0] if (found[1] or found[2]) in allowed else "", str(value)
            )
            for name, value in as_object(given["headers"]).items()
            if name.lower() not in validate.OF_THE_BODY
        }
    return meaning


def _doubtful(event: str, handler: dict[str, object], given: dict[str, object], at: Location, form: Dialect) -> None:
    """Warn about values that the agent accepts but that are rarely intended."""
    if "milliseconds_from" not in form.form:
        at.at("timeout").warn_milliseconds(given.get("timeout"))
    if "if" in given and event in TOOL_EVENTS:
        from hookrun.config.lint import lint_rule

        lint_rule(str(given["if"]), at.at("if"))
    elif "if" in given:
        message = f"`if` works only on events with a tool: on {event} the hook never runs"
        at.at("if").warn(message, "remove it")
    if handler.get("onFailure", "continue") not in ("continue", "block"):
        message = f"unknown `onFailure` {quote(handler['onFailure'])} is read as block"
        at.at("onFailure").warn(message, 'write "continue" or "block"')
    for name in as_object(given.get("headers")):
        if name.lower() in validate.OF_THE_BODY:
            at.at("headers", name).warn(f"the header {quote(name)} is ignored: hookrun sets it itself", "remove it")
    if handler.get("once") is True:
        at.at("once").warn("`once` has an effect only in skills", "remove it")
