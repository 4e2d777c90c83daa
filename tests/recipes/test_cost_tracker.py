"""cost-tracker over a session: a transcript that grows, inferences reported by events, a budget that runs out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun.observe import CostTracker
from hookrun.recipes import session_costs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.recipes.account import Account


def said(name: str, output: int, model: str = "large-4", **more: int) -> str:
    """Return the line of a transcript that reports an inference."""
    usage = {"input_tokens": 100, "output_tokens": output, **more}
    return json.dumps({"message": {"id": name, "model": model, "usage": usage}}) + "\n"


def told(account: Account, event: str = "stop", **context: object) -> str:
    """Return the user's message at the end of a turn."""
    answer = account.call("cost_tracker", event=event, transcript_path=str(account.work / "t.jsonl"), **context)
    return "" if answer is None else str(answer["system_message"])


def add(path: Path, text: str) -> None:
    """Append to a transcript."""
    with path.open("a") as file:
        file.write(text)


def test_what_was_read_is_not_counted_again(account: Account) -> None:
    """Only the part of a transcript that was added since the last time."""
    path = account.write("t.jsonl", said("a", 10) + said("b", 5))
    assert told(account) == told(account) == "cost-tracker: 200 tokens in, 0 cached, 15 out in this session"
    add(path, said("c", 7))
    assert "300 tokens in, 0 cached, 22 out" in told(account)


def test_an_inference_that_is_told_again_counts_with_its_last_numbers(account: Account) -> None:
    """Within one look and over two."""
    path = account.write("t.jsonl", said("a", 1) + said("a", 10))
    assert "100 tokens in, 0 cached, 10 out" in told(account)
    add(path, said("a", 40))
    assert "100 tokens in, 0 cached, 40 out" in told(account)


def test_half_a_line_is_read_when_it_is_whole(account: Account) -> None:
    """A transcript may be written while it is read."""
    line = said("b", 5)
    path = account.write("t.jsonl", said("a", 10) + line[:30])
    assert "10 out" in told(account)
    add(path, line[30:])
    assert "15 out" in told(account)


def test_sessions_are_counted_apart(account: Account) -> None:
    """The same transcript under another session is that session's."""
    account.write("t.jsonl", said("a", 10))
    assert told(account) == told(account, session_id="s2")


def test_a_budget_runs_out_within_a_session(account: Account) -> None:
    """The call that exceeds it is refused, the one before was not."""
    account.options(prices="large-*=0/100000", budget="1.5")
    path = account.write("t.jsonl", said("a", 10))
    call = {"event": "pre_tool_use", "tool_name": "bash", "transcript_path": str(path)}
    assert account.call("cost_tracker:guard", **call) is None
    add(path, said("b", 5))
    answer = account.call("cost_tracker:guard", **call)
    assert answer is not None
    assert answer["message"].startswith("the budget of $1.50 for this session is used up ($1.50)")


def test_inferences_that_codex_tells_are_counted(account: Account) -> None:
    """It counts cached tokens in; its transcript is not read as well."""
    usage = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 5}
    context = {"event": "after_inference", "agent": "codex", "model": "m", "token_usage": usage}
    for request in ("r1", "r2"):
        assert account.call("cost_tracker", request_id=request, **context) is None
    account.write("t.jsonl", said("a", 10))
    assert "120 tokens in, 80 cached, 10 out" in told(account, agent="codex")


def test_of_a_stream_of_gemini_only_the_end_counts(account: Account) -> None:
    """Each chunk has the total so far; thoughts count as output."""
    for finish in (None, "STOP"):
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 2}
        response = {"candidates": [{"finishReason": finish}], "usageMetadata": usage}
        context = {"agent": "gemini", "llm_request": {"model": "flash"}, "llm_response": response}
        assert account.call("cost_tracker", event="after_inference", **context) is None
    assert "10 tokens in, 0 cached, 5 out" in told(account, agent="gemini")


def test_what_is_counted_is_in_the_metrics(account: Account) -> None:
    """The store is the account's, which `hookrun stats` shows, by model."""
    account.options(prices="large-4=1/1/1/1")
    account.write("t.jsonl", said("a", 10, cache_read_input_tokens=90) + said("b", 5, model="small"))
    assert "no price is known for model small" in told(account)
    models = {each.name: each.tokens for each in CostTracker({}).per_model(session_id="s1")}
    assert sorted(models) == ["large-4", "small"]
    assert models["large-4"].cache_read == 90


def test_nothing_known_is_told_once(account: Account) -> None:
    """An agent without a transcript is not complained of at each turn."""
    assert told(account).startswith("cost-tracker: no usage data")
    assert told(account) == ""


@pytest.mark.parametrize(
    "line",
    [
        'nonsense with "usage"', '["usage"]',
        '{"message": {"usage": 1}}', '{"message": {"usage": {"input_tokens": 1}}}',
        '{"message": {"id": "a", "model": "m", "usage": {"input_tokens": -1, "output_tokens": "many"}}}',
        '{"message": {"id": 1, "model": null, "usage": {"input_tokens": 1}}}', '{"usageMetadata": []}',
    ],
)  # fmt: skip
def test_a_line_that_tells_no_usage_is_passed_over(account: Account, line: str) -> None:
    """Whatever else is in a transcript, the lines around it count."""
    path = account.write("t.jsonl", said("a", 10) + line + "\n" + said("b", 5))
    used, end = session_costs.read_transcript(str(path), 0)
    assert [each.id for each in used] == ["a", "b"]
    assert end == path.stat().st_size


def test_a_transcript_that_was_written_anew_is_read_from_its_beginning(account: Account) -> None:
    """It is shorter than what was read: nothing is left out."""
    path = account.write("t.jsonl", said("a", 10) + said("b", 5))
    assert "15 out" in told(account)
    path.write_text(said("c", 1))
    assert "16 out" in told(account)
