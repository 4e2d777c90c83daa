"""Every recipe passes the cases that it ships, and ships enough of them."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import RECIPES
from hookrun.recipes.catalog import names
from hookrun.testing.cases import load
from hookrun.testing.report import failure_lines
from tests.cli.command import hookrun
from tests.conftest import Project
from tests.recipes.shipped import acts, file, recipe, run_all

if TYPE_CHECKING:
    from pathlib import Path

    from hookrun.recipes.recipe import Recipe
    from hookrun.testing.cases import Case
    from tests.recipes.account import Account

OTHER_OPTIONS = {
    "block-destructive-commands": ("git=clean reset", "protect=/srv"),
    "commit-message-check": ("pattern=[A-Z].*", "subject=20", "width=30", "forbidden=a"),
    "cost-tracker": ("budget=1", "limit=9"),
    "format-on-edit": ("formatters=black", "fixes=yes", "project_tools=no"),
    "inject-git-context": ("files=0", "commits=0"),
    "lint-on-edit": ("linters=node", "lines=1", "project_tools=no"),
    "log-tools": ("file=other.jsonl", "redact=no", "longest=2", "max_bytes=9", "keep=0"),
    "no-force-push": ("lease=yes", "branches=none", "kept=none"),
    "notify": ("via=bell", "style=slack", "level=error"),
    "package-manager": ("node=bun", "python=no"),
    "protect-cloud": ("production=x", "tests=x"),
    "protect-data": ("production=x", "tests=x"),
    "protect-files": ("secrets=x", "examples=*", "locked=x", "settings=x", "read=yes"),
    "rate-limit": ("calls=1", "seconds=1", "tools=x"),
    "require-plan": ("file=OTHER.md", "free=*"),
    "run-tests-at-stop": ("command=false", "attempts=1", "lines=1"),
    "secret-scan": ("prompt=off", "arguments=off", "output=off", "allow=*"),
    "ticket-from-branch": ("pattern=x", "url=https://x/{ticket}"),
}
"""Recipe -> options that change what it does."""

FEWEST = 10
"""Cases of either kind."""


def test_every_module_with_a_recipe_is_listed() -> None:
    """Sorted, once, and each by the name of its module."""
    assert list(RECIPES) == sorted(set(RECIPES))
    assert [recipe(module).name.replace("-", "_") for module in RECIPES] == list(RECIPES)


@pytest.fixture(scope="module")
def shipped() -> list[tuple[Recipe, Case]]:
    """Return all cases, each with its recipe."""
    return [(recipe(module), case) for module in RECIPES for case in file(module).cases]


def test_a_recipe_does_what_its_cases_say() -> None:
    """As `hookrun test` runs them: one recipe's here, all of them in a directory that recipes guard below."""
    done = run_all("log_tools")
    assert ["\n".join(failure_lines(ran)) for ran in done.results if not ran.passed] == []
    assert done.ok


def test_their_cases_rely_on_no_default(shipped: list[tuple[Recipe, Case]]) -> None:
    """Each sets every option, so that it holds whatever a project has chosen."""
    unset = [(made.name, case.name, {each.variable for each in made.options} - set(case.env)) for made, case in shipped]
    assert [each for each in unset if each[2]] == []


def test_their_cases_name_their_hooks(shipped: list[tuple[Recipe, Case]]) -> None:
    """So that another recipe beside it has no part in them."""
    hooks = {made.name: {hook["name"] for hook in made.hooks} for made, _ in shipped}
    others = [(made.name, case.name) for made, case in shipped if not set(case.hooks or [None]) <= hooks[made.name]]
    assert others == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("root", "layer", "options"),
    [
        ("project", [], OTHER_OPTIONS),
        ("home/.config/hookrun", ["--user"], {}),
        ("project/.claude/hooks/.env/secrets.pem", [], {}),
    ],
)
def test_their_examples_hold_wherever_recipes_are_added(
    root: str, layer: list[str], options: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    """All recipes side by side, also in a directory that they themselves guard: `hookrun add`, then `hookrun test`."""
    project = Project(tmp_path)
    project.root = tmp_path / root
    (project.root / ".git").mkdir(parents=True, exist_ok=True)
    added = hookrun(project, "add", *(recipe(module).name for module in RECIPES), *layer)
    assert added.status == 0, added.stderr
    for name, chosen in options.items():
        assert hookrun(project, "add", name, *(f"--option={each}" for each in chosen)).status == 0
    counts = [len(load(str(path)).cases) for path in project.root.glob("hooks/*.hooktest.yaml")]
    assert len(counts) == len(RECIPES)
    assert set(counts) <= {2, 3}
    done = hookrun(project, "test", str(project.root))
    assert done.status == 0, done.stdout


def test_a_recipe_ships_enough_cases(shipped: list[tuple[Recipe, Case]]) -> None:
    """At least ten in which it does something and ten in which it does not."""
    kinds = Counter((made.name, acts(case)) for made, case in shipped)
    assert {each: kinds[each] for each in product(names(), (True, False)) if kinds[each] < FEWEST} == {}


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
def test_an_option_that_is_none_ends_the_recipe(
    module: str, option: str, value: str, line: str, account: Account
) -> None:
    """The error names the option: no guard guards nothing."""
    account.options(**{option: value})
    with pytest.raises(SystemExit, match=f"HOOKRUN_OPTION_{option}"):
        account.call(module, event="pre_tool_use", tool_name="bash", tool_args={"command": line})
