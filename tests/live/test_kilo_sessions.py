"""Kilo, with OpenCode's plugin in its own directory: few sessions, as each takes a minute without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrun_conformance.model import say, use
from tests.live.conftest import SAME_FOR_ALL, settle
from tests.live.run import Agent

DONE = say("all-is-done")
SLOW = 150
"""Seconds that a session spends on waiting for hosts that it cannot reach."""

pytestmark = pytest.mark.only_cold


@pytest.fixture
def kilo(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Kilo, with the hooks of `hooks.json` declared and installed."""
    for agent in settle("kilo", request, tmp_path):
        agent.declare(*SAME_FOR_ALL)
        yield agent


def test_hooks_decide_in_one_session(kilo: Agent) -> None:
    """It blocks and continues, changes, asks, fails, guards files, tells the model; each call is judged exactly once.

    OpenCode's own plugin beside it changes nothing: Kilo does not read OpenCode's directories.
    """
    kilo.install(name="opencode")
    project, driver = kilo.place.project, kilo.driver
    (project / "guarded").mkdir()
    (project / "watched.txt").write_text("first\n")
    turns = [
        driver.shell("echo forbidden > forbidden.txt"),
        driver.shell("echo original > original.txt"),
        driver.shell("echo delicate > asked.txt"),
        driver.shell("echo needless > skipped.txt"),
        driver.shell("echo fatal > fatal.txt"),
        driver.shell("echo crash-and-go-on > crash.txt"),
        driver.shell("echo hang-and-go-on > hang.txt"),
        driver.shell("echo crash-and-refuse > no.txt"),
        driver.shell("echo hang-and-refuse > no.txt"),
        driver.shell("echo remarkable"),
        use("background_process", action="start", command="echo forbidden > behind.txt", description="behind"),
        *driver.write(project / "guarded" / "new.txt", "written\n"),
        *driver.edit(project / "watched.txt", "first", "changed"),
        DONE,
    ]
    ran = kilo.run(*turns, prompt="please do it", waits=SLOW)
    made = {"changed.txt": "changed\n", "watched.txt": "changed\n"}
    made |= {f"{name}.txt": f"{name}-and-go-on\n" for name in ("crash", "hang")}
    assert ran.files == made, ran
    assert not (project / "guarded" / "new.txt").exists()
    heard = ("no-forbidden", "to-ask", "to-skip", "to-stop", "guarded-files")
    assert [text for text in heard if f"reason-{text}" not in ran.heard.replace("reason-of-", "reason-")] == [], ran
    told = ("at-start", "at-prompt", "before-tool", "after-tool", "of-changed-file")
    assert [text for text in told if f"context-{text}" not in ran.heard] == [], ran
    before = [each for each in ran.seen if each["event"] == "pre_tool_use"]
    assert len(before) == len(turns) - 1, ran
    assert len({each["tool_use_id"] for each in before}) == len(before)
    assert {each["agent"] for each in ran.seen} == {"kilo"}
    assert ran.heard.count("reason-of-no-forbidden") >= 2, ran


def test_a_broken_config_stops_nothing(kilo: Agent) -> None:
    """The user's guards still run, and the user gets a message."""
    kilo.place.project.joinpath("coder.json").write_text('{"hooks": [\n  {"name": "guard",\n')
    passes, refused = kilo.driver.shell("echo hi > made.txt"), kilo.driver.shell("echo forbidden > forbidden.txt")
    ran = kilo.run(passes, refused, DONE, waits=SLOW)
    assert sorted(ran.files) == ["coder.json", "made.txt"], ran
    assert f"{kilo.place.project}/coder.json:3:" in ran.printed, ran
