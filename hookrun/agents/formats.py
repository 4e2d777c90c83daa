"""A verdict as an agent needs it: an action, a reason that is always there for what does not go on, and other texts."""

from __future__ import annotations

from hookrun.model import PRECEDENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.agents.base import Message
    from hookrun.model import HookResult, Verdict

    Json = dict[str, object]
    Render = Callable[["Reply", Message], Json]
    Caveats = Callable[["Reply", Message], list[str]]

ALLOWING_ACTIONS = frozenset({"continue", "allow", "modify"})
SKIPPED = "skipped by "


class Reply:
    """A verdict as an agent needs it.

    `reason` is for the model and always there where the action is none of GOES_ON; `context` is text for the model
    beside it; `person` is text for the person; `args` are the whole new arguments.
    """

    __slots__ = ("action", "args", "context", "reason", "user_message")

    def __init__(
        self,
        action: str = "continue",
        reason: str | None = None,
        context: str | None = None,
        user_message: str | None = None,
        args: dict[str, object] | None = None,
    ) -> None:
        self.action = action
        self.reason = reason
        self.context = context
        self.user_message = user_message
        self.args = args

    @property
    def allows(self) -> bool:
        """Whether nobody refuses, skips, stops or asks."""
        return self.action in ALLOWING_ACTIONS

    @property
    def text(self) -> str | None:
        """All that the model is to be told, in one text."""
        return join_paragraphs(self.reason, self.context)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say at all."""
        return self == Reply()

    def merged_with(self, other: Reply) -> Reply:
        """Return both as one: the stronger action with its reason, the weaker's reason and all other texts kept."""
        strong, weak = (self, other) if PRECEDENCE[self.action] >= PRECEDENCE[other.action] else (other, self)
        if strong.action == weak.action:
            reason, beside = join_paragraphs(self.reason, other.reason), None
        else:
            reason, beside = strong.reason, weak.reason
        context = join_paragraphs(beside, self.context, other.context)
        return Reply(
            strong.action,
            reason,
            context,
            join_paragraphs(self.user_message, other.user_message),
            other.args or self.args,
        )

    def copy(self) -> Reply:
        """Return another that says the same."""
        return Reply(self.action, self.reason, self.context, self.user_message, self.args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reply) and all(getattr(self, name) == getattr(other, name) for name in Reply.__slots__)

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __repr__(self) -> str:
        return f"Reply({self.action!r}, {self.reason!r}, {self.context!r}, {self.user_message!r}, {self.args!r})"


def reply_from_verdict(verdict: Verdict, runs: Sequence[HookResult] = ()) -> Reply:
    """Return what a combined verdict has to say. An action that is not known here counts as a block.

    The message of an action that goes on (a change that was made, an advice) is for the model too: it is context.
    """
    action = verdict.action if verdict.action in PRECEDENCE else "block"
    context, person, args = verdict.additional_context, verdict.system_message, verdict.modified_args
    if action in ALLOWING_ACTIONS:
        return Reply(action, None, join_paragraphs(verdict.message, context), person, args)
    reason = verdict.message or f"{action} (no reason given)"
    if action == "skip" and not reason.startswith(SKIPPED):
        who = ", ".join(dict.fromkeys(run.name for run in runs if run.action == action))
        reason = f"{SKIPPED}{who or 'a hook'}: {reason}"
    return Reply(action, reason, context, person, args)


def approval_needed(reason: str | None) -> str:
    """Return the reason of a refusal where somebody would have to be asked and cannot be."""
    return f"needs a person's approval: {reason or 'no reason given'}"


def join_paragraphs(*texts: str | None) -> str | None:
    """Return the texts that there are, a blank line between them; None where there are none."""
    return "\n\n".join(text for text in texts if text) or None


CAPABILITIES = frozenset(
    {"allow", "allow with arguments", "ask", "ask with arguments", "modify", "block", "stop", "context", "user_message"}
)
"""All that can be said at an event: actions, changed arguments beside an action, text for the model, for the person."""

STOP_EVENTS = frozenset({"stop", "subagent_stop"})
"""The events at which a block means: not done, go on."""


class ResponseFormat:
    """What an event's answer can say, out of WORDS, and what makes the JSON of it.

    `say` is given only what the form is able to say: degrade.py has seen to it. A `skip` is a block by then.
    `caveats` returns the names of DEGRADATIONS for what can only be said with another meaning.
    """

    __slots__ = ("capabilities", "caveats", "render")

    def __init__(self, capabilities: str, render: Render, caveats: Caveats = lambda _reply, _message: []) -> None:
        self.capabilities = frozenset(word.strip() for word in capabilities.split(",") if word.strip())
        self.render = render
        self.caveats = caveats


def hook_specific_output(message: Message, fields: Json) -> Json:
    """Return the part of an answer that is named after the event, if there is something to put into it."""
    return {"hookSpecificOutput": {"hookEventName": message.native, **fields}} if fields else {}


def with_system_message(reply: Reply, answer: Json) -> Json:
    """Return an answer, with the text for the person if there is one."""
    return {**answer, "systemMessage": reply.user_message} if reply.user_message else answer


def end_of_turn(reply: Reply) -> Json:
    """Return what ends the turn."""
    return {"continue": False, "stopReason": reply.reason}


def render_pre_tool(reply: Reply, message: Message) -> Json:
    """PreToolUse: a stop is a denial and an end of the turn; new arguments alone grant nothing, nor does `modify`."""
    fields: Json = {"additionalContext": reply.context} if reply.context else {}
    if reply.args is not None:
        fields["updatedInput"] = reply.args
    if reply.action in ("allow", "ask"):
        fields["permissionDecision"] = reply.action
    elif not reply.allows:
        fields["permissionDecision"] = "deny"
    if reply.reason:
        fields["permissionDecisionReason"] = reply.reason
    top = end_of_turn(reply) if reply.action == "stop" else {}
    return with_system_message(reply, {**top, **hook_specific_output(message, fields)})


def render_permission(reply: Reply, message: Message) -> Json:
    """PermissionRequest: no decision leaves it to the person, which is what `ask` wants too."""
    decision: Json = {}
    if reply.action == "allow":
        decision = {"behavior": "allow"}
        if reply.args is not None:
            decision["updatedInput"] = reply.args
    elif reply.action in ("block", "stop"):
        decision = {"behavior": "deny", "message": reply.reason}
        if reply.action == "stop":
            decision["interrupt"] = True
    elif reply.action == "ask":
        return {"systemMessage": join_paragraphs(reply.reason, reply.user_message)}
    return with_system_message(reply, hook_specific_output(message, {"decision": decision} if decision else {}))


def render_post_tool(reply: Reply, message: Message) -> Json:
    """After a tool, or at the prompt: a block is told beside the result, or keeps the prompt from the model."""
    top: Json = {"decision": "block", "reason": reply.reason} if reply.action in ("block", "stop") else {}
    if reply.action == "stop":
        top |= end_of_turn(reply)
    fields: Json = {"additionalContext": reply.context} if reply.context else {}
    return with_system_message(reply, {**top, **hook_specific_output(message, fields)})


def render_stop(reply: Reply, _message: Message) -> Json:
    """Stop and SubagentStop: only a block goes on."""
    if reply.action == "block":
        return with_system_message(reply, {"decision": "block", "reason": reply.reason})
    return with_system_message(reply, end_of_turn(reply) if reply.action == "stop" else {})


def render_notification(reply: Reply, message: Message) -> Json:
    """An event that only tells: texts for the model and the person, and the end of the turn where that is obeyed."""
    fields: Json = {"additionalContext": reply.text} if reply.text else {}
    top = end_of_turn(reply) if reply.action == "stop" else {}
    return with_system_message(reply, {**top, **hook_specific_output(message, fields)})
