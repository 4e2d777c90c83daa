"""Tokens and prices: what an inference used, by whichever names it is told, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any

from hookrun.config.problem import nearest, shown

MILLION = 1_000_000
MOST_TOKENS = 1 << 53
"""Beyond this a number is no count of tokens, and not every reader of JSON keeps it."""

NAMES = {
    "input": ("input_tokens", "prompt_tokens"),
    "output": ("output_tokens", "completion_tokens"),
    "cache_read": ("cache_read_input_tokens",),
    "cache_creation": ("cache_creation_input_tokens",),
}
"""What is counted -> the names it goes by, Anthropic's and OpenAI's; the first that is there counts."""

CACHED = ("input_tokens_details", "prompt_tokens_details")
"""Where OpenAI tells how many of the input tokens were `cached_tokens`: it counts them in, Anthropic does not."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one or several inferences: `input` is without those read from or written to a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens. Without prices of their own, cached tokens cost what input tokens do."""

    input: float
    output: float
    cache_read: float | None = None
    cache_creation: float | None = None

    def of(self, tokens: Tokens) -> float:
        """Return what the tokens cost, in USD."""
        read = self.input if self.cache_read is None else self.cache_read
        created = self.input if self.cache_creation is None else self.cache_creation
        cost = tokens.input * self.input + tokens.output * self.output
        return (cost + tokens.cache_read * read + tokens.cache_creation * created) / MILLION


Prices = Mapping[str, Price | Mapping[str, float]]
"""Model, or a glob (`claude-sonnet-*`), -> its price: that of the exact name, else of the first glob that fits."""


def checked(prices: Prices) -> dict[str, Price]:
    """Return the prices as Price. Raises ValueError for one that is none."""
    return {model: _price(model, given) for model, given in prices.items()}


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model, None if it has none."""
    if model in prices:
        return prices[model]
    return next((price for name, price in prices.items() if fnmatchcase(model, name)), None)


def tokens_of(usage: Mapping[str, Any]) -> Tokens:
    """Return the tokens that a usage tells. Raises ValueError for a number that is no count."""
    counts = {kind: _first(usage, names) for kind, names in NAMES.items()}
    for name in CACHED:
        details = usage.get(name)
        cached = _count(details.get("cached_tokens"), f"usage.{name}.cached_tokens") if isinstance(details, dict) else 0
        counts["cache_read"] += cached
        counts["input"] = max(counts["input"] - cached, 0)
    return Tokens(**counts)


def amount(value: object, name: str) -> float:
    """Return an amount of USD. Raises ValueError, which calls the value `name`, for one that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{name} is {shown(value)}, expected an amount of USD, 0 or more")
    return float(value)


def money(amount: float) -> str:
    """Return an amount of USD for people: in cents, or as finely as a small one needs."""
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def _price(model: str, given: Price | Mapping[str, float]) -> Price:
    parts = {each.name: getattr(given, each.name) for each in fields(given)} if isinstance(given, Price) else {**given}
    known = [each.name for each in fields(Price)]
    for name in parts:
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near!r}?" if near else ""
            raise ValueError(f"prices[{shown(model)}] has {shown(name)}, expected {', '.join(known)}{hint}")
    for name in ("input", "output"):
        if name not in parts:
            raise ValueError(f"prices[{shown(model)}] has no {name!r}, expected USD per million tokens")
    optional = {name: value for name, value in parts.items() if value is not None or name in ("input", "output")}
    return Price(**{name: amount(value, f"prices[{shown(model)}].{name}") for name, value in optional.items()})


def _first(usage: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for name in names:
        if usage.get(name) is not None:
            return _count(usage[name], f"usage.{name}")
    return 0


def _count(value: object, name: str) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST_TOKENS:
        raise ValueError(f"{name} is {shown(value)}, expected a number of tokens, 0 or more")
    return value
