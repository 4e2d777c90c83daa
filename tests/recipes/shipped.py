"""The recipes and the cases that they ship."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

import hookrun.recipes
from hookrun.recipes import catalog
from hookrun.testing import case_runner, cases, sandbox

if TYPE_CHECKING:
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


def run_all(module: str) -> TestRun:
    """Run the cases of a recipe against its declarations."""
    given = sandbox.config_from_data({"hooks": [dict(hook) for hook in recipe(module).hooks]})
    assert not given.problems
    return case_runner.run_cases([file(module)], config=given)
