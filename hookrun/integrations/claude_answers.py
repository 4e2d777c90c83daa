"""How a verdict is said to Claude Code: a table of events and forms, and what cannot be said there.

Source: the types of claude-agent-sdk 0.2.186, and what the CLI in it (2.1.329) did with each answer, measured against a
scripted model.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hookrun.integrations.answers import Said, approval, lines
from hookrun.integrations.claude_names import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Answer = dict[str, Any]
    Form = Callable[[Said, str], tuple[Answer, Answer]]
    """What is said at the top, and what of it in `hookSpecificOutput`, given the tool by Claude's name."""

CONTEXT = "additionalContext"


def answer(payload: Mapping[str, object], said: Said) -> tuple[Answer, list[str]]:
    """Return the JSON that Claude obeys, and what could not be said, a line each.

    `payload` is what Claude gave to the hook. `continue` is as the CLI calls it; the SDK for Python says `continue_`.
    """
    event, tool = str(payload.get("hook_event_name")), payload.get("tool_name")
    form = FORMS.get(event)
    if form is None:
        return {}, [] if said == Said() else [f"{event} has no answer"]
    top, specific = form(said, str(tool))
    if person := lines(top.get("systemMessage"), said.person):
        top["systemMessage"] = person
    if specific:
        top["hookSpecificOutput"] = {"hookEventName": event, **specific}
    if said.context and not any(said.context in text for text in _texts(top)):
        return top, [f"{event} takes no text for the model: {said.context}"]
    return top, []


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    return [value] if isinstance(value, str) else []


def _before_tool(said: Said, tool: str) -> tuple[Answer, Answer]:
    """PreToolUse: a stop is a denial and an end of the turn; new arguments alone grant nothing, nor does `modify`."""
    top: Answer = {}
    specific: Answer = {CONTEXT: said.context} if said.context else {}
    if said.args is not None:
        specific["updatedInput"] = NAMES.own_arguments(tool, said.args)
    if said.action in ("allow", "ask"):
        specific["permissionDecision"] = said.action
    elif not said.goes_on:
        specific["permissionDecision"] = "deny"
    if said.reason:
        specific["permissionDecisionReason"] = said.reason
    if said.action == "stop":
        top = _end(said)
    return top, specific


def _permission(said: Said, tool: str) -> tuple[Answer, Answer]:
    """PermissionRequest: no decision leaves it to the person, which is what `ask` wants too.

    Arguments can only be changed by granting, so a `modify` alone is refused with the arguments to use.
    """
    args = NAMES.own_arguments(tool, said.args) if said.args is not None else None
    if said.action in ("continue", "ask") and args is None:
        return _to_person(said), {}
    if said.action == "allow":
        decision: Answer = {"behavior": "allow"}
        if args is not None:
            decision["updatedInput"] = args
        return {}, {"decision": decision}
    if said.goes_on or said.action == "ask":
        wanted = f"{tool} may run with these arguments instead: {json.dumps(args, ensure_ascii=False)}"
        said = said._replace(reason=lines(said.reason, wanted))
    decision = {"behavior": "deny", "message": said.text}
    if said.action == "stop":
        decision["interrupt"] = True
    return {}, {"decision": decision}


def _after(said: Said, _tool: str) -> tuple[Answer, Answer]:
    """PostToolUse and its failure: what would have refused is told beside the result.

    UserPromptSubmit: whatever does not go on keeps the prompt from the model. Nobody can be asked at either.
    """
    top: Answer = {}
    if not said.goes_on:
        top = {"decision": "block", "reason": approval(said.reason) if said.action == "ask" else said.reason}
    if said.action == "stop":
        top.update(_end(said))
    return top, {CONTEXT: said.context} if said.context else {}


def _ending(said: Said, _tool: str) -> tuple[Answer, Answer]:
    """Stop and SubagentStop: only a block goes on.

    Text for the model alone would make Claude go on too, so it is only given along with a block. A skip and an ask let
    it end: then the person has the word.
    """
    if said.action == "block":
        return {"decision": "block", "reason": said.text}, {}
    return (_end(said) if said.action == "stop" else _to_person(said)), {}


def _compacting(said: Said, _tool: str) -> tuple[Answer, Answer]:
    """PreCompact: what does not go on is not done; there is no text for the model."""
    top, _ = _after(said, _tool)
    return top, {}


def _telling(said: Said, _tool: str) -> tuple[Answer, Answer]:
    """Notification and SubagentStart: nothing to refuse, so a refusal is a message; a stop ends the turn."""
    return (_end(said) if said.action == "stop" else {}), {CONTEXT: said.text} if said.text else {}


def _end(said: Said) -> Answer:
    return {"continue": False, "stopReason": said.reason}


def _to_person(said: Said) -> Answer:
    return {"systemMessage": said.reason} if said.reason else {}


FORMS: dict[str, Form] = {
    "PreToolUse": _before_tool,
    "PermissionRequest": _permission,
    "PostToolUse": _after,
    "PostToolUseFailure": _after,
    "UserPromptSubmit": _after,
    "Stop": _ending,
    "SubagentStop": _ending,
    "PreCompact": _compacting,
    "Notification": _telling,
    "SubagentStart": _telling,
}
"""Claude's event -> how a verdict is said there."""
