"""Add, update and remove recipes in a declaration file, keeping the user's changes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING

from hookrun import __version__
from hookrun.config.document import read
from hookrun.edit.file_change import FileChange, existing
from hookrun.recipes import catalog
from hookrun.recipes.recipe import PREFIX
from hookrun.scaffold.declaration_file import DeclarationFile, ScaffoldError, check_within
from hookrun.scaffold.new_hook import CASES_SUFFIX, HOOKS_DIRECTORY
from hookrun.text import closest, quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.config.diagnostics import Diagnostic
    from hookrun.edit.file_change import ExistingFile
    from hookrun.recipes.recipe import Recipe

    Entry = dict[str, object]

DIGEST_LENGTH = 12
"""Digits of a digest that are kept: enough to detect changes, it protects nothing."""

ADDED, UPDATED, CURRENT, KEPT, REMOVED = "added", "updated", "up to date", "kept as you changed it", "removed"
CONFLICT, GONE = "changed by you and by hookrun", "no recipe of this hookrun any more"
MISSING = "not declared any more"
"""The states of a hook or a file of cases."""


@dataclass(frozen=True, slots=True)
class RecipeStatus:
    """The state of a hook or file after a command, and for a conflict the difference."""

    name: str
    state: str
    difference: str = ""


class ConfiguredRecipes:
    """The recipes in a declaration file, with changes that are not written yet."""

    def __init__(self, declaring: DeclarationFile) -> None:
        self.declaring = declaring
        self.statuses: list[RecipeStatus] = []
        self.warnings: list[Diagnostic] = []
        self._cases: list[FileChange] = []

    @property
    def changes(self) -> list[FileChange]:
        """Every file that changes, the declaration file last: a hook is not declared before its cases exist."""
        return [each for each in (*self._cases, *self.declaring.changes()) if each.has_effect]

    def adding(self, name: str) -> str:
        """Return the command that declares a recipe in this file."""
        return f"`hookrun add {name}{' --user' if self.declaring.layer == 'user' else ''}`"

    def names(self, state: str) -> list[str]:
        """Return the names of the hooks in this state."""
        return [each.name for each in self.statuses if each.state == state]

    def declared(self) -> dict[str, list[tuple[int, Entry]]]:
        """Return the entries of each declared recipe, with their indices."""
        found: dict[str, list[tuple[int, Entry]]] = {}
        for index, entry in enumerate(self.declaring.entries):
            mark = recipe_metadata(entry)
            if mark is not None and isinstance(entry, dict):
                found.setdefault(str(mark["recipe"]), []).append((index, entry))
        return found

    def add(self, recipe: Recipe, options: Mapping[str, str]) -> None:
        """Declare a recipe with these options, or set them if it is declared. Raises ScaffoldError."""
        env = _option_variables(recipe, options)
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
                self.statuses.append(RecipeStatus(name, ADDED))
        self._write_cases(recipe)

    def _set_options(self, index: int, entry: Entry, env: dict[str, str]) -> None:
        after = {**_env(entry), **env}
        if not env or after == entry.get("env"):
            self.statuses.append(RecipeStatus(str(entry["name"]), CURRENT))
            return
        self.warnings += self.declaring.replace(index, {**entry, "env": after})
        self.statuses.append(RecipeStatus(str(entry["name"]), UPDATED))

    def update(self, name: str, *, replace: bool) -> None:
        """Update a declared recipe, keeping the user's changes unless they are to be replaced."""
        try:
            recipe = catalog.find(name)
        except catalog.UnknownRecipeError:
            self.statuses.append(RecipeStatus(name, GONE))
            return
        hooks = {str(hook["name"]): hook for hook in recipe.hooks}
        declared = self.declared()[name]
        there = {entry.get("name") for _, entry in declared}
        missing = f"{MISSING}; {self.adding(name)} declares it again"
        self.statuses += [RecipeStatus(called, missing) for called in hooks if called not in there]
        for index, entry in declared:
            called = str(entry.get("name"))
            written = str((recipe_metadata(entry) or {}).get("written"))
            if called not in hooks:
                self.statuses.append(RecipeStatus(called, GONE))
                continue
            options = {name: str(value) for name, value in _env(entry).items() if name.startswith(PREFIX)}
            after = self._marked(recipe, hooks[called], options)
            before_here, after_here = digest(entry), digest(after)
            if before_here == after_here or (after_here == written and not replace):
                self.statuses.append(RecipeStatus(called, CURRENT if before_here == after_here else KEPT))
            elif before_here == written or replace:
                self.warnings += self.declaring.replace(index, after)
                self.statuses.append(RecipeStatus(called, UPDATED))
            else:
                self.statuses.append(RecipeStatus(called, CONFLICT, _difference(entry, after)))
        self._write_cases(recipe, replace=replace)

    def remove(self, name: str) -> None:
        """Remove a recipe, and its cases unless changed. Raises ScaffoldError if it is not declared."""
        declared = self.declared()
        if name not in declared:
            near = closest(name, declared)
            hint = f"; did you mean {near}?" if near else ""
            raise ScaffoldError(f"{self.declaring.path}: found no recipe {quote(name)} declared{hint}")
        for index, entry in reversed(declared[name]):
            self.declaring.remove(index)
            self.statuses.append(RecipeStatus(str(entry.get("name")), REMOVED))
        path, now = self._cases_of(name)
        if now.data is None:
            return
        if _is_unchanged(now.text()):
            self._cases.append(FileChange(path, now, None, directories=[os.path.dirname(path)]))
        else:
            self.statuses.append(RecipeStatus(os.path.basename(path), KEPT))

    def _marked(self, recipe: Recipe, hook: Mapping[str, object], env: dict[str, str]) -> Entry:
        """Return the declaration of a recipe's hook, with the metadata that marks it as the recipe's."""
        entry: Entry = {key: value for key, value in hook.items() if key not in {"env", "metadata"}}
        if self.declaring.layer == "user" and "python" in entry and not str(entry.get("cwd", "")).startswith("/"):
            entry["cwd"] = "/"  # or a project's module could shadow it
        entry["env"] = {**_env(hook), **env}
        if not entry["env"]:
            del entry["env"]
        entry = json.loads(json.dumps(entry))
        return {**entry, "metadata": {"recipe": recipe.name, "version": __version__, "written": digest(entry)}}

    # --- cases

    def _cases_of(self, name: str) -> tuple[str, ExistingFile]:
        path = os.path.join(self.declaring.root, HOOKS_DIRECTORY, name + CASES_SUFFIX)
        check_within(os.path.dirname(path), self.declaring.root)
        return path, existing(path)

    def _write_cases(self, recipe: Recipe, *, replace: bool = False) -> None:
        examples = _examples(recipe)
        if not examples:
            return
        path, now = self._cases_of(recipe.name)
        config = os.path.relpath(self.declaring.path, os.path.dirname(path))
        after = _with_header(recipe.name, f"config: {config}\n{examples}").encode()
        if now.data is None or now.data == after or _is_unchanged(now.text()) or replace:
            self._cases.append(FileChange(path, now, after))
        else:
            self.statuses.append(RecipeStatus(os.path.basename(path), KEPT))


def recipe_metadata(entry: object) -> dict[str, object] | None:
    """Return the metadata of a recipe's hook, None for any other."""
    metadata = entry.get("metadata") if isinstance(entry, dict) else None
    return metadata if isinstance(metadata, dict) and isinstance(metadata.get("recipe"), str) else None


def _option_variables(recipe: Recipe, options: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables for the options. Raises ScaffoldError for an unknown one."""
    known = {each.name: each.variable for each in recipe.options}
    for name in options:
        if name not in known:
            near = closest(name, known)
            meant = f"did you mean {near}?" if near else f"it has {', '.join(known) or 'none'}"
            raise ScaffoldError(f"{recipe.name}: found the option {quote(name)}; {meant}")
    return {known[name]: value for name, value in options.items()}


def _env(declaration: Mapping[str, object]) -> dict[str, object]:
    env = declaration.get("env")
    return env if isinstance(env, dict) else {}


def digest(entry: Mapping[str, object]) -> str:
    """Return the digest of a declaration without its options and metadata."""
    said = {key: value for key, value in entry.items() if key not in {"metadata", "env"}}
    rest = {name: value for name, value in _env(entry).items() if not name.startswith(PREFIX)}
    text = json.dumps({**said, "env": rest} if rest else said, sort_keys=True, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def _difference(before: Entry, after: Entry) -> str:
    old, new = (json.dumps({**each, "metadata": None}, indent=2, ensure_ascii=False) for each in (before, after))
    titles = "as it is declared", "as the recipe has it"
    return "\n".join(unified_diff(old.splitlines(), new.splitlines(), *titles, lineterm="", n=2))


def _examples(recipe: Recipe) -> str:
    """Return the recipe's case file with its examples only: the first two cases, and the first in which it is quiet."""
    path = catalog.cases_path(recipe.name)
    if not os.path.exists(path):
        return ""
    document = read(path)
    data = document.data
    cases = data["cases"] if isinstance(data, dict) else []
    quiet = [index for index, case in enumerate(cases) if case["expect"] == {"action": "continue"}]
    chosen = {*range(len(cases))[:2], *quiet[:1]}
    lines = existing(path).text().splitlines(keepends=True)
    starts = [0, *(document.position(("cases", index))[0] - 1 for index in range(len(cases))), len(lines)]
    pieces = [lines[start:end] for start, end in pairwise(starts)]
    kept = [piece for index, piece in enumerate(pieces, -1) if index in {-1, *chosen}]
    return "".join("".join(_without_last_comments(piece)) for piece in kept)


def _without_last_comments(lines: list[str]) -> list[str]:
    """Return the lines without the comments at their end, which are about what comes next."""
    count = len(lines)
    while count and lines[count - 1].lstrip().startswith("#"):
        count -= 1
    return lines[:count]


def _with_header(name: str, text: str) -> str:
    known = sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]
    return f"# Examples of the recipe {name}, {known}: `hookrun recipes test {name}` runs all its tests.\n{text}"


def _is_unchanged(text: str) -> bool:
    """Return whether a file of cases is as it was written."""
    head, _, rest = text.partition("\n")
    return f", {sha256(rest.encode()).hexdigest()[:DIGEST_LENGTH]}:" in head
