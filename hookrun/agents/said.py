"""A verdict as an agent needs it: an action, a reason that is always there for what does not go on, and other texts."""

from __future__ import annotations

from hookrun.model import PRECEDENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrun.model import HookResult, Verdict

GOES_ON = frozenset({"continue", "allow", "modify"})
SKIPPED = "skipped by "


class Said:
    """A verdict as an agent needs it.

    `reason` is for the model and always there where the action is none of GOES_ON; `context` is text for the model
    beside it; `person` is text for the person; `args` are the whole new arguments.
    """

    __slots__ = ("action", "args", "context", "person", "reason")

    def __init__(
        self,
        action: str = "continue",
        reason: str | None = None,
        context: str | None = None,
        person: str | None = None,
        args: dict[str, object] | None = None,
    ) -> None:
        self.action = action
        self.reason = reason
        self.context = context
        self.person = person
        self.args = args

    @property
    def goes_on(self) -> bool:
        """Whether nobody refuses, skips, stops or asks."""
        return self.action in GOES_ON

    @property
    def text(self) -> str | None:
        """All that the model is to be told, in one text."""
        return lines(self.reason, self.context)

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to say at all."""
        return self == Said()

    def and_then(self, other: Said) -> Said:
        """Return both as one: the stronger action with its reason, the weaker's reason and all other texts kept."""
        strong, weak = (self, other) if PRECEDENCE[self.action] >= PRECEDENCE[other.action] else (other, self)
        if strong.action == weak.action:
            reason, beside = lines(self.reason, other.reason), None
        else:
            reason, beside = strong.reason, weak.reason
        context = lines(beside, self.context, other.context)
        return Said(strong.action, reason, context, lines(self.person, other.person), other.args or self.args)

    def copy(self) -> Said:
        """Return another that says the same."""
        return Said(self.action, self.reason, self.context, self.person, self.args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Said) and all(getattr(self, name) == getattr(other, name) for name in Said.__slots__)

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __repr__(self) -> str:
        return f"Said({self.action!r}, {self.reason!r}, {self.context!r}, {self.person!r}, {self.args!r})"


def said(verdict: Verdict, runs: Sequence[HookResult] = ()) -> Said:
    """Return what a combined verdict has to say. An action that is not known here counts as a block.

    The message of an action that goes on (a change that was made, an advice) is for the model too: it is context.
    """
    action = verdict.action if verdict.action in PRECEDENCE else "block"
    context, person, args = verdict.additional_context, verdict.system_message, verdict.modified_args
    if action in GOES_ON:
        return Said(action, None, lines(verdict.message, context), person, args)
    reason = verdict.message or f"{action} (no reason given)"
    if action == "skip" and not reason.startswith(SKIPPED):
        who = ", ".join(dict.fromkeys(run.name for run in runs if run.action == action))
        reason = f"{SKIPPED}{who or 'a hook'}: {reason}"
    return Said(action, reason, context, person, args)


def approval(reason: str | None) -> str:
    """Return the reason of a refusal where somebody would have to be asked and cannot be."""
    return f"needs a person's approval: {reason or 'no reason given'}"


def lines(*texts: str | None) -> str | None:
    """Return the texts that there are, a blank line between them; None where there are none."""
    return "\n\n".join(text for text in texts if text) or None
