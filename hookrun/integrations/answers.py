"""Firing for an agent, and what is to be told to whom: hookrun's own trouble included, refusals never lost."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

from hookrun.agents.formats import ALLOWING_ACTIONS, STOP_EVENTS, Reply, reply_from_verdict
from hookrun.library.result import Result
from hookrun.text import describe_exception

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.library.embedded_engine import Engine

OnError = Literal["continue", "block"]
"""What hookrun's own trouble means: the agent goes on and the log says so, or it is refused what it was about to do."""

log = logging.getLogger("hookrun.integrations")


def safe_str(value: object) -> str | None:
    """Return what `str` says of a value; None where that raises."""
    try:
        return str(value)
    except Exception:
        return None


def reply_of(result: Result) -> Reply:
    """Return what a result has to say to an agent."""
    return reply_from_verdict(result, result.runs)


async def fire(engine: Engine, event: str, fields: Mapping[str, Any], on_error: OnError) -> Result:
    """Fire an event and return its result, also when hookrun itself is in trouble: then what `on_error` says."""
    try:
        return checked(await engine.fire(event, **fields), event, on_error)
    except Exception as error:
        return internal_failure(event, describe_exception(error), on_error, error)


def fire_sync(engine: Engine, event: str, fields: Mapping[str, Any], on_error: OnError) -> Result:
    """Do what `fire` does, without a loop."""
    try:
        return checked(engine.fire_sync(event, **fields), event, on_error)
    except Exception as error:
        return internal_failure(event, describe_exception(error), on_error, error)


def checked(result: Result, event: str, on_error: OnError) -> Result:
    """Return the result, or that of hookrun's own trouble where declarations could not be read and nothing refuses."""
    if result.problems and result.action in ALLOWING_ACTIONS:
        found = internal_failure(event, "; ".join(result.problems), on_error, None)
        return result if on_error == "continue" else found
    return result


def internal_failure(event: str, what: str, on_error: OnError, error: Exception | None) -> Result:
    """Write hookrun's own trouble to the log, and return the result that it is to have."""
    blocks = on_error == "block" and event not in STOP_EVENTS  # there a block would mean to go on
    message = f"hookrun itself is in trouble ({event}: {what})"
    consequence = (
        "the agent is refused what it was about to do" if blocks else "the agent goes on as if there were no hooks"
    )
    log.error("%s: %s", message, consequence, exc_info=error)
    result = Result("block" if blocks else "continue", message if blocks else None)
    result.system_message = message
    return result
