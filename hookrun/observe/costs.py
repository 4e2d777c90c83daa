"""Tracks tokens and cost of each session and model, and can hold a session to a budget."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, fields
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from hookrun import Verdict
from hookrun.core.text import did_you_mean, quote
from hookrun.observe.database import ObserverDatabase
from hookrun.observe.spool import stored_name

if TYPE_CHECKING:
    from hookrun import Context, Engine

MILLION = 1_000_000
# USD by which a sum of many small amounts may fall short.
EPSILON = 1e-9
# Limit on an amount: sums of larger ones lose precision.
MAX_USD = 1e12
# Limit on a count: not every reader of JSON keeps a larger number.
MAX_TOKENS = 1 << 53

# Kind of tokens -> its names at Anthropic, OpenAI, Google and Bedrock; the first present one counts.
NAMES = {
    "input": ("input_tokens", "prompt_tokens", "promptTokenCount", "prompt_token_count", "inputTokens"),
    "output": ("output_tokens", "completion_tokens", "candidatesTokenCount", "candidates_token_count", "outputTokens"),
    "cache_read": ("cache_read_input_tokens", "cacheReadInputTokens"),
    "cache_creation": ("cache_creation_input_tokens", "cacheWriteInputTokens"),
}
# Tokens that Google counts apart but bills at the same price.
COUNTED_APART = {
    "input": ("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
    "output": ("thoughtsTokenCount", "thoughts_token_count"),
}
# Cached tokens that OpenAI, LangChain and Google include in the input tokens.
COUNTED_AS_INPUT: dict[str, tuple[str, ...]] = {
    "cache_read": (
        "input_tokens_details.cached_tokens",
        "prompt_tokens_details.cached_tokens",
        "input_token_details.cache_read",
        "cached_input_tokens",
        "cachedContentTokenCount",
        "cached_content_token_count",
    ),
    "cache_creation": ("input_token_details.cache_creation",),
}


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one or several inferences: `input` is without those read from or written to a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens. Cached tokens without a price of their own cost as much as input tokens."""

    input: float
    output: float
    cache_read: float | None = None
    cache_creation: float | None = None

    def of(self, tokens: Tokens) -> float:
        """Return the cost of the tokens in USD."""
        read = self.input if self.cache_read is None else self.cache_read
        created = self.input if self.cache_creation is None else self.cache_creation
        cost = tokens.input * self.input + tokens.output * self.output
        return (cost + tokens.cache_read * read + tokens.cache_creation * created) / MILLION


# Model, or a glob (`claude-sonnet-*`) -> price: the exact name's, else the first matching glob's.
Prices = Mapping[str, Price | Mapping[str, float]]


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
    """A bundle that adds up tokens and cost of every inference, and can block further calls once a budget is used up.

    `prices` is model (or a glob) -> `Price`, or an object with its fields: USD per million tokens, as the program
    knows them. For a model without a price the tokens are counted and the user is notified once. A `usage` is a mapping
    or an object, with the names of Anthropic, OpenAI, Google or Bedrock. A `total_cost_usd`, in the context or its
    `usage`, is the agent's own figure for the run so far and takes precedence over the prices; one that is smaller
    than the last begins a new run. With a `budget`, in USD for each session (what has no `session_id` is one), tools,
    prompts and inferences are blocked once it is used up, or if what is spent cannot be read or stored; the user is
    notified once of a model that reports no usage.

    >>> from hookrun.events import AfterInference, PreToolUse
    >>> from hookrun.observe import CostTracker, ObserverDatabase
    >>> import os, tempfile
    >>> store = ObserverDatabase(os.path.join(tempfile.mkdtemp(), "observe.db"))
    >>> costs = CostTracker({"large-*": {"input": 3.0, "output": 15.0}}, store, budget=1.0)
    >>> usage = {"input_tokens": 100_000, "output_tokens": 50_000}
    >>> costs.on_inference(AfterInference(session_id="s1", model="large-4", usage=usage))
    >>> costs.spent("s1")
    1.05
    >>> costs.on_spending(PreToolUse(session_id="s1", tool_name="bash")).message
    'the budget of $1.00 for this session is used up ($1.05)'

    Raises ValueError for an invalid price or budget; everything else raises DatabaseError where the database cannot be
    used.
    """

    def __init__(self, prices: Prices, store: ObserverDatabase | None = None, budget: float | None = None) -> None:
        self._prices = {model: _price(model, price) for model, price in prices.items()}
        self._store = store or ObserverDatabase()
        self._budget = None if budget is None else _amount(budget, "budget")
        self._reported: set[str] = set()
        self._unkept: dict[int, tuple[Context, dict[str, Any]]] = {}

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle; those that block only with a budget."""
        self._store.register(engine, {"cost-tracker": ("after_inference", self.on_inference)})
        if self._budget is not None:
            events = ("pre_tool_use", "user_prompt_submit", "before_inference")
            guards = {f"cost-budget-{event.replace('_', '-')}": (event, self.on_spending) for event in events}
            self._store.register(engine, guards, always=False, on_failure="block")

    def on_inference(self, ctx: Context) -> Verdict | None:
        """Store what an inference used and cost. Raises ValueError for a usage without tokens."""
        usage, name = ctx.get("usage"), ctx.get("model")
        total, model = _total(ctx, usage), stored_name(name) or "unknown"
        if total is None:
            if usage is None or usage == {}:
                text = f"model {model} reports no usage: the budget does not count it"
                return None if self._budget is None else self._once(text)
            if all(_member(usage, name) is None for names in NAMES.values() for name in names):
                found = quote([*map(str, usage)]) if isinstance(usage, Mapping) else f"a {type(usage).__name__}"
                raise ValueError(
                    f"usage is {found}, expected input_tokens and output_tokens, or a provider's names of them"
                )
        price, tokens = price_of(model, self._prices), tokens_of(usage)
        cost = price.of(tokens) if price is not None else None
        data = {"model": model, "tokens": list(asdict(tokens).values()), "total": total}
        columns: dict[str, Any] = {"cost": cost, "data": data}
        if self._budget is None:
            self._store.keep(ctx, **columns)
        else:
            self._unkept[id(ctx)] = ctx, columns
            self._keep()
        if cost is not None or total is not None:
            return None
        return self._once(f"no price is known for model {model}: its tokens are counted, but not its cost")

    def _keep(self) -> None:
        """Store what is not yet stored. Raises DatabaseError; then the next gate tries it again."""
        for key, (ctx, columns) in list(self._unkept.items()):
            self._store.keep(ctx, **columns)
            self._unkept.pop(key, None)

    def _once(self, text: str) -> Verdict | None:
        known = text in self._reported
        self._reported.add(text)
        return None if known else Verdict(system_message=text)

    def on_spending(self, ctx: Context) -> Verdict | None:
        """Block a prompt or a tool call when the budget of the session is used up.

        Raises DatabaseError where that is not known.
        """
        self._keep()
        if self._budget is None or (spent := self.spent(ctx.session_id)) < self._budget - EPSILON:
            return None
        of = "this session" if ctx.session_id else "what has no session_id"
        return Verdict.block(f"the budget of {money(self._budget)} for {of} is used up ({money(spent)})")

    def spent(self, session_id: str | None) -> float:
        """Return the known cost of a session so far, in USD."""
        return sum(each.cost or 0.0 for each in self.per_session(session_id=session_id or ""))

    def per_model(self, *, session_id: str | None = None, since: float = 0.0) -> list[Cost]:
        """Return what each model used from `since` (seconds since 1970) on, the most expensive first."""
        return sorted(self._costs("model", session_id, since), key=lambda each: (-(each.cost or 0.0), each.name))

    def per_session(self, *, session_id: str | None = None, since: float = 0.0) -> list[Cost]:
        """Return what each session used from `since` (seconds since 1970) on, the latest first."""
        return self._costs("session", session_id, since)[::-1]

    def _costs(self, by: str, session_id: str | None, since: float) -> list[Cost]:
        """Return what was used by model or session, in order of the latest inference."""
        name = None if session_id is None else stored_name(session_id)
        rows = self._store.rows("event = 'after_inference' AND (? IS NULL OR session = ?)", name, name)
        found: dict[str, Cost] = {}
        for each in _inferences(rows):
            if each["at"] >= since:
                key = each[by]
                found[key] = _sum(found.pop(key, Cost(key, 0, Tokens(), None, 0)), each)
        return list(found.values())


def _inferences(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what each inference used and cost; a total reported by the agent is of its run so far."""
    found = []
    # Session -> the last report, and the known cost since the run began and since that report.
    runs: dict[str, tuple[float, float, float]] = {}
    for row in rows:
        data, session, cost = json.loads(row["data"]), row["session"], row["cost"]
        before, known, later = runs.get(session, (0.0, 0.0, 0.0))
        if (total := data["total"]) is not None:
            known = later if total < before else known
            cost = max(total - known, 0.0)
        spent = cost or 0.0
        runs[session] = (before, known + spent, later + spent) if total is None else (total, known + spent, 0.0)
        found.append({**data, "at": row["at"], "session": session, "cost": cost})
    return found


def _sum(known: Cost, one: Mapping[str, Any]) -> Cost:
    tokens = (mine + more for mine, more in zip(astuple(known.tokens), one["tokens"], strict=True))
    cost = known.cost if one["cost"] is None else (known.cost or 0.0) + one["cost"]
    return Cost(known.name, known.inferences + 1, Tokens(*tokens), cost, known.unpriced + (one["cost"] is None))


def _total(ctx: Context, usage: object) -> float | None:
    own = ctx.get("total_cost_usd")
    total = _member(usage, "total_cost_usd") if own is None else own
    return None if total is None else _amount(total, "total_cost_usd")


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model, None if it has none."""
    if model in prices:
        return prices[model]
    return next((price for name, price in prices.items() if fnmatchcase(model, name)), None)


def tokens_of(usage: object) -> Tokens:
    """Return the tokens of a usage, an object or a mapping. Raises ValueError for an invalid count."""
    tokens = {kind: _first(usage, names) or 0 for kind, names in NAMES.items()}
    for kind, apart in COUNTED_APART.items():
        tokens[kind] += _first(usage, apart) or 0
    for kind, within in COUNTED_AS_INPUT.items():
        cached = _first(usage, within) or 0
        tokens[kind] += cached
        tokens["input"] = max(tokens["input"] - cached, 0)
    return Tokens(**tokens)


def money(amount: float) -> str:
    """Return an amount of USD for display: in cents, with more digits for small ones."""
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def _member(value: object, name: str) -> Any:
    """Return a mapping's member or an object's attribute, or None; `a.b` is the member b of a."""
    for each in name.split("."):
        value = value.get(each) if isinstance(value, Mapping) else getattr(value, each, None)
    return value


def _amount(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_USD:
        raise ValueError(f"{name} is {quote(value)}, expected an amount of USD, 0 or more")
    return float(value)


def _price(model: str, price: Price | Mapping[str, float]) -> Price:
    if not isinstance(price, Price | Mapping):
        raise ValueError(f"prices[{quote(model)}] is {quote(price)}, expected input and output")  # noqa: TRY004
    amounts = asdict(price) if isinstance(price, Price) else {**price}
    known = [each.name for each in fields(Price)]
    for name in amounts:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ValueError(
                f"prices[{quote(model)}] has {quote(name)}, expected {', '.join(known)}{f'; {hint}' if hint else ''}"
            )
    for name in ("input", "output"):
        if name not in amounts:
            raise ValueError(f"prices[{quote(model)}] has no {name!r}, expected USD per million tokens")
    needed = {name: value for name, value in amounts.items() if value is not None or name in ("input", "output")}
    return Price(**{name: _amount(value, f"prices[{quote(model)}].{name}") for name, value in needed.items()})


def _first(usage: object, names: tuple[str, ...]) -> int | None:
    for name in names:
        value = _member(usage, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MAX_TOKENS:
            raise ValueError(f"usage.{name} is {quote(value)}, expected a number of tokens, 0 or more")
        return value
    return None
