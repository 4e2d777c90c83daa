"""The recipes and the cases that they ship."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

import hookrun.recipes
from hookrun.config.document import Document, errors_in
from hookrun.config.recipe_entries import hooks_from_data
from hookrun.config.shapes import list_at, texts
from hookrun.config.validate import validate_settings
from hookrun.core.model import as_object
from hookrun.recipes import catalog
from hookrun.testing import case_runner, cases
from hookrun.testing.sandbox import CaseConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.recipes.recipe import Recipe
    from hookrun.testing.cases import Case, CaseFile
    from hookrun.testing.results import TestRun

TEXTS = ("message", "additional_context", "system_message")


def recipe(module: str) -> Recipe:
    """Return the module's own description of its recipe."""
    return catalog.find(module.replace("_", "-"))


@cache
def file(module: str) -> CaseFile:
    """Return the cases of a recipe, which have no errors."""
    path = os.path.join(os.path.dirname(hookrun.recipes.__file__), catalog.CASES.format(module=module))
    found = cases.load(path)
    problems = [*found.problems, *(problem for case in found.cases for problem in case.problems)]
    assert [str(problem) for problem in problems] == []
    return found


def acts(case: Case) -> bool:
    """Return whether a case expects the recipe to act: to block, modify, send a message, fail, or write a file."""
    expect = case.expect
    said = any(expect.get(name) is not None for name in (*TEXTS, "failure"))
    quiet = expect.get("system_message", "") is None
    files = expect.get("files", {})
    assert isinstance(files, dict)
    left = any(text is not None for text in files.values()) and not quiet
    return said or left or expect.get("action", ["continue"]) != ["continue"]


def config_from_data(data: Mapping[str, object], root: str | None = None) -> CaseConfig:
    """Return the config of this object as a coder.json.

    `root` is the project's; without it, the project is a case's own directory, or an empty one.
    """
    document = Document.from_data("declarations in memory", data)
    settings, wrong = validate_settings(document, document.top.get("hookrun", {}), "project")
    entries, events = list_at(document.top, "hooks"), texts(settings, "events")
    hooks, problems = hooks_from_data(document, ("hooks",), entries, events, as_object(settings.get("defaults")))
    errors = [str(problem) for problem in errors_in([*wrong, *problems])]
    return CaseConfig(root or "/", hooks, events, errors, rootless=root is None)


def run_all(module: str) -> TestRun:
    """Run the cases of a recipe against its declarations."""
    given = config_from_data({"hooks": [dict(hook) for hook in recipe(module).hooks]})
    assert not given.problems
    return case_runner.run_cases([file(module)], config=given)
