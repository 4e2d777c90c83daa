"""The grades of what agents obey: from what their events can express, and from what was measured."""

from __future__ import annotations

import re

from hookrun.agents import AGENTS, load
from hookrun.agents.callers import CALLERS
from hookrun.agents.grades import GRADED, MEANINGS, grades, measured
from tests.cli.command import hookrun
from tests.conftest import Project
from tests.rows import rows

CELLS = {
    "measured": ("claude", "block a prompt", "enforced"),
    "it has the event, but it was not measured": ("claude", "continue a subagent", "best effort"),
    "it has the answer, but nobody was there to be asked": ("grok", "ask the user", "best effort"),
    "another form is obeyed: a block where nobody can be asked": ("codex", "ask the user", "best effort"),
    "the call fails instead": ("cline", "block a tool", "best effort"),
    "the model reads it": ("qwen", "reject a result", "told only"),
    "no such event": ("vibe", "block a prompt", "cannot"),
    "the event takes no answer": ("cline", "continue a turn", "cannot"),
    "derived from an event of another meaning": ("vibe", "continue a subagent", "best effort"),
}


@rows("agent, what, grade", CELLS.values(), ids=CELLS)
def test_a_grade_follows_from_the_tables(agent: str, what: str, grade: str) -> None:
    """Each case is one agent's cell."""
    assert grades(load(agent))[what] == grade


def test_nothing_is_enforced_that_was_not_measured() -> None:
    """Every agent has all grades; those known by documentation only enforce nothing, the others have a day."""
    for agent in [*map(load, AGENTS), *CALLERS.values()]:
        found = grades(agent)
        assert found.keys() == GRADED.keys()
        assert set(found.values()) <= MEANINGS.keys()
        seen = measured(agent)
        dated = re.fullmatch(r"20\d\d-\d\d-\d\d", seen["date"]) is not None
        assert dated == bool(seen["version"]) == ("enforced" in found.values()), agent.NAME


def test_status_shows_them(project: Project) -> None:
    """In JSON with version and day; in words where a guard's block is not enforced."""
    assert hookrun(project, "install", "cline", "claude").status == 0
    found = hookrun(project, "status", "--json").json["agents"]
    assert isinstance(found, list)
    agents = {each["agent"]: each for each in found}
    assert agents["claude"]["grades"]["block a tool"] == "enforced"
    assert agents["claude"]["measured"].keys() == {"version", "date"}
    lines = [line for line in hookrun(project, "status").stdout.splitlines() if "a block of a tool is" in line]
    assert [line.split()[-2:] for line in lines] == [["best", "effort"]]
