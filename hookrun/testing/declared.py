"""The declarations that cases are run against: a project's files, or data in memory; nothing of the person's own."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookrun.config import json_text
from hookrun.config.check import check_hook, check_settings
from hookrun.config.compile import compile_declarations
from hookrun.config.find import NoHomeError, find, home_directory
from hookrun.config.scope import Scope, explicit_names
from hookrun.config.source import Document
from hookrun.model import UNTRUSTED_LAYERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.model import Hook

IN_MEMORY = "declarations in memory"
"""How messages call what no file holds."""


@dataclass(eq=False, repr=False, slots=True)
class Declared:
    """What a project declares: its `hooks` in running order, the `root` they run in, its own events.

    `problems` is what makes that unknown, a line each. `files` is every file that had a say, or would have one; `found`
    tells whether one had. With `rootless` there is no project around them: a case's own directory is one.
    """

    root: str
    hooks: list[Hook] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    found: bool = True
    rootless: bool = False


def from_files(directory: str, config: str | None = None) -> Declared:
    """Return what the project around a directory declares, or what one named file does.

    Managed and user declarations are left out: a project's tests say the same on every machine.
    """
    try:
        home = home_directory()
    except NoHomeError:
        home = "/"
    found = find(directory, home, config=config)
    found.files = [each for each in found.files if each[0] in UNTRUSTED_LAYERS]
    declarations = compile_declarations(found)
    problems = list(declarations.problems)
    if not problems and declarations.root is None:
        upper = f" or above it up to {found.repository}" if found.repository is not None else ""
        problems.append(
            f"{directory}: found no declaration file here{upper}, expected coder.json or hookrun.yaml with hooks; "
            "create one, or name one with config"
        )
    root = declarations.root or found.repository or directory
    files = [path for _, path, _ in found.files] + declarations.files
    return Declared(
        os.path.normpath(root),
        declarations.hooks,
        declarations.events,
        problems,
        files,
        found=declarations.root is not None,
    )


def from_data(data: Mapping[str, object], root: str | None = None) -> Declared:
    """Return what declarations in memory come to, the object that a coder.json would hold.

    `root` is the project's; without one a case's own directory is the project, and an empty one where it has none.
    """
    text = json.dumps(data, indent=1)
    document = Document(IN_MEMORY, text, json_text.parse(text))
    read = document.data if isinstance(document.data, dict) else {}
    settings, wrong = check_settings(document, read.get("hookrun", {}), "project")
    events, defaults, entries = settings.get("events"), settings.get("defaults"), read.get("hooks")
    entries = entries if isinstance(entries, list) else []
    declared = Declared(root or "/", events=events if isinstance(events, list) else [], rootless=root is None)
    scope = Scope(
        "project",
        frozenset(declared.events),
        defaults if isinstance(defaults, dict) else {},
        reserved=explicit_names(entries),
    )
    for index, entry in enumerate(entries):
        checked = check_hook(document, ("hooks", index), entry, scope)
        wrong += checked.problems
        if checked.hook is not None:
            checked.hook.source = ""
            declared.hooks.append(checked.hook)
    declared.problems = [str(problem) for problem in wrong if problem.severity == "error"]
    declared.hooks.sort(key=lambda hook: hook.priority)
    return declared
