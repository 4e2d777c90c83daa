"""Validate a hook's entry or a file's settings, and make the hook."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from hookrun.agents.claude import TOOLS as CLAUDE_TOOLS
from hookrun.config import command_words, schema
from hookrun.config.discovery import UNREAD
from hookrun.config.document import Diagnostic, Document, Location, errors_in
from hookrun.config.parse import KeyPath
from hookrun.config.shapes import names, texts, validate_into
from hookrun.core.events import UnknownEventError, resolve_event
from hookrun.core.globs import glob
from hookrun.core.model import UNTRUSTED_LAYERS, Hook, as_object
from hookrun.core.text import closest, one_of, quote, suggest

# Limit on a project's hooks that can be approved, and whose commands are read.
MAX_PROJECT_HOOKS = 500

SETTING_FIELDS = names(schema.SETTINGS)
Values = dict[str, object]
CLAUDE_GROUP = 'write {"event": ..., "command": ...}, or use Claude Code\'s form: "hooks": {"PreToolUse": [...]}'


@dataclass(eq=False, slots=True)
class ValidatedHook:
    """A validated entry: its `hook`, None if no event is valid, its `path` and its `problems`.

    Problems that leave the hook's events unknown are errors of the whole file, also in `for_file`.
    """

    path: KeyPath = ()
    hook: Hook | None = None
    problems: list[Diagnostic] = field(default_factory=list)
    for_file: list[Diagnostic] = field(default_factory=list)


def validate_hook(
    document: Document, path: KeyPath, entry: object, scope: Scope, before: Iterable[Diagnostic] = ()
) -> ValidatedHook:
    """Validate the entry at `path` and make its hook, whose name is added to `scope`.

    `before` are problems already found in the entry.
    """
    checked = ValidatedHook(path, problems=list(before))
    at = Location(document, path, checked.for_file)
    if not isinstance(entry, dict):
        at.type_error(entry, "an object", 'write {"event": ..., "command": ...}, or remove it')
        checked.problems = checked.for_file
        return checked
    events = _events(entry, at, scope)
    at.problems = checked.problems
    values = _values(entry, at)
    _name_is_free(values, at, scope)
    effective = {**_defaults_for(values, entry, scope), **values}
    require_one_kind(entry, at)
    check_combinations(effective, entry, at, scope)
    if not events:
        checked.problems += checked.for_file
        return checked
    if scope.warns:
        from hookrun.config.lint import warn_suspicious  # not needed in a run: no warning changes what a hook does

        warn_suspicious(effective, events, entry, at, scope.events)
    if errors_in(checked.problems) and not _on_failure_is_known(entry):
        effective["on_failure"] = "block"
    checked.problems[:0] = checked.for_file
    checked.hook = make_hook(effective, events, at, scope)
    # It keeps its place and fails when it would run; only an entry without a readable event, or an unreadable file, is
    # a problem of the whole run.
    checked.hook.error = "; ".join(problem.text for problem in errors_in(checked.problems)) or None
    return checked


def _events(entry: Values, at: Location, scope: Scope) -> list[str]:
    if "event" not in entry:
        if "hooks" in entry:
            at.report("a group in Claude Code's form in a list of hooks", CLAUDE_GROUP)
            return []
        near = closest("event", [key for key in entry if key not in FIELDS])
        hint = f'rename {quote(near)} to "event"' if near else 'add "event": "pre_tool_use" or another event'
        at.report("the hook has no event", hint)
        return []
    value = entry["event"]
    here = at.at("event")
    if not isinstance(value, list):
        return [name for name in [_event(value, here, scope)] if name]
    if not value:
        here.type_error(value, "an event or a list of events", "add an event")
    found: list[str] = []
    for index, item in enumerate(value):
        name = _event(item, here.at(index), scope)
        if name in found:
            here.at(index).report(f"duplicate event {quote(item)}", "remove it")
        elif name:
            found.append(name)
    return found


def _event(value: object, at: Location, scope: Scope) -> str | None:
    if not isinstance(value, str):
        at.type_error(value, schema.EVENT.says)
        return None
    try:
        return resolve_event(value, scope.events)
    except UnknownEventError as error:
        hint = suggest(error.closest, "declare your program's own events in `hookrun.events`")
        at.report(f"unknown event {quote(value)}", hint)
        return None


def _values(entry: Values, at: Location) -> Values:
    values: Values = {}
    for key, value in entry.items():
        if key == "event":
            continue
        if key in FIELDS:
            validate_into(values, key, FIELDS[key].shape, value, at)
        else:
            fields = [*FIELDS, *names(schema.RECIPE_FIELDS)]
            hint = OFF if key in SWITCHES else suggest(schema.SYNONYMS.get(key))
            at.unknown_key(key, "hook field", fields, hint)
    if "matcher" in values:
        split_matcher(values)
    return values


def split_matcher(values: Values) -> None:
    """Replace the matcher in `values`, a string or several, by its list of alternatives."""
    written = texts(values, "matcher")
    values["matcher"] = [each for text in written for each in text.split("|")] if written != [""] else ["*"]


def _defaults_for(values: Values, entry: Values, scope: Scope) -> Values:
    return {
        name: value
        for name, value in scope.defaults.items()
        if (name not in schema.REQUIRES or schema.REQUIRES[name] in values) and (name not in entry or name in values)
    }


def _on_failure_is_known(entry: Values) -> bool:
    """Return whether `on_failure` is absent or valid: a misspelled one must not mean the default."""
    if "on_failure" in entry:
        return entry["on_failure"] in ("continue", "block")
    return all(likely_field(key) != "on_failure" for key in entry if key not in FIELDS)


def _name_is_free(values: Values, at: Location, scope: Scope) -> None:
    name = values.get("name")
    if isinstance(name, str):
        if name in scope.named:
            at.at("name").report(f"duplicate hook name {quote(name)}", "choose another name")
        scope.named.add(name)


def make_hook(values: Values, events: list[str], at: Location, scope: Scope) -> Hook:
    """Return an entry's hook with what it executes, or only the reason if its command is not read."""
    from hookrun.config.executed import executed
    from hookrun.config.references import state_that_is_code

    fields = {key: value for key, value in values.items() if key not in schema.KINDS}
    kind = next((each for each in schema.KINDS if each in values), "command")
    target = target_of(values, kind)
    if not isinstance(fields.get("name"), str):
        fields["name"] = unique_name(default_name(kind, target, scope), scope)
    dialect = str(fields.get("dialect", ""))
    if dialect == "claude":
        fields.setdefault("cwd", "event")
    if isinstance(fields.get("matcher"), list):
        fields["matcher"] = with_canonical_names(texts(fields, "matcher"), dialect)
    look: list[str] = []
    words = [f"{UNREAD}the project has more than {MAX_PROJECT_HOOKS} hooks, or too long ones: remove some"]
    if scope.reads_commands:
        variables = {name: str(text) for name, text in as_object(fields.get("env")).items()}
        look = command_words.program_and_script(kind, target, dialect)
        words = executed(kind, target, variables, dialect).code
    for path in state_that_is_code(words, texts(fields, "state")):
        message = f"the hook executes {quote(path)}, so it cannot be in `state`"
        at.at("state").report(message, "remove it from `state`")
    line, _ = at.document.position(at.path)
    fields |= {"kind": kind, "target": target, "layer": scope.layer, "source": at.document.path, "line": line}
    return Hook.from_dict({**fields, "events": events, "look": look, "words": words})


def with_canonical_names(matcher: list[str], dialect: str = "") -> list[str]:
    """Return a matcher with hookrun's names for the tools that it names by an agent's: other agents have other names.

    In Claude's dialect a pattern is one of Claude Code's names, too.
    """
    ours: list[str] = []
    if unknown := [each for each in matcher if each not in CLAUDE_TOOLS.values()]:
        from hookrun.agents.known_tools import canonical_tools  # loads every agent

        ours += [name for each in unknown for name in canonical_tools(each)]
    if dialect == "claude":
        ours += [name for native, name in CLAUDE_TOOLS.items() if any(glob(pattern, native) for pattern in matcher)]
    return list(dict.fromkeys([*matcher, *(name for name in ours if not any(glob(each, name) for each in matcher))]))


def validate_settings(document: Document, value: object, layer: str) -> tuple[Values, list[Diagnostic]]:
    """Return a file's valid settings, and the problems of the others."""
    at = Location(document, ("hookrun",))
    settings: Values = {}
    if not isinstance(value, dict):
        at.type_error(value, "an object of settings", 'write "hookrun": {}')
        return settings, at.problems
    for key, item in value.items():
        if key not in SETTING_FIELDS:
            hint = "move it into a hook or into `hookrun.defaults`" if key in FIELDS else None
            at.unknown_key(key, "setting", SETTING_FIELDS, hint)
        elif key in schema.TRUSTED_SETTINGS and layer in UNTRUSTED_LAYERS:
            message = f"`{key}` cannot be set in a {layer} file"
            at.at(key).report(message, "set it in your own config (~/.config/hookrun/hooks.json), or remove it")
        else:
            validate_into(settings, key, SETTING_FIELDS[key].shape, item, at)
        defaults = settings.get(key)
        if key == "defaults" and isinstance(defaults, dict) and layer not in UNTRUSTED_LAYERS:
            before = len(at.problems)
            reject_relative_paths(defaults, at.at(key))
            for problem in at.problems[before:]:
                defaults.pop(problem.key.rpartition(".")[2], None)
    return settings, at.problems


FIELDS = names(schema.HOOK_FIELDS)
# Lower-case headers that delimit a request's body, set by the HTTP client.
OF_THE_BODY = frozenset({"content-length", "transfer-encoding"})

HEADER_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


def require_one_kind(entry: Values, at: Location) -> None:
    """Report an entry that runs nothing, or several things."""
    written = [kind for kind in schema.KINDS if kind in entry]
    if not written and any(likely_field(key) in schema.KINDS for key in entry if key not in FIELDS):
        return
    kinds = [f"`{kind}`" for kind in written or schema.KINDS]
    if not written:
        at.report("the hook has nothing to run", f"add {one_of(kinds)}")
    elif len(written) > 1:
        at.report(f"a hook cannot have {one_of(kinds, 'and')}", "keep one of them")


def check_combinations(values: Values, entry: Values, at: Location, scope: Scope) -> None:
    """Report fields that are valid alone but not together."""
    for name, kind in schema.REQUIRES.items():
        if name in entry and kind not in entry:
            at.at(name).report(f"`{name}` needs `{kind}`", f"add `{kind}`, or remove `{name}`")
    if entry.get("serve") and "url" in entry:
        at.at("serve").report("a `url` hook has no program to keep running", "remove `serve`")
    if values.get("background") is True and values.get("on_failure") == "block":
        where = at.at("on_failure" if "on_failure" in entry else "background")
        where.report("a background hook cannot block", 'remove `background`, or `on_failure: "block"`')
    if "overridable" in entry and scope.layer != "managed":
        at.at("overridable").warn("`overridable` has an effect only in a managed file", "remove it")
    _headers(values, at)
    _host(values, at)
    if scope.layer not in UNTRUSTED_LAYERS:
        reject_relative_paths(values, at)


def _headers(values: Values, at: Location) -> None:
    allowed = texts(values, "allowed_env")
    for name, text in as_object(values.get("headers")).items():
        if name.lower() in OF_THE_BODY:
            at.at("headers", name).report(f"hookrun sets the header {quote(name)} itself", "remove it")
        for match in HEADER_VARIABLE.finditer(str(text)):
            variable = match.group(1) or match.group(2)
            if variable not in allowed:
                message = f"environment variable `{variable}` is not in `allowed_env`"
                at.at("headers", name).report(message, f'add "allowed_env": ["{variable}"]')


def _host(values: Values, at: Location) -> None:
    url = values.get("url")
    if not isinstance(url, str):
        return
    try:
        parts = urlsplit(url)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        at.at("url").type_error(url, "an http or https URL with a host", "write http://host/path")


# Fields of others that turn a hook on or off.
SWITCHES = frozenset({"disabled", "enabled"})
OFF = 'write "mode": "off" to turn the hook off, and nothing to have it on'
RELATIVE = "relative path in a user or managed hook, which could run a project's file"
ABSOLUTE = "write the absolute path"


def reject_relative_paths(values: Values, at: Location) -> None:
    """Report relative paths of managed and user hooks: in a project, it could replace them."""
    for kind in ("command", "args"):
        for word in command_words.relative_words(kind, target_of(values, kind)):
            at.at(kind).report(f"{RELATIVE}: {quote(word)}", ABSOLUTE)
    interpreter = values.get("interpreter")
    if isinstance(interpreter, str) and "/" in interpreter and not interpreter.startswith(("/", "~/")):
        at.at("interpreter").report(f"{RELATIVE}: {quote(interpreter)}", ABSOLUTE)
    cwd = values.get("cwd", "project")
    if not isinstance(cwd, str) or cwd.startswith(("/", "~/")):
        return
    if "python" in values:
        message = "without an absolute `cwd`, a user or managed `python` hook could import a project's module"
        at.at("python").report(message, "set `cwd` to the module's directory")
    elif cwd not in {"project", "event"}:
        at.at("cwd").report(f"{RELATIVE}: {quote(cwd)}", f'{ABSOLUTE}, "project" or "event"')


def likely_field(key: str) -> str | None:
    """Return the likely field meant by an unknown key, or None."""
    return schema.SYNONYMS.get(key) or closest(key, FIELDS)


def target_of(values: Values, kind: str) -> str | list[str]:
    """Return the value of one of KINDS; an empty string if it is missing."""
    value = values.get(kind, "")
    return [str(word) for word in value] if isinstance(value, list) else str(value)


SPEAKING = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(slots=True)
class Scope:
    """The context for validating a file's hooks: its layer, its defaults, the host program's own events.

    `named` are the explicit names so far, `reserved` names that generated ones avoid, `numbers` the last suffix of each
    generated name, `prefix` what a plugin's begin with. Without `warns` only errors are looked for; without
    `reads_commands` commands are not read.
    """

    layer: str
    events: frozenset[str] = frozenset()
    defaults: Values = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    reserved: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    warns: bool = True
    reads_commands: bool = True
    prefix: str = ""


def default_name(kind: str, target: str | list[str], scope: Scope) -> str:
    """Return the name of an unnamed hook: its script or program, host, or function."""
    if kind == "python":
        return str(target).rpartition(":")[2] or "hook"
    if kind == "url":
        return _speaking(re.split("[/?#]", str(target).partition("://")[2])[0].rpartition("@")[2].partition(":")[0])
    look = command_words.program_and_script(kind, target) if scope.reads_commands else []
    if look:
        base = os.path.basename(look[-1])  # a word of a command line, not our own path
        return _speaking(base.rpartition(".")[0].lstrip(".") or base)
    return _speaking(target if isinstance(target, str) else " ".join(target))


def _speaking(text: str) -> str:
    match = SPEAKING.search(text)
    return match.group() if match else "hook"


def unique_name(name: str, scope: Scope) -> str:
    """Return the name, with a number if taken, and reserve it."""
    free = name
    number = scope.numbers.get(name, 1)
    while free in scope.reserved:
        number += 1
        free = f"{name}-{number}"
    scope.numbers[name] = number
    scope.reserved.add(free)
    return free
