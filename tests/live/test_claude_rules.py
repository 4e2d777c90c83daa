"""Claude Code's own treatment of matchers and `if` rules matches the record: hookrun is tested against that record."""

from __future__ import annotations

import pytest

from hookrun_conformance.model import Call, Turn, say
from tests.conformance.claude_rules import calls, chosen, recorded, settings
from tests.live.run import Agent


@pytest.mark.parametrize("kind", ["matchers", "rules"])
def test_the_record_is_what_claude_code_does(claude: Agent, kind: str) -> None:
    """In one session, with every call in one turn."""
    project, log = claude.place.project, claude.place.home / "log"
    settings(project, log, kind)
    turn = Turn("", tuple(Call(each.tool, each.arguments) for each in calls(project, kind)))
    ran = claude.run(turn, say("all-is-done"))
    assert len(ran.model.results()) == len(turn.calls), ran
    assert chosen(log, project, kind) == recorded(kind)
