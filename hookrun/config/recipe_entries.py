"""Expand an entry such as `{"recipe": "no-force-push@1"}` into the hooks that this version of the recipe has.

What each version declares is read from a data file of the recipes, so that no recipe is imported to load a config.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import TYPE_CHECKING

import hookrun
from hookrun.config.schema import KINDS, RECIPE_FIELDS, REQUIRES
from hookrun.config.validate_value import validate_into
from hookrun.text import closest, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.config.validate_value import Location

    Entry = dict[str, object]

VERSIONS_FILE = os.path.join(os.path.dirname(hookrun.__file__), "recipes", "versions.json")
"""Each recipe's options with their environment variables, and per version its hooks and, for an old one, the hookrun `until` which it works."""

NOT_BESIDE = frozenset({"event", *KINDS, *REQUIRES})
"""Fields of a hook that a recipe sets itself."""


@cache
def recipes() -> dict[str, dict[str, object]]:
    """Return what the data file has for each recipe."""
    with open(VERSIONS_FILE, encoding="utf-8") as file:
        found: dict[str, dict[str, object]] = json.load(file)
    return found


def split_version(text: str) -> tuple[str, str]:
    """Return the name and the version of `NAME@VERSION`; the newest version where it names none."""
    name, _, version = text.partition("@")
    return name, version or newest(name)


def newest(name: str) -> str:
    """Return the newest version of a recipe, empty for an unknown one."""
    return max(_versions(name), key=int, default="")


def hooks_of(name: str, version: str) -> list[Entry]:
    """Return the hooks that a version of a recipe declares; none for an unknown one."""
    hooks = _versions(name).get(version, {}).get("hooks")
    return [dict(hook) for hook in hooks] if isinstance(hooks, list) else []


def until(name: str, version: str) -> str:
    """Return the hookrun up to which an old version works, empty for one without an end."""
    return str(_versions(name).get(version, {}).get("until", ""))


def option_variables(name: str) -> dict[str, str]:
    """Return the options of a recipe, each with its environment variable."""
    options = recipes().get(name, {}).get("options")
    return options if isinstance(options, dict) else {}


def _versions(name: str) -> dict[str, dict[str, object]]:
    versions = recipes().get(name, {}).get("versions")
    return versions if isinstance(versions, dict) else {}


def expand(entry: Entry, at: Location) -> list[Entry]:
    """Return the hooks that the entry of a recipe stands for; none, with an error, if it cannot be understood."""
    values: dict[str, object] = {}
    for field in RECIPE_FIELDS:
        if field.name in entry:
            validate_into(values, field, entry[field.name], at)
    if "recipe" not in values or ("options" in entry and "options" not in values):
        return []
    name, version = split_version(str(values["recipe"]))
    hooks = hooks_of(name, version)
    if not _is_known(name, version, hooks, at.at("recipe")):
        return []
    options = values.get("options")
    env = _variables(name, options if isinstance(options, dict) else {}, at.at("options"))
    own = {key: value for key, value in entry.items() if key not in values}
    for key in own:
        if key in NOT_BESIDE or (key == "name" and len(hooks) > 1):
            at.at(key).report(f"`{key}` beside `recipe`: the recipe sets it", "remove it")
    return [_merged(hook, own, env, {"recipe": name, "version": version}) for hook in hooks]


def expanded(entries: Iterable[object]) -> list[object]:
    """Return the entries with the hooks of recipes in the place of each that names a known one; nothing is checked."""
    found: list[object] = []
    for entry in entries:
        text = entry.get("recipe") if isinstance(entry, dict) else None
        hooks = hooks_of(*split_version(text)) if isinstance(text, str) else []
        found += hooks or [entry]
    return found


def _is_known(name: str, version: str, hooks: list[Entry], at: Location) -> bool:
    if not newest(name):
        near = closest(name, recipes())
        at.report(f"unknown recipe {quote(name)}", f"did you mean {quote(near)}?" if near else "see `hookrun recipes`")
    elif not hooks:
        at.report(
            f"this hookrun ({hookrun.__version__}) has no version {quote(version)} of `{name}`",
            f'write "{name}@{newest(name)}", or upgrade hookrun',
        )
    elif end := until(name, version):
        hint = f"`hookrun update {name}` shows the difference and moves to @{newest(name)}"
        at.warn(f"`{name}@{version}` is an old version that works up to hookrun {end}", hint)
    return bool(hooks)


def _variables(name: str, options: Mapping[str, object], at: Location) -> dict[str, str]:
    """Return the environment variables for a recipe's options; report an unknown one."""
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
