"""Recipes in a declaration file: declared, brought up to date and taken out, what a person changed in them kept."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from typing import TYPE_CHECKING, TypeGuard

from hookrun.config.diagnostics import closest, quote
from hookrun.edit.file_change import FileChange, existing
from hookrun.recipes import registry
from hookrun.recipes.recipe import PREFIX
from hookrun.scaffold import cases as case_files
from hookrun.scaffold.declaring import Declaring, ScaffoldError, within
from hookrun.scaffold.hook import DIRECTORY
from hookrun.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.config.diagnostics import Diagnostic
    from hookrun.edit.file_change import ExistingFile
    from hookrun.recipes.recipe import Recipe

    Entry = dict[str, object]

LENGTH = 12
"""Digits of a digest that are kept: it tells a change, it proves nothing."""

ADDED, UPDATED, CURRENT, KEPT, REMOVED = "added", "updated", "up to date", "kept as you changed it", "removed"
CONFLICT, GONE = "changed by you and by hookrun", "no recipe of this hookrun any more"
MISSING = "not declared any more: hookrun add declares it again"
"""What can be told of a hook, or of a file of cases."""


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one hook or file: its name, one of the words above, and in a conflict the difference."""

    name: str
    state: str
    difference: str = ""


class Recipes:
    """The recipes in one declaration file, and the file as it becomes."""

    def __init__(self, declaring: Declaring) -> None:
        self.declaring = declaring
        self.told: list[Told] = []
        self.warnings: list[Diagnostic] = []
        self._cases: list[FileChange] = []

    @property
    def changes(self) -> list[FileChange]:
        """Every file that changes, the declarations last: nothing is declared before its cases are there."""
        return [each for each in (*self._cases, self.declaring.change()) if each.has_effect]

    def names(self, state: str) -> list[str]:
        """Return the hooks of which this can be told."""
        return [each.name for each in self.told if each.state == state]

    def declared(self) -> dict[str, list[tuple[int, Entry]]]:
        """Return the recipes that are declared, and of each the entries with their places."""
        found: dict[str, list[tuple[int, Entry]]] = {}
        for index, entry in enumerate(self.declaring.entries):
            mark = mark_of(entry)
            if mark is not None and _is_entry(entry):
                found.setdefault(str(mark["recipe"]), []).append((index, entry))
        return found

    def add(self, recipe: Recipe, options: Mapping[str, str]) -> None:
        """Declare a recipe with these options; one that is declared gets the options. Raises ScaffoldError."""
        env = _environment(recipe, options)
        there = {str(entry["name"]): (index, entry) for index, entry in self.declared().get(recipe.name, [])}
        for hook in recipe.hooks:
            name = str(hook["name"])
            if name in there:
                index, entry = there[name]
                self._set_options(index, entry, env)
            elif self.declaring.named(name):
                where = self.declaring.path
                raise ScaffoldError(f"{where}: found a hook {quote(name)} of your own, expected none; rename it first")
            else:
                self.warnings += self.declaring.add(self._marked(recipe, hook, env))
                self.told.append(Told(name, ADDED))
        self._write_cases(recipe)

    def _set_options(self, index: int, entry: Entry, env: dict[str, str]) -> None:
        now = entry.get("env")
        after = {**(now if isinstance(now, dict) else {}), **env}
        if not env or after == now:
            self.told.append(Told(str(entry["name"]), CURRENT))
            return
        self.warnings += self.declaring.replace(index, {**entry, "env": after})
        self.told.append(Told(str(entry["name"]), UPDATED))

    def update(self, name: str, *, replace: bool) -> None:
        """Bring a declared recipe to its present form, a person's changes kept unless they are to be replaced."""
        try:
            recipe = registry.find(name)
        except registry.UnknownRecipeError:
            self.told.append(Told(name, GONE))
            return
        hooks = {str(hook["name"]): hook for hook in recipe.hooks}
        declared = self.declared()[name]
        there = {entry.get("name") for _, entry in declared}
        self.told += [Told(called, MISSING) for called in hooks if called not in there]
        for index, entry in declared:
            called = str(entry.get("name"))
            written = str((mark_of(entry) or {}).get("written"))
            if called not in hooks:
                self.told.append(Told(called, GONE))
                continue
            after = self._marked(recipe, hooks[called], _options(entry))
            before_here, after_here = digest(entry), digest(after)
            if before_here == after_here or (after_here == written and not replace):
                self.told.append(Told(called, CURRENT if before_here == after_here else KEPT))
            elif before_here == written or replace:
                self.warnings += self.declaring.replace(index, after)
                self.told.append(Told(called, UPDATED))
            else:
                self.told.append(Told(called, CONFLICT, _difference(entry, after)))
        self._write_cases(recipe, replace=replace)

    def remove(self, name: str) -> None:
        """Take a recipe out, with its cases where nobody has changed them. Raises ScaffoldError where it is not."""
        declared = self.declared()
        if name not in declared:
            near = closest(name, declared)
            hint = f"; did you mean {near}?" if near else ""
            raise ScaffoldError(f"{self.declaring.path}: found no recipe {quote(name)} declared{hint}")
        for index, entry in reversed(declared[name]):
            self.declaring.remove(index)
            self.told.append(Told(str(entry.get("name")), REMOVED))
        path, now = self._cases_of(name)
        if now.data is None:
            return
        if _is_as_written(now.text()):
            self._cases.append(FileChange(path, now, None, directories=[os.path.dirname(path)]))
        else:
            self.told.append(Told(os.path.basename(path), KEPT))

    def _marked(self, recipe: Recipe, hook: Mapping[str, object], env: dict[str, str]) -> Entry:
        """Return a hook of a recipe as it is declared here, with the mark by which it is found again."""
        entry: Entry = {key: value for key, value in hook.items() if key not in {"env", "metadata"}}
        if self.declaring.layer == "user" and "python" in entry and not str(entry.get("cwd", "")).startswith("/"):
            entry["cwd"] = "/"  # in a person's own declarations no project's module may come first
        own = hook.get("env")
        entry["env"] = {**(own if isinstance(own, dict) else {}), **env}
        if not entry["env"]:
            del entry["env"]
        entry = json.loads(json.dumps(entry))
        return {**entry, "metadata": {"recipe": recipe.name, "version": __version__, "written": digest(entry)}}

    # --- cases

    def _cases_of(self, name: str) -> tuple[str, ExistingFile]:
        path = os.path.join(self.declaring.root, DIRECTORY, name + case_files.SUFFIX)
        within(os.path.dirname(path), self.declaring.root)
        return path, existing(path)

    def _write_cases(self, recipe: Recipe, *, replace: bool = False) -> None:
        text = registry.cases(recipe.name)
        if text is None:
            return
        path, now = self._cases_of(recipe.name)
        if not any(line.startswith("config:") for line in text.splitlines()):
            text = f"config: {os.path.relpath(self.declaring.path, os.path.dirname(path))}\n{text}"
        after = _headed(recipe.name, text).encode()
        if now.data is None or now.data == after or _is_as_written(now.text()) or replace:
            self._cases.append(FileChange(path, now, after))
        else:
            self.told.append(Told(os.path.basename(path), KEPT))


def _is_entry(entry: object) -> TypeGuard[Entry]:
    return isinstance(entry, dict)


def mark_of(entry: object) -> dict[str, object] | None:
    """Return what marks an entry as a recipe's, None for one of a person's own."""
    metadata = entry.get("metadata") if isinstance(entry, dict) else None
    return metadata if isinstance(metadata, dict) and isinstance(metadata.get("recipe"), str) else None


def _environment(recipe: Recipe, options: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for the options. Raises ScaffoldError for one that the recipe does not have."""
    known = {each.name: each.variable for each in recipe.options}
    for name in options:
        if name not in known:
            near = closest(name, known)
            meant = f"did you mean {near}?" if near else f"it has {', '.join(known) or 'none'}"
            raise ScaffoldError(f"{recipe.name}: found the option {quote(name)}; {meant}")
    return {known[name]: value for name, value in options.items()}


def _options(entry: Entry) -> dict[str, str]:
    """Return the options that an entry has."""
    env = entry.get("env")
    return {name: str(value) for name, value in (env if isinstance(env, dict) else {}).items() if _is_option(name)}


def _is_option(variable: str) -> bool:
    return variable.startswith(PREFIX)


def digest(entry: Mapping[str, object]) -> str:
    """Return what tells one form of a declaration from another; its options, and the mark itself, do not count."""
    said = {key: value for key, value in entry.items() if key not in {"metadata", "env"}}
    env = entry.get("env")
    rest = {name: value for name, value in (env if isinstance(env, dict) else {}).items() if not _is_option(name)}
    text = json.dumps({**said, "env": rest} if rest else said, sort_keys=True, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()[:LENGTH]


def _difference(before: Entry, after: Entry) -> str:
    """Return how a recipe's present form differs from what is declared."""
    old, new = (json.dumps({**each, "metadata": None}, indent=2, ensure_ascii=False) for each in (before, after))
    titles = "as it is declared", "as the recipe has it"
    return "\n".join(unified_diff(old.splitlines(), new.splitlines(), *titles, lineterm="", n=2))


def _headed(name: str, text: str) -> str:
    known = sha256(text.encode()).hexdigest()[:LENGTH]
    return f"# The cases of the recipe {name}, {known}: `hookrun recipes update` brings them up to date.\n{text}"


def _is_as_written(text: str) -> bool:
    """Tell whether a file of cases is as it was written."""
    head, _, rest = text.partition("\n")
    return f", {sha256(rest.encode()).hexdigest()[:LENGTH]}:" in head
