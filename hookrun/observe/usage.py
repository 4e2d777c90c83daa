"""Tokens and prices: what an inference used, by whichever names it is told, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any

from hookrun.config.problem import nearest, shown

MILLION = 1_000_000
MOST_USD = 1e12
"""Beyond this nothing is an amount, and sums of it would be none."""
MOST_TOKENS = 1 << 53
"""Beyond this a number is no count of tokens, and not every reader of JSON keeps it."""

NAMES = {
    "input": ("input_tokens", "prompt_tokens", "promptTokenCount", "prompt_token_count", "inputTokens"),
    "output": ("output_tokens", "completion_tokens", "candidatesTokenCount", "candidates_token_count", "outputTokens"),
    "cache_read": ("cache_read_input_tokens", "cacheReadInputTokens"),
    "cache_creation": ("cache_creation_input_tokens", "cacheWriteInputTokens"),
}
"""What is counted -> the names that Anthropic, OpenAI, Gemini and Bedrock give it: the first that is there counts."""
BESIDE = {
    "input": ("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
    "output": ("thoughtsTokenCount", "thoughts_token_count"),
}
"""What Gemini counts apart and takes the same price for."""
WITHIN: dict[str, tuple[str, ...]] = {
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
"""Where OpenAI, LangChain, Codex and Gemini tell how many of the input tokens were cached: they count them in."""


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


def tokens_of(usage: object) -> Tokens:
    """Return the tokens that a usage tells, an object or a mapping. Raises ValueError for a number that is no count."""
    tokens = {kind: _first(usage, names) or 0 for kind, names in NAMES.items()}
    for kind, apart in BESIDE.items():
        tokens[kind] += _first(usage, apart) or 0
    for kind, within in WITHIN.items():
        cached = _first(usage, within) or 0
        tokens[kind] += cached
        tokens["input"] = max(tokens["input"] - cached, 0)
    return Tokens(**tokens)


def tells_tokens(usage: object) -> None:
    """Raise ValueError for a usage that tells no tokens by any name that is known."""
    if all(part(usage, name) is None for names in NAMES.values() for name in names):
        found = shown([str(name) for name in usage]) if isinstance(usage, Mapping) else f"a {type(usage).__name__}"
        raise ValueError(f"usage is {found}, expected input_tokens and output_tokens, or a provider's names of them")


def part(value: object, name: str) -> Any:
    """Return a part of a mapping, or an attribute of an object, None where there is none; `a.b` is a part of a part."""
    for each in name.split("."):
        value = value.get(each) if isinstance(value, Mapping) else getattr(value, each, None)
    return value


def amount(value: object, name: str) -> float:
    """Return an amount of USD. Raises ValueError, which calls the value `name`, for one that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_USD:
        raise ValueError(f"{name} is {shown(value)}, expected an amount of USD, 0 or more")
    return float(value)


def money(amount: float) -> str:
    """Return an amount of USD for people: in cents, or as finely as a small one needs."""
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def _price(model: str, given: Price | Mapping[str, float]) -> Price:
    if not isinstance(given, Price | Mapping):
        raise ValueError(f"prices[{shown(model)}] is {shown(given)}, expected input and output")  # noqa: TRY004
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


def _first(usage: object, names: tuple[str, ...]) -> int | None:
    """Return the first count that is told by one of these names, None if there is none."""
    told = ((name, part(usage, name)) for name in names)
    return next((_count(value, f"usage.{name}") for name, value in told if value is not None), None)


def _count(value: object, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST_TOKENS:
        raise ValueError(f"{name} is {shown(value)}, expected a number of tokens, 0 or more")
    return value
