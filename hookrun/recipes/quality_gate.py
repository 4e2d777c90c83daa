"""The recipe and bundle `quality-gate`: blocks checkpoints whose quality score is below a threshold."""

from __future__ import annotations

import asyncio
import inspect
import json
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import TYPE_CHECKING

from hookrun import Verdict
from hookrun.events import PreCheckpoint
from hookrun.recipes.output_excerpt import cut
from hookrun.recipes.recipe import Option, Recipe, fail_option, number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeGuard

    from hookrun import Engine

MAX_SCORE = 100
# Early: for a blocked checkpoint other hooks need not run.
PRIORITY = 50
# Characters shown of an invalid score.
MAX_SHOWN = 60
GIVEN = "checkpoint_data.quality_score is"

RECIPE = Recipe(
    "quality-gate",
    "Block checkpoints whose quality score is missing or below a threshold.",
    options=(Option("threshold", "60", f"The lowest score that passes, 0 to {MAX_SCORE}.", number),),
    catches="""
        - `checkpoint_data.quality_score` of a `pre_checkpoint` event below the threshold.
        - A score that is missing or no number.
    """,
    misses="""
        - Agents without checkpoints: programs fire the event.
        - Whether the score is right.
    """,
)


@dataclass(eq=False)
class QualityGate:
    """Block a checkpoint (`pre_checkpoint`) whose quality score is below a threshold.

    A score that is missing or not a number from 0 to 100 is blocked as well, with a message that says so: it does not
    count as 0. If it is high enough, later hooks find it in their `metadata` as `validated_quality`. A score function
    that raises or times out blocks too: the hook's `on_failure` is `block`.

    Args:
        threshold: The lowest score that passes, 0 to 100.
        score: Returns the score of a context, sync (then quick: it runs in the caller's thread) or async; without it
            `checkpoint_data.quality_score` is the score.
        timeout: Seconds for the score function.
        name: The name of the hook in the engine.

    Raises:
        ValueError: The threshold is not a number from 0 to 100.

    >>> import asyncio
    >>> from hookrun.events import PreCheckpoint
    >>> gate = QualityGate(60)
    >>> asyncio.run(gate.check(PreCheckpoint(checkpoint_data={"quality_score": 45}))).message
    'Quality too low for checkpoint (score: 45/100, minimum: 60)'
    >>> asyncio.run(gate.check(PreCheckpoint(checkpoint_data={"quality_score": 80}))).modified_context
    {'validated_quality': 80}
    """

    threshold: float = 60
    score: Callable[[PreCheckpoint], object] | None = None
    _: KW_ONLY
    timeout: float = 30.0
    name: str = "quality-gate"

    def __post_init__(self) -> None:
        if not _is_score(self.threshold):
            raise ValueError(f"QualityGate: threshold must be a number from 0 to {MAX_SCORE}, not {self.threshold!r}")

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
        """Return a block, or a verdict that passes the score on. Raises what the score function raises."""
        if self.score is not None:
            score, source = self.score(ctx), "the score function returned"
            if inspect.isawaitable(score):
                score = await score
        else:
            score, source = ctx.checkpoint_data.get("quality_score"), GIVEN
        reason = objection(score, self.threshold, source)
        if reason is not None:
            return Verdict.block(reason)
        return Verdict.with_metadata(validated_quality=score if isinstance(score, int) else float(score))  # type: ignore[arg-type]


def objection(score: object, threshold: float, source: str) -> str | None:
    """Return why a checkpoint with this score is blocked, None if it is not."""
    if score is None and source == GIVEN:
        return (
            "No quality score for checkpoint: checkpoint_data has no quality_score "
            f"(minimum: {threshold:g} of {MAX_SCORE})"
        )
    if not _is_score(score):
        return (
            f"No quality score for checkpoint: {source} {_shown(score)}, not a number from 0 to {MAX_SCORE} "
            f"(minimum: {threshold:g})"
        )
    if score < threshold:
        return f"Quality too low for checkpoint (score: {_shown(score)}/{MAX_SCORE}, minimum: {threshold:g})"
    return None


@RECIPE.hook("pre_checkpoint", priority=PRIORITY, timeout=10, on_failure="block")
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a checkpoint whose score is too low; else pass the score on to later hooks."""
    threshold = number(RECIPE, "threshold")
    if threshold > MAX_SCORE:
        fail_option(RECIPE, "threshold", f"a number from 0 to {MAX_SCORE}")
    return asyncio.run(QualityGate(threshold).check(PreCheckpoint.of(dict(context)))).to_dict()


def _is_score(value: object) -> TypeGuard[float]:
    return (
        isinstance(value, Real) and not isinstance(value, bool) and value <= MAX_SCORE and not value < 0
    )  # NaN is not <=


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return cut(json.dumps(value, default=repr), MAX_SHOWN)
