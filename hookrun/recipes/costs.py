"""What a session has used, out of transcripts and events, kept in the store that `hookrun metrics` shows."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from hookrun.library.context import Context
from hookrun.observe.costs import CostTracker, Price, money
from hookrun.recipes import state, surroundings, transcript
from hookrun.recipes.options import words, wrong

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.observe.costs import Cost
    from hookrun.recipes.recipe import Recipe
    from hookrun.recipes.transcript import Used

BY_EVENT = frozenset({"codex", "gemini"})
"""Agents that tell the usage of each inference by an event; of the others the transcript is read."""
MOST_IDS = 200
"""Inferences of a transcript that are remembered: it may tell the same one again, with more tokens."""
PARTS = {2: ("input", "output"), 4: ("input", "output", "cache_read", "cache_creation")}


class Costs:
    """What the session of a context has used: `used`, None where nothing is known, after `count`.

    `prices` are the recipe's option; `unpriced` says of which models none was found.
    """

    def __init__(self, context: Mapping[str, object], recipe: Recipe) -> None:
        self._context = context
        self._recipe = recipe
        self.prices = _prices(recipe)
        self.used: Cost | None = None
        self.unpriced: list[str] = []

    def count(self) -> None:
        """Keep what was used since the last look. Raises OSError, StoreError."""
        context = self._context
        if context.get("event") == "after_inference":
            told = transcript.of_event(context)
            self._keep([told] if told is not None else [])
        elif context.get("agent") not in BY_EVENT:
            for name in ("transcript_path", "agent_transcript_path"):
                path = context.get(name)
                if isinstance(path, str) and os.path.isfile(
                    path := os.path.join(surroundings.directory(context), path)
                ):
                    self._read(path)
        session = context.get("session_id")
        found = CostTracker({}).per_session(session_id=session if isinstance(session, str) else "")
        self.used = found[0] if found else None

    def over(self, budget: float, most_tokens: int) -> str | None:
        """Return which limit is used up, 0 being none; None where none is."""
        if budget:
            verdict = CostTracker({}, budget=budget).on_spending(Context.of(dict(self._context)))
            if verdict is not None:
                return verdict.message
        used = self.tokens
        if most_tokens and used >= most_tokens:
            return f"the budget of {most_tokens:,} tokens for this session is used up ({used:,})"
        return None

    @property
    def tokens(self) -> int:
        """All tokens together."""
        if self.used is None:
            return 0
        tokens = self.used.tokens
        return tokens.input + tokens.output + tokens.cache_read + tokens.cache_creation

    @property
    def told(self) -> str:
        """What was used, for people."""
        if self.used is None:
            return "nothing"
        tokens, cost = self.used.tokens, self.used.cost
        counts = f"{tokens.input:,} tokens in, {tokens.cache_read + tokens.cache_creation:,} in caches"
        more = " without those of no known price" if self.used.unpriced else ""
        return f"{counts}, {tokens.output:,} out" + (f", {money(cost)}{more}" if cost is not None else "")

    def _read(self, path: str) -> None:
        """Keep what a transcript tells that was not kept before."""
        name = self._recipe.name
        with state.held(name, str(self._context.get("session_id") or ""), path) as remembered:
            start, known = remembered.get("read"), remembered.get("known")
            seen: dict[str, object] = known if isinstance(known, dict) else {}
            told, remembered["read"] = transcript.read(path, start if isinstance(start, int) else 0)
            last = {used.id: used for used in told}
            self._keep(_more(used, seen.get(used.id)) for used in last.values())
            seen.update({name: used.usage for name, used in last.items()})
            remembered["known"] = dict(list(seen.items())[-MOST_IDS:])

    def _keep(self, told: Iterable[Used]) -> None:
        """Put into the store what was used, the inferences of one model as one."""
        models: dict[str, Counter[str]] = {}
        for used in told:
            models.setdefault(used.model, Counter()).update(used.usage)
        tracker = CostTracker(self.prices)
        for model, usage in models.items():
            if not any(usage.values()):
                continue
            fields = {name: self._context.get(name) for name in ("session_id", "timestamp")}
            verdict = tracker.on_inference(Context("after_inference", **fields, model=model, usage=dict(usage)))
            if verdict is not None and verdict.system_message:
                self.unpriced.append(verdict.system_message)


def _more(used: Used, before: object) -> Used:
    """Return what is told of an inference beyond what was told of it before."""
    if not isinstance(before, dict):
        return used
    more = {name: max(value - before.get(name, 0), 0) for name, value in used.usage.items()}
    return transcript.Used(used.id, used.model, more)


def _prices(recipe: Recipe) -> dict[str, Price]:
    prices = {}
    for word in words(recipe, "prices"):
        model, _, told = word.rpartition("=")
        try:
            amounts = [float(each) for each in told.split("/")]
            prices[model] = Price(**dict(zip(PARTS[len(amounts)], amounts, strict=True)))
        except (KeyError, ValueError):
            wrong(recipe, "prices", "MODEL=INPUT/OUTPUT or MODEL=INPUT/OUTPUT/CACHE_READ/CACHE_WRITE, in USD")
        if not model or not all(0 <= each < float("inf") for each in amounts):
            wrong(recipe, "prices", "the name of a model before each `=`, and amounts of 0 or more")
    return prices
