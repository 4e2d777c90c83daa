"""Shell lines in the text of Claude Code's commands and skills: no tool is called for them, and a guard holds them."""

from __future__ import annotations

import json

import pytest

from hookrun_conformance.driver import change, put
from hookrun_conformance.model import Json, Turn, say, use
from tests.live.run import Agent

DONE = say("all-is-done")

TEXT = "---\ndescription: Show the state.\nallowed-tools: Bash\n---\nThe state: !`{line}`\n"
COMMAND, SKILL = ".claude/commands/show.md", ".claude/skills/show/SKILL.md"


def furnish(agent: Agent, path: str, line: str) -> None:
    """Write a command or a skill into the project, with a shell line in its text."""
    put(agent.place.project / path, TEXT.format(line=line))


@pytest.mark.parametrize("path", [COMMAND, SKILL])
@pytest.mark.parametrize(
    ("used", "prompt"), [((), "/show"), ((use("Skill", skill="show"),), "do it")], ids=["user", "model"]
)
def test_a_forbidden_line_does_not_run(claude: Agent, path: str, used: tuple[Turn, ...], prompt: str) -> None:
    """Whoever uses the command or skill; the model gets the reason instead of the output, and the session continues."""
    guard = {"name": "guard", "event": "pre_tool_use", "matcher": "bash", "when": {"tool_args.command": "*forbidden*"}}
    claude.declare({**guard, "command": 'cat >> "$HOME/seen.jsonl"; echo reason-of-guard >&2; exit 2'})
    change(claude.place.home / ".claude" / "settings.json", permissions={"allow": ["Skill"]})
    furnish(claude, path, "echo forbidden > made.txt")
    ran = claude.run(*used, claude.driver.shell("echo b > b.txt"), DONE, prompt=prompt)
    assert ran.files == {"b.txt": "b\n"}, ran
    assert "reason-of-guard" in ran.heard, ran
    assert [(each["agent_event"], each["tool_name"], each["tool_args"]) for each in ran.seen] == [
        ("PreSkillShellCommand", "bash", {"command": "echo forbidden > made.txt"})
    ]
    assert [each["command_name"] for each in ran.seen] == ["show"]


@pytest.mark.parametrize(
    "answer",
    [
        *({"action": action, "message": "reason-of-guard"} for action in ("block", "skip", "stop", "ask")),
        {"action": "modify", "args_patch": {"command": "echo reason-of-guard > made.txt"}},
    ],
    ids=lambda answer: str(answer["action"]),
)
def test_every_answer_but_an_approval_holds_the_line(claude: Agent, answer: Json) -> None:
    """The user cannot be asked, and the line cannot be changed: both are blocks that say so."""
    claude.declare(
        {"name": "guard", "event": "pre_tool_use", "command": f"cat >/dev/null; echo '{json.dumps(answer)}'"}
    )
    furnish(claude, COMMAND, "echo forbidden > made.txt")
    ran = claude.run(DONE, prompt="/show")
    assert ran.files == {}, ran
    assert "reason-of-guard" in ran.heard + ran.printed, ran


def test_a_line_that_no_hook_minds_runs(claude: Agent) -> None:
    """Its output is part of the text; text for the model waits for the next event that can carry it."""
    context = '{"action": "continue", "additional_context": "context-of-guard"}'
    claude.declare(
        {"name": "guard", "event": ["pre_tool_use", "post_tool_use"], "matcher": "bash", "command": f"echo '{context}'"}
    )
    furnish(claude, COMMAND, "echo fine | tee made.txt")
    ran = claude.run(claude.driver.shell("echo b > b.txt"), DONE, prompt="/show")
    assert ran.files == {"b.txt": "b\n", "made.txt": "fine\n"}, ran
    assert "The state: fine" in ran.model.heard(0), ran
    assert "context-of-guard" in ran.heard, ran


def test_a_guard_that_fails_holds_the_line(claude: Agent) -> None:
    """It crashes, and `on_failure` is block."""
    claude.declare({"name": "guard", "event": "pre_tool_use", "command": "exit 7", "on_failure": "block"})
    furnish(claude, SKILL, "echo forbidden > made.txt")
    ran = claude.run(DONE, prompt="/show")
    assert ran.files == {}, ran
