"""Trace the origin of each effective value: its own line, a file's defaults, or hookrun."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hookrun.config.config_file import ConfigFile
from hookrun.config.load import LoadedConfig
from hookrun.config.parse import KeyPath
from hookrun.config.recipe_entries import hooks_of, split_version
from hookrun.config.schema import HOOK_FIELDS, KINDS, REQUIRES, TRUSTED_SETTINGS
from hookrun.core.model import HOOK_DEFAULTS, Hook, as_object

# Origins: the entry, its recipe, the file's `defaults`, other fields, hookrun's default.
OWN, RECIPE, DEFAULTS, MADE, BUILT_IN = "own", "recipe", "defaults", "made", "built in"

# Settings that apply to one file, or add up.
PER_FILE = ("include", "include_claude", "events", "min_version")


@dataclass(frozen=True, slots=True)
class Value:
    """An effective value with name and origin; `path` and `line` are None without a file."""

    name: str
    value: object
    origin: str
    path: str | None = None
    line: int | None = None

    @property
    def where(self) -> str:
        """The origin as text."""
        place = f"{self.path}:{self.line}" if self.path is not None else ""
        return {MADE: "made from what it runs", BUILT_IN: "built in"}.get(self.origin) or (
            place if self.origin == OWN else f"{place} ({self.origin})"
        )


def hooks(examined: LoadedConfig) -> list[tuple[Hook, list[Value]]]:
    """Return the hooks in running order, each with its values in HOOK_FIELDS order."""
    written = {id(hook): (file, path) for hook, file, path in examined.written}
    found = []
    for hook in examined.declarations.hooks:
        file, path = written[id(hook)]
        values = _of_entry(hook, file, path) if file.handlers is None else _of_another(hook)
        found.append((hook, list(values)))
    return found


def _of_another(hook: Hook) -> Iterator[Value]:
    """Yield the non-default values of a hook in Claude Code's form, at the hook's place."""
    for field in HOOK_FIELDS:
        value = _value(hook, field.name)
        if field.name == hook.kind or (field.name not in KINDS and value not in (HOOK_DEFAULTS.get(field.name), None)):
            yield Value(field.name, value, OWN, hook.source, hook.line)


def _of_entry(hook: Hook, file: ConfigFile, path: KeyPath) -> Iterator[Value]:
    entry = as_object(file.entries[int(path[-1])])
    theirs = _of_recipe(hook, entry)
    for field in HOOK_FIELDS:
        name = field.name
        if name in KINDS and name != hook.kind:
            continue
        value = _value(hook, name)
        if name in entry:
            yield _placed(name, value, OWN, file, (*path, name))
        elif value is not None and name in theirs:
            yield _placed(name, value, RECIPE, file, (*path, "recipe"))
        elif REQUIRES.get(name, hook.kind) == hook.kind and (by := _default_of(file, name)) is not None:
            yield _placed(name, value, DEFAULTS, by, ("hookrun", "defaults", name))
        elif name == "name" or (name == "cwd" and value != HOOK_DEFAULTS["cwd"]):
            yield Value(name, value, MADE)
        elif value is not None and value != ():
            yield Value(name, value, BUILT_IN)


def _of_recipe(hook: Hook, entry: dict[str, object]) -> set[str]:
    """Return the fields that an entry's recipe sets for a hook."""
    if "recipe" not in entry:
        return set()
    hooks = hooks_of(*split_version(str(entry["recipe"])))
    return {"env", "metadata", *(name for each in hooks if each["name"] == hook.name for name in each)}


def _value(hook: Hook, name: str) -> object:
    if name == "event":
        return list(hook.events)
    return hook.target if name in KINDS else getattr(hook, name)


def _default_of(file: ConfigFile, name: str) -> ConfigFile | None:
    """Return the file whose `defaults` set the field: itself or its nearest includer."""
    by: ConfigFile | None = file
    while by is not None:
        if name in as_object(by.settings.get("defaults")):
            return by
        by = by.included_by
    return None


def _placed(name: str, value: object, origin: str, file: ConfigFile, path: KeyPath) -> Value:
    return Value(name, value, origin, file.path, file.document.position(path, key=True)[0])


def settings(examined: LoadedConfig) -> list[Value]:
    """Return the effective settings; those in PER_FILE once per file that sets them."""
    found = []
    for name in TRUSTED_SETTINGS:
        value = examined.declarations.settings.get(name)
        by = next((file for file in examined.files if name in file.settings), None)
        if by is not None:
            found.append(_placed(name, value, OWN, by, ("hookrun", name)))
        elif value is not None:
            found.append(Value(name, value, BUILT_IN))
    for name in PER_FILE:
        found += [
            _placed(name, file.settings[name], OWN, file, ("hookrun", name))
            for file in examined.files
            if name in file.settings
        ]
    return found
