"""Each known way in which a hook does not fire: the command that is asked names the true cause in its first line."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.cli.why_not import WAYS, Way
from tests.conftest import ROOT, Project
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path


@rows("way", WAYS, ids=[way.title for way in WAYS])
def test_the_first_line_names_the_true_cause(tmp_path: Path, way: Way) -> None:
    """The answer is one line; where that is too short for the cause, and in a table of `try`, the cause follows."""
    project = Project(tmp_path / way.title)
    way.setup(project)
    (project.root / way.below).mkdir(exist_ok=True)
    done = hookrun(project, *way.command, cwd=project.root / way.below, **way.env)
    assert way.says in way.answer_in(done.stdout), (done.stdout, done.stderr)
    assert way.command[0] != "explain" or len(done.stdout.partition("\n")[0]) <= 120
    assert done.status in (0, 1)


def test_each_hook_of_the_list_runs_when_nothing_is_in_its_way(project: Project) -> None:
    """The hook in question would run, and does: the cause that keeps it from that is the only difference."""
    project.hooks({"name": "guard", "command": "true"})
    project.approve()
    explained = hookrun(project, "explain", "pre_tool_use", "--tool", "bash")
    assert explained.status == 0
    assert "would run: guard" in explained.stdout.partition("\n")[0]
    assert "\nguard  continue " in hookrun(project, "try", "ls").stdout


@pytest.mark.lint
def test_the_page_is_made_from_the_list() -> None:
    """`python scripts/document_why_not.py` writes it anew."""
    program = runpy.run_path(str(ROOT / "scripts" / "document_why_not.py"))
    assert program["page"]() == (ROOT / "docs" / "troubleshooting.md").read_text()
