"""Lets a checkpoint be made only where the work is good enough: a score, and what it has to reach."""

from __future__ import annotations

import inspect
import json
from numbers import Real
from typing import TYPE_CHECKING

from hookrun.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeGuard

    from hookrun.library.engine import Engine
    from hookrun.library.event_contexts import PreCheckpoint

BEST = 100
"""Scores go from 0 to this."""
PRIORITY = 50
"""Early: nothing else need be done for a checkpoint that is not made."""
LONGEST = 60
"""Characters of a wrong score that are shown."""


class QualityGate:
    """Refuse a checkpoint (`pre_checkpoint`) whose quality score is below a threshold.

    A score that is missing or no number from 0 to 100 is refused as well, and the message says so: it is never taken
    for 0. Where it is high enough the hooks that follow find it in their `metadata`, as `validated_quality`. A score
    function that raises, or does not end in time, refuses too: the hook's `on_failure` is `block`.

    Args:
        threshold: The lowest score that passes, 0 to 100.
        score: Called with the context for the score, sync (then quick: it runs in the caller's thread) or async;
            without it `checkpoint_data.quality_score` is the score.
        timeout: Seconds for the score function.
        name: The name of the hook in the engine.

    Raises:
        ValueError: The threshold is no number from 0 to 100.

    >>> import asyncio
    >>> from hookrun.library.event_contexts import PreCheckpoint
    >>> gate = QualityGate(60)
    >>> asyncio.run(gate.check(PreCheckpoint(checkpoint_data={"quality_score": 45}))).message
    'Quality too low for checkpoint (score: 45/100, at least 60 is needed)'
    >>> asyncio.run(gate.check(PreCheckpoint(checkpoint_data={"quality_score": 80}))).modified_context
    {'validated_quality': 80}
    """

    def __init__(
        self,
        threshold: float = 60,
        score: Callable[[PreCheckpoint], object] | None = None,
        *,
        timeout: float = 30.0,
        name: str = "quality-gate",
    ) -> None:
        if not _is_score(threshold):
            raise ValueError(f"QualityGate: the threshold is {threshold!r}, expected a number from 0 to {BEST}")
        self.threshold = threshold
        self.score = score
        self.timeout = timeout
        self.name = name

    def register(self, engine: Engine) -> None:
        """Register for `pre_checkpoint`."""
        engine.register(
            "pre_checkpoint",
            self.check,
            name=self.name,
            priority=PRIORITY,
            timeout=self.timeout,
            on_failure="block",
            description=f"a checkpoint needs a quality score of {self.threshold:g}",
        )

    async def check(self, ctx: PreCheckpoint) -> Verdict:
        """Return a block, or what passes the score on. Raises whatever the score function raises."""
        if self.score is not None:
            score, source = self.score(ctx), "the score function returned"
            if inspect.isawaitable(score):
                score = await score
        else:
            data = ctx.checkpoint_data
            if data.get("quality_score") is None:
                return Verdict.block(
                    "No quality score for checkpoint: checkpoint_data has no quality_score "
                    f"(at least {self.threshold:g} of {BEST} is needed)"
                )
            score, source = data["quality_score"], "checkpoint_data.quality_score is"
        if not _is_score(score):
            return Verdict.block(
                f"No quality score for checkpoint: {source} {_shown(score)}, expected a number from 0 to {BEST} "
                f"(at least {self.threshold:g} is needed)"
            )
        if score < self.threshold:
            return Verdict.block(
                f"Quality too low for checkpoint (score: {_shown(score)}/{BEST}, at least {self.threshold:g} is needed)"
            )
        return Verdict.with_metadata(validated_quality=score if isinstance(score, int) else float(score))


def _is_score(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool) and value <= BEST and not value < 0  # NaN is not <=


def _shown(value: object) -> str:
    """Return a value as it stands in JSON, cut where it is long."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = json.dumps(value, default=repr)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
