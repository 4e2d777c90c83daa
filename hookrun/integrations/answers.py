"""Firing for an agent, and what is to be told to whom: hookrun's own trouble included, refusals never lost."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hookrun.library.result import Result
from hookrun.model import STRENGTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.library.engine import Engine

OnError = Literal["continue", "block"]
"""What hookrun's own trouble means: the agent goes on and the log says so, or it is refused what it was about to do."""

log = logging.getLogger("hookrun.integrations")

GOES_ON = frozenset({"continue", "allow", "modify"})
SKIPPED = "skipped by "
ENDS = frozenset({"stop", "subagent_stop"})
"""The events at which a block means to go on: there hookrun's own trouble never blocks."""


class Said(NamedTuple):
    """A verdict as an agent needs it.

    `reason` is for the model and always there where the action is none of GOES_ON; `context` is text for the model
    beside it; `person` is text for the person; `args` are the whole new arguments, by hookrun's names.
    """

    action: str = "continue"
    reason: str | None = None
    context: str | None = None
    person: str | None = None
    args: dict[str, object] | None = None

    @property
    def goes_on(self) -> bool:
        """Whether nobody refuses, skips, stops or asks."""
        return self.action in GOES_ON

    @property
    def text(self) -> str | None:
        """All that the model is to be told, in one text."""
        return lines(self.reason, self.context)

    def and_then(self, other: Said) -> Said:
        """Return both as one: the stronger action with its reason, the weaker's reason and all other texts kept."""
        strong, weak = (self, other) if STRENGTH[self.action] >= STRENGTH[other.action] else (other, self)
        if strong.action == weak.action:
            reason, beside = lines(self.reason, other.reason), None
        else:
            reason, beside = strong.reason, weak.reason
        context = lines(beside, self.context, other.context)
        return Said(strong.action, reason, context, lines(self.person, other.person), other.args or self.args)


def said(result: Result) -> Said:
    """Return what a result has to say. An action that is not known here counts as a block.

    The message of an action that goes on (a change that was made, an advice) is for the model too: it is context.
    """
    action = result.action if result.action in STRENGTH else "block"
    context, person, args = result.additional_context, result.system_message, result.modified_args
    if action in GOES_ON:
        return Said(action, None, lines(result.message, context), person, args)
    reason = result.message or f"{action} (no reason given)"
    if action == "skip" and not reason.startswith(SKIPPED):
        who = ", ".join(dict.fromkeys(run.name for run in result.runs if run.action == action))
        reason = f"{SKIPPED}{who or 'a hook'}: {reason}"
    return Said(action, reason, context, person, args)


def approval(reason: str | None) -> str:
    """Return the reason of a refusal where somebody would have to be asked and cannot be."""
    return f"needs a person's approval: {reason or 'no reason given'}"


def lines(*texts: str | None) -> str | None:
    """Return the texts that there are, a blank line between them; None where there are none."""
    return "\n\n".join(text for text in texts if text) or None


async def fire(engine: Engine, event: str, fields: Mapping[str, Any], on_error: OnError) -> Result:
    """Fire an event and return its result, also when hookrun itself is in trouble: then what `on_error` says."""
    try:
        return checked(await engine.fire(event, **fields), event, on_error)
    except Exception as error:
        return trouble(event, f"{type(error).__name__}: {error}", on_error, error)


def fire_sync(engine: Engine, event: str, fields: Mapping[str, Any], on_error: OnError) -> Result:
    """Do what `fire` does, without a loop."""
    try:
        return checked(engine.fire_sync(event, **fields), event, on_error)
    except Exception as error:
        return trouble(event, f"{type(error).__name__}: {error}", on_error, error)


def checked(result: Result, event: str, on_error: OnError) -> Result:
    """Return the result, or that of hookrun's own trouble where declarations could not be read and nothing refuses."""
    if result.problems and result.action in GOES_ON:
        found = trouble(event, "; ".join(result.problems), on_error, None)
        return result if on_error == "continue" else found
    return result


def trouble(event: str, what: str, on_error: OnError, error: Exception | None) -> Result:
    """Write hookrun's own trouble to the log, and return the result that it is to have."""
    blocks = on_error == "block" and event not in ENDS
    message = f"hookrun itself is in trouble ({event}: {what})"
    consequence = (
        "the agent is refused what it was about to do" if blocks else "the agent goes on as if there were no hooks"
    )
    log.error("%s: %s", message, consequence, exc_info=error)
    result = Result("block" if blocks else "continue", message if blocks else None)
    result.system_message = message
    return result
