"""Advise the model which failed calls to retry, how often, and when to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from hookrun import Verdict
from hookrun.core.globs import glob
from hookrun.events import PostToolFailure, PostToolUse
from hookrun.observe.spool import digest
from hookrun.observe.steps import essential

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun import Context, Engine

# Failed calls to remember; beyond that the oldest is dropped.
MAX_CALLS = 1024
# Seconds after which a failure no longer counts.
FORGET_AFTER = 3600.0
# Seconds between two attempts, however many there were.
MAX_DELAY = 3600.0
# Characters of an error, the first and last ones, matched with globs.
MAX_ERROR = 20_000
PRIORITY = 500


@dataclass(frozen=True)
class RetryRule:
    """A transient failure: which tools, which errors, and how many attempts in all.

    Args:
        tool: Globs on the tool's name, separated by `|`.
        error: Globs on the whole error, separated by `|`, case-insensitive.
        attempts: How often the call is made, the first time included.
        delay: Seconds before the second attempt.
        backoff: The factor by which each further delay grows.
        name: The name of the failure in messages; by default the glob that matched, without its stars.

    Raises:
        ValueError: Attempts are not a whole number above 1, the delay is below 0, the backoff below 1, or one infinite.
    """

    tool: str
    error: str
    attempts: int = 3
    delay: float = 1.0
    backoff: float = 2.0
    name: str | None = None

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 2:  # noqa: PLR2004  # the first, and one more
            raise ValueError(f"RetryRule: attempts must be at least 2 (the first one counts), not {self.attempts!r}")
        if not _at_least(self.delay, 0):
            raise ValueError(f"RetryRule: delay must be at least 0 seconds, not {self.delay!r}")
        if not _at_least(self.backoff, 1):
            raise ValueError(f"RetryRule: backoff must be at least 1, not {self.backoff!r}")

    def failure(self, tool: str, error: str) -> str | None:
        """Return the name of the failure, None if this rule does not apply to it."""
        if not any(glob(pattern, tool) for pattern in self.tool.split("|")):
            return None
        error = error.lower()
        for pattern in self.error.split("|"):
            if glob(pattern.lower(), error):
                return self.name or " ".join(pattern.replace("*", " ").split()) or "any"
        return None

    def wait(self, attempt: int) -> float:
        """Return the seconds to wait before an attempt, the second being the first with a delay."""
        delay = self.delay
        for _ in range(attempt - 2):
            if delay >= MAX_DELAY:
                break
            delay *= self.backoff
        return min(delay, MAX_DELAY)


@dataclass
class _Failed:
    """A failed call: how often, when last, and in which run."""

    times: int = 0
    at: float = 0.0
    run: tuple[object, ...] | None = None


class Retry:
    """Tell the model to repeat a call after a transient failure, and to stop once the attempts are used up.

    Attempts are counted per session and call (tool and arguments); they are reset by a success of the same call, or by
    an hour without a failure. While attempts are left, `metadata["retry"]` of the context is
    `{"attempt": 2, "of": 3, "after_s": 1.0}`: the next attempt, how many in all, and seconds to wait; your own tool
    loop can act on it. When they are used up there is no `retry`, and the model is advised to stop. The bundle
    itself repeats nothing. The first rule that applies to a failure counts.

    Write no rule for calls that must not be made twice (a payment, a message): one that timed out may have worked.

    Args:
        rules: `RetryRule`s.
        name: The name of the hooks in the engine.
        clock: Returns monotonic seconds.

    >>> from hookrun.events import PostToolFailure
    >>> retry = Retry([RetryRule("web_fetch", "*timed out*|*429*")])
    >>> failure = PostToolFailure(
    ...     session_id="s1", tool_name="web_fetch", tool_args={"url": "http://a"}, tool_result_error="read timed out"
    ... )
    >>> retry.failed(failure).additional_context
    'this failure (timed out) is transient: make the same call again (attempt 2 of 3, after 1 s)'
    """

    def __init__(
        self, rules: Iterable[RetryRule], *, name: str = "retry", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rules = tuple(rules)
        self.name = name
        self._clock = clock
        self._calls: dict[str, _Failed] = {}
        self._lock = Lock()

    def register(self, engine: Engine) -> None:
        """Register for `post_tool_failure` and `post_tool_use`."""
        for event, handler in ((PostToolFailure, self.failed), (PostToolUse, self.ended)):
            engine.register(
                event,
                handler,
                name=f"{self.name}-{event.event_name}",
                priority=PRIORITY,
                on_failure="continue",
                description="advise which failures to retry",
            )

    def ended(self, ctx: Context) -> Verdict | None:
        """Reset the attempts of a call that succeeded; one whose result is an error has failed."""
        if ctx.tool_result_error:
            return self.failed(ctx)
        with self._lock:
            self._calls.pop(_call(ctx), None)
        return None

    def failed(self, ctx: Context) -> Verdict | None:
        """Return advice about a failure, None if no rule applies. A failure that is reported twice counts once."""
        tool, error = ctx.tool_name or "", ctx.tool_result_error or ""
        if len(error) > MAX_ERROR:
            error = error[: MAX_ERROR // 2] + error[-MAX_ERROR // 2 :]
        for rule in self.rules:
            if (failure := rule.failure(tool, error)) is not None:
                return _verdict(rule, failure, self._count(ctx))
        return None

    def _count(self, ctx: Context) -> int:
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
            self._calls[call] = self._calls.pop(call)  # the newest
            if len(self._calls) > MAX_CALLS:
                del self._calls[next(iter(self._calls))]
            return failed.times


def _at_least(value: object, least: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value < math.inf


def _verdict(rule: RetryRule, failure: str, times: int) -> Verdict:
    if times >= rule.attempts:
        return Verdict.with_context(f"this call has failed {times} times ({failure}): do not try again")
    attempt = times + 1
    delay = rule.wait(attempt)
    return Verdict(
        additional_context=f"this failure ({failure}) is transient: make the same call again "
        f"(attempt {attempt} of {rule.attempts}, after {delay:g} s)",
        modified_context={"retry": {"attempt": attempt, "of": rule.attempts, "after_s": delay}},
    )


def _call(ctx: Context) -> str:
    """Return a digest of session, tool and arguments."""
    args = ctx.given.get("tool_args")
    try:
        same = essential(ctx.tool_name or "", args) if isinstance(args, Mapping) else repr(args)
    except RecursionError:  # circular, or very deep
        same = None
    return digest(ctx.session_id, ctx.tool_name, same)
