"""Add, update and remove recipes in a declaration file, keeping the user's changes; suggest recipes."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from hookrun.config.document import Diagnostic, read
from hookrun.config.recipe_entries import hooks_of, newest, no_version, option_variables, split_version
from hookrun.core.files import read_or_none, relative_path
from hookrun.core.model import as_object
from hookrun.core.text import did_you_mean, diff, quote
from hookrun.edit.file_change import ExistingFile, FileChange, existing
from hookrun.recipes import GUARDS, catalog
from hookrun.recipes.package_manager import LOCKS, PYTHON_LOCKS
from hookrun.recipes.recipe import Recipe
from hookrun.scaffold.declaration_file import DeclarationFile, ScaffoldError, check_within
from hookrun.scaffold.new_hook import CASES_SUFFIX, HOOKS_DIRECTORY, LANGUAGES

Entry = dict[str, object]

# Digits kept of a digest: enough to detect changes, it protects nothing.
DIGEST_LENGTH = 12

ADDED, UPDATED, CURRENT, KEPT, REMOVED = "added", "updated", "up to date", "kept as you changed it", "removed"
NEWER = "pinned to a version that this hookrun does not have; upgrade hookrun"
GONE = "not a recipe of this hookrun any more"


@dataclass(frozen=True, slots=True)
class RecipeStatus:
    """A recipe's or file's state after a command and, if updated, the difference between its versions."""

    name: str
    state: str
    difference: str = ""


class ConfiguredRecipes:
    """The recipes in a declaration file, with unwritten changes.

    A recipe is one entry, `{"recipe": "NAME@VERSION", "options": {...}}`, whose other fields are the user's.
    """

    def __init__(self, config_file: DeclarationFile) -> None:
        self.config_file = config_file
        self.statuses: list[RecipeStatus] = []
        self.warnings: list[Diagnostic] = []
        self._cases: list[FileChange] = []

    @property
    def changes(self) -> list[FileChange]:
        """All changed files, the declaration file last: no hook is declared before its tests exist."""
        return [each for each in (*self._cases, *self.config_file.changes()) if each.has_effect]

    def names(self, state: str) -> list[str]:
        """Return the names of the hooks of recipes in this state."""
        found = [each.name for each in self.statuses if each.state == state]
        return [str(hook["name"]) for name in found for hook in hooks_of(*split_version(name))]

    def declared(self) -> dict[str, list[tuple[int, Entry]]]:
        """Return each declared recipe's entries with their indices."""
        found: dict[str, list[tuple[int, Entry]]] = {}
        for index, entry in enumerate(self.config_file.entries):
            name = recipe_of(entry)
            if name is not None and isinstance(entry, dict):
                found.setdefault(name, []).append((index, entry))
        return found

    def guards(self) -> list[str]:
        """Return the declared recipes that were added by their level."""
        entries = ((name, entry) for name, found in self.declared().items() for _, entry in found)
        return list(dict.fromkeys(name for name, entry in entries if as_object(entry.get("metadata")).get(GUARDS)))

    def add(self, recipe: Recipe, options: Mapping[str, str], version: str = "", level: str = "") -> None:
        """Declare a version of a recipe, by default the newest, or set options of a declared one.

        A new entry has the `level` that it is added by. Raises ScaffoldError.
        """
        _check_options(recipe, options)
        if version and not hooks_of(recipe.name, version):
            hint = f"use {recipe.name}@{newest(recipe.name)}, or upgrade hookrun"
            raise ScaffoldError(f"{no_version(recipe.name, version)}\nhint: {hint}")
        entries = self.declared().get(recipe.name, [])
        if not entries:
            path = relative_path(self.config_file.path)
            for hook in recipe.hooks:
                if self.config_file.named(str(hook["name"])):
                    raise ScaffoldError(f"{path}: a hook of yours is called `{hook['name']}`\nhint: rename it")
            entry: Entry = {"recipe": f"{recipe.name}@{version or newest(recipe.name)}"}
            if options:
                entry["options"] = dict(options)
            if level:
                entry["metadata"] = {GUARDS: level}
            self.warnings += self.config_file.add(entry)
            self.statuses.append(RecipeStatus(recipe.name, ADDED))
        for index, entry in entries:
            before = entry.get("options", {})
            after = {**as_object(before), **options}
            if after != before:
                self.warnings += self.config_file.replace(index, {**entry, "options": after})
            self.statuses.append(RecipeStatus(recipe.name, CURRENT if after == before else UPDATED))
        self._write_cases(recipe)

    def update(self, name: str) -> None:
        """Move a declared recipe to its newest version, keeping the user's fields, options and changed tests."""
        if not newest(name):
            self.statuses.append(RecipeStatus(name, GONE))
            return
        for index, entry in self.declared()[name]:
            _, version = split_version(str(entry["recipe"]))
            if not hooks_of(name, version):
                self.statuses.append(RecipeStatus(name, NEWER))
                return
            if version == newest(name):
                self.statuses.append(RecipeStatus(name, CURRENT))
                continue
            self.warnings += self.config_file.replace(index, {**entry, "recipe": f"{name}@{newest(name)}"})
            self.statuses.append(RecipeStatus(name, UPDATED, _difference(name, version)))
        self._write_cases(catalog.find(name))

    def remove(self, name: str) -> None:
        """Remove a recipe, or the guards of a level, and their tests unless changed.

        Raises ScaffoldError if it is not declared.
        """
        if name == GUARDS and (guards := self.guards()):
            for each in guards:
                self.remove(each)
            return
        declared = self.declared()
        if name not in declared:
            hint = did_you_mean(name, declared)
            missing = f"{relative_path(self.config_file.path)}: no recipe {quote(name)} here"
            raise ScaffoldError(f"{missing}\nhint: {hint}" if hint else missing)
        for index, _ in reversed(declared[name]):
            self.config_file.remove(index)
        self.statuses.append(RecipeStatus(name, REMOVED))
        path, now = self._cases_of(name)
        if now.data is None:
            return
        if _is_unchanged(now.text()):
            self._cases.append(FileChange(path, now, None, directories=[os.path.dirname(path)]))
        else:
            self.statuses.append(RecipeStatus(os.path.basename(path), KEPT))

    # --- cases

    def _cases_of(self, name: str) -> tuple[str, ExistingFile]:
        path = os.path.join(self.config_file.root, HOOKS_DIRECTORY, name + CASES_SUFFIX)
        check_within(os.path.dirname(path), self.config_file.root)
        return path, existing(path)

    def _write_cases(self, recipe: Recipe) -> None:
        examples = _examples(recipe)
        if not examples:
            return
        path, now = self._cases_of(recipe.name)
        config = os.path.relpath(self.config_file.path, os.path.dirname(path))
        text = f"config: {config}\n{examples}"
        after = f"# Examples of the recipe {recipe.name}, {_digits(text)}: `hookrun test` runs them.\n{text}".encode()
        if now.data is None or now.data == after or _is_unchanged(now.text()):
            self._cases.append(FileChange(path, now, after))
        else:
            self.statuses.append(RecipeStatus(os.path.basename(path), KEPT))


def recipe_of(entry: object) -> str | None:
    """Return an entry's recipe, None for that of a hook."""
    name = as_object(entry).get("recipe")
    return name.partition("@")[0] if isinstance(name, str) else None


def _check_options(recipe: Recipe, options: Mapping[str, str]) -> None:
    """Raise ScaffoldError for an option that the recipe lacks, or a value that it cannot use."""
    known = option_variables(recipe.name)
    for name, value in options.items():
        if name not in known:
            hint = did_you_mean(name, known, f"its options are {', '.join(known) or 'none'}")
            raise ScaffoldError(f"`{recipe.name}` has no option {quote(name)}\nhint: {hint}")
        if (expected := recipe.wrong_value(name, value)) is not None:
            option = f"option {quote(name)} of recipe {quote(recipe.name)}"
            raise ScaffoldError(f"{option} cannot be {quote(value)}\nhint: it takes {expected}")


def _difference(name: str, version: str) -> str:
    titles = f"{name}@{version}", f"{name}@{newest(name)}"
    old, new = (json.dumps(hooks_of(*split_version(each)), indent=2, ensure_ascii=False) for each in titles)
    return "\n".join(diff(old, new, *titles, context=2))


# The last comments of a part of a file, which are about what comes next.
LAST_COMMENTS = re.compile(r"(?:^ *#.*\n?)+\Z", re.MULTILINE)


def _examples(recipe: Recipe) -> str:
    """Return the examples in a recipe's case file: the first two cases, and the first quiet one."""
    path = catalog.cases_path(recipe.name)
    if not os.path.exists(path):
        return ""
    document = read(path)
    data = document.data
    cases = data["cases"] if isinstance(data, dict) else []
    lines = existing(path).text().splitlines(keepends=True)
    starts = [0, *(document.position(("cases", index))[0] - 1 for index in range(len(cases))), len(lines)]
    head, *pieces = ("".join(lines[start:end]) for start, end in pairwise(starts))
    quiet = [piece for piece, case in zip(pieces, cases, strict=True) if case["expect"] == {"action": "continue"}]
    chosen = dict.fromkeys([*pieces[:2], *quiet[:1]])
    return "".join(LAST_COMMENTS.sub("", piece) for piece in (head, *chosen))


def _is_unchanged(text: str) -> bool:
    head, _, rest = text.partition("\n")
    return f", {_digits(rest)}:" in head


def _digits(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


# --- suggestions, by a project's manifests, lock files and formatters

# Kind of project -> files of which it has at least one.
MANIFESTS = {
    "Python": ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "uv.lock"),
    "Node": ("package.json",),
    "Go": ("go.mod",),
    "Rust": ("Cargo.toml",),
    "Ruby": ("Gemfile",),
}

# Lock files of package managers that agents forget in favour of npm or pip.
OTHER_LOCKS = [lock for lock, manager in {**LOCKS, **PYTHON_LOCKS}.items() if manager != "no"]

# Formatters: the kind of project, the program, and files (or `FILE:TEXT`) that show its use.
FORMATTERS = (
    ("Python", "ruff", "ruff.toml", ".ruff.toml", "pyproject.toml:[tool.ruff"),
    ("Python", "black", "pyproject.toml:[tool.black"),
    ("Node", "prettier", ".prettierrc", ".prettierrc.json", ".prettierrc.yaml", "prettier.config.js"),
    ("Node", "prettier", 'package.json:"prettier"'),
    ("Node", "biome", "biome.json", "biome.jsonc"),
    ("Go", "gofmt", "go.mod"),
    ("Rust", "rustfmt", "Cargo.toml"),
)

MAX_BYTES = 1 << 20


def kinds(root: str) -> list[str]:
    """Return a directory's kinds of project."""
    return [kind for kind, names in MANIFESTS.items() if any(_has(root, name) for name in names)]


def template_language(root: str) -> str:
    """Return the default language for a hook of this project."""
    return next((kind.lower() for kind in kinds(root) if kind.lower() in LANGUAGES), "sh")


def suggest(root: str) -> dict[str, bool]:
    """Return the recipes to offer for a project, each with whether it is selected by default."""
    found = kinds(root)
    offered = dict.fromkeys(catalog.of_level("standard"), True)
    if any(_has(root, name) for name in OTHER_LOCKS):
        offered["package-manager"] = True
    if found:
        offered["format-on-edit"] = any(_uses(root, *rest) for kind, *rest in FORMATTERS if kind in found)
        offered["run-tests-at-stop"] = False
    return {**offered, "notify": False}


def _uses(root: str, program: str, *marks: str) -> bool:
    installed = shutil.which(program) is not None or _has(root, f"node_modules/.bin/{program}")
    return installed and any(_has(root, mark) for mark in marks)


def _has(root: str, mark: str) -> bool:
    name, _, text = mark.partition(":")
    path = os.path.join(root, name)
    if not text:
        return os.path.exists(path)
    return text.encode() in (read_or_none(path, MAX_BYTES) or b"")
