"""Transcripts of agents, as the real programs wrote them, are read as what their hooks got."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hookrun.agents import load, transcripts
from hookrun.core import context as contexts
from hookrun.replay import traffic
from hookrun.replay.traffic import Past
from tests.replay.recorded import AGENTS, HERE, SEEN, place, seen

CHANGED = dict.fromkeys(("gemini", "opencode"), "echo changed > changed.txt")
"""Agents whose transcripts have a changed call as it ran, not as the model asked for it -> how it ran."""

ENDS = {
    "claude": ("refused", "changed"),
    "codex": ("refused", "changed"),
    "qwen": ("refused", "refused"),
    "copilot": ("refused", "ran"),
    "gemini": ("refused", "ran"),
    "opencode": ("unknown", "ran"),
}
"""The results of a call that a hook refused, and of one that a hook changed."""


def replayed(agent: str, home: Path) -> list[Past]:
    """Return the calls in an agent's recorded transcript; each can be read."""
    place(agent, home)
    found: list[Past] = []
    for part in traffic.transcript_ranges([load(agent)], str(home), str(home), 0):
        for past in traffic.read(part, part.read() or b""):
            assert past is not None
            found.append(past)
    return found


def _seen(past: Past) -> dict[str, object]:
    context = contexts.with_defaults(past.context, past.event, "id", None)
    return {name: context.get(name) for name in SEEN}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_transcript_gives_the_contexts_that_hooks_got(agent: str, tmp_path: Path) -> None:
    """By every field that a condition may name: the tool by both names, its arguments, the file, the directory."""
    found = [_seen(each) for each in replayed(agent, tmp_path) if each.event in ("pre_tool_use", "user_prompt_submit")]
    asked_for = CHANGED.get(agent, "echo original > original.txt")
    expected = json.loads(json.dumps(seen(agent)).replace("echo original > original.txt", asked_for))
    assert found == expected


@pytest.mark.parametrize("agent", AGENTS)
def test_the_result_of_each_call_is_read(agent: str, tmp_path: Path) -> None:
    """One was refused by a hook, one was changed where the agent lets hooks do that, the others ran."""
    commands = {
        str(past.context["tool_args"]["command"]): past.then  # type: ignore[index]
        for past in replayed(agent, tmp_path)
        if past.event == "pre_tool_use" and past.context["tool_name"] == "bash"
    }
    original = CHANGED.get(agent, "echo original > original.txt")
    assert (commands["echo forbidden > made.txt"], commands[original]) == ENDS[agent]
    ran = ("echo fine > a.txt && cat a.txt", "cat missing.txt; exit 3", "git push --force origin main")
    assert {commands[line] for line in ran} == {"ran"}


@pytest.mark.parametrize("agent", AGENTS)
def test_results_are_read(agent: str, tmp_path: Path) -> None:
    """For hooks after a tool: the result of a command that printed, and of one that failed."""
    results = {
        str(past.context["tool_args"]["command"]): str(past.context.get("tool_result_output"))  # type: ignore[index]
        + str(past.context.get("tool_result_error"))
        for past in replayed(agent, tmp_path)
        if past.event in ("post_tool_use", "post_tool_failure") and past.context["tool_name"] == "bash"
    }
    assert "fine" in results["echo fine > a.txt && cat a.txt"]
    assert "missing.txt: No such file" in results["cat missing.txt; exit 3"]
    assert "echo forbidden > made.txt" not in results


@pytest.mark.parametrize("agent", sorted({*AGENTS} - {"opencode"}))
def test_a_torn_line_is_counted_and_the_rest_is_read(agent: str) -> None:
    """A program that died while it wrote, or still writes."""
    lines = (HERE / f"{agent}.jsonl").read_bytes().splitlines()
    marked = [line for line in lines if any(mark in line for mark in transcripts.FORMATS[agent].marks)]
    whole = list(transcripts.entries(agent, lines, {}))
    torn = list(transcripts.entries(agent, [*lines, marked[-1][:-20]], {}))
    assert (torn.count(None), len(torn)) == (1, len(whole) + 1)


def test_reading_a_database_writes_nothing_beside_it(tmp_path: Path) -> None:
    """SQLite would make files for its log."""
    path = place("opencode", tmp_path / "home")
    (tmp_path / "scratch").mkdir()
    assert list(traffic.file_ranges("opencode", str(path), str(tmp_path / "scratch")))
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_transcript_is_known_by_its_beginning(agent: str, tmp_path: Path) -> None:
    """Wherever it lies."""
    assert traffic.source_of(str(place(agent, tmp_path))) == agent
