"""Options are checked where they are chosen, by what reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.recipes import RECIPES, catalog
from tests.cli.command import hookrun

if TYPE_CHECKING:
    from tests.conftest import Project

WRONG = [
    ("block-destructive-commands", "git", "cleen"),
    ("commit-message-check", "pattern", "("),
    ("commit-message-check", "subject", "many"),
    ("cost-tracker", "budget", "-1"),
    ("format-on-edit", "formatters", "blak"),
    ("lint-on-edit", "project_tools", "perhaps"),
    ("no-force-push", "lease", "maybe"),
    ("notify", "style", "xml"),
    ("package-manager", "node", "pnmp"),
    ("rate-limit", "calls", "lots"),
    ("rate-limit", "calls", "99999999999"),
    ("secret-scan", "prompt", "warn"),
    ("ticket-from-branch", "pattern", "["),
]


def test_a_default_is_right() -> None:
    """The documented default of an option is its value when it is not set."""
    recipes = [catalog.find(name) for name in catalog.names()]
    options = [(made, option) for made in recipes for option in made.options]
    assert [(made.name, it.name) for made, it in options if made.wrong_value(it.name, it.default)] == []
    assert len(RECIPES) == len(recipes)


def test_a_wrong_value_is_told() -> None:
    """A wrong value gets a message, a value of an unknown option none."""
    assert [row for row in WRONG if not catalog.find(row[0]).wrong_value(*row[1:])] == []
    assert [row for row in WRONG if catalog.find(row[0]).wrong_value("none", row[2]) is not None] == []


def test_a_wrong_value_is_not_declared(project: Project) -> None:
    """One line, status 1, nothing written, by either command."""
    for command in (["add"], ["recipes", "add"]):
        done = hookrun(project, *command, "no-force-push", "--option", "lease=maybe")
        assert (done.status, done.stdout) == (1, "")
        assert 'option "lease" of recipe "no-force-push" cannot be "maybe"' in done.stderr
        assert not (project.root / "coder.json").exists()
    assert hookrun(project, "add", "no-force-push", "--option", "lease=yes").status == 0
