"""Handle messages that cannot be read, in whole or in part: the model may have chosen its arguments so.

Sources: RFC 8259 sets no limit on numbers and nesting; Python reads up to 4,300 digits of an integer.
"""

from __future__ import annotations

import json

from hookrun.agents.base import UnreadableMessageError, no_native_args
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.context import BOM
from hookrun.core.engine import HookChain
from hookrun.core.events import GATES
from hookrun.core.fastjson import MAX_DEPTH, finite
from hookrun.core.model import PRECEDENCE, ClaudeForm, Verdict
from hookrun.core.state import report_bug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.base import Message
    from hookrun.core.context import ContextError
    from hookrun.core.model import Hook
    from hookrun.fire.invocation import EventFire
    from hookrun.trust.approvals import UserDecisions

# What `surrogateescape` makes of bytes that are not UTF-8; in a path they stay what they were.
NO_TEXT = {chr(code) for code in range(0xDC80, 0xDD00)}
TOO_DEEP = f"it is nested more than {MAX_DEPTH} deep"
NOT_UTF8 = "it is not UTF-8"


class PartialMessage:
    """The readable parts of a message that is not strictly JSON. Raises the `error` of that if there are none.

    Numbers that do not fit are texts, which loses nothing; `cut` says why hooks do not get all of the message, "" if
    they do. `payload` has null instead of what is nested too deeply.
    """

    def __init__(self, data: bytes, error: ContextError) -> None:
        text = data.removeprefix(BOM).removeprefix(BOM).decode("utf-8", "surrogateescape")
        try:
            value = json.loads(text, parse_int=_integer, parse_float=_number, parse_constant=str)
        except (ValueError, RecursionError):
            raise error from None
        if not isinstance(value, dict):
            raise error
        self.cut = "" if NO_TEXT.isdisjoint(text) else NOT_UTF8
        self.payload: dict[str, object] = {key: self._without_depths(each, MAX_DEPTH) for key, each in value.items()}

    def _without_depths(self, value: object, levels: int) -> object:
        if not isinstance(value, (dict, list)):
            return value
        if levels <= 1:
            self.cut = TOO_DEEP
            return None
        if isinstance(value, list):
            return [self._without_depths(each, levels - 1) for each in value]
        return {key: self._without_depths(each, levels - 1) for key, each in value.items()}

    def mark(self, message: Message) -> list[str]:
        """Note in the message that its arguments are not the agent's; return what cannot be read.

        Raises UnreadableMessageError if that is the name of the tool.
        """
        if not NO_TEXT.isdisjoint(message.tool or ""):
            raise UnreadableMessageError(f"the name of the tool cannot be read: {self.cut}")
        message.to_native_args = no_native_args  # they could not be given back unchanged
        for call in message.calls if self.cut else ():
            call.fields["arguments_cut_off"] = self.cut
        return [f"the message cannot be read in full: {self.cut}"] if self.cut else []


def _integer(text: str) -> object:
    try:
        return int(text)
    except ValueError:  # too many digits
        return text


def _number(text: str) -> object:
    try:
        return finite(text)
    except ValueError:
        return text


# Fields that are known of a call whose arguments are not.
READ = frozenset({"event", "agent", "agent_event", "tool_name", "agent_tool_name"})


def guards_of_message(fire: EventFire) -> list[str]:
    """Return the names of the hooks that might block an agent's message of which only the event is known."""
    invocation = fire.invocation
    if fire.event not in GATES or invocation.compiled is None:
        return []
    fire.context["agent"] = invocation.agent
    fire.candidates = invocation.compiled.candidates(fire.event)
    return guards(fire, of_any_tool=True)


def refused_if_guarded(fire: EventFire, verdict: Verdict) -> Verdict:
    """Return a block if hooks that may guard the tool did not get all of its arguments, else the verdict."""
    if PRECEDENCE[verdict.action] >= PRECEDENCE["ask"]:
        return verdict
    names = ", ".join(guards(fire))
    if not names or fire.candidates is None:
        return verdict
    fire.chain = fire.chain or HookChain(fire.event, fire.context, fire.candidates)
    return Verdict("block", f"hooks ({names}) cannot read all of this: {fire.context['arguments_cut_off']}")


def guards(fire: EventFire, *, of_any_tool: bool = False) -> list[str]:
    """Return the names of the hooks that might block a call whose arguments, or even tool, are unknown.

    Neither those that the user switched off, nor unapproved ones that do not block. After an internal error one might:
    that there is none is not known.
    """
    try:
        return _guards(fire, of_any_tool=of_any_tool)
    except Exception as error:
        fire.invocation.problems.append(report_bug(error, fire.invocation.home))
        return ["a hook"]


def _guards(fire: EventFire, *, of_any_tool: bool) -> list[str]:
    hooks = fire.candidates
    enforcing = [hooks.hook(index) for index in range(hooks.count) if hooks.enforcing(index)] if hooks else []
    view = ConditionEvaluator(fire.context)
    found = [hook for hook in enforcing if _may_match(hook, view, of_any_tool=of_any_tool)]
    trust = fire.decisions() if found else None
    return [hook.name for hook in found if trust is None or _may_block(hook, trust)]


def _may_match(hook: Hook, view: ConditionEvaluator, *, of_any_tool: bool) -> bool:
    unknown = {"if", "twins", "matcher"} if of_any_tool else {"if", "twins"}
    claude = hook.claude
    if claude is not None:
        claude = ClaudeForm({name: each for name, each in claude.to_dict().items() if name not in unknown})
    if of_any_tool:
        return view.mismatch(agents=hook.agents, claude=claude) is None
    when = {path: globs for path, globs in (hook.when or {}).items() if path in READ}
    unless = hook.unless if hook.unless and READ.issuperset(hook.unless) else None
    return view.mismatch(hook.matcher, when, unless, hook.agents, claude) is None


def _may_block(hook: Hook, trust: UserDecisions) -> bool:
    if trust.reason_off(hook) is not None:
        return False
    return hook.on_failure == "block" or trust.refusal(hook) is None
