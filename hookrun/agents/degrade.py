"""What becomes of that part of a verdict which an agent's event cannot say: one table, and what carries it out."""

from __future__ import annotations

from hookrun.agents.forms import ENDS
from hookrun.agents.said import approval, lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.said import Said

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


def degraded(said: Said, able: frozenset[str], event: str, tool: str | None = None) -> tuple[Said, list[str]]:
    """Return what can be said of a verdict at an event, and the degradations that took, by their names.

    `able` is what the agent's form can say, `event` hookrun's name, `tool` the agent's.
    """
    told = said.copy()
    names: list[str] = []
    if event in ENDS:
        _at_an_end(told, able, names)
    else:
        _granted(told, able, event, tool, names)
        _refused(told, able, names)
    _texts(told, able, names)
    return told, names


def wanted(tool: str | None, args: dict[str, object]) -> str:
    """Return what is said of arguments that a hook wanted and that cannot be given to the tool."""
    from json import dumps  # rarely needed, and read by people and models: not in ASCII

    return f"{tool or 'it'} may run with these arguments instead: {dumps(args, ensure_ascii=False)}"


def _granted(told: Said, able: frozenset[str], event: str, tool: str | None, names: list[str]) -> None:
    """An approval, a question and a change: what of them cannot be said becomes a refusal, or no grant."""
    if told.action == "allow" and "allow" not in able:
        if event in DECIDES:
            names.append("allow -> continue")
        told.action = "continue" if told.args is None else "modify"
    if told.action == "ask" and "ask" not in able:
        names.append("ask -> block")
        told.action, told.reason = "block", approval(told.reason)
        if told.args is not None:
            told.reason, told.args = lines(told.reason, wanted(tool, told.args)), None
    if told.args is not None:
        word = "modify" if told.action in ("modify", "continue") else f"{told.action} with arguments"
        if word not in able:
            names.append("modify -> block")
            told.action, told.reason, told.args = (
                "block",
                lines(told.reason, told.context, wanted(tool, told.args)),
                None,
            )
            told.context = None


def _refused(told: Said, able: frozenset[str], names: list[str]) -> None:
    """A skip is a block everywhere, a stop is one where the turn cannot be ended; a block may be a mere text."""
    if told.action == "skip" or (told.action == "stop" and "stop" not in able):
        names.append(f"{told.action} -> block")
        told.action = "block"
    if told.action == "block" and "block" not in able:
        _only_told(told, able, names)


def _only_told(told: Said, able: frozenset[str], names: list[str]) -> None:
    reason, told.reason, told.action = told.reason, None, "continue"
    if "context" in able:
        names.append("block -> message")
        told.context = lines(reason, told.context)
    elif "person" in able:
        names.append("block -> system_message")
        told.person = lines(reason, told.person)
    else:
        names.append("block -> nothing")


def _at_an_end(told: Said, able: frozenset[str], names: list[str]) -> None:
    """Stop and its like: a block means to go on; all else lets it end, and then the person has the word."""
    told.args = None
    if told.action in ("allow", "modify"):
        told.action = "continue"
    if told.action == "block" and "block" not in able:
        _only_told(told, able, names)
    elif told.action in ("ask", "skip") or (told.action == "stop" and "stop" not in able):
        if told.action != "stop":
            names.append(f"{told.action} -> continue")
        told.action, told.person, told.reason = "continue", lines(told.reason, told.person), None


def _texts(told: Said, able: frozenset[str], names: list[str]) -> None:
    """Text for the model goes into the reason where there is nothing else; text for the person, through the model."""
    if told.person and "person" not in able:
        if "context" in able:
            names.append("system_message -> context")
            told.context = lines(told.context, FOR_PERSON + told.person)
        else:
            names.append("system_message -> nothing")
        told.person = None
    if told.context and "context" not in able:
        if told.reason is not None:
            names.append("context -> reason")
            told.reason = lines(told.reason, told.context)
        else:
            names.append("context -> nothing")
        told.context = None
