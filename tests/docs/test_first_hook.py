"""What docs/tutorial.md shows is run, at a terminal, in an account of its own for each language."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from hookrun.scaffold.new_hook import LANGUAGES
from tests import tour
from tests.cli.command import hookrun
from tests.conftest import ROOT

if TYPE_CHECKING:
    from tests.conftest import Project

PAGE = (ROOT / "docs" / "tutorial.md").read_text()


def section(title: str) -> str:
    """Return what stands below a heading of the page."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize("language", ["Python", "Node"])
def test_four_commands_lead_to_a_tested_hook(project: Project, language: str) -> None:
    """Each command prints what the page says."""
    program = LANGUAGES[language.lower()].program
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: the page's part about {language} is NOT tested here")
    steps = tour.commands(section(f"In {language}"), terminal=True)
    assert len(steps) > 4
    tour.take(project, steps, terminal=True)


def test_the_commands_for_more_hooks_work(project: Project) -> None:
    """Those that are shown without their output."""
    shown = re.findall(r"^hookrun .*$", section("More hooks") + section("Recipes"), re.MULTILINE)
    ran = [line.partition("  #")[0] for line in shown if "NAME" not in line]
    assert len(ran) == 6
    for line in ran:
        words = [word.replace("'", "") for word in re.findall(r"(?:'[^']*'|\S)+", line)]
        done = hookrun(project, *words[1:])
        assert (done.status, done.stderr) == (0, ""), line
