"""The transcripts that real agents write are replayed: as the installed versions write them today."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.agents.transcripts import FORMATS
from tests.live.conftest import SAME_FOR_ALL, settle
from tests.replay.recorded import seen_fields, turns

if TYPE_CHECKING:
    from pathlib import Path

    from tests.live.run import Agent


@pytest.fixture(params=sorted(FORMATS))
def keeping(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each agent in turn that keeps transcripts which are read."""
    yield from settle(str(request.param), request, tmp_path)


@pytest.mark.only_cold
def test_a_session_replays_without_an_unreadable_call(keeping: Agent) -> None:
    """Every call that hooks got is in the transcript; what was refused then would not be without the hook."""
    keeping.declare(*SAME_FOR_ALL)
    project = keeping.place.project
    (project / "watched.txt").write_text("first\nsecond\n")
    ran = keeping.run(*turns(keeping.driver, project), prompt="please do it")
    calls = [each for each in seen_fields(keeping.place.seen.read_text()) if each["event"] == "pre_tool_use"]
    assert calls, ran
    hooks = [{"recipe": "no-force-push"}, {"name": "all", "event": "pre_tool_use", "priority": 1, "command": "true"}]
    (project / "coder.json").write_text(json.dumps({"hooks": hooks}))
    report = json.loads(keeping.hookrun("replay", "--json", "--agent", keeping.name, status=1))
    found = {(each["hook"], each["was"], each["now"]): each["count"] for each in report["differences"]}
    assert report["unreadable"] == 0, ran
    assert report["not_judged"]["all"] == len(calls), (report, ran)
    assert found == {("no-force-push", "ran", "block"): 1}
