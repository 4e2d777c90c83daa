"""Validate config entries: hooks, and recipes such as `{"recipe": "no-force-push@1"}`.

What recipe versions declare is in a data file: loading a config imports no recipe.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import hookrun
from hookrun.config.document import Diagnostic, Document, Location
from hookrun.config.parse import KeyPath
from hookrun.config.schema import NOT_BESIDE, RECIPE_FIELDS
from hookrun.config.shapes import validate_into
from hookrun.config.validate import Scope, ValidatedHook, validate_hook
from hookrun.core.model import Hook, as_object
from hookrun.core.text import did_you_mean, quote

Entry = dict[str, object]

# Each recipe's options with variables, and each version's hooks; `until` is an old one's last hookrun.
VERSIONS_FILE = os.path.join(os.path.dirname(hookrun.__file__), "recipes", "versions.json")


def validate_entry(document: Document, path: KeyPath, entry: object, scope: Scope) -> list[ValidatedHook]:
    """Validate the entry at `path` and make its hook, or its recipe's hooks."""
    if not isinstance(entry, dict) or "recipe" not in entry:
        return [validate_hook(document, path, entry, scope)]
    at = Location(document, path)
    hooks = _expand(entry, at)
    if not hooks:
        return [ValidatedHook(path, None, at.problems, at.problems)]
    found = [validate_hook(document, path, hook, scope, at.problems) for hook in hooks]
    for other in found[1:]:  # every hook has the entry's errors, which are reported once
        other.problems = [each for each in other.problems if each not in found[0].problems]
    return found


def hooks_from_data(
    document: Document,
    path: KeyPath,
    entries: list[object],
    events: Iterable[str],
    defaults: dict[str, object] | None = None,
) -> tuple[list[Hook], list[Diagnostic]]:
    """Return the hooks of a document's entries at `path`, by priority, and all problems."""
    scope = Scope("project", frozenset(events), defaults or {}, reserved=explicit_names(entries), warns=False)
    checked = [
        each for index, entry in enumerate(entries) for each in validate_entry(document, (*path, index), entry, scope)
    ]
    hooks = [each.hook for each in checked if each.hook is not None]
    for hook in hooks:
        hook.source = ""
    return sorted(hooks, key=lambda hook: hook.priority), [problem for each in checked for problem in each.problems]


@cache
def recipes() -> dict[str, dict[str, Any]]:
    """Return the versions of each recipe in the data file."""
    with open(VERSIONS_FILE, encoding="utf-8") as file:
        found: dict[str, dict[str, Any]] = json.load(file)
    return found


def split_version(text: str) -> tuple[str, str]:
    """Return the name and version of `NAME@VERSION`, by default the newest version."""
    name, _, version = text.partition("@")
    return name, version or newest(name)


def newest(name: str) -> str:
    """Return the newest version of a recipe, empty for an unknown one."""
    return max(_versions(name), key=int, default="")


def hooks_of(name: str, version: str) -> list[Entry]:
    """Return the hooks of a recipe's version; none for an unknown one."""
    return [dict(hook) for hook in _versions(name).get(version, {}).get("hooks", ())]


def no_version(name: str, version: str) -> str:
    """Return the message that this hookrun lacks a recipe's version."""
    return f"this hookrun ({hookrun.__version__}) has no version {quote(version)} of `{name}`"


def option_variables(name: str) -> dict[str, str]:
    """Return a recipe's options with their environment variables."""
    options: dict[str, str] = recipes().get(name, {}).get("options", {})
    return options


def _versions(name: str) -> dict[str, dict[str, Any]]:
    versions: dict[str, dict[str, Any]] = recipes().get(name, {}).get("versions", {})
    return versions


def expanded(entries: Iterable[object]) -> list[object]:
    """Return the entries with known recipes replaced by their hooks, unchecked."""
    found: list[object] = []
    for entry in entries:
        text = entry.get("recipe") if isinstance(entry, dict) else None
        hooks = hooks_of(*split_version(text)) if isinstance(text, str) else []
        found += hooks or [entry]
    return found


def explicit_names(entries: Iterable[object]) -> set[str]:
    """Return the names that entries, or the hooks of their recipes, state: `reserved` in their scope."""
    hooks = (hook for hook in expanded(entries) if isinstance(hook, dict))
    return {name for hook in hooks if isinstance(name := hook.get("name"), str)}


def _expand(entry: Entry, at: Location) -> list[Entry]:
    """Return the hooks of a recipe's entry; none, with an error, if it is invalid."""
    values: dict[str, object] = {}
    for field in RECIPE_FIELDS:
        if field.name in entry:
            validate_into(values, field.name, field.shape, entry[field.name], at)
    if "recipe" not in values or ("options" in entry and "options" not in values):
        return []
    name, version = split_version(str(values["recipe"]))
    hooks = hooks_of(name, version)
    if not _is_known(name, version, hooks, at.at("recipe")):
        return []
    env = _variables(name, as_object(values.get("options")), at.at("options"))
    fixed = NOT_BESIDE if len(hooks) == 1 else NOT_BESIDE | {"name"}
    for key in entry:
        if key in fixed:
            at.at(key).report(f"`{key}` beside `recipe`: the recipe sets it", "remove it")
    own = {key: value for key, value in entry.items() if key not in fixed and key not in values}
    return [_merged(hook, own, env, {"recipe": name, "version": version}) for hook in hooks]


def _is_known(name: str, version: str, hooks: list[Entry], at: Location) -> bool:
    if not newest(name):
        at.report(f"unknown recipe {quote(name)}", did_you_mean(name, recipes(), "`hookrun recipes` lists all"))
    elif not hooks:
        at.report(no_version(name, version), f'write "{name}@{newest(name)}", or upgrade hookrun')
    elif end := _versions(name)[version].get("until"):
        hint = f"`hookrun update` shows the difference and moves to @{newest(name)}"
        at.warn(f"`{name}@{version}` is an old version that works up to hookrun {end}", hint)
    return bool(hooks)


def _variables(name: str, options: Mapping[str, object], at: Location) -> dict[str, str]:
    """Return environment variables for a recipe's options; report unknown options."""
    variables = option_variables(name)
    for key in options:
        if key not in variables:
            at.unknown_key(key, f"option of {name}", variables)
    return {
        variables[key]: " ".join(map(str, value))
        for key, value in options.items()
        if key in variables and isinstance(value, list)
    }


def _merged(hook: Entry, own: Entry, env: dict[str, str], mark: Entry) -> Entry:
    merged = {**hook, **own}
    for key, more in (("env", env), ("metadata", mark)):
        theirs, ours = hook.get(key, {}), own.get(key, {})
        if isinstance(theirs, dict) and isinstance(ours, dict) and (theirs or more or ours):
            merged[key] = {**theirs, **more, **ours}
    return merged
