"""Integrations with agent frameworks: all fire events here, where internal errors become results."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping
from typing import Any, Literal

from hookrun.agents.base import NameMap
from hookrun.agents.formats import ALLOWING_ACTIONS, STOP_EVENTS, Reply, approval_needed, reply_from_verdict
from hookrun.core.context import ContextError
from hookrun.core.events import ALIASES, GATES, REFUSABLE
from hookrun.core.text import closest, describe_exception, quote, suggest
from hookrun.integrations.pending import PendingCalls
from hookrun.library import Abort, Result
from hookrun.library.calls import NotAsyncioError, end_of
from hookrun.library.embedded_engine import Engine
from hookrun.library.fire_context import KNOWN, KNOWN_IN_ANY, SIMILAR, checked
from hookrun.process.pool import ClosedError

# What an internal error of hookrun does: the agent continues and the error is logged, or its action is blocked. None is
# the rule of core/gate.py: it is blocked where there is a guard.
OnError = Literal["continue", "block"] | None

# What a program did wrong: it is raised, as no hook has been asked.
CALLER_ERRORS = (ContextError, ClosedError, NotAsyncioError)

# Options of the integrations -> their type: a misspelled one would be a field of the context.
OPTIONS: dict[str, Any] = {
    "approve": Callable,
    "decision": Mapping,
    "let_through": tuple,
    "names": NameMap,
    "on_error": str,
    "pending": PendingCalls,
    "refused": Callable,
    "tell_person": Callable,
}

log = logging.getLogger("hookrun.integrations")


def reply_of(result: Result) -> Reply:
    """Return the reply to the agent for a result."""
    return reply_from_verdict(result, result.runs)


async def fire(
    engine: Engine, event: str, fields: Mapping[str, Any], on_error: OnError, *, sync: bool = False
) -> Result:
    """Fire an event and return its result; after an internal error, the result that `on_error` selects.

    With `sync` it is fired without a loop: this never waits. Raises the program's mistakes at a gate, where its hooks
    have not been asked: ContextError for fields that the engine refuses, ClosedError, NotAsyncioError.
    """
    try:
        given: Any = event  # any that an integration has
        result = engine.fire_sync(given, **fields) if sync else await engine.fire(given, **fields)
        if result.unjudged is not None and on_error == "continue":
            result = result.unjudged
        if result.problems and result.action in ALLOWING_ACTIONS:  # the config is invalid and no hook blocks
            failure = internal_failure(event, "; ".join(result.problems), on_error or "continue", None)
            return failure if on_error == "block" else result
        return result
    except Exception as error:
        if isinstance(error, ContextError) or (isinstance(error, CALLER_ERRORS) and event in GATES):
            raise
        return internal_failure(event, describe_exception(error), decided(engine, event, fields, on_error), error)


async def fire_or_abort(engine: Engine, event: str, fields: Mapping[str, Any], on_error: OnError) -> None:
    """Fire an event of a request or an inference; a message for the user is logged. Raises Abort for a refusal."""
    reply = reply_of(await fire(engine, event, fields, on_error))
    if reply.user_message:
        log.warning("hookrun: %s", reply.user_message)
    if event in REFUSABLE and not reply.allows:
        raise Abort(approval_needed(reply.reason) if reply.action == "ask" else reply.reason or event)


def decided(engine: Engine, event: str, fields: Mapping[str, Any] | None, on_error: OnError) -> OnError:
    """Return what an internal error does to a call with these fields, None for one that is not known."""
    return "block" if engine.refuses_unjudged(event, fields, on_error) else "continue"


def check_use(engine: Engine, on_error: object, names: object = None, **functions: object) -> None:
    """Raise what a program does wrong: ClosedError for a closed engine, ContextError for options that are none."""
    if not isinstance(engine, Engine):
        raise ContextError(f"expected an Engine, not {engine!r}")
    if engine.closed:
        raise ClosedError("the engine is closed: enter it again (`with engine:`), or create another one")
    if on_error not in (None, "continue", "block"):
        raise ContextError(f'on_error must be "continue", "block" or None, not {on_error!r}')
    if names is not None and not isinstance(names, NameMap):
        raise ContextError(f"names must be a NameMap, not {names!r}")
    for name, value in functions.items():
        if value is not None and not callable(value):
            raise ContextError(f"{name} must be a function, not {value!r}")


def warn_of_undelivered(engine: Engine, delivered: Container[str], framework: str) -> None:
    """Log the hooks whose events this framework never delivers."""
    for hook in engine.hooks():
        lost = [event for event in hook.events if event in ALIASES and event not in delivered]
        if lost:
            log.warning("hookrun: %s: %s does not deliver %s", hook.name, framework, ", ".join(lost))


def check_fields(fields: Mapping[str, object], events: Mapping[str, Mapping[str, object]]) -> None:
    """Raise ContextError if the engine would refuse a program's fields at one of the events, or one is an option.

    `events` are the events with the fields that an integration itself passes; a `deadline` is checked, too.
    """
    end_of(fields.get("deadline"))
    for name in fields.keys() - KNOWN_IN_ANY:
        option = closest(name, OPTIONS, SIMILAR)
        if option not in (None, name) and isinstance(fields[name], OPTIONS[option]):
            raise ContextError(f"unknown option {quote(name)}: {suggest(option)}")
    given = {name: value for name, value in fields.items() if name not in ("state", "deadline")}
    for event, own in events.items():
        checked({**given, **own}, event, KNOWN[event])


def internal_failure(event: str, what: str, on_error: OnError, error: Exception | None) -> Result:
    """Log an internal error, and return the result that `on_error` selects."""
    blocks = on_error == "block" and event not in STOP_EVENTS  # there a block would make the agent continue
    message = f"hookrun failed ({event}: {what})"
    consequence = "the action is blocked" if blocks else "the agent continues without hooks"
    log.error("%s: %s", message, consequence, exc_info=error)
    result = Result()
    if blocks:
        result.action, result.message = "block", message
    result.system_message = message
    return result
