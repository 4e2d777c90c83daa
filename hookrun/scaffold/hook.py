"""A new hook from a template: its declaration, its script and its cases, worked out before anything is written."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookrun.config.diagnostics import quote
from hookrun.edit.file_change import FileChange, existing
from hookrun.events import WITH_TOOL, UnknownEventError, resolve_event
from hookrun.scaffold import cases, templates
from hookrun.scaffold.declaring import Declaring, ScaffoldError, of_project, within
from hookrun.scaffold.templates import LANGUAGES, PURPOSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.config.diagnostics import Diagnostic

DIRECTORY = "hooks"
"""Where the scripts and cases of a project's hooks lie."""

TIMEOUT = 10
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants. `name` and `matcher` None: those of the template that fits the event."""

    language: str
    event: str = "pre_tool_use"
    matcher: str | None = None
    when: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    form: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written: every file's `changes`, the names that they declare, what is doubtful about it.

    `declaring` is the file with the declaration; `build` is the command without which there is no program yet.
    """

    declaring: Declaring
    names: list[str]
    changes: list[FileChange]
    warnings: list[Diagnostic] = field(default_factory=list)
    build: str = ""


def event_named(name: str, own: list[str]) -> str:
    """Return the canonical name of an event; a program's `own` are what they are. Raises ScaffoldError."""
    try:
        return resolve_event(name, own)
    except UnknownEventError as error:
        raise ScaffoldError(str(error)) from None


def plan(wish: Wish, directory: str, home: str) -> Plan:
    """Return what makes the hook that is wished for in the project around a directory.

    Raises ScaffoldError for what cannot be, such as a script that is there already, and FileError for what cannot be
    read.
    """
    declaring = of_project(directory, home, wish.form)
    root = declaring.root
    event = event_named(wish.event, declaring.events)
    purpose = templates.purpose_of(event, wish.matcher)
    entry = _entry(wish, event, purpose, declaring)
    name = str(entry["name"])
    language = LANGUAGES[wish.language]
    script = os.path.join(root, DIRECTORY, name + language.suffix)
    tests = os.path.join(root, DIRECTORY, name + cases.SUFFIX)
    built = [os.path.join(root, DIRECTORY, name)] if language.build else []
    for path in (script, tests, *built):
        within(os.path.dirname(path), root)
        if os.path.lexists(path):
            raise ScaffoldError(f"{path}: found a file, expected none of this name yet; choose another name")
    warnings = declaring.add(entry)
    values = {"name": name, "description": str(entry["description"]), "event": event}
    config = os.path.relpath(declaring.path, os.path.dirname(tests))
    changes = [
        FileChange(script, existing(script), templates.script(wish.language, purpose, values).encode(), mode=0o755),
        FileChange(tests, existing(tests), cases.text(purpose, entry, config).encode()),
        declaring.change(),
    ]
    build = language.build.format(directory=DIRECTORY, name=name)
    return Plan(declaring, [name], changes, warnings, build)


def _entry(wish: Wish, event: str, purpose: str, declaring: Declaring) -> dict[str, object]:
    """Return the declaration, its fields in the order in which people read them."""
    template, language = PURPOSES[purpose], LANGUAGES[wish.language]
    name = wish.name or free_name(template.name, declaring)
    if not NAME.fullmatch(name):
        raise ScaffoldError(f"found the name {quote(name)}, expected letters, digits, -, _ and . (it names files too)")
    if declaring.named(name):
        raise ScaffoldError(
            f"{declaring.path}: found a hook {quote(name)} already, expected a new name; choose another"
        )
    matcher = wish.matcher or (template.matcher if event in WITH_TOOL and event != "file_changed" else None)
    command = f"./{DIRECTORY}/{name}{'' if language.build else language.suffix}"
    entry: dict[str, object] = {"name": name, "description": template.description, "event": event}
    if matcher is not None:
        entry["matcher"] = matcher
    if wish.when:
        entry["when"] = dict(wish.when)
    entry |= {"command": command, "timeout": TIMEOUT}
    if template.on_failure != "continue":
        entry["on_failure"] = template.on_failure
    return entry


def free_name(name: str, declaring: Declaring) -> str:
    """Return the name, with a number if a hook is called so already."""
    free, number = name, 1
    while declaring.named(free):
        number += 1
        free = f"{name}-{number}"
    return free
