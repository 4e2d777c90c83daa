"""The same settings and hooks, in Claude Code itself and through hookrun in another agent: the effects are the same.

But for a refusal in a form that Claude Code does not take: the tool runs there, and is refused through hookrun.

Claude Code reads its settings alone, without hookrun: the others are compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from hookrun_conformance.drivers import DRIVERS
from hookrun_conformance.model import Json
from tests.live import claude_rows
from tests.live.claude_rows import ROWS, Outcome
from tests.live.conftest import needs
from tests.live.run import Agent, Place, Ran

AGENTS = ("codex", "gemini")

WITHOUT_REASON = ("no-event-name", "other-event-name")
LOST_IN_CLAUDE = (
    "deny-wrong-type", "deny-with-null", "deny-second-line", "noise-first", "noise-last", "in-an-array", "wrong-word",
    "decision-deny", *WITHOUT_REASON,
)  # fmt: skip
"""Rows of hooks that refuse in a form of their own, or amid other output."""

SAME = {
    "SessionStart": ("hook_event_name", "source"),
    "UserPromptSubmit": ("hook_event_name",),
    "PreToolUse": ("hook_event_name", "tool_name", "tool_input.command"),
    "PostToolUse": ("hook_event_name", "tool_name", "tool_input.command"),
    "Stop": ("hook_event_name", "stop_hook_active", "last_assistant_message"),
}
"""The hooks' input has to be the same here, except ids and times."""

WITHIN = {"UserPromptSubmit": ("prompt",), "PostToolUse": ("tool_response.stdout",)}
"""Texts to which some agents add others: Gemini CLI adds earlier hooks' output, or the source."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Ran]]:
    """Return what runs all rows in one session of an agent: once for each agent, then it is remembered."""
    ran: dict[str, Ran] = {}

    def run(name: str) -> Ran:
        if name not in ran:
            agent = kept.enter_context(Agent(DRIVERS[name], Place(tmp_path_factory.mktemp(name))))
            claude_rows.settings(agent.place.project)
            if name != "claude":
                agent.include_claude()
            ran[name] = agent.run(*claude_rows.turns(agent))
        return ran[name]

    with ExitStack() as kept:
        yield run


@pytest.mark.parametrize("row", [row for row in ROWS if row not in LOST_IN_CLAUDE])
@pytest.mark.parametrize("name", AGENTS)
def test_what_happens_is_what_happens_in_claude_code(
    name: str, row: str, session: Callable[[str], Ran], request: pytest.FixtureRequest
) -> None:
    """Whether the tool ran, with which arguments, and whether the model got the hook's text."""
    needs(request, "claude", name)
    expected = claude_rows.outcome(session("claude"), row)
    assert claude_rows.outcome(session(name), row) == expected, _difference(row, session("claude"), session(name))


@pytest.mark.parametrize("row", LOST_IN_CLAUDE)
@pytest.mark.parametrize("name", AGENTS)
def test_a_refusal_that_claude_code_loses_refuses(
    name: str, row: str, session: Callable[[str], Ran], request: pytest.FixtureRequest
) -> None:
    """Through hookrun, with its reason."""
    needs(request, "claude", name)
    seen = _difference(row, session("claude"), session(name))
    assert claude_rows.outcome(session("claude"), row) == Outcome(1, wrote=f"{row}\n", told=False), seen
    refused = Outcome(1, wrote=None, told=row not in WITHOUT_REASON)
    assert claude_rows.outcome(session(name), row) == refused, seen


@pytest.mark.parametrize("event", SAME)
@pytest.mark.parametrize("name", AGENTS)
def test_what_a_hook_is_told_is_what_claude_code_tells_it(
    name: str, event: str, session: Callable[[str], Ran], request: pytest.FixtureRequest
) -> None:
    """By the same names, and in the same shape."""
    needs(request, "claude", name)
    native, through = _told(session("claude"), event), _told(session(name), event)
    told = (native, through)
    assert [_at(through, path) for path in SAME[event]] == [_at(native, path) for path in SAME[event]], told
    assert all(str(_at(native, path)) in str(_at(through, path)) for path in WITHIN.get(event, ())), told
    assert through["cwd"] == str(session(name).place.project)
    assert {type(through[key]) for key in ("session_id", "transcript_path")} == {str}


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        ("exit-two", Outcome(1, wrote=None, told=True)),
        ("deny-json", Outcome(1, wrote=None, told=True)),
        ("updated-input", Outcome(1, wrote="replaced\n", told=False)),
        ("plain-context", Outcome(1, wrote="plain-context\n", told=True)),
        ("exit-one", Outcome(1, wrote="exit-one\n", told=False)),
        ("too-slow", Outcome(1, wrote="too-slow\n", told=False)),
    ],
)
def test_claude_code_itself_does_what_it_is_compared_for(
    row: str, outcome: Outcome, session: Callable[[str], Ran], request: pytest.FixtureRequest
) -> None:
    """Otherwise the comparison would hold where no hook ran at all."""
    needs(request, "claude")
    assert claude_rows.outcome(session("claude"), row) == outcome, session("claude")


def _told(ran: Ran, event: str) -> Json:
    """Return the first input that hooks got for an event."""
    return next((each for each in ran.seen if each["hook_event_name"] == event), {})


def _at(value: Json, path: str) -> object:
    """Return the value at a path with dots."""
    found: object = value
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _difference(row: str, claude: Ran, other: Ran) -> str:
    """Return the difference, and everything that helps to see why."""
    native, through = claude_rows.outcome(claude, row), claude_rows.outcome(other, row)
    return f"{row}: in Claude Code {native}, through hookrun {through}\n\n{claude}\n\n{other}"
