"""Messages that are not strict JSON: the model chooses arguments, and must not choose that no hook is asked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.terminal import at_terminal
from tests.fire.agents import AGENTS, SHELL, Agent, AgentOf, Told, person_of, says
from tests.rows import rows

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

DEPTHS = ("claude", "cline", "opencode")  # in the messages of the last two, arguments are one level deeper
PARTLY_READ = [(name, kind) for name in AGENTS for kind in PARTLY if name in DEPTHS or kind == "not UTF-8"]

UNREADABLE = {
    "nothing": b"",
    "text": b"nonsense",
    "a list": b"[1]",
    "half a message": b'{"a":',
    "nested beyond all limits": b'{"tool_input": ' + nested(100_000) + b"}",
}
"""Messages of which nothing can be read."""


def message(agent: Agent, literal: bytes) -> bytes:
    """Return a call of the shell with these bytes as the value of one more argument."""
    return json.dumps(agent.shell(more="@")).encode().replace(b'"@"', literal)


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


def check_number(agent: Agent, number: bytes) -> dict[str, object]:
    """Check that the guard is asked and decides; return the arguments that it reads."""
    agent.project.hooks({"matcher": "bash", "command": OBSERVED})
    told = fire(agent, message(agent, number))
    assert (refused(told), told.json) == (None, {})
    agent.project.hooks({"matcher": "bash", "command": "echo no >&2; exit 2"})
    assert str(refused(fire(agent, message(agent, number)))).startswith("no")
    args: dict[str, object] = json.loads((agent.project.root / "seen").read_text())["tool_args"]
    return args


@rows("number", NUMBERS, ids=[number[:9].decode() for number in NUMBERS])
def test_a_number_that_does_not_fit_is_a_text_for_hooks(number: bytes, agent_of: AgentOf) -> None:
    """Each kind of number; everything else is unchanged."""
    assert check_number(agent_of("claude"), number) == {"command": "ls", "more": NUMBERS[number]}


@rows("name, more", {**{each: {"more": "1e999"} for each in AGENTS}, "cline": {}}.items())
def test_the_hooks_of_every_agent_see_such_a_number(name: str, more: dict[str, str], agent_of: AgentOf) -> None:
    """Cline CLI's arguments become others, but its guard is asked as well."""
    assert check_number(agent_of(name), b"1e999") == {"command": "ls", **more}


@pytest.mark.sampled(7)
def test_arguments_with_such_a_number_are_not_changed(agent: Agent) -> None:
    """The agent would get a text instead of the number: the model is asked to make the changed call itself."""
    agent.project.hooks({"matcher": "bash", "command": says(action="modify", args_patch={"command": "pwd"})})
    told = fire(agent, message(agent, b"1e999"))
    assert '"command": "pwd"' in str(refused(told))


@rows("name, kind", PARTLY_READ)
def test_arguments_that_hooks_cannot_get_are_refused_by_the_tool_s_hooks(
    name: str, kind: str, agent_of: AgentOf
) -> None:
    """Every time, even if the hook would allow the rest; it is asked, and the audit has the call."""
    agent = agent_of(name)
    literal, cause = PARTLY[kind]
    agent.project.hooks({"matcher": "bash", "command": OBSERVED})
    for _ in range(2):
        assert cause in str(refused(fire(agent, message(agent, literal))))
    assert json.loads((agent.project.root / "seen").read_text())["tool_args"]["command"] == "ls"
    assert {record["tool"] for record in agent.project.audit()} == {"bash"}


@rows("name, kind", PARTLY_READ)
def test_no_other_tool_is_refused(name: str, kind: str, agent_of: AgentOf) -> None:
    """A guard of the shell does not refuse a write that it would not be asked about; nor does a hook that observes."""
    agent = agent_of(name)
    write = json.dumps(agent.write(str(agent.project.root / "a.txt"), more="@")).encode()
    sent = write.replace(b'"@"', PARTLY[kind][0])
    agent.project.hooks(
        {"matcher": "bash", "command": "exit 2"}, {"name": "observer", "command": "true", "mode": "advise"}
    )
    assert refused(fire(agent, sent)) is None
    agent.project.hooks({"when": {"tool_name": "bash"}, "command": "exit 2"}, {"unless": {"tool_name": "write"}})
    assert refused(fire(agent, sent)) is None


@rows("name", AGENTS)
def test_a_real_replacement_character_hides_no_wrong_byte(name: str, agent_of: AgentOf) -> None:
    """The character that stands for unreadable bytes may be in the message itself: beside them, or beside the tool."""
    agent = agent_of(name)
    agent.project.hooks({"matcher": "bash", "when": {"tool_args.command": "*rm*"}, "command": "exit 2"})
    sent = json.dumps(agent.shell("r~m", more="@")).encode()
    sent = sent.replace(b"@", "\N{REPLACEMENT CHARACTER}".encode())
    tool = SHELL.get(name, "Bash").encode()
    assert tool + b'"' in sent
    for unreadable in (sent.replace(b"r~m", b"r\xffm"), sent.replace(tool + b'"', tool + b'\xff"')):
        assert "UTF-8" in str(refused(fire(agent, unreadable)))


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


NESTED_CALL = b'{"tool_name": "Bash", "tool_input": {"command": "ls", "more": ' + nested(300) + b"}}"


@rows("decision", ["disable guard", "disable --all"])
def test_a_hook_that_is_switched_off_refuses_nothing(decision: str, agent_of: AgentOf) -> None:
    """Neither what it cannot read in part, nor what cannot be read at all."""
    claude = agent_of("claude")
    claude.project.hooks({"name": "guard", "matcher": "bash", "command": "exit 2", "on_failure": "block"})
    claude.project.approve()
    done = at_terminal(claude.project, *decision.split())
    assert done.status == 0, done.screen
    assert [refused(fire(claude, sent)) for sent in (message(claude, nested(300)), b"nonsense")] == [None, None]


@pytest.mark.only_cold("replaces what the interpreter that is started has")
@pytest.mark.sampled
@pytest.mark.parametrize("sent", [NESTED_CALL, b"nonsense"], ids=["partly", "unreadable"])
def test_a_mistake_of_ours_refuses_what_cannot_be_read(claude: Agent, sent: bytes) -> None:
    """Whether a hook might refuse it is not known then."""
    claude.project.user_hooks({"matcher": "bash", "command": "true"})
    told = claude.fire_changed("no_decisions.py", sent, "PreToolUse", "--home", str(claude.project.home))
    assert told.own["permissionDecision"] == "deny"
    assert b"MemoryError" in told.stdout


@rows("on_failure, refuses", [("continue", False), ("block", True)])
def test_an_unapproved_hook_refuses_as_its_failure_would(on_failure: str, refuses: bool, agent_of: AgentOf) -> None:
    """A repository whose hooks you have not approved does not refuse more because of them."""
    claude = agent_of("claude")
    claude.project.hooks({"name": "guard", "matcher": "bash", "command": "exit 2", "on_failure": on_failure})
    for sent in (message(claude, nested(300)), b"nonsense"):
        told = claude.fire(sent, event="PreToolUse", approved=False)
        assert (refused(told) is not None) is refuses, sent[:9]


@rows("name", AGENTS)
def test_what_cannot_be_read_is_trouble(name: str, agent_of: AgentOf) -> None:
    """Without a hook that could refuse, `on_error: block` refuses, and else the user is notified; numbers are none."""
    agent = agent_of(name)
    told = fire(agent, message(agent, nested(300)))
    assert refused(told) is None
    assert "the message cannot be read in full: it is nested more than 200 deep" in person_of(agent, told)
    agent.project.user_hooks(on_error="block")
    assert "cannot be read in full" in str(refused(fire(agent, message(agent, nested(300)))))
    assert refused(fire(agent, message(agent, b"1e999"))) is None


@rows(
    "name, kind, status",
    [*(("claude", kind, 2) for kind in UNREADABLE), *((name, "text", 0) for name in AGENTS if name != "claude")],
)
def test_a_message_that_cannot_be_read_is_refused_where_a_hook_would_be_asked(
    name: str, kind: str, status: int, agent_of: AgentOf
) -> None:
    """By any hook of the event, whatever its tool is; every time, also without a session."""
    agent = agent_of(name)
    agent.project.user_hooks({"name": "guard", "matcher": "bash", "command": "true"})
    for wired in (True, True, False):
        told = fire(agent, UNREADABLE[kind], wired=wired)
        assert "guard cannot check this, so it is blocked" in str(refused(told))
        assert told.status == status
    assert str(agent.project.audit()[-1]["error"]).startswith("stdin: ")


NO_GUARDS: tuple[dict[str, object], ...] = (
    {"event": "post_tool_use"},
    {"mode": "advise"},
    {"mode": "off"},
    {"agents": ["cline"]},
)
"""A hook of another event, only advising, switched off, or for another agent."""


@rows("name, hook", [*(("codex", hook) for hook in NO_GUARDS), *((name, {"mode": "advise"}) for name in AGENTS)])
def test_it_is_not_refused_where_none_could_refuse(name: str, hook: dict[str, object], agent_of: AgentOf) -> None:
    """The user is notified."""
    agent = agent_of(name)
    agent.project.user_hooks({"command": "exit 2", **hook})
    told = fire(agent, b"nonsense")
    assert refused(told) is None
    assert "hookrun failed" in told.person


NO_TOOL = [(name, tool) for name in ("claude", "codex", "gemini", "qwen") for tool in (None, 7, ["Bash"], "")]


@rows("name, tool", NO_TOOL)
def test_a_call_that_names_no_tool_is_refused_where_a_guard_may_be_for_it(
    name: str, tool: object, agent_of: AgentOf
) -> None:
    """Whatever it has instead of the name; without a guard it continues, and the user is notified."""
    agent = agent_of(name)
    message = {**agent.shell(), "tool_name": tool}
    without = {key: value for key, value in message.items() if key != "tool_name"}
    for each in (message, without):
        told = agent.fire(each)
        assert told.reason is None
        assert "names no tool" in told.person
    agent.project.user_hooks({"name": "guard", "matcher": "write", "command": "true", "on_failure": "block"})
    for each in (message, without):
        assert "guard cannot check this" in str(refused(agent.fire(each)))


def test_a_permission_that_opencode_asks_for_names_its_tool(agent_of: AgentOf) -> None:
    """As recorded from OpenCode 1.18.34, with the tool where no other message has it: its hooks are asked."""
    agent = agent_of("opencode")
    properties = {"id": "per_1", "permission": "bash", "metadata": {"command": "ls"}, "tool": {"callID": "call_1"}}
    agent.project.user_hooks({"event": "permission_request", "matcher": "bash", "command": OBSERVED})
    told = agent.fire({"hook": "permission.asked", "event": {"type": "permission.asked", "properties": properties}})
    assert json.loads((agent.project.root / "seen").read_text())["tool_args"] == {"command": "ls"}
    assert "names no tool" not in told.person
