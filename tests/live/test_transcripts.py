"""Hooks written for Claude Code read a transcript in its form under other agents."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from hookrun_conformance.driver import put
from hookrun_conformance.model import say
from tests.live.conftest import settle

PROGRAM = Path(__file__).parent / "programs" / "read_transcript.py"
EVENTS = ("PreToolUse", "PostToolUse", "Stop")


@pytest.mark.parametrize("name", ["gemini", "codex", "qwen", "copilot", "opencode"])
def test_a_hook_reads_what_was_said_and_done(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The prompt where its agent keeps a transcript, the call and its result once, and the last text, in this order."""
    for agent in settle(name, request, tmp_path):
        project, seen = agent.place.project, agent.place.seen
        line = f"python3 {PROGRAM} {seen}"
        hooks = {event: [{"hooks": [{"type": "command", "command": line}]}] for event in EVENTS}
        put(project / ".claude" / "settings.json", {"hooks": hooks})
        agent.include_claude()
        ran = agent.run(agent.driver.shell("echo hi > made.txt"), say("all-is-done"), prompt="please do it")
        at_end = [each for each in ran.seen if each["event"] == "Stop"]
        assert len(at_end) == 1, ran
        blocks: list[tuple[str, Any]] = []
        for each in at_end[0]["lines"]:
            content = each["message"]["content"]
            blocks += [(each["type"], content)] if isinstance(content, str) else [(each["type"], b) for b in content]
        asked = [text for role, text in blocks if role == "user" and "please do it" in str(text)]
        assert bool(asked) == (name != "opencode"), ran
        called, result = [each for each in blocks if isinstance(each[1], dict) and each[1]["type"] != "text"]
        assert (called[0], called[1]["name"]) == ("assistant", "Bash"), ran
        assert called[1]["input"]["command"] == "echo hi > made.txt"
        assert (result[0], result[1]["tool_use_id"]) == ("user", called[1]["id"]), ran
        # Copilot writes its file behind its events, which have no text of the model.
        assert name == "copilot" or blocks[-1] == ("assistant", {"type": "text", "text": "all-is-done"}), ran
        assert {each["sessionId"] for each in at_end[0]["lines"]} != {""}
        path = Path(at_end[0]["path"])
        assert path.is_relative_to(agent.place.home / ".local" / "state" / "hookrun" / "transcripts")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
