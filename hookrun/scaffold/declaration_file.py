"""Find and edit the config file of a project or user, and write it together with other files or not at all."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

from hookrun.config import parse, parse_yaml
from hookrun.config.config_file import ConfigFile, load_file
from hookrun.config.discovery import LAYER_FILES, PROJECT_FILES, find
from hookrun.config.document import YAML_SUFFIXES, Document
from hookrun.config.load import load_config
from hookrun.config.recipe_entries import expanded, validate_entry
from hookrun.config.schema import SCHEMA_FILE, schema_text
from hookrun.config.validate import Scope, explicit_names
from hookrun.edit import editor_for
from hookrun.edit.file_change import FileChange, existing
from hookrun.edit.span_editor import EditError
from hookrun.files import is_within, relative_path
from hookrun.state import config_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.config.diagnostics import Diagnostic
    from hookrun.config.parse import KeyPath
    from hookrun.edit.json_edit import Json
    from hookrun.edit.yaml_edit import Yaml


class ScaffoldError(Exception):
    """A hook cannot be written; nothing was changed. The message says where, what is wrong and what to do."""


class DeclarationFile:
    """A declaration file with edits that are not written yet. The file at `path` may not exist.

    `root` is its directory, `layer` is project or user, `events` are its custom events.
    """

    def __init__(self, path: str, layer: str, events: list[str]) -> None:
        """Read the file. Raises ScaffoldError if it cannot be edited, FileError if it cannot be read."""
        self.path = path
        self.layer = layer
        self.root = os.path.dirname(path)
        self.events = events
        self._now = existing(path)
        file = load_file(path, layer) if self._now.data is not None else None
        if file is not None:
            _refuse_broken(file)
        schema = os.path.join(self.root, SCHEMA_FILE)
        self._schema: list[FileChange] = []
        if self.is_new and not os.path.lexists(schema):
            self._schema.append(FileChange(schema, existing(schema), schema_text().encode(), is_generated=True))
        self._entries_path: KeyPath = file.entries_path if file is not None else ("hooks",)
        self.defaults: Mapping[str, object] = file.defaults if file is not None else {}
        self._text = editor_for(path, self._now.text() if file is not None else _start(path))

    @property
    def is_new(self) -> bool:
        """Whether the file does not exist yet."""
        return self._now.data is None

    @property
    def entries(self) -> list[object]:
        """The hooks in order."""
        data = self._text.data
        found = data.get("hooks") if isinstance(data, dict) else None
        if isinstance(found, dict):
            found = found.get("hooks")
        return found if isinstance(found, list) else []

    def named(self, name: str) -> bool:
        """Return whether a hook has this name."""
        return name in explicit_names(expanded(self.entries))

    def add(self, entry: Mapping[str, object]) -> list[Diagnostic]:
        """Append a hook and return warnings about it. Raises ScaffoldError if it is invalid."""
        whole = self._text.data
        if not isinstance(whole, dict) or self._entries_path[0] not in whole:
            self._edit(lambda text: text.add((), [entry], "hooks"), entry)
        else:
            self._edit(lambda text: text.add(self._entries_path, entry), entry)
        return self._checked(len(self.entries) - 1)

    def replace(self, index: int, entry: Mapping[str, object]) -> list[Diagnostic]:
        """Replace a hook and return warnings about the new one. Raises ScaffoldError if it is invalid."""
        self._edit(lambda text: text.set((*self._entries_path, index), entry), entry)
        return self._checked(index)

    def remove(self, index: int) -> None:
        """Remove a hook. Raises ScaffoldError."""
        self._edit(lambda text: text.remove((*self._entries_path, index)), None)

    def changes(self) -> list[FileChange]:
        """Return what changes, to show or to write: the file, and before a new one the schema that it names."""
        return [*self._schema, FileChange(self.path, self._now, self._now.encoded(self._text.text))]

    def _edit(self, edit: Callable[[Json | Yaml], Json | Yaml], entry: Mapping[str, object] | None) -> None:
        try:
            self._text = edit(self._text)
        except EditError:
            what = "by hand" if entry is None else f"by hand: {json.dumps(entry, ensure_ascii=False)}"
            raise ScaffoldError(
                f"{relative_path(self.path)}: these hooks cannot be edited in place: `hooks` is not a plain list\n"
                f"hint: make the change {what}"
            ) from None

    def _checked(self, index: int) -> list[Diagnostic]:
        """Return the warnings about a hook. Raises ScaffoldError with the first error."""
        entries = self.entries
        names = explicit_names(expanded(entry for at, entry in enumerate(entries) if at != index))
        scope = Scope(self.layer, frozenset(self.events), dict(self.defaults), named=names, reserved=set(names))
        read = parse_yaml.parse_yaml if self.path.endswith(YAML_SUFFIXES) else parse.parse_json
        document = Document(self.path, self._text.text, read(self._text.text))
        checked = validate_entry(document, (*self._entries_path, index), entries[index], scope)
        problems = [problem for each in checked for problem in each.problems]
        for problem in problems:
            if problem.severity == "error":
                raise ScaffoldError(f"{problem}\nnote: nothing was written")
        return problems


def _start(path: str) -> str:
    """Return the beginning of a new file: the name of its schema, in the way that editors read it."""
    if path.endswith(YAML_SUFFIXES):
        return f"# yaml-language-server: $schema=./{SCHEMA_FILE}\n"
    return json.dumps({"$schema": f"./{SCHEMA_FILE}"}, indent=2) + "\n"


def _refuse_broken(file: ConfigFile) -> None:
    """Raise ScaffoldError for a file that cannot be edited safely."""
    errors = [problem for problem in file.problems if problem.severity == "error"]
    if errors:
        raise ScaffoldError(f"{errors[0]}\nnote: nothing was written")
    if file.handlers is not None:
        raise ScaffoldError(
            f"{relative_path(file.path)}: its hooks are in Claude Code's format, so nothing was written\n"
            f"hint: convert them with `hookrun config migrate {shlex.quote(file.path)} --json`"
        )


def project_file(directory: str, home: str, form: str | None = None) -> DeclarationFile:
    """Return the config file of the project around a directory; `form` is json, yaml or None.

    In order of preference: a file with hooks, an existing file, a new one at the root of the repository, or in the
    directory itself if there is no repository. Raises ScaffoldError and FileError.
    """
    loaded = load_config(find(directory, home))
    paths = [os.path.join(loaded.project, name) for name in PROJECT_FILES]
    return DeclarationFile(_chosen(paths, "project", form), "project", loaded.declarations.events)


def user_file(home: str) -> DeclarationFile:
    """Return the user's config file. Raises ScaffoldError and FileError."""
    paths = [os.path.join(config_directory(home), name) for name in LAYER_FILES]
    return DeclarationFile(_chosen(paths, "user", None), "user", [])


def _chosen(paths: list[str], layer: str, form: str | None) -> str:
    there = [load_file(path, layer) for path in paths if os.path.lexists(path)]
    chosen = next((file.path for file in there if "hooks" in file.data), None)
    chosen = chosen or next((file.path for file in there if file.is_effective), None)
    if chosen is None:
        json_path, yaml_path, *_ = paths
        new = yaml_path if form == "yaml" else json_path
        return there[0].path if there and form is None else new
    if form is not None and chosen.endswith(YAML_SUFFIXES) != (form == "yaml"):
        message = f"{relative_path(chosen)} already has the project's hooks, which belong in one file"
        raise ScaffoldError(f"{message}\nhint: leave out --{form}")
    return chosen


def check_within(path: str, root: str) -> None:
    """Raise ScaffoldError for a path that symbolic links lead out of its directory."""
    real = os.path.realpath(path)
    if not is_within(real, os.path.realpath(root)):
        raise ScaffoldError(f"{path}: links out of {root}, to {real}\nhint: replace the link with a directory")
