"""Add up a session's usage, from transcripts and events, in the database of `hookrun stats`."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple
from typing import NamedTuple

from hookrun import Context
from hookrun.agents import agent_events
from hookrun.observe.costs import NAMES, Cost, CostTracker, Price, money, tokens_of
from hookrun.recipes import paths, recipe_state
from hookrun.recipes.recipe import Recipe, fail_option, words

# Inferences to remember of a transcript: it may repeat one with more tokens.
MAX_IDS = 200
PARTS = {2: ("input", "output"), 4: ("input", "output", "cache_read", "cache_creation")}
# Bytes of a transcript read at once; the rest follows next time.
MAX_READ = 64 << 20
# A line without either, as most, has no usage and is not parsed.
USAGE_MARKS = (b'"usage"', b'"usageMetadata"')


class Inference(NamedTuple):
    """An inference: its id in the transcript, model, and usage by Anthropic's names."""

    id: str
    model: str
    usage: dict[str, int]


class Costs:
    """A context's session's usage: after `count`, `used`, or None if unknown.

    `prices` are the recipe's option; `unpriced` has messages for models without one.
    """

    def __init__(self, context: Mapping[str, object], recipe: Recipe) -> None:
        self._context = context
        self._recipe = recipe
        self.prices = _prices(recipe)
        self.used: Cost | None = None
        self.unpriced: list[str] = []

    def count(self) -> None:
        """Store the usage since the last call. Raises OSError, DatabaseError."""
        context = self._context
        if context.get("event") == "after_inference":
            inference = usage_of_event(context)
            self._store([inference] if inference is not None else [])
        elif "after_inference" not in agent_events(str(context.get("agent"))):
            for name in ("transcript_path", "agent_transcript_path"):
                path = context.get(name)
                if isinstance(path, str):
                    path = os.path.join(paths.working_directory(context), path)
                    if os.path.isfile(path):
                        self._read(path)
        found = CostTracker({}).per_session(session_id=recipe_state.session_id(context))
        self.used = found[0] if found else None

    def over(self, budget: float, most_tokens: int) -> str | None:
        """Return the message for an exhausted limit, if any; 0 is no limit."""
        if budget:
            verdict = CostTracker({}, budget=budget).on_spending(Context.of(dict(self._context)))
            if verdict is not None:
                return verdict.message
        used = sum(astuple(self.used.tokens)) if self.used is not None else 0
        if most_tokens and used >= most_tokens:
            return f"the budget of {most_tokens:,} tokens for this session is used up ({used:,} used)"
        return None

    @property
    def shown(self) -> str:
        """What was used, for display."""
        if self.used is None:
            return "nothing"
        tokens, cost = self.used.tokens, self.used.cost
        counts = f"{tokens.input:,} tokens in, {tokens.cache_read + tokens.cache_creation:,} cached"
        more = " (without models that have no price)" if self.used.unpriced else ""
        return f"{counts}, {tokens.output:,} out" + (f", {money(cost)}{more}" if cost is not None else "")

    def _read(self, path: str) -> None:
        name = self._recipe.name
        with recipe_state.LockedState(name, str(self._context.get("session_id") or ""), path) as remembered:
            start, seen = remembered.get("read"), _object(remembered.get("known"))
            inferences, remembered["read"] = read_transcript(path, start if isinstance(start, int) else 0)
            last = {used.id: used for used in inferences}
            self._store(_more(used, seen.get(used.id)) for used in last.values())
            seen.update({name: used.usage for name, used in last.items()})
            remembered["known"] = dict(list(seen.items())[-MAX_IDS:])

    def _store(self, inferences: Iterable[Inference]) -> None:
        """Store the usage, a model's inferences as one."""
        models: dict[str, Counter[str]] = {}
        for used in inferences:
            models.setdefault(used.model, Counter()).update(used.usage)
        tracker = CostTracker(self.prices)
        for model, usage in models.items():
            if not any(usage.values()):
                continue
            fields = {name: self._context.get(name) for name in ("session_id", "timestamp")}
            verdict = tracker.on_inference(Context("after_inference", **fields, model=model, usage=dict(usage)))
            if verdict is not None and verdict.system_message:
                self.unpriced.append(verdict.system_message)


def _more(used: Inference, before: object) -> Inference:
    """Return an inference's part not reported before."""
    if not isinstance(before, dict):
        return used
    more = {name: max(value - before.get(name, 0), 0) for name, value in used.usage.items()}
    return Inference(used.id, used.model, more)


def _prices(recipe: Recipe) -> dict[str, Price]:
    prices = {}
    for word in words(recipe, "prices"):
        model, _, price = word.rpartition("=")
        try:
            amounts = [float(each) for each in price.split("/")]
            prices[model] = Price(**dict(zip(PARTS[len(amounts)], amounts, strict=True)))
        except (KeyError, ValueError):
            fail_option(recipe, "prices", "MODEL=INPUT/OUTPUT or MODEL=INPUT/OUTPUT/CACHE_READ/CACHE_WRITE, in USD")
        if not model or not all(0 <= each < float("inf") for each in amounts):
            fail_option(recipe, "prices", "a list with a model before each `=` and amounts of at least 0")
    return prices


def read_transcript(path: str, start: int) -> tuple[list[Inference], int]:
    """Return the inferences from byte `start` on, and the next start: after the last complete line.

    A file shorter than `start` was rewritten, and is read from its beginning. Raises OSError.
    """
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        start = start if start <= size else 0
        file.seek(start)
        data = file.read(MAX_READ)
    end = data.rfind(b"\n") + 1
    lines = (line for line in data[:end].split(b"\n") if any(mark in line for mark in USAGE_MARKS))
    return [used for line in lines for used in _of_line(line)], start + end


def usage_of_event(context: Mapping[str, object]) -> Inference | None:
    """Return an `after_inference` event's inference, None without usage."""
    response, request = _object(context.get("llm_response")), _object(context.get("llm_request"))
    if response:
        candidates = response.get("candidates")
        finished = isinstance(candidates, list) and any(_object(each).get("finishReason") for each in candidates)
        usage = response.get("usageMetadata") if finished else None  # a stream's last piece has the totals
    else:
        usage = context.get("token_usage") or context.get("usage")
    named = context.get("model") or request.get("model")
    model = named if isinstance(named, str) else ""
    counts = _counts(usage)
    return Inference(str(context.get("request_id")), model, counts) if counts else None


def _of_line(line: bytes) -> Iterator[Inference]:
    """Yield a line's inference: its `message.usage` or `usageMetadata`."""
    try:
        data = _object(json.loads(line))
    except ValueError:
        return
    message = _object(data.get("message"))
    counts = _counts(message.get("usage")) or _counts(data.get("usageMetadata"))
    name, model = message.get("id") or data.get("uuid"), message.get("model") or data.get("model")
    if isinstance(name, str) and isinstance(model, str) and counts:
        yield Inference(name, model, counts)


def _counts(usage: object) -> dict[str, int]:
    """Return a usage's tokens, under any provider's names, by Anthropic's names; empty without any."""
    try:
        tokens = asdict(tokens_of(_object(usage)))
    except ValueError:
        return {}
    return {NAMES[kind][0]: number for kind, number in tokens.items()} if any(tokens.values()) else {}


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
