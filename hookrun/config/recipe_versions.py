"""Look up what each version of a recipe declares, in a data file: no recipe is imported to load a config."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import cache

import hookrun
from hookrun.text import quote

Entry = dict[str, object]

VERSIONS_FILE = os.path.join(os.path.dirname(hookrun.__file__), "recipes", "versions.json")
"""Each recipe's options with their variables, and for each version its hooks; of an old one also the hookrun `until`
which it works."""


@cache
def recipes() -> dict[str, dict[str, object]]:
    """Return the versions of each recipe in the data file."""
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


def no_version(name: str, version: str) -> str:
    """Return the message that this hookrun does not have a version of a recipe."""
    return f"this hookrun ({hookrun.__version__}) has no version {quote(version)} of `{name}`"


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


def expanded(entries: Iterable[object]) -> list[object]:
    """Return the entries, each that names a known recipe replaced by its hooks; nothing is checked."""
    found: list[object] = []
    for entry in entries:
        text = entry.get("recipe") if isinstance(entry, dict) else None
        hooks = hooks_of(*split_version(text)) if isinstance(text, str) else []
        found += hooks or [entry]
    return found
