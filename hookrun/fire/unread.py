"""Handle messages that cannot be read, in whole or in part: the model may have chosen its arguments so.

Sources: RFC 8259 sets no limit on numbers and nesting; Python reads up to 4,300 digits of an integer.
"""

from __future__ import annotations

import json

from hookrun.agents.base import UnreadableMessageError, no_native_args
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.context import BOM, is_cut
from hookrun.core.engine import HookChain
from hookrun.core.events import GATES
from hookrun.core.fastjson import MAX_DEPTH, finite
from hookrun.core.gate import conclude, refusal, refuses
from hookrun.core.model import PRECEDENCE, UNTRUSTED_LAYERS, Verdict
from hookrun.core.state import report_bug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrun.agents.base import Message
    from hookrun.core.context import ContextError
    from hookrun.core.model import Hook
    from hookrun.fire.invocation import EventFire, FireInvocation
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
            value = json.loads(text, parse_int=_or_text(int), parse_float=_or_text(finite), parse_constant=str)
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


def _or_text(convert: Callable[[str], object]) -> Callable[[str], object]:
    def converted(text: str) -> object:
        try:
            return convert(text)
        except ValueError:  # too many digits, or too large
            return text

    return converted


def guards_of_message(
    fire: EventFire, calls: Sequence[Mapping[str, object]] = (), *, is_unread: bool = False
) -> list[str]:
    """Return the names of the hooks that might block an agent's message that could not be judged, or even read.

    `calls` are the fields of its calls, as far as they are known.
    """
    found: list[str] = []
    if fire.event not in GATES:
        return found
    if fire.invocation.compiled is not None:
        fire.candidates = fire.invocation.compiled.candidates(fire.event)
    known = {**fire.context, "agent": fire.invocation.agent}
    for fields in [{}] if is_unread or not calls else calls:
        fire.context = {**known, **fields}
        found += guards(fire, of_any_tool=not fields, only_guards=not is_unread)
    return list(dict.fromkeys(found))


def refused_if_guarded(fire: EventFire, verdict: Verdict) -> Verdict:
    """Return a block if hooks that may guard the tool could not judge the call, else the verdict."""
    invocation, cut = fire.invocation, fire.context.get("arguments_cut_off")
    if PRECEDENCE[verdict.action] >= PRECEDENCE["ask"] or fire.candidates is None:
        return verdict
    # Hooks that have judged the call have had their word, unless they did not get all of it, or an error came between.
    if cut or fire.failed:
        found = guards(fire, only_guards=not cut)
    elif is_cut(fire.context):  # it names no tool
        judged = [(run.hook.name, run.hook.location()) for run in fire.runs if run.failure is None]
        found = guards(fire, of_any_tool=True, only_guards=True, judged=judged)
        invocation.problems += ["the context names no tool"] if found else []
    else:
        found = unknown_guards(fire)
    names = ", ".join(found)
    if not refuses(invocation.settings.get("on_error"), lambda: bool(names)):
        return verdict
    who = f"hooks ({names})" if names else "hookrun"
    fire.chain = fire.chain or HookChain(fire.event, fire.context, fire.candidates)
    conclude(fire.event, fire.chain.runs, "block", verdict)
    if cut:
        return Verdict("block", f"{who} cannot read all of this: {cut}")
    return Verdict("block", refusal_of(invocation, f"{who} could not judge this: {'; '.join(invocation.problems)}"))


def refusal_of(invocation: FireInvocation, cause: str) -> str:
    """Return the reason of a run's refusal, with the way out for the layers that it has."""
    found = invocation.config_files
    return refusal(cause, [layer for layer, _, _ in found.files] if found is not None else ())


def guards(
    fire: EventFire, *, of_any_tool: bool = False, only_guards: bool = False, judged: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """Return the names of the hooks that might block a call of which something is unknown.

    Where that is what the model has written, these are all that enforce, else `only_guards`: those that block what they
    cannot check; not those that have `judged` it, by name and place. Neither hooks that the user switched off count,
    nor unapproved ones that do not block. After an internal error one might: that there is none is not known.
    """
    try:
        hooks, view = fire.candidates, ConditionEvaluator(fire.context)
        enforcing = [hooks.hook(index) for index in range(hooks.count) if hooks.enforcing[index]] if hooks else []
        meant = [hook for hook in enforcing if hook.on_failure == "block" or not only_guards]
        left = [hook for hook in meant if (hook.name, hook.location()) not in judged]
        found = [hook for hook in left if view.may_match(hook, of_any_tool=of_any_tool)]
        trust = fire.decisions() if found else None
        return [*(hook.name for hook in found if trust is None or _may_block(hook, trust)), *unknown_guards(fire)]
    except Exception as error:
        fire.invocation.problems.append(report_bug(error, fire.invocation.home))
        return ["a hook"]


def unknown_guards(fire: EventFire) -> list[str]:
    """Return a name for guards that may be in files that cannot be read; empty if there can be none."""
    unknown = _unread_layers(fire.invocation)
    trust = fire.decisions() if unknown else None
    may_be = any(layer not in UNTRUSTED_LAYERS if trust is None else trust.may_guard(layer) for layer in unknown)
    return ["unknown hooks"] if may_be else []


def _unread_layers(invocation: FireInvocation) -> list[str]:
    """Return the layers of the files whose hooks are unknown."""
    if invocation.lacks_home or invocation.config_files is None:  # not even looked for
        return ["user"]
    if invocation.compiled is not None:
        return invocation.compiled.unread
    return [layer for layer, _, _ in invocation.config_files.files]


def _may_block(hook: Hook, trust: UserDecisions) -> bool:
    if trust.reason_off(hook) is not None:
        return False
    return hook.on_failure == "block" or trust.refusal(hook) is None
