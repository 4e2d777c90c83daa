"""Reduce verdicts to what an agent's event can express, and build the response."""

from __future__ import annotations

from hookrun.agents.base import placeholder_message
from hookrun.agents.formats import (
    CAPABILITIES,
    KEPT,
    STOP_EVENTS,
    Reply,
    approval_needed,
    join_paragraphs,
    reply_from_verdict,
)
from hookrun.core.events import GATES, WITH_OUTPUT
from hookrun.core.fastjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.agents.base import Message
    from hookrun.agents.formats import Json
    from hookrun.agents.types import Agent
    from hookrun.core.model import AnyVerdict, HookResult

    Fire = tuple[AnyVerdict, Sequence[HookResult]]

# A fallback for a part of a verdict that an event cannot express -> its effect.
DEGRADATIONS = {
    "allow -> continue": "the agent cannot take an approval: it asks or decides as it would without hooks",
    "ask -> block": 'it cannot ask: the call is blocked, with a reason that begins "needs the user\'s approval"',
    "ask -> continue": "the agent cannot ask whether the turn may end: it ends",
    "skip -> block": 'the call is blocked, with a reason that begins "skipped by"',
    "skip -> continue": "the turn ends",
    "stop -> block": "the turn cannot be ended here: the call is blocked",
    "modify -> block": "the arguments cannot be changed: the call is blocked, with the wanted ones in the reason",
    "output -> reason": "the output is withheld: the model gets the wanted one as a hook's reason",
    "output -> context": "the output cannot be replaced: the model gets it, and is given the wanted one beside it",
    "prompt -> block": "the prompt cannot be changed: it is blocked, with the wanted one in the reason",
    "prompt -> context": "the prompt cannot be changed or blocked: the model is given the wanted one beside it",
    "block -> message": "nothing can be blocked here: the model gets the reason as a message",
    "block -> system_message": "nothing can be blocked here: the user sees the reason",
    "block -> nothing": "nothing can be blocked or shown here: the reason is only in the audit log",
    "block -> failing call": "the call gets arguments with which it fails at once, and the model gets the reason",
    "block -> end of run": "only the whole run can be blocked: it ends without showing the reason",
    "context -> reason": "text for the model becomes part of the reason",
    "context -> later": "no text reaches the model here: it gets it at the next event that has one",
    "context -> nothing": "no text reaches the model here: it is only in the audit log",
    "system_message -> context": "no text reaches the user here: the model gets it, marked as for the user",
    "system_message -> reason": "no text reaches the user here: it is in the model's reason, marked as for the user",
    "system_message -> later": "no text reaches the user here: they see it at the next event that shows one",
    "system_message -> nothing": "no text reaches the user here: it is only in the audit log",
}

# Events with lines about failures that end in how the message was answered.
CONCLUDED = GATES | WITH_OUTPUT

# Events at which `allow` and `continue` differ.
DECIDES = frozenset({"pre_tool_use", "permission_request", "tool_call_requested"})

FOR_PERSON = "hookrun has a message for the user; pass it on: "


def degrade(
    original: Reply, able: frozenset[str], event: str, tool: str | None = None, deferred: Reply | None = None
) -> tuple[Reply, list[str]]:
    """Return what an event can express of a reply, and the names of the DEGRADATIONS applied.

    `able` are the response's capabilities, `event` is hookrun's name, `tool` the agent's. `deferred` gets texts for a
    later event.
    """
    # In one place, before rendering: no format gets what it cannot express, and the published table is the one used.
    reply = original.copy()
    names: list[str] = []
    if event in STOP_EVENTS:
        _on_stop_event(reply, able, names)
    else:
        _grants(reply, able, event, tool, names)
        # A skip is always a block, a stop only if the turn cannot end; a block may become a message.
        if reply.action == "skip" or (reply.action == "stop" and "stop" not in able):
            names.append(f"{reply.action} -> block")
            reply.action = "block"
        _replaced(reply, able, names)
    if reply.action == "block" and "block" not in able:
        _as_message(reply, able, names)
    _texts(reply, able, names, deferred or Reply())
    return reply, names


def describe_wanted_args(tool: str | None, args: dict[str, object]) -> str:
    """Return the text for the model about wanted arguments that the agent cannot change."""
    from json import dumps  # rarely needed; for users and models, so beyond ASCII

    return f"{tool or 'it'} may run with these arguments instead: {dumps(args, ensure_ascii=False)}"


def _grants(reply: Reply, able: frozenset[str], event: str, tool: str | None, names: list[str]) -> None:
    # An inexpressible approval is dropped; a question or a change becomes a block.
    if reply.action == "allow" and "allow" not in able:
        if event in DECIDES:
            names.append("allow -> continue")
        reply.action = "continue" if reply.args is None else "modify"
    if reply.action == "ask" and "ask" not in able:
        names.append("ask -> block")
        reply.action, reply.reason = "block", approval_needed(reply.reason)
        if reply.args is not None:
            reply.reason, reply.args = join_paragraphs(reply.reason, describe_wanted_args(tool, reply.args)), None
    if reply.args is not None:
        word = "modify" if reply.action in ("modify", "continue") else f"{reply.action} with arguments"
        if word not in able:
            names.append("modify -> block")
            reply.reason = join_paragraphs(reply.reason, reply.context, describe_wanted_args(tool, reply.args))
            reply.action, reply.args, reply.context = "block", None, None


def _replaced(reply: Reply, able: frozenset[str], names: list[str]) -> None:
    # An inexpressible output goes to the model beside the tool's, which it gets anyway; a prompt is not sent.
    if reply.output is not None and "output" not in able:
        names.append("output -> context")
        reply.context = join_paragraphs(f"{INSTEAD_OF_OUTPUT}{reply.output}", reply.context)
        reply.output = None
    if reply.prompt is not None and "prompt" not in able:
        wanted, reply.prompt = f"{INSTEAD_OF_PROMPT}{reply.prompt}", None
        if "block" in able:
            names.append("prompt -> block")
            reply.reason = join_paragraphs(reply.reason, reply.context, wanted)
            reply.action, reply.context = "block", None
        else:
            names.append("prompt -> context")
            reply.context = join_paragraphs(wanted, reply.context)


def _as_message(reply: Reply, able: frozenset[str], names: list[str]) -> None:
    reason, reply.reason, reply.action = reply.reason, None, "continue"
    if "context" in able:
        names.append("block -> message")
        reply.context = join_paragraphs(reason, reply.context)
    elif "user_message" in able or "user_message later" in able:
        names.append("block -> system_message")
        reply.user_message = join_paragraphs(reason, reply.user_message)
    else:
        names.append("block -> nothing")


def _on_stop_event(reply: Reply, able: frozenset[str], names: list[str]) -> None:
    # A block makes the agent continue; anything else lets the turn end, with its reason for the user.
    reply.args = None
    if reply.action in ("allow", "modify"):
        reply.action = "continue"
    if reply.action in ("ask", "skip") or (reply.action == "stop" and "stop" not in able):
        if reply.action != "stop":
            names.append(f"{reply.action} -> continue")
        reply.user_message = join_paragraphs(reply.reason, reply.user_message)
        reply.action, reply.reason = "continue", None


def _texts(reply: Reply, able: frozenset[str], names: list[str], deferred: Reply) -> None:
    # Text for the model may join the reason, text for the user go through the model; or both wait for later.
    if reply.user_message and "user_message" not in able:
        later = "user_message later" in able
        if later:
            names.append("system_message -> later")
            deferred.user_message = reply.user_message
        if "context" in able:
            names.append("system_message -> context")
            reply.context = join_paragraphs(reply.context, FOR_PERSON + reply.user_message)
        elif later and reply.reason is not None:
            names.append("system_message -> reason")
            reply.reason = join_paragraphs(reply.reason, FOR_PERSON + reply.user_message)
        elif not later:
            names.append("system_message -> nothing")
        reply.user_message = None
    if reply.context and "context" not in able:
        if reply.reason is not None:
            names.append("context -> reason")
            reply.reason = join_paragraphs(reply.reason, reply.context)
        elif "context later" in able:
            names.append("context -> later")
            deferred.context = reply.context
        else:
            names.append("context -> nothing")
        reply.context = None


INSTEAD_OF_OUTPUT = "a hook replaced the result of this tool; go by this instead: "
INSTEAD_OF_PROMPT = "a hook wants this to be sent instead: "
ARGUMENTS = frozenset({"modify", "allow with arguments", "ask with arguments"})
NO_WORDS: frozenset[str] = frozenset()


class AgentResponse:
    """The response to an agent: the JSON object `data`, which may be empty.

    `reply` is the expressed part of the verdict; `degraded` are names of DEGRADATIONS; `deferred` has texts for a later
    event of the session. If it `needs_status`, the agent takes only an exit status for a refusal.
    """

    def __init__(self, data: Json, reply: Reply, names: list[str], deferred: Reply, *, needs_status: bool) -> None:
        self.data = data
        self.needs_status = needs_status
        self.reply = reply
        self.degraded = names
        self.deferred = deferred

    def stdout(self) -> bytes:
        """Return the bytes for stdout: nothing, or one line of JSON in ASCII."""
        return (dumps(replace_lone_surrogates(self.data)) + "\n").encode("ascii") if self.data else b""


def build_response(
    agent: Agent,
    message: Message,
    replies: Sequence[Reply],
    notice: Callable[[list[str]], str | None] = lambda _names: None,
    refused_by: Callable[[], tuple[Sequence[str], str, str]] = lambda: ((), "", ""),
) -> AgentResponse:
    """Return the response to a message whose calls have these replies, in order.

    `notice` returns the text for the user about degradations by name; it is only called if the user can see it.
    `refused_by` returns the hooks behind a refusal, and the commands that show why and let the call through once.
    """
    form = agent.RESPONSE_FORMATS.get(message.native)
    able = form.capabilities - message.cannot if form is not None else NO_WORDS
    merged, impossible = merge_replies(message, replies, able)
    able -= impossible
    if message.session_id is None and not able.isdisjoint(KEPT):  # now: without a session there is no later
        able = able - KEPT | ({"user_message"} if "user_message later" in able else NO_WORDS)
    deferred = Reply()
    reply, names = degrade(merged, able, message.event, message.tool, deferred)
    needs_status = not reply.allows and message.event in GATES and agent.INSTALL.get("refused_by_status", False)
    if form is None:
        return AgentResponse({}, reply, names, deferred, needs_status=needs_status)
    if not reply.allows and reply.action != "ask":
        _name_hooks(reply, able, message.event, refused_by())
    names += form.caveats(reply, message)
    shown_later = tuple(name.partition(" -> ")[0] for name in names if name.endswith("-> later"))
    lost = [name for name in names if not name.startswith(shown_later)] if shown_later else names
    for shown, able_to in ((reply, "user_message"), (deferred, "user_message later")):
        if lost and able_to in able and (text := notice(lost)):
            shown.user_message = join_paragraphs(shown.user_message, text)
    return AgentResponse(form.render(reply, message), reply, names, deferred, needs_status=needs_status)


def replies_to(agent: Agent, message: Message, fires: Sequence[Fire], others: Sequence[Reply] = ()) -> list[Reply]:
    """Return the replies for fires of a message, then `others`; lines about failures say how the whole message ends."""
    replies = [reply_from_verdict(verdict, runs) for verdict, runs in fires]
    if message.event in CONCLUDED and any(run.failure is not None for _, runs in fires for run in runs):
        from hookrun.core.gate import conclude

        reply = build_response(agent, message, [*replies, *others]).reply
        after_tool = "continue" if reply.output is None else "block"  # as a message, too, if the output is withheld
        decided = reply.action if message.event in GATES else after_tool
        concluded = [(conclude(message.event, runs, decided, verdict), runs) for verdict, runs in fires]
        replies = [reply_from_verdict(verdict, runs) for verdict, runs in concluded]
    return [*replies, *others]


# The exit status that refuses in every agent.
REFUSED = 2


def refusing_answer(agent: Agent, message: Message, text: str) -> tuple[int, bytes, bytes]:
    """Return the exit status, stdout and stderr that refuse an agent's message at one of GATES."""
    answer = build_response(agent, message, [Reply("block", text)])
    if answer.needs_status or not answer.data:
        return REFUSED, answer.stdout(), f"{text}\n".encode()
    return 0, answer.stdout(), b""


def static_answer(agent: Agent, event: str, reply: Reply) -> str:
    """Return the line with a reply at an agent's event, for any message; "" if it cannot be expressed."""
    return build_response(agent, placeholder_message(agent, event), [reply]).stdout().decode()


def _name_hooks(reply: Reply, able: frozenset[str], event: str, refused_by: tuple[Sequence[str], str, str]) -> None:
    # For the user; in the reason, for the model, only if nothing else reaches them and it is no instruction.
    hooks, command, once = refused_by
    known = reply.reason or ""
    if "user_message" in able:
        by = f" by {', '.join(hooks)}" if hooks else ""
        text = f"hookrun: blocked{by}{f'; `{command}` shows why' if command else ''}"
        text += f"; to let this call through once: `{once}` in your own terminal" if once else ""
        reply.user_message = join_paragraphs(text if by or command else None, reply.user_message)
        return
    if event in STOP_EVENTS:
        return
    new = [name for name in hooks if name not in known]
    parts = [f"hook {', '.join(new)}" if new else "", f"`{command}`" if command else ""]
    parts += [f"the user can let it through once: `{once}`"] if once else []
    if any(parts):
        reply.reason = f"{known} ({', '.join(filter(None, parts))})"


def merge_replies(
    message: Message, replies: Sequence[Reply], able: frozenset[str] = CAPABILITIES
) -> tuple[Reply, frozenset[str]]:
    """Return all replies combined, with the agent's arguments and output, and what of `able` these cannot be."""
    merged = Reply()
    for reply in replies:
        merged = merged.merged_with(reply)
    impossible = NO_WORDS
    if merged.args is not None:
        changed = [reply.args for reply in replies]
        own = message.to_native_args(changed)
        merged.args = own or merged.args
        if own is None:
            impossible = ARGUMENTS
            each = [describe_wanted_args(message.tool, args) for args in changed if args is not None]
            merged.context = join_paragraphs(merged.context, *each[:-1])
    if isinstance(merged.output, str):
        if "output" not in able:  # each call of the message has its own
            others = dict.fromkeys(str(each.output) for each in replies if each.output not in (None, merged.output))
            merged.context = join_paragraphs(*(f"{INSTEAD_OF_OUTPUT}{text}" for text in others), merged.context)
        elif (output := message.to_native_output(merged.output)) is not None:
            merged.output = output
        else:
            impossible |= {"output"}
    return merged, impossible


def replace_lone_surrogates(value: object) -> object:
    """Return a JSON value without lone surrogates, for which some parsers reject the whole value."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {str(replace_lone_surrogates(key)): replace_lone_surrogates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [replace_lone_surrogates(each) for each in value]
    return value
