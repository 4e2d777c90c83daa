"""Cost tracking: tokens by every name, their cost, and a budget that runs out."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hookrun import Engine
from hookrun.events import AfterInference, PreToolUse, UserPromptSubmit
from hookrun.observe import CostTracker, ObserverDatabase, Price
from hookrun.observe.costs import Tokens, money, price_of, tokens_of
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hookrun import Verdict

PRICES: dict[str, Price | dict[str, float]] = {
    "one": {"input": 1, "output": 1},
    "large": Price(input=3.0, output=15.0, cache_read=0.3, cache_creation=3.75),
    "small": {"input": 1, "output": 2},
}
MILLION = 1_000_000


@dataclass(slots=True)
class Used:
    """A usage as an SDK gives it out."""

    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: object


@pytest.fixture
def costs(store: ObserverDatabase) -> CostTracker:
    """Return the bundle, with a budget of five dollars."""
    return CostTracker(PRICES, store, budget=5.0)


def used(model: str | None = "large", session: str = "s1", total: float | None = None, **usage: Any) -> AfterInference:
    """Return the context of an inference."""
    fields = {} if total is None else {"total_cost_usd": total}
    return AfterInference(session_id=session, model=model, usage=usage, **fields)  # type: ignore[arg-type]


def refused(verdict: Verdict | None) -> str | None:
    """Return why something is refused, None if it is not."""
    if verdict is None:
        return None
    assert verdict.action == "block"
    return verdict.message


@rows(
    "usage, wanted",
    [
        ({"input_tokens": 1, "output_tokens": 2}, Tokens(1, 2)),
        (
            {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4},
            Tokens(1, 2, 3, 4),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}, Tokens(10, 2)),
        ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}, Tokens(6, 2, 4)),
        ({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 2}, Tokens(6, 2, 4)),
        ({"prompt_tokens": 3, "prompt_tokens_details": None, "cache_read_input_tokens": None}, Tokens(3)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}}, Tokens(0, 0, 9)),
        ({"input_tokens": 0, "prompt_tokens": 7}, Tokens(0)),
        (
            {"promptTokenCount": 50, "candidatesTokenCount": 7, "cachedContentTokenCount": 20, "thoughtsTokenCount": 3},
            Tokens(30, 10, 20),
        ),
        (
            {"inputTokens": 5, "outputTokens": 2, "cacheReadInputTokens": 1, "cacheWriteInputTokens": 3},
            Tokens(5, 2, 1, 3),
        ),
        ({"input_tokens": 9, "input_token_details": {"cache_read": 4, "cache_creation": 3}}, Tokens(2, 0, 4, 3)),
        ({"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 1}, Tokens(5, 1, 4)),
        (SimpleNamespace(input_tokens=50, output_tokens=5), Tokens(50, 5)),
        (Used(9, 2, SimpleNamespace(cached_tokens=4)), Tokens(5, 2, 4)),
        (
            SimpleNamespace(prompt_token_count=9, candidates_token_count=None, cached_content_token_count=None),
            Tokens(9),
        ),
        (MappingProxyType({"input_tokens": 4}), Tokens(4)),
        ({}, Tokens()),
    ],
)
def test_tokens_by_any_name(usage: object, wanted: Tokens) -> None:
    """Anthropic counts cached tokens beside the input, OpenAI within it: here they are always beside it."""
    assert tokens_of(usage) == wanted


@pytest.mark.parametrize(
    "usage", [{"tokens": 50}, {1: 2}, SimpleNamespace(tokens=50), "50", 50, [50], {"thoughtsTokenCount": 5}]
)
def test_a_usage_in_which_nothing_is_known(store: ObserverDatabase, usage: object) -> None:
    """It is an error that the fire reports, not an inference without cost."""
    engine = Engine().use(CostTracker(PRICES, store, budget=1.0))
    with engine:
        result = engine.fire_sync("after_inference", session_id="s1", model="one", usage=usage)  # type: ignore[arg-type]
    (run,) = result.runs
    assert run.failure is not None
    assert "expected input_tokens and output_tokens" in str(run.failure)
    assert CostTracker({}, store).per_model() == []


def test_an_object_uses_up_the_budget(store: ObserverDatabase) -> None:
    """An SDK's usage object need not be converted to a dict."""
    with Engine().use(CostTracker(PRICES, store, budget=1.0)) as engine:
        usage = SimpleNamespace(input_tokens=MILLION, output_tokens=0)
        engine.fire_sync("after_inference", session_id="s1", model="one", usage=usage)  # type: ignore[arg-type]
        assert engine.fire_sync("pre_tool_use", session_id="s1", tool_name="bash").action == "block"


@rows("count", [-1, 1.5, "7", True, 1 << 60, [1]])
def test_tokens_that_are_none(costs: CostTracker, store: ObserverDatabase, count: object) -> None:
    """A number that is no count is an error that names the field, and nothing is kept."""
    with pytest.raises(ValueError, match=r"usage\.input_tokens is .*, expected a number of tokens"):
        costs.on_inference(used(input_tokens=count, output_tokens=1))
    with pytest.raises(ValueError, match=r"usage\.prompt_tokens_details\.cached_tokens is"):
        costs.on_inference(used(prompt_tokens=1, prompt_tokens_details={"cached_tokens": count}))
    assert CostTracker({}, store).per_model() == []


@rows(
    "prices, wrong",
    [
        ({"m": {"input": 1}}, r"prices\[\"m\"\] has no 'output'"),
        ({"m": {"input": 1, "output": 2, "cache_raed": 1}}, 'did you mean "cache_read"'),
        ({"m": {"input": -1, "output": 2}}, r"prices\[\"m\"\]\.input is -1, expected an amount of USD"),
        ({"m": {"input": 1, "output": float("nan")}}, r"\.output is NaN"),
        ({"m": {"input": "1", "output": 2}}, r"\.input is \"1\""),
        ({"m": Price(1, float("inf"))}, r"\.output is Infinity"),
        ({"m": None}, r"prices\[\"m\"\] is null, expected input and output"),
        ({"m": 3.0}, r"prices\[\"m\"\] is 3.0, expected input and output"),
        ({"m": {"input": None, "output": 2}}, r"\.input is null"),
    ],
)
def test_prices_that_are_none(store: ObserverDatabase, prices: dict[str, Any], wrong: str) -> None:
    """They are an error when the bundle is made, which names the model and the field."""
    with pytest.raises(ValueError, match=wrong):
        CostTracker(prices, store)


@rows("budget", [-1, float("nan"), 1e300, "5", True])
def test_budgets_that_are_none(store: ObserverDatabase, budget: Any) -> None:
    """They are an error when the bundle is made."""
    with pytest.raises(ValueError, match=r"budget is .*, expected an amount of USD"):
        CostTracker({}, store, budget=budget)


def test_what_it_costs(costs: CostTracker) -> None:
    """Each kind of token has its price per million; cached tokens without one cost what input does."""
    costs.on_inference(
        used(
            input_tokens=MILLION,
            output_tokens=MILLION // 10,
            cache_read_input_tokens=2 * MILLION,
            cache_creation_input_tokens=4 * MILLION,
        )
    )
    assert costs.spent("s1") == pytest.approx(3 + 1.5 + 0.6 + 15)
    costs.on_inference(used("small", "s2", input_tokens=MILLION, cache_read_input_tokens=MILLION))
    assert costs.spent("s2") == pytest.approx(2)
    assert costs.spent("s3") == 0


def test_prices_by_pattern() -> None:
    """An exact name is preferred, then the first pattern that fits; case counts."""
    prices: dict[str, Price] = {"claude-*": Price(1, 1), "claude-opus-*": Price(2, 2), "claude-opus-9": Price(3, 3)}
    assert price_of("claude-opus-9", prices) == Price(3, 3)
    assert price_of("claude-opus-8", prices) == Price(1, 1)
    assert price_of("Claude-opus-8", prices) is None


def test_per_model_and_per_session(costs: CostTracker) -> None:
    """Sums by model, the most expensive first, and by session, the latest first; unpriced usage is separate."""
    for session, model, count, day in (("a", "small", 100, 1), ("a", "large", 200, 1), ("b", "small", 300, 3)):
        usage = {"input_tokens": count, "output_tokens": 1}
        when = f"2026-01-0{day}T00:00:00Z"
        costs.on_inference(AfterInference(session_id=session, model=model, usage=usage, timestamp=when))
    costs.on_inference(AfterInference(session_id="b", usage={"input_tokens": 7}, timestamp="2026-01-03T00:00:00Z"))
    models = costs.per_model()
    assert [(each.name, each.inferences, each.tokens.input, each.unpriced) for each in models] == [
        ("large", 1, 200, 0),
        ("small", 2, 400, 0),
        ("unknown", 1, 7, 1),
    ]
    assert [each.cost for each in models] == [pytest.approx(0.000615), pytest.approx(0.000404), None]
    assert [(each.name, each.inferences, each.unpriced) for each in costs.per_session()] == [("b", 2, 1), ("a", 2, 0)]
    assert [each.name for each in costs.per_model(session_id="a")] == ["large", "small"]
    assert [each.name for each in costs.per_session(since=1_767_312_000.0)] == ["b"]


def test_an_unknown_model_is_told_once(costs: CostTracker) -> None:
    """The user is notified once that its cost is not counted; a known model is not mentioned."""
    verdicts = [
        costs.on_inference(used(model, input_tokens=1)) for model in ("new", "new", "large", "other", "new", None)
    ]
    texts = [None if verdict is None else verdict.system_message for verdict in verdicts]
    assert [text is not None for text in texts] == [True, False, False, True, False, True]
    assert texts[0] == "no price is known for model new: its tokens are counted, but not its cost"


def test_nothing_used(costs: CostTracker, store: ObserverDatabase) -> None:
    """An inference without usage is not counted, reported once where there is a budget: it sees nothing."""
    verdicts = [costs.on_inference(used(model)) for model in ("large", "large", None)]
    assert [None if each is None else each.system_message for each in verdicts] == [
        "model large reports no usage: the budget does not count it",
        None,
        "model unknown reports no usage: the budget does not count it",
    ]
    assert CostTracker(PRICES, store).on_inference(used()) is None
    assert costs.per_model() == []


def test_the_agents_own_total(costs: CostTracker) -> None:
    """A total is the run so far: it counts instead of the prices, and a smaller one begins a new run."""
    for total, spent in ((0.5, 0.5), (0.75, 0.75), (0.75, 0.75), (0.2, 0.95), (0.3, 1.05)):
        costs.on_inference(used("new", total=total, input_tokens=5))
        assert costs.spent("s1") == pytest.approx(spent)
    assert costs.on_inference(used("newer", total=0.4)) is None, "a cost is known: there is nothing to tell"
    assert costs.on_inference(AfterInference(session_id="s2", usage={"total_cost_usd": 0.1})) is None
    assert costs.spent("s2") == pytest.approx(0.1)


def test_a_total_after_prices(costs: CostTracker) -> None:
    """What was computed since its run began is in a total already; one below that takes nothing back."""
    for total, tokens, spent in (
        (None, MILLION, 1),
        (None, MILLION, 2),
        (2.5, 0, 2.5),
        (None, MILLION, 3.5),
        (2.6, 0, 3.5),
        (3.4, 0, 3.5),
        (3.75, 0, 3.75),
        (None, MILLION, 4.75),
        (0.5, 0, 4.75),
        (1.25, 0, 5),
        (None, MILLION, 6),
        (2.5, 0, 6.25),
    ):
        costs.on_inference(used("one", total=total, input_tokens=tokens))
        assert costs.spent("s1") == pytest.approx(spent)


@rows("total", [-1, "0.5", float("nan")])
def test_a_total_that_is_none(costs: CostTracker, total: Any) -> None:
    """It is an error that names it."""
    with pytest.raises(ValueError, match="total_cost_usd is"):
        costs.on_inference(used(total=total))


def test_the_budget(costs: CostTracker, store: ObserverDatabase) -> None:
    """Below it nothing changes; from it on tool calls and prompts of that session are refused, in every process."""
    other = CostTracker(PRICES, ObserverDatabase(store.path), budget=5.0)
    contexts = (PreToolUse(session_id="s1", tool_name="bash"), UserPromptSubmit(session_id="s1", user_prompt="go on"))
    assert [costs.on_spending(each) for each in contexts] == [None, None]
    costs.on_inference(used(total=4.99))
    assert [costs.on_spending(each) for each in contexts] == [None, None]
    costs.on_inference(used(total=5.123))
    for tracker in (costs, other):
        for each in contexts:
            message = "the budget of $5.00 for this session is used up ($5.12)"
            assert refused(tracker.on_spending(each)) == message
    assert costs.on_spending(PreToolUse(session_id="s2", tool_name="bash")) is None


def test_each_inference_of_a_request_counts(costs: CostTracker, store: ObserverDatabase) -> None:
    """A session gives its events one `request_id`, and two may be fired in a millisecond; other bundles add nothing."""
    about: dict[str, Any] = {"model": "one", "usage": {"input_tokens": MILLION, "output_tokens": 0}}
    about["timestamp"] = "2026-01-01T00:00:00.000Z"
    with Engine().use(costs) as engine:
        engine.register("after_inference", lambda ctx: store.keep(ctx) and None, name="another", priority=900)
        request = engine.session(session_id="s1")
        for _ in range(5):
            request.fire_sync("after_inference", about)
        assert request.fire_sync("before_inference").message == (
            "the budget of $5.00 for this session is used up ($5.00)"
        )
    assert [(each.inferences, each.cost) for each in costs.per_session()] == [(5, 5.0)]


def test_a_budget_that_cannot_be_known_lets_nothing_pass(tmp_path: Path) -> None:
    """What cannot be read may be used up; an inference that could not be stored counts as soon as it can be."""
    place = tmp_path / "state"
    place.write_text("no directory")
    costs = CostTracker({"m": Price(1, 0)}, ObserverDatabase(place / "observe.db"), budget=2.0)
    with Engine().use(costs) as engine:
        session = engine.session(session_id="s1")
        for usage in ({"input_tokens": MILLION}, {"input_tokens": MILLION // 2}):
            assert session.fire_sync("after_inference", {"model": "m", "usage": usage}).runs[0].failure is not None
        refusal = session.fire_sync("before_inference")
        assert (refusal.action, str(place) in (refusal.message or "")) == ("block", True)
        place.unlink()
        assert session.fire_sync("before_inference").go_on
        assert costs.spent("s1") == 1.5
        session.fire_sync("after_inference", {"model": "m", "usage": {"input_tokens": MILLION}})
        assert session.fire_sync("before_inference").message == (
            "the budget of $2.00 for this session is used up ($2.50)"
        )


@pytest.mark.parametrize("budget", [None, 1e6], ids=["no budget", "a budget"])
def test_inferences_that_end_in_many_threads_all_count(tmp_path: Path, budget: float | None) -> None:
    """None is lost where one thread has stored its own and another is about to."""
    seen: list[object] = []

    class Noted(ObserverDatabase):
        def keep(self, context: Mapping[str, object], **more: object) -> dict[str, object]:
            seen.append(context["session_id"])
            return more

    costs = CostTracker({"m": Price(1, 0)}, Noted(tmp_path / "observe.db"), budget=budget)
    contexts = [[used("m", session=f"{thread}-{n}", input_tokens=1) for n in range(1000)] for thread in range(8)]
    threads = [threading.Thread(target=lambda own=own: [costs.on_inference(each) for each in own]) for own in contexts]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert {*seen} == {each.session_id for own in contexts for each in own}


def test_without_a_budget_a_broken_database_blocks_nothing(tmp_path: Path) -> None:
    """It is a failure of the tracker's, which only counts."""
    (tmp_path / "state").write_text("no directory")
    with Engine().use(CostTracker({}, ObserverDatabase(tmp_path / "state" / "observe.db"))) as engine:
        told = engine.fire_sync("after_inference", {"model": "m", "usage": {"input_tokens": 1}})
        assert (told.go_on, told.runs[0].failure is not None) == (True, True)
        assert engine.fire_sync("before_inference").go_on


def test_a_budget_without_a_session(costs: CostTracker) -> None:
    """What has none shares a budget, in every program of the account: the reason says what is missing."""
    costs.on_inference(AfterInference(model="one", usage={"input_tokens": 5 * MILLION}))
    message = "the budget of $5.00 for what has no session_id is used up ($5.00)"
    assert refused(costs.on_spending(PreToolUse(tool_name="bash"))) == message


def test_a_budget_reached_in_small_steps(store: ObserverDatabase) -> None:
    """A sum of tenths that is a hair below the budget has reached it; no budget at all refuses nothing."""
    costs = CostTracker({"m": Price(0.1, 0)}, store, budget=1.0)
    for _ in range(10):
        assert costs.on_spending(PreToolUse(session_id="s1", tool_name="x")) is None
        costs.on_inference(used("m", input_tokens=MILLION))
    assert refused(costs.on_spending(PreToolUse(session_id="s1", tool_name="x"))) is not None
    assert (
        refused(CostTracker({}, store, budget=0).on_spending(PreToolUse(session_id="new", tool_name="x"))) is not None
    )
    assert CostTracker({}, store).on_spending(PreToolUse(session_id="s1", tool_name="x")) is None


@rows("amount, text", [(0, "$0.00"), (5, "$5.00"), (1234.567, "$1234.57"), (0.5, "$0.5000"), (0.00123, "$0.0012")])
def test_money(amount: float, text: str) -> None:
    """Small amounts are shown finely enough to be seen."""
    assert money(amount) == text
