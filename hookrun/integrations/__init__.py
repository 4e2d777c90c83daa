"""Integrations with agent frameworks: all fire events here, where internal errors become results."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Literal

from hookrun.agents.formats import ALLOWING_ACTIONS, STOP_EVENTS, Reply, reply_from_verdict
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.context import ContextError
from hookrun.core.events import GATES
from hookrun.core.gate import refuses
from hookrun.core.text import describe_exception
from hookrun.library import Result
from hookrun.library.embedded_engine import Engine, check_deadline
from hookrun.library.fire_context import KNOWN, check

# What an internal error of hookrun does: the agent continues and the error is logged, or its action is blocked. None is
# the rule of core/gate.py: it is blocked where there is a guard.
OnError = Literal["continue", "block"] | None

log = logging.getLogger("hookrun.integrations")


def reply_of(result: Result) -> Reply:
    """Return the reply to the agent for a result."""
    return reply_from_verdict(result, result.runs)


async def fire(
    engine: Engine, event: str, fields: Mapping[str, Any], on_error: OnError, *, sync: bool = False
) -> Result:
    """Fire an event and return its result; after an internal error, the result that `on_error` selects.

    With `sync` it is fired without a loop: this never waits. Raises ContextError for fields that the engine refuses:
    that is the program's mistake, and its hooks have not been asked.
    """
    try:
        result = engine.fire_sync(event, **fields) if sync else await engine.fire(event, **fields)
        if result.problems and result.action in ALLOWING_ACTIONS:  # the config is invalid and no hook blocks
            failure = internal_failure(event, "; ".join(result.problems), on_error or "continue", None)
            return failure if on_error == "block" else result
        return result
    except ContextError:
        raise
    except Exception as error:
        return internal_failure(event, describe_exception(error), decided(engine, event, fields, on_error), error)


def decided(engine: Engine, event: str, fields: Mapping[str, Any] | None, on_error: OnError) -> OnError:
    """Return what an internal error does to a call with these fields, None for one that is not known."""

    def may_be_guarded() -> bool:
        if event not in GATES:
            return False
        view = ConditionEvaluator(fields or {})
        return any(
            hook.on_failure == "block"
            and hook.enforcing
            and (fields is None or view.mismatch(hook.matcher, agents=hook.agents) is None)
            for hook in engine.hooks(event)
            if engine.enabled(hook.name)
        )

    return "block" if refuses(on_error, may_be_guarded) else "continue"


def check_fields(fields: Mapping[str, object], events: Mapping[str, Mapping[str, object]]) -> None:
    """Raise ContextError if the engine would refuse a program's fields at one of the events.

    `events` are the events with the fields that an integration itself passes; a `deadline` is checked, too.
    """
    check_deadline(fields.get("deadline"))
    given = {name: value for name, value in fields.items() if name not in ("state", "deadline")}
    for event, own in events.items():
        check({**given, **own}, event, KNOWN[event])


def internal_failure(event: str, what: str, on_error: OnError, error: Exception | None) -> Result:
    """Log an internal error, and return the result that `on_error` selects."""
    blocks = on_error == "block" and event not in STOP_EVENTS  # there a block would make the agent continue
    message = f"hookrun failed ({event}: {what})"
    consequence = "the action is blocked" if blocks else "the agent continues without hooks"
    log.error("%s: %s", message, consequence, exc_info=error)
    result = Result("block" if blocks else "continue", message if blocks else None)
    result.system_message = message
    return result
