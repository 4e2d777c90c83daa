"""Shell lines in the text of Claude Code's commands and skills: no tool is called for them, and a guard holds them.

Hooks in the frontmatter of subagents and skills: the agents that read such a subagent (Claude Code, Grok Build) run its
hooks themselves, and no message of those that read such a skill (Copilot, OpenCode, Kilo, Cline) says that the user has
loaded it. So hookrun runs none of them, and names them all (tests/cli/test_not_run.py).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hookrun_conformance.driver import change, put
from hookrun_conformance.model import Json, Turn, say, use
from tests.live.conftest import settle
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


HOOKS = 'hooks:\n  PreToolUse:\n    - hooks:\n        - {type: command, command: "cat >> $HOME/front.jsonl"}\n'


def test_grok_runs_the_hooks_of_a_subagent_itself(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """If hookrun ran them, too, they would run twice."""
    for agent in settle("grok", request, tmp_path):
        text = f"---\nname: looker\ndescription: Look around.\n{HOOKS}---\nYou look.\n"
        put(agent.place.project / ".claude" / "agents" / "looker.md", text)
        about = {"description": "look", "prompt": "look around", "subagent_type": "looker", "background": False}
        line = agent.driver.shell("echo a > a.txt")  # once more, as a request for a title may get one
        ran = agent.run(use("spawn_subagent", **about), line, line, say("sub-done"), DONE)
        front = agent.place.home / "front.jsonl"
        assert front.exists(), ran
        assert '"subagentType":"looker"' in front.read_text()


def test_no_message_says_that_the_user_has_loaded_a_skill(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prompt is the skill's text; only if the model loads one a tool's arguments name it."""
    for agent in settle("opencode", request, tmp_path):
        put(agent.place.project / SKILL, f"---\nname: show\ndescription: Show it.\n{HOOKS}---\nTHE-SKILL\n")
        events = ["session_start", "user_prompt_submit", "pre_tool_use"]
        agent.declare({"name": "seen", "event": events, "command": 'cat >> "$HOME/seen.jsonl"'})
        monkeypatch.setattr(agent.driver, "arguments", lambda _prompt: ["run", "--command", "show", "now"])
        ran = agent.run(agent.driver.shell("echo a > a.txt"), DONE)
        assert [(each["event"], each["agent_tool_name"], "THE-SKILL" in str(each)) for each in ran.seen] == [
            ("session_start", None, False),
            ("user_prompt_submit", None, True),
            ("pre_tool_use", "bash", False),
        ], ran
        assert "show" not in {str(value) for each in ran.seen for value in each.values()}
