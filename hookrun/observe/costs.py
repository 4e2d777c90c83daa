"""Cost tracking: the tokens and the cost of each session and model, and a budget that a session may use up."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.bundles.naming import named
from hookrun.model import Verdict
from hookrun.observe import kept
from hookrun.observe.moments import fired
from hookrun.observe.store import Store
from hookrun.observe.usage import Tokens, amount, checked, money, part, price_of, tells_tokens, tokens_of

if TYPE_CHECKING:
    import sqlite3

    from hookrun.library.context import Context
    from hookrun.library.engine import Engine
    from hookrun.observe.moments import Clock
    from hookrun.observe.usage import Prices

EPSILON = 1e-9
"""USD by which a sum of many small amounts may fall short."""

SPENT = "SELECT coalesce(sum(cost), 0.0) FROM inferences WHERE session = ?"
REPORTED = "SELECT id, reported FROM inferences WHERE session = ? AND reported IS NOT NULL ORDER BY id"
SPENT_SINCE = "SELECT coalesce(sum(cost), 0.0) FROM inferences WHERE session = ? AND id > ?"
KEEP = """
    INSERT INTO inferences (session, model, at, input, output, cache_read, cache_creation, cost, reported)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
PER_MODEL = """
    SELECT model, count(*), sum(input), sum(output), sum(cache_read), sum(cache_creation), sum(cost), sum(cost IS NULL)
    FROM inferences WHERE at >= ? AND (? IS NULL OR session = ?) GROUP BY model ORDER BY total(cost) DESC, model
"""
PER_SESSION = """
    SELECT session, count(*), sum(input), sum(output), sum(cache_read), sum(cache_creation), sum(cost),
        sum(cost IS NULL)
    FROM inferences WHERE at >= ? AND (? IS NULL OR session = ?) GROUP BY session ORDER BY max(at) DESC, session
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the inferences of a model, or of a session, used and cost.

    `cost` is USD, None where no price was known for any; `unpriced` inferences are not in it.
    """

    name: str
    inferences: int
    tokens: Tokens
    cost: float | None
    unpriced: int


class CostTracker:
    """A bundle that adds up tokens and cost of every inference, and can refuse to go on when a budget is used up.

    `prices` is model (or a glob) -> `Price`, or an object with its fields: USD per million tokens, as the program
    knows them. Of a model without a price the tokens are counted and the person is told once. A `usage` is a mapping
    or an object, with the names that Anthropic, OpenAI, Gemini or Bedrock have. A `total_cost_usd`, in the context or
    its `usage`, is the agent's own word on the run so far and counts in the place of the prices; one that is smaller
    than the last begins a new run. With a `budget`, in USD for each session, tool calls and prompts are blocked once it
    is used up.

    >>> from hookrun.library.event_contexts import AfterInference, PreToolUse
    >>> from hookrun.observe import CostTracker, Store
    >>> import os, tempfile
    >>> store = Store(os.path.join(tempfile.mkdtemp(), "observe.db"))
    >>> costs = CostTracker({"large-*": {"input": 3.0, "output": 15.0}}, store, budget=1.0)
    >>> usage = {"input_tokens": 100_000, "output_tokens": 50_000}
    >>> costs.on_inference(AfterInference(session_id="s1", model="large-4", usage=usage))
    >>> costs.spent("s1")
    1.05
    >>> costs.on_spending(PreToolUse(session_id="s1", tool_name="bash")).message
    'the budget of $1.00 for this session is used up ($1.05)'

    Raises ValueError for a price or budget that is none; everything else raises StoreError where the database cannot
    be used.
    """

    def __init__(
        self, prices: Prices, store: Store | None = None, budget: float | None = None, *, clock: Clock = time.time
    ) -> None:
        self._prices = checked(prices)
        self._store = store or Store()
        self._budget = None if budget is None else amount(budget, "budget")
        self._clock = clock
        self._told: set[str] = set()

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle; those that refuse only with a budget."""
        own = named(engine, "cost-tracker", self._store.place)
        engine.register("after_inference", self.on_inference, always=True, thread=True, on_failure="continue", **own)
        if self._budget is not None:
            for event in ("pre_tool_use", "user_prompt_submit"):
                own = named(engine, f"cost-budget-{event.replace('_', '-')}", self._store.place)
                engine.register(event, self.on_spending, thread=True, on_failure="continue", **own)

    def on_inference(self, ctx: Context) -> Verdict | None:
        """Keep what an inference used and cost. Raises ValueError for a usage that tells none."""
        usage = ctx.get("usage")
        total = _total(ctx, usage)
        if (usage is None or usage == {}) and total is None:
            return None
        if total is None:
            tells_tokens(usage)
        tokens, session = tokens_of(usage), kept.session(ctx)
        told = ctx.get("model")
        model = kept.name(told) if isinstance(told, str) and told else "unknown"
        price = price_of(model, self._prices)
        with self._store.write() as db:
            cost = price.of(tokens) if price is not None else None
            if total is not None:
                cost = _added(db, session, total)
            row = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_creation, cost, total)
            db.execute(KEEP, (session, model, fired(ctx, self._clock), *row))
        if cost is not None or model in self._told:
            return None
        self._told.add(model)
        return Verdict(
            system_message=f"no price is known for the model {model}: its tokens are counted, its cost is not"
        )

    def on_spending(self, ctx: Context) -> Verdict | None:
        """Block what would cost more when the budget of the session is used up."""
        if self._budget is None:
            return None
        spent = self.spent(ctx.session_id)
        if spent < self._budget - EPSILON:
            return None
        return Verdict.block(f"the budget of {money(self._budget)} for this session is used up ({money(spent)})")

    def spent(self, session_id: str | None) -> float:
        """Return what a session has cost so far, in USD, as far as it is known."""
        with self._store.read() as db:
            return float(db.execute(SPENT, (kept.name(session_id),)).fetchone()[0])

    def per_model(self, *, session_id: str | None = None, since: float = 0.0) -> list[Cost]:
        """Return what each model used from `since` (seconds since 1970) on, the one that cost most first."""
        return self._select(PER_MODEL, session_id, since)

    def per_session(self, *, session_id: str | None = None, since: float = 0.0) -> list[Cost]:
        """Return what each session used from `since` (seconds since 1970) on, the latest first."""
        return self._select(PER_SESSION, session_id, since)

    def _select(self, query: str, session_id: str | None, since: float) -> list[Cost]:
        with self._store.read() as db:
            rows = db.execute(query, (since, session_id, session_id)).fetchall()
        return [Cost(row[0], row[1], Tokens(*row[2:6]), row[6], row[7]) for row in rows]


def _total(ctx: Context, usage: object) -> float | None:
    for told in (ctx.get("total_cost_usd"), part(usage, "total_cost_usd")):
        if told is not None:
            return amount(told, "total_cost_usd")
    return None


def _added(db: sqlite3.Connection, session: str, total: float) -> float:
    """Return what a total that the agent reports adds to what is known of its run; never less than nothing."""
    before, last, run = 0.0, 0, 0
    for number, reported in [*db.execute(REPORTED, (session,)), (0, total)]:
        if reported < before:  # a new run: it begins after the last report of the one before
            run = last
        before, last = reported, number
    return max(total - float(db.execute(SPENT_SINCE, (session, run)).fetchone()[0]), 0.0)
