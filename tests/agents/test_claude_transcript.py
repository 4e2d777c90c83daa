"""The transcript that hooks of Claude Code's dialect get under other agents."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest

from hookrun.agents import claude_transcript
from hookrun.agents.claude_transcript import DIRECTORY, MAX_BYTES, MAX_FILES, keep
from tests.conftest import Project
from tests.fire.agents import Agent
from tests.rows import rows

RECORDED = Path(__file__).parent.parent / "replay" / "transcripts"
Json = dict[str, Any]


def lines(path: str | None) -> list[Json]:
    """Return the lines of a transcript."""
    assert path is not None
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def said(found: list[Json]) -> list[str]:
    """Return what the lines hold: the role, and the kind of block or the text."""
    told = []
    for line in found:
        content = line["message"]["content"]
        told += [f"{line['type']} {content}"] if isinstance(content, str) else [block["type"] for block in content]
    return told


def event(name: str, **more: object) -> Json:
    """Return the context of an event in a session of an agent without a transcript."""
    return {"agent": "opencode", "session_id": "s1", "event": name, "timestamp": "t", "working_dir": "/p", **more}


def call(name: str, command: str, use: str | None, **more: object) -> Json:
    """Return the context of an event of a shell command."""
    return event(name, tool_name="bash", tool_args={"command": command}, tool_use_id=use, **more)


@rows("agent", ["codex", "gemini", "qwen", "copilot"])
def test_an_agents_own_transcript_is_translated(agent: str, tmp_path: Path) -> None:
    """In order, each call with its result, a refused one with the reason, and the last text."""
    source = str(RECORDED / f"{agent}.jsonl")
    context = event("stop", assistant_response="all-is-done", agent=agent, transcript_path=source)
    found = lines(keep(str(tmp_path), context))
    told = said(found)
    assert told[0].endswith("please do it")
    assert told[1:-1] == PAIR * ((len(told) - 2) // 2)
    assert told[-1] == "text"
    uses = [line["message"]["content"][0]["id"] for line in found[1:-1:2]]
    assert uses == [line["message"]["content"][0]["tool_use_id"] for line in found[2:-1:2]]
    assert len(set(uses)) == len(uses) >= 7
    refused = [line for line in found if "reason-of-no-forbidden" in str(line)]
    assert refused[0]["message"]["content"][0]["is_error"] is True
    assert [line["parentUuid"] for line in found] == [None, *(line["uuid"] for line in found[:-1])]


def test_a_text_that_the_agent_has_not_written_yet_is_there(tmp_path: Path) -> None:
    """A prompt comes to its hooks before it is in the file."""
    source = str(RECORDED / "codex.jsonl")
    for _ in range(2):
        prompt = event("user_prompt_submit", user_prompt="next", agent="codex", transcript_path=source)
        path = keep(str(tmp_path), prompt)
    assert said(lines(path))[-2:] == ["text", "user next"]
    assert said(lines(path)).count("user next") == 1


PAIR = ["tool_use", "tool_result"]
CALLS = {
    "echo fine > a.txt && cat a.txt": "fine\n<shellId: 0 completed with exit code 0>",
    "echo forbidden > made.txt": None,  # a hook refuses it
    "echo original > original.txt": None,  # a hook changes it
    "echo changed > changed.txt": "\n<shellId: 1 completed with exit code 0>",
}


@rows(
    "written, first, calls",
    [(9, "toolu_", "fine forbidden original changed"), (17, "call_1_0", "fine forbidden original changed"),
     (18, "call_1_0", "fine forbidden original changed"), (26, "call_1_0", "fine forbidden original changed"),
     (37, "call_1_0", "fine forbidden original changed"), (38, "call_1_0", "fine forbidden original")],
)  # fmt: skip
def test_what_copilot_has_not_written_yet_comes_from_its_events(
    written: int, first: str, calls: str, tmp_path: Path
) -> None:
    """Its file is written behind its events, of which only the last name it. Nothing is in the transcript twice."""
    recorded = RECORDED.joinpath("copilot.jsonl").read_text().splitlines(keepends=True)
    home = tempfile.mkdtemp(dir=tmp_path)
    source = Path(home, "events.jsonl")
    for command, result in CALLS.items():
        args = {"command": command, "description": "run it", "mode": "sync", "initial_wait": 10}
        for name in ("pre_tool_use", "post_tool_use"):
            if (name, result) != ("post_tool_use", None) and (name, command[5:12]) != ("pre_tool_use", "changed"):
                keep(home, {**call(name, "", None, agent="copilot", tool_result_output=result), "tool_args": args})
    for there, of_first, expected in ((written, first, calls), (38, "call_1_0", "fine forbidden original")):
        source.write_text("".join(recorded[:there]))
        found = lines(keep(home, event("stop", agent="copilot", transcript_path=str(source))))
        blocks = [line["message"]["content"][0] for line in found if line["type"] != "user" or "toolUseResult" in line]
        assert [each["input"]["command"].split()[1] for each in blocks if "input" in each] == expected.split()
        called, result = blocks[:2]
        assert called["id"] == result["tool_use_id"]
        assert called["id"].startswith(of_first)
        results = [each["tool_use_id"] for each in blocks if "input" not in each]
        assert len(set(results)) == len(results)


def test_a_line_that_was_half_written_is_passed_over(tmp_path: Path) -> None:
    """As by a process that was killed: the other calls are there, and the next ones are kept."""
    source = tmp_path / "events.jsonl"
    for command in ("echo one", "echo two", "echo three"):
        path = keep(str(tmp_path), {**call("pre_tool_use", command, None), "agent": "copilot"})
        if command == "echo two":
            kept = Path(str(path))
            kept.write_bytes(kept.read_bytes()[:-30])
    source.write_text(RECORDED.joinpath("copilot.jsonl").read_text().partition("\n")[0] + "\n")
    found = lines(keep(str(tmp_path), event("stop", agent="copilot", transcript_path=str(source))))
    blocks = [line["message"]["content"][0] for line in found]
    assert [each["input"]["command"] for each in blocks if "input" in each] == ["echo one", "echo three"]


@rows("source", [None, "/nonexistent", str(RECORDED / "opencode.sql")])
def test_without_one_it_has_the_events_that_were_seen(source: str | None, tmp_path: Path) -> None:
    """A call whose first event no hook saw comes with its result; one that was seen, once."""
    seen = [
        event("user_prompt_submit", user_prompt="do it"),
        call("pre_tool_use", "ls", "c1"),
        call("post_tool_use", "ls", "c1", tool_result_output="a\n"),
        call("post_tool_failure", "rm x", "c2", tool_result_error="no"),
        call("pre_tool_use", "pwd", None),
        call("post_tool_use", "pwd", None, tool_result_output="/"),
        event("notification"),
        event("stop", assistant_response="done"),
    ]
    home = tempfile.mkdtemp(dir=tmp_path)
    path = [keep(home, {**each, "agent": "gemini", "transcript_path": source}) for each in seen][-1]
    found = lines(path)
    assert said(found) == ["user do it", *PAIR * 3, "text"]
    assert found[2]["toolUseResult"]["stdout"] == "a\n"
    assert found[4]["message"]["content"][0] == {
        "tool_use_id": "c2", "type": "tool_result", "content": "no", "is_error": True,
    }  # fmt: skip
    assert len({line["uuid"] for line in found}) == len(found)
    assert [line["parentUuid"] for line in found] == [None, *(line["uuid"] for line in found[:-1])]


def test_it_is_private_bounded_and_pruned(tmp_path: Path) -> None:
    """The newest lines and sessions stay."""
    home = str(tmp_path)
    for number in range(30):
        path = keep(home, event("user_prompt_submit", user_prompt=f"{number} {'x' * 100_000}"))
    assert path is not None
    assert os.stat(path).st_size <= MAX_BYTES
    assert said(lines(path))[-1].startswith("user 29 ")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(home + DIRECTORY).st_mode) == 0o700
    for number in range(MAX_FILES + 5):
        keep(home, event("user_prompt_submit", user_prompt="hi", session_id=f"other {number}"))
    assert len(os.listdir(home + DIRECTORY)) == MAX_FILES


def test_where_it_cannot_be_kept_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No session, no directory, a bug: the hook runs without it."""
    assert keep(str(tmp_path), {**event("stop"), "session_id": None}) is None
    (tmp_path / "file").write_text("")
    assert keep(str(tmp_path / "file"), event("stop", assistant_response="x")) is None

    def fails(_context: Json) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(claude_transcript, "_of", fails)
    assert keep(str(tmp_path), event("stop", assistant_response="x")) is None


@rows("dialect, name", [("claude", "claude"), ("hookrun", "gemini"), ("claude", "gemini")])
def test_only_a_claude_hook_under_another_agent_has_one_kept(dialect: str, name: str, project: Project) -> None:
    """Claude Code's own hooks get its own path; other sessions cost nothing."""
    agent = Agent(name, project)
    agent.project.hooks({"dialect": dialect, "command": "cat > seen"})
    agent.fire(agent.shell())
    seen = json.loads((project.root / "seen").read_text())
    kept = project.home.joinpath(DIRECTORY[1:])
    assert kept.exists() == (dialect == "claude" and name == "gemini")
    if kept.exists():
        assert Path(seen["transcript_path"]).parent == kept
        assert said(lines(seen["transcript_path"])) == ["tool_use"]
