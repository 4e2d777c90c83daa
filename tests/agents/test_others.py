"""Agents without a module: each name is answered with what is true of it."""

from __future__ import annotations

import pytest

from hookrun import agents
from hookrun.agents import others

NAMES = [name for names in (*others.OTHERS, *others.BY_HAND) for name in names.split()]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in agents.AGENTS])
def test_a_known_name_is_no_unknown_agent(name: str) -> None:
    """The fact comes first, then the command that guards the agent, or the supported ones."""
    assert NAMES.count(name) == 1
    found = others.find(name)
    assert found is not None
    fact, hint = found
    expected = hint or f"supported agents are {', '.join(agents.AGENTS)}"
    for spelling in (name, name.upper()):
        with pytest.raises(agents.UnknownAgentError) as caught:
            agents.load(spelling)
        assert str(caught.value) == f'"{spelling}": {fact}\nhint: {expected}'
    assert "unknown" not in fact


def test_those_whose_hooks_hookrun_answers_are_guarded_through_claude() -> None:
    """Which agents read Claude Code's settings is measured or documented: the same agents send its messages."""
    from hookrun.agents.callers import CALLERS

    for name in CALLERS.keys() - agents.AGENTS.keys():
        found = others.find(name)
        assert found is not None
        assert "`hookrun install claude`" in found[1]


@pytest.mark.parametrize("names", others.BY_HAND)
def test_the_hint_for_hooks_that_are_written_by_hand_is_a_line_that_reads_their_messages(names: str) -> None:
    """It names the agent as `fire` knows it, by each of its names."""
    first, *_ = names.split()
    for name in names.split():
        found = others.find(name)
        assert found is not None
        assert f"`hookrun fire --agent {first} PreToolUse`" in found[1]
        assert agents.load(name, by_hand=True).INSTALL["refused_by_status"]
