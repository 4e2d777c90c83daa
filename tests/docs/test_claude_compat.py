"""The page about hooks written for Claude Code agrees with the tables."""

from __future__ import annotations

import pytest

from hookrun.claude.hook_protocol import BLOCK, EVENTS, NOTHING, PERSON, RULES, TOP, Rules
from hookrun.core.events import CLAUDE_TOOLS
from hookrun.core.session import MAX_OVERFLOW_TEXTS
from tests.conftest import ROOT
from tests.rows import rows

pytestmark = pytest.mark.lint

PAGE = (ROOT / "docs" / "reference" / "claude-compat.md").read_text()
READS, ANSWERS = PAGE.split("## What a hook answers")
NOT_CLAIMED = PAGE.split("## Not claimed (answers)")[1]
ROWS = {
    event: [cell.strip() for cell in line.strip("|").split("|")]
    for line in ANSWERS.splitlines()
    for event in RULES
    if line.startswith("| `") and f"`{event}`" in line.split("|")[1] and line.count("|") == 5  # cells
}
"""What the table of events has about each."""

EXIT_2 = {BLOCK: ("blocks", "the agent continues"), PERSON: ("notifies the user",), NOTHING: ("no effect",)}


def test_every_event_and_tool_has_its_name_on_the_page() -> None:
    """Hookrun's beside Claude's."""
    assert [name for pair in EVENTS.items() for name in pair if f"`{name}`" not in READS] == []
    assert [name for name in CLAUDE_TOOLS.values() if f"`{name}`" not in READS] == []


@rows("event", RULES)
def test_the_page_says_what_counts_at_an_event(event: str) -> None:
    """Exit status 2, the fields at the top, plain text."""
    rules: Rules = RULES[event]
    _, exit_2, obeys, plain = ROWS[event]
    assert exit_2.startswith(EXIT_2[rules.exit_2])
    named = {name for name in TOP if f"`{name}`" in obeys}
    assert named == ({*rules.obeys} if obeys != "all" else set())
    assert (obeys == "all") == (rules.obeys == {"decision", "continue", "systemMessage"})
    assert (plain == "for the model") == rules.plain


def test_every_field_that_is_lost_is_among_those_not_claimed() -> None:
    """With what has an effect in Claude Code and none here."""
    lost = {name for rules in RULES.values() for name in rules.lost} | {"terminalSequence", "updatedPermissions"}
    assert [name for name in sorted(lost) if f"`{name}`" not in NOT_CLAIMED] == []


def test_the_page_knows_how_many_texts_are_kept() -> None:
    """And where."""
    assert f"the newest {MAX_OVERFLOW_TEXTS} are kept" in PAGE
