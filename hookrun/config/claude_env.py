"""Give the `env` of Claude Code's settings to the hooks that were read from them: those of its layer and below.

A project's `env` becomes part of its hooks' declarations, and so of what is approved. That of the user and the
administrator is kept apart: it is not for the project's approval, and differs from machine to machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.config.discovery import UNREAD
from hookrun.config.validate_value import Location
from hookrun.model import UNTRUSTED_LAYERS, Hook
from hookrun.text import quote

if TYPE_CHECKING:
    from hookrun.config.config_file import ConfigFile

    Variables = dict[str, str]
    ByLayer = dict[str, Variables]

MAX_CHARACTERS = 64 << 10
"""Limit on all variables of a file: each of its hooks has them in its declaration."""


def by_layer(files: list[ConfigFile]) -> ByLayer:
    """Return the variables of each layer's settings; report those that cannot be given to a hook."""
    found: ByLayer = {}
    for file in files:
        if file.claudes and file.plugin is None:
            found.setdefault(file.layer, {}).update(variables(file))
    shared = any(file.claudes and file.layer == "project" and file.handlers for file in files)
    for file in files if shared and found.get("local") else ():
        if file.claudes and file.layer == "local" and file.document is not None:
            Location(file.document, ("env",), file.problems).warn(
                "hookrun gives `env` of the local settings only to the hooks of this file; Claude Code gives it to all",
                "set variables for other hooks in the file of those hooks",
            )
    return found


def variables(file: ConfigFile) -> Variables:
    """Return the variables that a file's `env` sets, without those that select whose decisions apply."""
    given = file.says("env")
    if given is None or file.document is None:
        return {}
    at = Location(file.document, ("env",), file.problems)
    if not isinstance(given, dict):
        at.type_error(given, "an object of names and values", 'write {"NAME": "value"}')
        return {}
    taken: Variables = {}
    for name, value in given.items():
        text = ("true" if value else "false") if isinstance(value, bool) else str(value)
        if not isinstance(value, (str, int, float)):
            at.at(name).type_error(value, "a string")
        elif not name or "=" in name or "\0" in name + text:
            at.at(name).report(f"invalid environment variable {quote(name)}", "remove it")
        elif not _is_kept_back(name):
            taken[name] = text
    if sum(len(name) + len(text) for name, text in taken.items()) > MAX_CHARACTERS:
        at.report(f"more than {MAX_CHARACTERS >> 10} KiB of variables: none of them is used", "remove some")
        return {}
    return taken


def _is_kept_back(name: str) -> bool:
    """Return whether a variable decides whose configuration, approvals or options are used."""
    return name == "HOME" or name.startswith(("HOOKRUN_", "XDG_"))


def give(hook: Hook, found: ByLayer) -> None:
    """Make a project's variables part of the declaration of its hook; those that it declares itself take precedence."""
    if hook.layer in UNTRUSTED_LAYERS:
        own = {**found.get("project", {}), **(found.get("local", {}) if hook.layer == "local" else {})}
        if own:
            from hookrun.config.executed import executed

            hook.env = {**own, **(hook.env or {})}
            if not any(word.startswith(UNREAD) for word in hook.words):  # see MAX_PROJECT_HOOKS
                hook.words = executed(hook.kind, hook.target, hook.env, hook.dialect).code  # a value may name code


def from_above(found: ByLayer) -> ByLayer:
    """Return the variables that are in no declaration, which hooks have when they run."""
    return {layer: each for layer, each in found.items() if layer not in UNTRUSTED_LAYERS and each}
