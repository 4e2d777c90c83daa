"""Checks one hook entry, or the settings of a file, against the table of fields; makes the hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.config import command_words
from hookrun.config.fields import (
    BELONGS,
    EVENT,
    KINDS,
    NOT_IN_DEFAULTS,
    SETTINGS,
    TRUSTED_LAYERS,
    TRUSTED_SETTINGS,
    names,
)
from hookrun.config.problem import nearest, shown
from hookrun.config.rules import FIELDS, doubtful, meant, nothing_relative, one_kind, target_of, texts, together
from hookrun.config.scope import free_name, made_name
from hookrun.config.shapes import Record
from hookrun.config.values import Place, keep
from hookrun.events import UnknownEventError, resolve_event
from hookrun.model import Hook

if TYPE_CHECKING:
    from hookrun.config.parsed import KeyPath
    from hookrun.config.problem import Problem
    from hookrun.config.scope import Scope
    from hookrun.config.source import Document

SETTING_FIELDS = names(SETTINGS)
CLAUDE_FORM = "Claude Code's form of hooks in a list"
LIST_FORM = "hooks that each have their own event, or Claude Code's form as a map of events"
CLAUDE_ADVICE = 'write each hook as {"event": ..., "matcher": ..., "command": ...}, or {"PreToolUse": [...]}'


class Checked:
    """One entry after the check: the hook, None if its event cannot be read, and everything that is wrong with it.

    `for_file` are those of the problems that the file as a whole has: an event that cannot be read. `path` is the way
    to the entry.
    """

    __slots__ = ("for_file", "hook", "path", "problems")

    def __init__(self) -> None:
        """Begin with nothing checked."""
        self.hook: Hook | None = None
        self.path: KeyPath = ()
        self.problems: list[Problem] = []
        self.for_file: list[Problem] = []


def check_hook(document: Document, path: KeyPath, entry: object, scope: Scope) -> Checked:
    """Check the entry at `path` of the document and make its hook. Its name is noted in `scope`."""
    checked = Checked()
    checked.path = path
    at = Place(document, path, checked.for_file)
    if not isinstance(entry, dict):
        at.mistaken(entry, "an object with an event and a command", "write a hook, or remove the item")
        checked.problems = checked.for_file
        return checked
    events = _events(entry, at, scope)
    at.problems = checked.problems
    values = _values(entry, at)
    _name_is_free(values, at, scope)
    effective = {**_defaults_for(values, entry, scope), **values}
    one_kind(entry, at)
    together(effective, entry, at, scope)
    if not events:
        checked.problems += checked.for_file
        return checked
    doubtful(effective, events, entry, at, scope)
    errors = [problem for problem in checked.problems if problem.severity == "error"]
    if errors and not _on_failure_is_known(entry):
        effective["on_failure"] = "block"
    checked.problems[:0] = checked.for_file
    checked.hook = _hook(effective, events, document, at, scope)
    errors = [problem for problem in checked.problems if problem.severity == "error"]
    checked.hook.error = "; ".join(map(str, errors)) or None
    return checked


def _events(entry: dict[str, object], at: Place, scope: Scope) -> list[str]:
    """Return the canonical names of those events of the entry that can be read; report the others."""
    if "event" not in entry:
        if "hooks" in entry:
            at.report(CLAUDE_FORM, LIST_FORM, CLAUDE_ADVICE)
            return []
        near = nearest("event", [key for key in entry if key not in FIELDS])
        advice = f"rename {shown(near)} to event" if near else 'add "event": "pre_tool_use" or another event'
        at.report("no event", "every hook to name its event", advice)
        return []
    value = entry["event"]
    here = at.at("event")
    if not isinstance(value, list):
        return [name for name in [_event(value, here, scope)] if name]
    if not value:
        here.mistaken(value, "an event or a list of different events", "name at least one event")
    found: list[str] = []
    for index, item in enumerate(value):
        name = _event(item, here.at(index), scope)
        if name in found:
            here.at(index).report(f"{shown(item)}, which is {name} a second time", "each event once", "remove it")
        elif name:
            found.append(name)
    return found


def _event(value: object, at: Place, scope: Scope) -> str | None:
    if not isinstance(value, str):
        at.mistaken(value, EVENT.says)
        return None
    try:
        return resolve_event(value, scope.events)
    except UnknownEventError as error:
        expected = "an event that is known or declared under hookrun.events"
        at.report(f"the unknown event {shown(value)}", expected, "correct it", nearest=error.closest)
        return None


def _values(entry: dict[str, object], at: Place) -> dict[str, object]:
    """Return every field of the entry that fits its shape; report the others and what is no field."""
    values: dict[str, object] = {}
    for key, value in entry.items():
        if key == "event":
            continue
        if key in FIELDS:
            keep(values, FIELDS[key], value, at)
        else:
            at.unknown_key(key, "a field of a hook", list(FIELDS), near=meant(key))
    if "matcher" in values:
        split_matcher(values)
    return values


def split_matcher(values: dict[str, object]) -> None:
    """Make of the matcher in `values`, one text or several, the list of its alternatives."""
    written = texts(values, "matcher")
    values["matcher"] = [each for text in written for each in text.split("|")] if written != [""] else ["*"]


def _defaults_for(values: dict[str, object], entry: dict[str, object], scope: Scope) -> dict[str, object]:
    """Return the defaults that apply: not those of another kind of hook, and not where the entry has its own."""
    return {
        name: value
        for name, value in scope.defaults.items()
        if (name not in BELONGS or BELONGS[name] in values) and (name not in entry or name in values)
    }


def _on_failure_is_known(entry: dict[str, object]) -> bool:
    """Tell whether it can be read what a failure means; whoever wrote something unreadable wanted no default."""
    if "on_failure" in entry:
        return entry["on_failure"] in ("continue", "block")
    return all(meant(key) != "on_failure" for key in entry if key not in FIELDS)


def _name_is_free(values: dict[str, object], at: Place, scope: Scope) -> None:
    name = values.get("name")
    if not isinstance(name, str):
        return
    if name in scope.named:
        at.at("name").report(f"the name {shown(name)} a second time", "each name once in a file", "choose another name")
    scope.named.add(name)


def _hook(values: dict[str, object], events: list[str], document: Document, at: Place, scope: Scope) -> Hook:
    fields = {key: value for key, value in values.items() if key not in KINDS}
    kind = next((each for each in KINDS if each in values), "command")
    target = target_of(values, kind)
    if not isinstance(fields.get("name"), str):
        fields["name"] = free_name(made_name(kind, target), scope)
    if "cwd" not in fields and fields.get("dialect") == "claude":
        fields["cwd"] = "event"
    return Hook.from_dict(
        {
            **fields,
            "events": events,
            "kind": kind,
            "target": target,
            "layer": scope.layer,
            "source": document.path,
            "line": document.position(at.path)[0],
            "look": command_words.program_and_script(kind, target),
            "words": command_words.file_words(kind, target),
        },
    )


def check_settings(document: Document, value: object, layer: str) -> tuple[dict[str, object], list[Problem]]:
    """Return the settings of a file that fit, and what is wrong with the others."""
    at = Place(document, ("hookrun",))
    settings: dict[str, object] = {}
    if not isinstance(value, dict):
        at.mistaken(value, "an object of settings", 'write "hookrun": {}')
        return settings, at.problems
    for key, item in value.items():
        if key == "defaults":
            settings[key] = _defaults(item, at.at(key), layer)
        elif key not in SETTING_FIELDS:
            advice = "put it into the hook, or under defaults" if key in FIELDS else "correct or remove it"
            at.unknown_key(key, "a setting", list(SETTING_FIELDS), advice)
        elif key in TRUSTED_SETTINGS and layer not in TRUSTED_LAYERS:
            found = f"{key} in a {layer} declaration"
            at.at(key).report(
                found, "only the managed or user layer to set it", "remove it, or set it in your own file"
            )
        else:
            keep(settings, SETTING_FIELDS[key], item, at)
    return settings, at.problems


def _defaults(value: object, at: Place, layer: str) -> dict[str, object]:
    shape = SETTING_FIELDS["defaults"].shape
    if not isinstance(value, dict) or not isinstance(shape, Record):
        at.mistaken(value, "an object of hook fields", "write {}")
        return {}
    defaults: dict[str, object] = {}
    allowed = names(shape.fields)
    for key, item in value.items():
        if key in allowed:
            keep(defaults, allowed[key], item, at)
        elif key in NOT_IN_DEFAULTS:
            at.unknown_key(key, "a field that makes sense for every hook", [], "write it in each hook")
        else:
            at.unknown_key(key, "a field of a hook", list(allowed))
    if layer in TRUSTED_LAYERS:
        before = len(at.problems)
        nothing_relative(defaults, at)
        for problem in at.problems[before:]:
            defaults.pop(problem.key.rpartition(".")[2], None)
    return defaults
