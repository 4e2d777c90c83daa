"""Messages that are not strict JSON: the model chooses arguments, and must not choose that no hook is asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import at_terminal
from tests.conftest import Project
from tests.fire.agents import AGENTS, Agent, Told, person_of, says

pytestmark = pytest.mark.sampled(3)

OBSERVED = "cat > seen"
DIGITS = b"7" * 5000


def nested(levels: int) -> bytes:
    """Return a list in a list, so many levels deep."""
    return b"[" * levels + b"]" * levels


NUMBERS = {DIGITS: DIGITS.decode(), b"1e999": "1e999", b"-1e999": "-1e999", b"NaN": "NaN", b"-Infinity": "-Infinity"}
"""Numbers that are no JSON, or that no reader has room for -> what hooks get."""

PARTLY = {
    "nested too deeply": (nested(199), "it is nested more than 200 deep"),
    "nested far too deeply": (nested(900), "it is nested more than 200 deep"),
    "not UTF-8": (b'"\xff"', "it is not UTF-8"),
}
"""Arguments that hooks cannot get -> the cause in the refusal."""

UNREADABLE = {
    "nothing": b"",
    "text": b"nonsense",
    "a list": b"[1]",
    "half a message": b'{"a":',
    "nested beyond all limits": b'{"tool_input": ' + nested(100_000) + b"}",
}
"""Messages of which nothing can be read."""


@pytest.fixture
def claude(project: Project) -> Agent:
    """Return Claude Code."""
    return Agent("claude", project)


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, project: Project) -> Agent:
    """Return each agent in turn."""
    return Agent(request.param, project)


def message(agent: Agent, literal: bytes, about: Any = None) -> bytes:
    """Return a tool call (by default of the shell) with these bytes as the value of one more argument."""
    data = about or agent.shell()
    places = {"cline": ("tool_call", "input"), "opencode": ("output", "args")}.get(agent.name, ("tool_input",))
    args = data
    for each in places:
        args = args[each]
    args["more"] = "@"
    return json.dumps(data).encode().replace(b'"@"', literal)


def fire(agent: Agent, sent: bytes, *, wired: bool = True) -> Told:
    """Send bytes to the line for tool calls; `wired` names the event in it."""
    return agent.fire(sent, event=agent.events["pre"] if wired else "")


def refused(told: Told) -> str | None:
    """Return the reason of a refusal, which ends Cline's run where the tool is unknown.

    Other agents run the hooks in Claude Code's settings, too: where the sender is unknown, each of them is refused.
    """
    if told.status == 2:
        assert told.own["permissionDecision"] == "deny"
        assert (told.json["permission"], told.json["decision"]) == ("deny", "block")
        return told.stderr
    return str(told.json["errorMessage"]) if told.json.get("cancel") else told.refusal


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:9].decode())
def test_a_number_that_does_not_fit_is_a_text_for_hooks(agent: Agent, number: bytes) -> None:
    """The guard is asked and decides; it reads everything else unchanged."""
    agent.project.hooks({"matcher": "bash", "command": OBSERVED})
    told = fire(agent, message(agent, number))
    assert (refused(told), told.json) == (None, {})
    seen = json.loads((agent.project.root / "seen").read_text())
    assert seen["tool_args"]["command"] == "ls"
    assert seen["tool_args"].get("more", NUMBERS[number]) == NUMBERS[number]
    agent.project.hooks({"matcher": "bash", "command": "echo no >&2; exit 2"})
    assert str(refused(fire(agent, message(agent, number)))).startswith("no")


def test_arguments_with_such_a_number_are_not_changed(agent: Agent) -> None:
    """The agent would get a text instead of the number: the model is asked to make the changed call itself."""
    agent.project.hooks({"matcher": "bash", "command": says(action="modify", args_patch={"command": "pwd"})})
    told = fire(agent, message(agent, b"1e999"))
    assert '"command": "pwd"' in str(refused(told))


@pytest.mark.parametrize("kind", PARTLY)
def test_arguments_that_hooks_cannot_get_are_refused_by_the_tool_s_hooks(agent: Agent, kind: str) -> None:
    """Every time, even if the hook would allow the rest; it is asked, and the audit has the call."""
    literal, cause = PARTLY[kind]
    agent.project.hooks({"matcher": "bash", "command": OBSERVED})
    for _ in range(2):
        assert cause in str(refused(fire(agent, message(agent, literal))))
    assert json.loads((agent.project.root / "seen").read_text())["tool_args"]["command"] == "ls"
    assert {record["tool"] for record in agent.project.audit()} == {"bash"}


@pytest.mark.parametrize("kind", PARTLY)
def test_no_other_tool_is_refused(agent: Agent, kind: str) -> None:
    """A guard of the shell does not refuse a write that it would not be asked about; nor does a hook that observes."""
    literal, _ = PARTLY[kind]
    agent.project.hooks(
        {"matcher": "bash", "command": "exit 2"}, {"name": "observer", "command": "true", "mode": "advise"}
    )
    told = fire(agent, message(agent, literal, agent.write(str(agent.project.root / "a.txt"))))
    assert refused(told) is None
    agent.project.hooks({"when": {"tool_name": "bash"}, "command": "exit 2"}, {"unless": {"tool_name": "write"}})
    told = fire(agent, message(agent, literal, agent.write(str(agent.project.root / "a.txt"))))
    assert refused(told) is None


@pytest.mark.parametrize("where", ["beside it", "in the name of the tool"])
def test_a_real_replacement_character_hides_no_wrong_byte(agent: Agent, where: str) -> None:
    """The character that stands for unreadable bytes may be in the message itself."""
    agent.project.hooks({"matcher": "bash", "when": {"tool_args.command": "*rm*"}, "command": "exit 2"})
    sent = message(agent, '"\N{REPLACEMENT CHARACTER}"'.encode(), agent.shell("r~m"))
    tool = next(name for name in (b'"Bash"', b'"bash"', b'"run_shell_command"', b'"run_commands"') if name in sent)
    sent = sent.replace(b"r~m", b"r\xffm") if where == "beside it" else sent.replace(tool, tool[:-1] + b'\xff"')
    assert "UTF-8" in str(refused(fire(agent, sent)))


def test_a_project_whose_path_is_not_utf8_is_found(claude: Agent) -> None:
    """By the bytes in the message, wherever hookrun was started."""
    root = os.fsdecode(os.fsencode(claude.project.root) + b"\xff")
    claude.project.root.rename(root)
    claude.project.root = Path(root)
    claude.project.hooks({"matcher": "bash", "command": "echo no >&2; exit 2"})
    sent = json.dumps(claude.shell(), ensure_ascii=False).encode(errors="surrogateescape")
    assert b"\xff" in sent
    told = claude.fire(sent, event="PreToolUse", cwd=claude.project.home)
    assert str(refused(told)).startswith("no")


@pytest.mark.parametrize("sent", ["partly", "unreadable"])
@pytest.mark.parametrize("decision", ["disable", "deny", "pause"])
def test_a_hook_that_is_switched_off_refuses_nothing(claude: Agent, sent: str, decision: str) -> None:
    """Neither what it cannot read in part, nor what cannot be read at all."""
    claude.project.hooks({"name": "guard", "matcher": "bash", "command": "exit 2", "on_failure": "block"})
    claude.project.approve()
    done = at_terminal(claude.project, decision, "guard")
    assert done.status == 0, done.screen
    data = b"nonsense" if sent == "unreadable" else message(claude, nested(300))
    assert refused(fire(claude, data)) is None


@pytest.mark.only_cold("replaces what the interpreter that is started has")
@pytest.mark.parametrize("sent", ["partly", "unreadable"])
def test_a_mistake_of_ours_refuses_what_cannot_be_read(claude: Agent, sent: str) -> None:
    """Whether a hook might refuse it is not known then."""
    program = (
        "import sys, hookrun.fire.invocation\n"
        "def broken(*given): raise MemoryError('no more')\n"
        "hookrun.fire.invocation.EventFire.decisions = broken\n"
        "sys.argv = ['hookrun', 'fire', '--agent', 'claude', 'PreToolUse', '--home', sys.argv[1]]\n"
        "import hookrun.__main__\nhookrun.__main__.main()"
    )
    project = claude.project
    project.user_hooks({"matcher": "bash", "command": "true"})
    done = subprocess.run(
        [sys.executable, "-c", program, str(project.home)],
        input=b"nonsense" if sent == "unreadable" else message(claude, nested(300)),
        capture_output=True,
        cwd=project.root,
        env=project.environment(),
        check=False,
    )
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert b"MemoryError" in done.stdout


@pytest.mark.parametrize("on_failure", ["continue", "block"])
@pytest.mark.parametrize("sent", ["partly", "unreadable"])
def test_an_unapproved_hook_refuses_as_its_failure_would(project: Project, sent: str, on_failure: str) -> None:
    """A repository whose hooks you have not approved does not refuse more because of them."""
    project.hooks({"name": "guard", "matcher": "bash", "command": "exit 2", "on_failure": on_failure})
    claude = Agent("claude", project)
    data = b"nonsense" if sent == "unreadable" else message(claude, nested(300))
    told = claude.fire(data, event="PreToolUse", approved=False)
    assert (refused(told) is not None) is (on_failure == "block")


def test_what_cannot_be_read_is_trouble(agent: Agent) -> None:
    """Without a hook that could refuse, `on_error: block` refuses, and else the user is notified; numbers are none."""
    told = fire(agent, message(agent, nested(300)))
    assert refused(told) is None
    assert "the message cannot be read in full: it is nested more than 200 deep" in person_of(agent, told)
    agent.project.user_hooks(on_error="block")
    assert "cannot be read in full" in str(refused(fire(agent, message(agent, nested(300)))))
    assert refused(fire(agent, message(agent, b"1e999"))) is None


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_message_that_cannot_be_read_is_refused_where_a_hook_would_be_asked(agent: Agent, kind: str) -> None:
    """By any hook of the event, whatever its tool is; every time, also without a session."""
    agent.project.user_hooks({"name": "guard", "matcher": "bash", "command": "true"})
    for wired in (True, True, False):
        told = fire(agent, UNREADABLE[kind], wired=wired)
        assert "guard cannot check this, so it is blocked" in str(refused(told))
        assert (told.status == 2) is (agent.name == "claude")
    assert str(agent.project.audit()[-1]["error"]).startswith("stdin: ")


@pytest.mark.parametrize(
    "hook",
    [{"event": "post_tool_use"}, {"mode": "advise"}, {"mode": "off"}, {"agents": ["other"]}],
    ids=lambda hook: str(next(iter(hook.values()))),
)
def test_it_is_not_refused_where_none_could_refuse(agent: Agent, hook: dict[str, object]) -> None:
    """Of another event, only advising, switched off, or for other agents."""
    agents = [each for each in AGENTS if each != agent.name]
    agent.project.user_hooks({"command": "exit 2", **hook, **({"agents": agents} if "agents" in hook else {})})
    told = fire(agent, b"nonsense")
    assert refused(told) is None
    assert "hookrun failed" in told.person
