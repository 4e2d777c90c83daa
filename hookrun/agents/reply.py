"""What becomes of that part of a verdict which an agent's event cannot say: one table, and what carries it out."""

from __future__ import annotations

from hookrun.agents.formats import STOP_EVENTS, Reply, approval_needed, join_paragraphs
from hookrun.fastjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.agents.base import Message
    from hookrun.agents.formats import Reply
    from hookrun.agents.types import Agent

DEGRADATIONS = {
    "allow -> continue": "no approval can be given: the agent asks, or decides, as it would without hooks",
    "ask -> block": 'nobody can be asked: it is refused, the reason begins with "needs a person\'s approval"',
    "ask -> continue": "nobody can be asked whether the turn may end: it ends",
    "skip -> block": 'it is refused, the reason begins with "skipped by"',
    "skip -> continue": "the turn ends",
    "stop -> block": "the turn cannot be ended here: what was about to happen is refused",
    "modify -> block": "the arguments cannot be changed: it is refused, and the reason gives those that were wanted",
    "block -> message": "nothing can be refused here: the model is given the reason as a message",
    "block -> system_message": "nothing can be refused here: the person is given the reason",
    "block -> nothing": "nothing can be refused here and nobody can be told: the reason is in the audit only",
    "block -> failing call": "the call gets arguments with which it fails before it does anything, and the model why",
    "block -> end of run": "nothing but the whole run can be refused: it ends, and nobody is shown why",
    "context -> reason": "text for the model is given to it as part of the reason",
    "context -> nothing": "no text reaches the model here: it is in the audit only",
    "system_message -> context": "no text reaches the person here: the model is given it, marked as theirs",
    "system_message -> nothing": "no text reaches the person here: it is in the audit only",
}
"""Each way in which a verdict is said as something else, and what that comes to."""

DECIDES = frozenset({"pre_tool_use", "permission_request", "tool_call_requested"})
"""The events at which `allow` means more than `continue`."""

FOR_PERSON = "hookrun has a message for the person you work for; pass it on: "


def degrade(said: Reply, able: frozenset[str], event: str, tool: str | None = None) -> tuple[Reply, list[str]]:
    """Return what can be said of a verdict at an event, and the degradations that took, by their names.

    `able` is what the agent's form can say, `event` hookrun's name, `tool` the agent's.
    """
    # In one place, before anything is rendered: no agent's format gets what it cannot say, and the published table is
    # the one in use.
    told = said.copy()
    names: list[str] = []
    if event in STOP_EVENTS:
        _on_stop_event(told, able, names)
    else:
        _grants(told, able, event, tool, names)
        _refusals(told, able, names)
    _texts(told, able, names)
    return told, names


def describe_wanted_args(tool: str | None, args: dict[str, object]) -> str:
    """Return what is said of arguments that a hook wanted and that cannot be given to the tool."""
    from json import dumps  # rarely needed, and read by people and models: not in ASCII

    return f"{tool or 'it'} may run with these arguments instead: {dumps(args, ensure_ascii=False)}"


def _grants(told: Reply, able: frozenset[str], event: str, tool: str | None, names: list[str]) -> None:
    """An approval, a question and a change: what of them cannot be said becomes a refusal, or no grant."""
    if told.action == "allow" and "allow" not in able:
        if event in DECIDES:
            names.append("allow -> continue")
        told.action = "continue" if told.args is None else "modify"
    if told.action == "ask" and "ask" not in able:
        names.append("ask -> block")
        told.action, told.reason = "block", approval_needed(told.reason)
        if told.args is not None:
            told.reason, told.args = join_paragraphs(told.reason, describe_wanted_args(tool, told.args)), None
    if told.args is not None:
        word = "modify" if told.action in ("modify", "continue") else f"{told.action} with arguments"
        if word not in able:
            names.append("modify -> block")
            told.action, told.reason, told.args = (
                "block",
                join_paragraphs(told.reason, told.context, describe_wanted_args(tool, told.args)),
                None,
            )
            told.context = None


def _refusals(told: Reply, able: frozenset[str], names: list[str]) -> None:
    """A skip is a block everywhere, a stop is one where the turn cannot be ended; a block may be a mere text."""
    if told.action == "skip" or (told.action == "stop" and "stop" not in able):
        names.append(f"{told.action} -> block")
        told.action = "block"
    if told.action == "block" and "block" not in able:
        _as_message(told, able, names)


def _as_message(told: Reply, able: frozenset[str], names: list[str]) -> None:
    reason, told.reason, told.action = told.reason, None, "continue"
    if "context" in able:
        names.append("block -> message")
        told.context = join_paragraphs(reason, told.context)
    elif "user_message" in able:
        names.append("block -> system_message")
        told.user_message = join_paragraphs(reason, told.user_message)
    else:
        names.append("block -> nothing")


def _on_stop_event(told: Reply, able: frozenset[str], names: list[str]) -> None:
    """Stop and its like: a block means to go on; all else lets it end, and then the person has the word."""
    told.args = None
    if told.action in ("allow", "modify"):
        told.action = "continue"
    if told.action == "block" and "block" not in able:
        _as_message(told, able, names)
    elif told.action in ("ask", "skip") or (told.action == "stop" and "stop" not in able):
        if told.action != "stop":
            names.append(f"{told.action} -> continue")
        told.action, told.user_message, told.reason = "continue", join_paragraphs(told.reason, told.user_message), None


def _texts(told: Reply, able: frozenset[str], names: list[str]) -> None:
    """Text for the model goes into the reason where there is nothing else; text for the person, through the model."""
    if told.user_message and "user_message" not in able:
        if "context" in able:
            names.append("system_message -> context")
            told.context = join_paragraphs(told.context, FOR_PERSON + told.user_message)
        else:
            names.append("system_message -> nothing")
        told.user_message = None
    if told.context and "context" not in able:
        if told.reason is not None:
            names.append("context -> reason")
            told.reason = join_paragraphs(told.reason, told.context)
        else:
            names.append("context -> nothing")
        told.context = None


ARGUMENTS = frozenset({"modify", "allow with arguments", "ask with arguments"})
NO_WORDS: frozenset[str] = frozenset()


class AgentResponse:
    """What is said to an agent: `data` is the JSON object, empty for nothing; `degraded` are names of DEGRADATIONS.

    `reply` is the part of the verdict that could be said.
    """

    __slots__ = ("data", "degraded", "reply")

    def __init__(self, data: dict[str, object], reply: Reply, names: list[str]) -> None:
        self.data = data
        self.reply = reply
        self.degraded = names

    def stdout(self) -> bytes:
        """Return the bytes for stdout: nothing, or one line of JSON in ASCII."""
        return (dumps(replace_lone_surrogates(self.data)) + "\n").encode("ascii") if self.data else b""


def build_response(
    agent: Agent,
    message: Message,
    saids: Sequence[Reply],
    notice: Callable[[list[str]], str | None] = lambda _names: None,
) -> AgentResponse:
    """Return what is said to an agent that sent this message, of which the calls came to these, in order.

    `notice` is given the names of the degradations and returns what the person is to be told of them: it is only asked
    where the person can be told.
    """
    together, own = merge_replies(message, saids)
    form = agent.RESPONSE_FORMATS.get(message.native)
    able = form.capabilities if form is not None else NO_WORDS
    said, names = degrade(together, able if own else able - ARGUMENTS, message.event, message.tool)
    if form is None:
        return AgentResponse({}, said, names)
    names += form.caveats(said, message)
    if names and "user_message" in able and (text := notice(names)):
        said.user_message = join_paragraphs(said.user_message, text)
    return AgentResponse(form.render(said, message), said, names)


def merge_replies(message: Message, saids: Sequence[Reply]) -> tuple[Reply, bool]:
    """Return the one that all come to, its arguments by the agent's names, and whether the tool can be given those."""
    together = Reply()
    for said in saids:
        together = together.merged_with(said)
    changed = [said.args for said in saids]
    if together.args is None:
        return together, True
    own = message.to_native_args(changed)
    if own is not None:
        together.args = own
        return together, True
    if len([args for args in changed if args is not None]) > 1:
        each = [describe_wanted_args(message.tool, args) for args in changed if args is not None]
        together.context = join_paragraphs(together.context, *each[:-1])
    return together, False


def replace_lone_surrogates(value: object) -> object:
    """Return a JSON value whose texts have no half characters (lone surrogates): some parsers refuse all of it."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, dict):
        return {str(replace_lone_surrogates(key)): replace_lone_surrogates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [replace_lone_surrogates(each) for each in value]
    return value
