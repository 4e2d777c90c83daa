"""Every recipe does what the cases that it ships say, and ships enough of them."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import RECIPES
from hookrun.testing.told import failure
from tests.recipes.shipped import acts, file, laid_out, recipe, run_all

if TYPE_CHECKING:
    from tests.conftest import Project

FEWEST = 10
"""Cases of either kind."""


def test_every_module_with_a_recipe_is_listed() -> None:
    """Sorted, once, and each by the name of its module."""
    assert list(RECIPES) == sorted(set(RECIPES))
    assert [recipe(module).name.replace("-", "_") for module in RECIPES] == list(RECIPES)


@pytest.mark.parametrize("module", RECIPES)
def test_a_recipe_does_what_its_cases_say(module: str) -> None:
    """As `hookrun test` runs them."""
    done = run_all(module)
    assert ["\n".join(failure(ran)) for ran in done.results if not ran.passed] == []
    assert done.ok


@pytest.mark.parametrize("module", RECIPES)
def test_a_recipe_ships_enough_cases(module: str) -> None:
    """At least ten in which it does something and ten in which it does not."""
    kinds = [acts(case) for case in file(module).cases]
    assert kinds.count(True) >= FEWEST
    assert kinds.count(False) >= FEWEST


@pytest.mark.parametrize("module", RECIPES)
def test_a_recipe_is_of_its_form(module: str) -> None:
    """Its first hook has its name, its functions are its module's, and it says what it misses."""
    made = recipe(module)
    assert made.hooks[0]["name"] == made.name
    assert all(str(hook["python"]).startswith(f"hookrun.recipes.{module}:") for hook in made.hooks)
    assert made.summary
    assert made.catches
    assert made.misses


@pytest.mark.parametrize("module", RECIPES)
@pytest.mark.parametrize("kind", [True, False], ids=["acts", "lets be"])
def test_a_recipe_runs_as_it_is_declared(module: str, kind: bool, project: Project) -> None:
    """The first of its cases of either kind, declared by a person and fired by the real command."""
    case = next(
        case for case in file(module).cases if acts(case) is kind and "action" in case.expect and not case.agents
    )
    hooks = [hook for hook in recipe(module).hooks if case.hooks is None or hook["name"] in case.hooks]
    project.user_hooks(*(dict(hook) for hook in hooks))
    environment = laid_out(case, project.root)
    if case.setup is not None:
        env = {**os.environ, "HOME": str(project.home), **environment}
        subprocess.run(["/bin/sh", "-c", case.setup], cwd=project.root, env=env, check=True)
    context = {"working_dir": str(project.root), "session_id": "s", **case.context}
    fired = project.fire(context, event=case.event, env=environment)
    expected = case.expect["action"]
    assert isinstance(expected, list)
    assert fired.action in expected, fired.stderr
    failed = [record["failure"] for record in project.audit() if record.get("failure")]
    assert failed == ([case.expect["failure"]] if case.expect.get("failure") else [])


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
