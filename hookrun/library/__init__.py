"""The engine in a Python program: handlers and configured hooks in one order.

Here are the answers of handlers, the results of fires, and what annotations name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, Self

from hookrun.core.context import answer
from hookrun.core.model import (
    PRECEDENCE,
    TERMINAL_ACTIONS,
    AnyHook,
    AnyVerdict,
    Failure,
    Hook,
    HookResult,
    Verdict,
)
from hookrun.core.refusals import as_text
from hookrun.core.text import HookrunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrun.core.literals import Action
    from hookrun.library.embedded_engine import Engine
    from hookrun.library.event_contexts import Context

__all__ = ["Abort", "AnyHook", "Bundle", "Failure", "Handler", "Hook", "HookResult", "Result", "Skip", "Verdict"]


class Skip(HookrunError):  # noqa: N818  # an answer that may be raised, not an error
    """A handler's answer, returned or raised: skip the action, without calling it a mistake.

    >>> Skip("it was done already").verdict()
    Verdict({'action': 'skip', 'message': 'it was done already'})
    """

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason or "skipped")
        self.reason = None if reason is None else as_text(reason)

    def verdict(self) -> Verdict:
        """Return the corresponding verdict."""
        return Verdict("skip", self.reason)


class Abort(HookrunError):  # noqa: N818  # an answer that may be raised, not an error
    """A handler's answer, returned or raised: block the action. Also raised by `Result.ok()`.

    `name` is the source of the block, by default the hook's name. As a string: `[name:hook_abort] reason`.

    >>> str(Abort("not on a Friday", name="calendar"))
    '[calendar:hook_abort] not on a Friday'
    """

    def __init__(self, reason: str = "aborted", *, name: str | None = None) -> None:
        super().__init__(reason)
        self.reason = as_text(reason)
        self.name = name

    def __str__(self) -> str:
        return f"[{self.name or ''}:hook_abort] {self.reason}"

    def verdict(self) -> Verdict:
        """Return the corresponding verdict."""
        return Verdict("block", self.reason) if self.name is None else _Refusal(self.name, self.reason)


class _Refusal(Verdict):
    """A block attributed to another source than its hook: the message begins with its name."""

    def __init__(self, by: str, reason: str) -> None:
        super().__init__("block", f"{by}: {reason}")
        self.by = by


class Result(AnyVerdict):
    """The combined verdict of a fire, with its fields, and the result of each hook. It is true if the action may run.

    `runs` are the hooks that ran, in order: each has `name`, `verdict`, `failure`, `ms` (milliseconds), `notes`.
    `ended_by` is the hook that ended the chain, or None. `ms` is the total time in milliseconds. `problems` are the
    errors in config files, one per line; if a file cannot be read and the call is blocked because a hook in it may
    guard it, `unjudged` is the result of the others.
    """

    action: Action = "continue"
    runs: Sequence[HookResult] = ()
    problems: Sequence[str] = ()
    ended_by: str | None = None
    request_id = ""
    ms = 0.0
    after: tuple[type[Context], dict[str, object], object] | None = None
    unjudged: Result | None = None

    @property
    def context(self) -> Context | None:
        """The context after the chain, with changed arguments and all `metadata`; None if no hook ran."""
        if self.after is None:
            return None
        made, data, state = self.after
        return made.of(data, state)

    @property
    def go_on(self) -> bool:
        """Whether the action may run: no hook blocked, skipped, stopped or asked."""
        return PRECEDENCE[self.action] < PRECEDENCE["ask"]

    @property
    def refused(self) -> bool:
        """Whether the action must not run: block, skip or stop."""
        return self.action in TERMINAL_ACTIONS

    def __bool__(self) -> bool:
        return self.go_on

    def ok(self) -> Self:
        """Return this result, also for a skip. Raises Abort, with the hook's name, for a block or a stop.

        If the hook answered with a named `Abort`, its name is used.

        >>> from hookrun import Engine
        >>> engine = Engine()
        >>> handler = engine.register("pre_checkpoint", lambda ctx: Verdict.block("tests fail"), name="gate")
        >>> engine.fire_sync("pre_checkpoint").ok()
        Traceback (most recent call last):
            ...
        hookrun.library.Abort: [gate:hook_abort] tests fail
        """
        if self.action in ("block", "stop"):
            run = next((run for run in self.runs if run.action == self.action), None)
            who, reason = self.ended_by if run is None else run.name, self.message or self.action
            if run is not None and isinstance(run.outcome.answer, _Refusal):
                who = run.outcome.answer.by
                reason = reason.removeprefix(f"{who}: ")
            raise Abort(reason, name=who)
        return self

    def to_dict(self) -> dict[str, object]:
        """Return the JSON object that `hookrun fire` would print."""
        return answer(self, self.request_id, self.runs)

    def to_json(self) -> str:
        """Return that object as JSON. Raises ValueError for changed arguments that have none."""
        from hookrun.library.encoding import dumps

        return dumps(self.to_dict()).decode()

    def __repr__(self) -> str:
        return f"Result({AnyVerdict.to_dict(self)!r})"

    def __getstate__(self) -> object:
        # Without its `context`, whose state may be anything.
        return {**vars(self), "after": None}


Answer = Verdict | Skip | Abort | dict[str, Any] | None
Function = Callable[[Any], Answer | Awaitable[Answer]]
OnError = Callable[[Failure, "Context"], object]


class Handler(AnyHook):
    """A function that runs as a hook, in the process of the program that registered it.

    `function` is called with the context; `on_error` with the failure and the context if it fails. With `thread` the
    function runs in a separate thread. `enabled` is False while the handler is disabled.

    >>> from hookrun import Engine
    >>> handler = Engine().register("stop", lambda ctx: None, name="quiet", metadata={"team": "tools"})
    >>> handler.name, handler.events, handler.timeout, handler.metadata
    ('quiet', ['stop'], 30.0, {'team': 'tools'})
    """

    kind = "handler"
    layer = "user"  # the user runs the program: its handlers are trusted
    function: Function
    on_error: OnError | None
    thread: bool
    is_async: bool
    enabled: bool

    def __init__(self, **fields: object) -> None:
        self.__dict__ = fields

    def __repr__(self) -> str:
        return f"Handler({self.name!r}, {self.target})"

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "function": None, "on_error": None}  # in a result that is pickled


class Bundle(Protocol):
    """A set of related handlers.

    >>> from hookrun import Engine
    >>> class Greeting:
    ...     def register(self, engine):
    ...         engine.register("session_start", lambda ctx: {"action": "continue", "additional_context": "Hello."})
    >>> Engine().use(Greeting()).fire_sync("session_start").additional_context
    'Hello.'
    """

    def register(self, engine: Engine, /) -> object:
        """Register all handlers."""
