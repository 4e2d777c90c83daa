"""Every recipe does what the cases that it ships say, and ships enough of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import RECIPES
from tests.recipes.cases import cases, context, recipe, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project
    from tests.recipes.cases import Case

FEWEST = 10


@pytest.mark.parametrize(
    ("module", "case"),
    [pytest.param(module, case, id=f"{module}: {name}") for module in RECIPES for name, case in cases(module)],
)
def test_a_recipe_does_what_its_cases_say(
    module: str, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with the options, files and context that it names."""
    run(case, module, tmp_path, monkeypatch)


@pytest.mark.parametrize("module", RECIPES)
def test_a_recipe_ships_enough_cases(module: str) -> None:
    """At least ten in which it does something and ten in which it does not, each under a name of its own."""
    named = cases(module)
    assert len({name for name, _ in named}) == len(named)
    acts = [case for _, case in named if case["expect"].get("action", "continue") != "continue"]
    assert len(acts) >= FEWEST
    assert len(named) - len(acts) >= FEWEST


@pytest.mark.parametrize("module", RECIPES)
def test_a_recipe_is_of_its_form(module: str) -> None:
    """Its first hook has its name, its functions are its module's, and it says what it misses."""
    made = recipe(module)
    assert made.hooks[0]["name"] == made.name == module.replace("_", "-")
    assert all(str(hook["python"]).startswith(f"hookrun.recipes.{module}:") for hook in made.hooks)
    assert made.summary
    assert made.catches
    assert made.misses


@pytest.mark.parametrize("module", RECIPES)
@pytest.mark.parametrize("acts", [True, False])
def test_a_recipe_runs_as_it_is_declared(module: str, acts: bool, project: Project) -> None:
    """One of its cases of either kind, declared by a person and fired by the real command."""
    case = next(
        case
        for _, case in cases(module)
        if (case["expect"].get("action", "continue") != "continue") is acts
        and not case.get("files")
        and "fired" not in case["expect"]
    )
    project.user_hooks(*(dict(hook) for hook in recipe(module).hooks))
    environment = {name: str(value) for name, value in case.get("env", {}).items()}
    event = str(case["event"])
    fired = project.fire({**context(case, str(project.root)), "session_id": "s"}, event=event, env=environment)
    assert fired.action == case["expect"]["action"], fired.stderr
    assert fired.hook(module.replace("_", "-"))["failure"] is None


@pytest.mark.parametrize(
    ("module", "option", "value", "line"),
    [
        ("block_destructive_commands", "GIT", "cleen", "rm x"),
        ("commit_message_check", "PATTERN", "(", "git commit -m x"),
        ("commit_message_check", "SUBJECT", "many", "git commit -m x"),
        ("no_force_push", "LEASE", "perhaps", "git push --force-with-lease"),
        ("package_manager", "NODE", "pnmp", "npm i"),
        ("protect_files", "READ", "sometimes", "cat x"),
        ("secret_scan", "ARGUMENTS", "warn", "ls"),
    ],
)
def test_an_option_that_is_none_fails_the_hook(
    module: str, option: str, value: str, line: str, project: Project
) -> None:
    """It is a failure that names the option, not a guard that guards nothing."""
    project.user_hooks({**recipe(module).hooks[0], "env": {f"HOOKRUN_OPTION_{option}": value}})
    fired = project.fire({"tool_name": "bash", "tool_args": {"command": line}, "session_id": "s"})
    assert fired.hook(module.replace("_", "-"))["failure"] == "exit_code"
    assert f"HOOKRUN_OPTION_{option}" in fired.stderr + str(fired.verdict)
