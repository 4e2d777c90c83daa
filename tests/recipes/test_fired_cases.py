"""Recipes that run programs and leave files do what their cases say: ten things that they catch, ten they let be."""

from __future__ import annotations

import pytest

from tests.recipes import fired

RECIPES = (
    "cost_tracker",
    "format_on_edit",
    "inject_git_context",
    "lint_on_edit",
    "log_tools",
    "notify",
    "rate_limit",
    "require_plan",
    "run_tests_at_stop",
    "ticket_from_branch",
)
ENOUGH = 10
"""Cases of each kind."""


@pytest.mark.parametrize("module", RECIPES)
def test_the_cases_of_a_recipe_hold(module: str) -> None:
    """Each case comes out as its file says."""
    assert fired.problems(module) == []


@pytest.mark.parametrize("module", RECIPES)
def test_a_recipe_has_enough_cases_of_both_kinds(module: str) -> None:
    """Each name is unique, and there are ten of what a recipe catches or says, and ten of what it lets be."""
    found = fired.load(fired.CASES / f"{module}{fired.SUFFIX}")
    names = [case["name"] for case in found]
    assert len(set(names)) == len(names)
    positive = sum(fired.is_positive(case) for case in found)
    assert (positive >= ENOUGH, len(found) - positive >= ENOUGH) == (True, True)
