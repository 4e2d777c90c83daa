"""Tells the model which failures are worth a second attempt, how many, and when to stop."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING

from hookrun.globs import glob
from hookrun.model import Verdict
from hookrun.observe.canonical_json import canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.library.context import Context
    from hookrun.library.engine import Engine

MOST_CALLS = 1024
"""Calls that have failed and are remembered; of more the oldest is forgotten."""
FORGET_AFTER = 3600.0
"""Seconds after which a failure counts no longer."""
LONGEST_DELAY = 3600.0
"""Seconds between two attempts, however far they have backed off."""
LONGEST_ERROR = 20_000
"""Characters of an error, its first and its last, that globs are tried on."""
PRIORITY = 500


@dataclass(frozen=True)
class RetryRule:
    """A failure that passes: of which tools, told by which errors, and how often the call is made in all.

    Args:
        tool: Globs on the tool's name, separated by `|`.
        error: Globs on the whole of the error, separated by `|`, in whatever case.
        attempts: How often the call is made, the first time included.
        delay: Seconds before the second attempt.
        backoff: What the delay is multiplied by before each further one.
        name: How the failure is called to the model; by default, the glob that matched, without its stars.

    Raises:
        ValueError: Fewer than two attempts or a part of one; a delay below 0, a backoff below 1, or one without an end.
    """

    tool: str
    error: str
    attempts: int = 3
    delay: float = 1.0
    backoff: float = 2.0
    name: str | None = None

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 2:  # noqa: PLR2004  # the first, and one more
            raise ValueError(f"RetryRule: attempts is {self.attempts!r}, expected 2 or more: the first one counts")
        if not _at_least(self.delay, 0):
            raise ValueError(f"RetryRule: delay is {self.delay!r}, expected 0 or more seconds")
        if not _at_least(self.backoff, 1):
            raise ValueError(f"RetryRule: backoff is {self.backoff!r}, expected 1 or more")

    def failure(self, tool: str, error: str) -> str | None:
        """Return what the failure is called, None where this rule is not about it."""
        if not any(glob(pattern, tool) for pattern in self.tool.split("|")):
            return None
        error = error.lower()
        for pattern in self.error.split("|"):
            if glob(pattern.lower(), error):
                return self.name or " ".join(pattern.replace("*", " ").split()) or "any"
        return None

    def wait(self, attempt: int) -> float:
        """Return the seconds to wait before an attempt; the second is the first that is waited for."""
        delay = self.delay
        for _ in range(attempt - 2):
            if delay >= LONGEST_DELAY:
                break
            delay *= self.backoff
        return min(delay, LONGEST_DELAY)


@dataclass
class _Failed:
    """A call that has failed: how often, when last, and which run of it that was."""

    times: int = 0
    at: float = 0.0
    run: tuple[object, ...] | None = None


class Retry:
    """Tell the model to make a call again that has failed in a passing way, and not to when it has been tried enough.

    Attempts are counted for each session and each call (tool and arguments); a success of the same call resets them, an
    hour without a failure as well. While attempts are left, `metadata["retry"]` of the fire's context is
    `{"attempt": 2, "of": 3, "after_s": 1.0}`: the next attempt, how many in all, seconds to wait; a tool loop of one's
    own can act on it. When they are used up there is no `retry`, and the model is told not to try again. Nothing is
    repeated by this bundle itself. The first rule that is about a failure counts; a failure of no rule is left alone.

    Calls that must not be made twice (a payment, a message sent) do not belong into a rule: a call that timed out may
    have done its work.

    Args:
        rules: `RetryRule`s.
        name: The name of the hooks in the engine.
        clock: Seconds, ever growing.

    >>> from hookrun.library.event_contexts import PostToolFailure
    >>> retry = Retry([RetryRule("web_fetch", "*timed out*|*429*")])
    >>> failure = PostToolFailure(
    ...     session_id="s1", tool_name="web_fetch", tool_args={"url": "http://a"}, tool_result_error="read timed out"
    ... )
    >>> retry.failed(failure).additional_context
    'this failure (timed out) is passing: make the same call again (attempt 2 of 3, after 1 s)'
    """

    def __init__(
        self, rules: Iterable[RetryRule], *, name: str = "retry", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rules = tuple(rules)
        self.name = name
        self._clock = clock
        self._calls: OrderedDict[bytes, _Failed] = OrderedDict()
        self._lock = Lock()

    def register(self, engine: Engine) -> None:
        """Register for `post_tool_failure` and `post_tool_use`."""
        for event, handler in (("post_tool_failure", self.failed), ("post_tool_use", self.ended)):
            engine.register(
                event,
                handler,
                name=f"{self.name}-{event}",
                priority=PRIORITY,
                on_failure="continue",
                description="tell which failures are worth another attempt",
            )

    def ended(self, ctx: Context) -> Verdict | None:
        """Forget the failures of a call that has gone well; one whose result is an error has failed."""
        if ctx.tool_result_error:
            return self.failed(ctx)
        with self._lock:
            self._calls.pop(_call(ctx), None)
        return None

    def failed(self, ctx: Context) -> Verdict | None:
        """Return what to do about a failure, None where no rule is about it. One that is reported twice counts once."""
        tool, error = ctx.tool_name or "", _shortened(ctx.tool_result_error or "")
        for rule in self.rules:
            if (failure := rule.failure(tool, error)) is not None:
                return _verdict(rule, failure, self._count(ctx))
        return None

    def _count(self, ctx: Context) -> int:
        """Return how often the call of this context has failed by now."""
        now = self._clock()
        with self._lock:
            call = _call(ctx)
            failed = self._calls.get(call)
            if failed is None or now - failed.at > FORGET_AFTER:
                failed = self._calls[call] = _Failed()
            run = None if ctx.tool_use_id is None else (ctx.tool_use_id, ctx.get("attempt"))
            if failed.times == 0 or run is None or run != failed.run:
                failed.times += 1
            failed.at, failed.run = now, run
            self._calls.move_to_end(call)
            while len(self._calls) > MOST_CALLS:
                self._calls.popitem(last=False)
            return failed.times


def _at_least(value: object, least: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value < math.inf


def _verdict(rule: RetryRule, failure: str, times: int) -> Verdict:
    if times >= rule.attempts:
        return Verdict.with_context(f"this call has failed {times} times ({failure}): do not try again")
    attempt = times + 1
    delay = rule.wait(attempt)
    return Verdict(
        additional_context=f"this failure ({failure}) is passing: make the same call again "
        f"(attempt {attempt} of {rule.attempts}, after {delay:g} s)",
        modified_context={"retry": {"attempt": attempt, "of": rule.attempts, "after_s": delay}},
    )


def _call(ctx: Context) -> bytes:
    """Return what tells one call of one session from another, of one size however large the arguments are."""
    call = [ctx.session_id, ctx.tool_name, ctx.given.get("tool_args")]
    return blake2b(canonical_json(call).encode(), digest_size=16).digest()


def _shortened(error: str) -> str:
    half = LONGEST_ERROR // 2
    return error if len(error) <= LONGEST_ERROR else error[:half] + error[-half:]
