"""Turn verdicts into replies to an agent, and render these as Claude Code's JSON, which several agents share."""

from __future__ import annotations

from hookrun.core.model import PRECEDENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrun.agents.base import Message
    from hookrun.core.model import AnyVerdict, HookResult

    Json = dict[str, object]
    Render = Callable[["Reply", Message], Json]
    Caveats = Callable[["Reply", Message], list[str]]

ALLOWING_ACTIONS = frozenset({"continue", "allow", "modify"})
SKIPPED = "skipped by "


class Reply:
    """A verdict in the form agents need.

    `reason` is for the model, always set unless the action is in ALLOWING_ACTIONS; `context` is more text for the
    model; `user_message` is for the user; `args` replace all arguments, `output` a tool's result, `prompt` the user's.
    """

    def __init__(
        self,
        action: str = "continue",
        reason: str | None = None,
        context: str | None = None,
        user_message: str | None = None,
        args: dict[str, object] | None = None,
        *,
        output: object = None,
        prompt: str | None = None,
    ) -> None:
        self.action = action
        self.reason = reason
        self.context = context
        self.user_message = user_message
        self.args = args
        self.output = output
        self.prompt = prompt

    @property
    def allows(self) -> bool:
        """Whether the call continues, without block, skip, stop or question."""
        return self.action in ALLOWING_ACTIONS

    @property
    def text(self) -> str | None:
        """All text for the model."""
        return join_paragraphs(self.reason, self.context)

    def merged_with(self, other: Reply) -> Reply:
        """Return both combined: the stronger action with its reason, and all texts."""
        strong, weak = (self, other) if PRECEDENCE[self.action] >= PRECEDENCE[other.action] else (other, self)
        if strong.action == weak.action:
            reason, beside = join_paragraphs(self.reason, other.reason), None
        else:
            reason, beside = strong.reason, weak.reason
        context = join_paragraphs(beside, self.context, other.context)
        output = self.output if other.output is None else other.output
        if None not in (self.output, other.output):
            from hookrun.core.gate import WITHHELD  # of several calls of one message, which is rare

            output = WITHHELD if WITHHELD in (self.output, other.output) else output
        return Reply(
            strong.action,
            reason,
            context,
            join_paragraphs(self.user_message, other.user_message),
            other.args or self.args,
            output=output,
            prompt=self.prompt if other.prompt is None else other.prompt,
        )

    def copy(self) -> Reply:
        """Return an independent copy."""
        new = Reply()
        vars(new).update(vars(self))
        return new


def reply_from_verdict(verdict: AnyVerdict, runs: Sequence[HookResult] = ()) -> Reply:
    """Return the reply for a combined verdict. An unknown action counts as a block.

    An allowing action's message (a change, advice) is for the model, too: it becomes context.
    """
    action = verdict.action if verdict.action in PRECEDENCE else "block"
    context, person = verdict.additional_context, verdict.system_message
    args, new = verdict.modified_args, {"output": verdict.modified_output, "prompt": verdict.modified_prompt}
    if action in ALLOWING_ACTIONS:
        return Reply(action, None, join_paragraphs(verdict.message, context), person, args, **new)
    reason = verdict.message or f"{action} (no reason given)"
    if action == "skip" and not reason.startswith(SKIPPED):
        who = ", ".join(dict.fromkeys(run.name for run in runs if run.action == action))
        reason = f"{SKIPPED}{who or 'a hook'}: {reason}"
    return Reply(action, reason, context, person, args, **new)


def approval_needed(reason: str | None) -> str:
    """Return the reason of a block that replaces an `ask` the agent cannot show."""
    return f"needs the user's approval: {reason or 'no reason given'}"


def join_paragraphs(*texts: str | None) -> str | None:
    """Return the non-empty texts, separated by blank lines, or None without any."""
    return "\n\n".join(text for text in texts if text) or None


# Text that a response cannot express is kept for the session's next event that can.
KEPT = frozenset({"context later", "user_message later"})

# What a response may express: actions, with and without changed arguments, another output or prompt, and text for the
# model and the user.
CAPABILITIES = frozenset(
    {
        "allow",
        "allow with arguments",
        "ask",
        "ask with arguments",
        "modify",
        "block",
        "stop",
        "context",
        "user_message",
        "output",
        "prompt",
    }
    | KEPT
)

# Events at which a block makes the agent continue.
STOP_EVENTS = frozenset({"stop", "subagent_stop"})


class ResponseFormat:
    """What an event's response can express, out of CAPABILITIES, and how it is rendered as JSON.

    `render` only gets what the format can express (see reply.degrade); a `skip` is a block by then. `caveats` returns
    the names of DEGRADATIONS for parts with another effect.
    """

    def __init__(self, capabilities: str, render: Render, caveats: Caveats = lambda _reply, _message: []) -> None:
        self.capabilities = frozenset(word.strip() for word in capabilities.split(",") if word.strip())
        self.render = render
        self.caveats = caveats


# Parts of a reply that replace others: an empty one does, too.
MAY_BE_EMPTY = frozenset({"output", "prompt"})


def hook_specific_output(message: Message, fields: Json) -> Json:
    """Return the part of a response with the event's name, nothing if `fields` is empty."""
    return {"hookSpecificOutput": {"hookEventName": message.native, **fields}} if fields else {}


def parts(reply: Reply, **names: str) -> Json:
    """Return a reply's non-empty parts by the agent's names: `parts(reply, context="additionalContext")`."""
    found = ((name, getattr(reply, part), part) for part, name in names.items())
    return {name: value for name, value, part in found if value is not None and (value != "" or part in MAY_BE_EMPTY)}


def with_system_message(reply: Reply, answer: Json) -> Json:
    """Return the response with any text for the user."""
    return {**answer, **parts(reply, user_message="systemMessage")}


def end_of_turn(reply: Reply) -> Json:
    """Return the fields that end the turn."""
    return {"continue": False, "stopReason": reply.reason}


def render_pre_tool(reply: Reply, message: Message) -> Json:
    """Render PreToolUse: a stop denies and ends the turn; changed arguments alone approve nothing."""
    fields = parts(reply, context="additionalContext", args="updatedInput")
    if reply.action in ("allow", "ask"):
        fields["permissionDecision"] = reply.action
    elif not reply.allows:
        fields["permissionDecision"] = "deny"
    fields |= parts(reply, reason="permissionDecisionReason")
    top = end_of_turn(reply) if reply.action == "stop" else {}
    return with_system_message(reply, {**top, **hook_specific_output(message, fields)})


def render_permission(reply: Reply, message: Message) -> Json:
    """Render PermissionRequest: without a decision the user is asked, as for `ask`."""
    decision: Json = {}
    if reply.action == "allow":
        decision = {"behavior": "allow", **parts(reply, args="updatedInput")}
    elif reply.action in ("block", "stop"):
        decision = {"behavior": "deny", "message": reply.reason}
        if reply.action == "stop":
            decision["interrupt"] = True
    elif reply.action == "ask":
        return {"systemMessage": join_paragraphs(reply.reason, reply.user_message)}
    return with_system_message(reply, hook_specific_output(message, {"decision": decision} if decision else {}))


def render_post_tool(reply: Reply, message: Message) -> Json:
    """Render an event after a tool, or a prompt: a block adds to the result or withholds the prompt."""
    top: Json = {"decision": "block", "reason": reply.reason} if reply.action in ("block", "stop") else {}
    if reply.action == "stop":
        top |= end_of_turn(reply)
    fields = parts(reply, context="additionalContext", output="updatedToolOutput")
    return with_system_message(reply, {**top, **hook_specific_output(message, fields)})


def all_in_reason(render: Render) -> Render:
    """Return the renderer for an agent that gives the model nothing beside a block's reason."""

    def rendered(reply: Reply, message: Message) -> Json:
        if reply.action == "block" and reply.context:
            reply = reply.copy()
            reply.reason, reply.context = join_paragraphs(reply.reason, reply.context), None
        return render(reply, message)

    return rendered


def output_as_reason(render: Render) -> tuple[Render, Caveats]:
    """Return the renderer, and caveats, for an agent that gives the model a block's reason in place of the output."""

    def rendered(reply: Reply, message: Message) -> Json:
        if reply.output is None:
            return render(reply, message)
        reason = join_paragraphs(str(reply.output), reply.reason) or "(no output)"
        answer = render(Reply("block", reason, reply.context, reply.user_message), message)
        return {**answer, **(end_of_turn(reply) if reply.action == "stop" else {})}

    return rendered, lambda reply, _message: ["output -> reason"] if reply.output is not None else []


def render_stop(reply: Reply, _message: Message) -> Json:
    """Render Stop and SubagentStop: a block makes the agent continue."""
    if reply.action == "block":
        return with_system_message(reply, {"decision": "block", "reason": reply.reason})
    return with_system_message(reply, end_of_turn(reply) if reply.action == "stop" else {})


def render_notification(reply: Reply, message: Message) -> Json:
    """Render an event that cannot be blocked: text for the model and the user, the end of the turn."""
    fields = parts(reply, text="additionalContext")
    top = end_of_turn(reply) if reply.action == "stop" else {}
    return with_system_message(reply, {**top, **hook_specific_output(message, fields)})


# An event of Claude Code -> how it is rendered; others by `render_notification`.
RENDERERS = {
    "PreToolUse": render_pre_tool,
    "PreSkillShellCommand": render_pre_tool,
    "PermissionRequest": render_permission,
    "PostToolUse": render_post_tool,
    "PostToolUseFailure": render_post_tool,
    "UserPromptSubmit": render_post_tool,
    "PreCompact": render_post_tool,
    "Stop": render_stop,
    "SubagentStop": render_stop,
}


def claude_formats(capabilities: Mapping[str, str], **own: Render) -> dict[str, ResponseFormat]:
    """Return the formats of an agent that obeys Claude Code's JSON, except for the events in `own`."""
    renderers = {**RENDERERS, **own}
    return {
        event: ResponseFormat(able, renderers.get(event, render_notification)) for event, able in capabilities.items()
    }
