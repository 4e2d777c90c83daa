"""The same settings and hooks, in Claude Code itself and through hookrun in another agent: the same happens.

Claude Code reads its settings alone, without hookrun: what it does is what the others are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.live import claude_rows
from tests.live.claude_rows import ROWS, Outcome
from tests.live.drivers import DRIVERS
from tests.live.installed import absent
from tests.live.run import Agent, Place, Ran

AGENTS = ("codex", "gemini")

UNTOLD = {("gemini", "context-before-tool")}
"""What an agent has no way to tell its model: the tool runs as in Claude Code, and the audit says what was lost."""


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


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("name", AGENTS)
def test_what_happens_is_what_happens_in_claude_code(
    name: str, row: str, session: Callable[[str], Ran], request: pytest.FixtureRequest
) -> None:
    """Whether the tool ran, with which arguments, and whether the model was told the hook's text."""
    request.node.user_properties.append(("agent", name))
    for needed in ("claude", name):
        if reason := absent(needed):
            pytest.skip(f"{needed}: {reason}")
    expected = claude_rows.outcome(session("claude"), row)
    if (name, row) in UNTOLD:
        assert expected.told
        assert "context -> nothing" in session(name).degraded
        expected = expected._replace(told=False)
    assert claude_rows.outcome(session(name), row) == expected, _difference(row, session("claude"), session(name))


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        ("exit-two", Outcome(wrote=None, told=True)),
        ("deny-json", Outcome(wrote=None, told=True)),
        ("updated-input", Outcome(wrote="replaced\n", told=False)),
        ("plain-context", Outcome(wrote="original\n", told=True)),
        ("exit-one", Outcome(wrote="original\n", told=False)),
        ("too-slow", Outcome(wrote="original\n", told=False)),
    ],
)
def test_claude_code_itself_does_what_it_is_compared_for(
    row: str, outcome: Outcome, session: Callable[[str], Ran], request: pytest.FixtureRequest
) -> None:
    """Otherwise the comparison would hold where no hook ran at all."""
    request.node.user_properties.append(("agent", "claude"))
    if reason := absent("claude"):
        pytest.skip(f"claude: {reason}")
    assert claude_rows.outcome(session("claude"), row) == outcome, session("claude")


def _difference(row: str, claude: Ran, other: Ran) -> str:
    """Tell what differs, and all that helps to see why."""
    native, through = claude_rows.outcome(claude, row), claude_rows.outcome(other, row)
    return f"{row}: in Claude Code {native}, through hookrun {through}\n\n{claude}\n\n{other}"
