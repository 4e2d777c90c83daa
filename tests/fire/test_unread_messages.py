"""Messages that are not strict JSON: the model chooses arguments, and must not choose that no hook is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Project
from tests.fire.agents import AGENTS, Agent, Told, says

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
    """Return the reason of a refusal, which ends Cline's run where the tool is unknown."""
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


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_message_that_cannot_be_read_is_refused_where_a_hook_would_be_asked(agent: Agent, kind: str) -> None:
    """By any hook of the event, whatever its tool is; every time, also without a session."""
    agent.project.user_hooks({"name": "guard", "matcher": "bash", "command": "true"})
    for wired in (True, True, False):
        told = fire(agent, UNREADABLE[kind], wired=wired)
        assert "blocked because guard cannot check it" in str(refused(told))
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
