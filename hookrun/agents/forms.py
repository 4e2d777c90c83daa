"""What can be said at an event of an agent: `Form`, and the JSON that several agents have taken over from Claude."""

from __future__ import annotations

from hookrun.agents.said import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.agents.message import Message
    from hookrun.agents.said import Said

    Answer = dict[str, object]
    Say = Callable[[Said, Message], Answer]
    Cost = Callable[[Said, Message], list[str]]

WORDS = frozenset(
    {"allow", "allow with arguments", "ask", "ask with arguments", "modify", "block", "stop", "context", "person"}
)
"""All that can be said at an event: actions, changed arguments beside an action, text for the model, for the person."""

ENDS = frozenset({"stop", "subagent_stop"})
"""The events at which a block means: not done, go on."""


class Form:
    """What an event's answer can say, out of WORDS, and what makes the JSON of it.

    `say` is given only what the form is able to say: degrade.py has seen to it. A `skip` is a block by then.
    `at_a_cost` returns the names of DEGRADATIONS for what can only be said with another meaning.
    """

    __slots__ = ("able", "at_a_cost", "say")

    def __init__(self, able: str, say: Say, at_a_cost: Cost = lambda _said, _message: []) -> None:
        self.able = frozenset(word.strip() for word in able.split(",") if word.strip())
        self.say = say
        self.at_a_cost = at_a_cost


def specific(message: Message, fields: Answer) -> Answer:
    """Return the part of an answer that is named after the event, if there is something to put into it."""
    return {"hookSpecificOutput": {"hookEventName": message.native, **fields}} if fields else {}


def with_person(said: Said, answer: Answer) -> Answer:
    """Return an answer, with the text for the person if there is one."""
    return {**answer, "systemMessage": said.person} if said.person else answer


def end_of_turn(said: Said) -> Answer:
    """Return what ends the turn."""
    return {"continue": False, "stopReason": said.reason}


def before_tool(said: Said, message: Message) -> Answer:
    """PreToolUse: a stop is a denial and an end of the turn; new arguments alone grant nothing, nor does `modify`."""
    fields: Answer = {"additionalContext": said.context} if said.context else {}
    if said.args is not None:
        fields["updatedInput"] = said.args
    if said.action in ("allow", "ask"):
        fields["permissionDecision"] = said.action
    elif not said.goes_on:
        fields["permissionDecision"] = "deny"
    if said.reason:
        fields["permissionDecisionReason"] = said.reason
    top = end_of_turn(said) if said.action == "stop" else {}
    return with_person(said, {**top, **specific(message, fields)})


def permission(said: Said, message: Message) -> Answer:
    """PermissionRequest: no decision leaves it to the person, which is what `ask` wants too."""
    decision: Answer = {}
    if said.action == "allow":
        decision = {"behavior": "allow"}
        if said.args is not None:
            decision["updatedInput"] = said.args
    elif said.action in ("block", "stop"):
        decision = {"behavior": "deny", "message": said.reason}
        if said.action == "stop":
            decision["interrupt"] = True
    elif said.action == "ask":
        return {"systemMessage": lines(said.reason, said.person)}
    return with_person(said, specific(message, {"decision": decision} if decision else {}))


def after(said: Said, message: Message) -> Answer:
    """After a tool, or at the prompt: a block is told beside the result, or keeps the prompt from the model."""
    top: Answer = {"decision": "block", "reason": said.reason} if said.action in ("block", "stop") else {}
    if said.action == "stop":
        top |= end_of_turn(said)
    fields: Answer = {"additionalContext": said.context} if said.context else {}
    return with_person(said, {**top, **specific(message, fields)})


def ending(said: Said, _message: Message) -> Answer:
    """Stop and SubagentStop: only a block goes on."""
    if said.action == "block":
        return with_person(said, {"decision": "block", "reason": said.reason})
    return with_person(said, end_of_turn(said) if said.action == "stop" else {})


def telling(said: Said, message: Message) -> Answer:
    """An event that only tells: texts for the model and the person, and the end of the turn where that is obeyed."""
    fields: Answer = {"additionalContext": said.text} if said.text else {}
    top = end_of_turn(said) if said.action == "stop" else {}
    return with_person(said, {**top, **specific(message, fields)})
