"""Handle messages that cannot be read, in whole or in part: the model may have chosen its arguments so.

Sources: RFC 8259 sets no limit on numbers and nesting; Python reads up to 4,300 digits of an integer.
"""

from __future__ import annotations

import json

from hookrun.agents.base import UnreadableMessageError, no_native_args
from hookrun.conditions import ConditionEvaluator
from hookrun.context import BOM
from hookrun.fastjson import MAX_DEPTH, finite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.agents.base import Message
    from hookrun.config.discovery import EventHooks
    from hookrun.context import ContextError

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
TOO_DEEP = f"it is nested more than {MAX_DEPTH} deep"
NOT_UTF8 = "it is not UTF-8"


class PartialMessage:
    """The readable parts of a message that is not strictly JSON. Raises the `error` of that if there are none.

    Numbers that do not fit are texts, which loses nothing; `cut` says why hooks do not get all of the message, "" if
    they do. `payload` has null instead of what is nested too deeply.
    """

    def __init__(self, data: bytes, error: ContextError) -> None:
        text = data.removeprefix(BOM).removeprefix(BOM).decode("utf-8", "replace")
        try:
            value = json.loads(text, parse_int=_integer, parse_float=_number, parse_constant=str)
        except (ValueError, RecursionError):
            raise error from None
        if not isinstance(value, dict):
            raise error
        self.cut = "" if REPLACEMENT.encode() in data or REPLACEMENT not in text else NOT_UTF8
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

    def mark(self, message: Message) -> None:
        """Note in the message that its arguments are not the agent's. Raises UnreadableMessageError for its tool."""
        if self.cut and REPLACEMENT in (message.tool or ""):
            raise UnreadableMessageError(f"the name of the tool cannot be read: {self.cut}")
        message.to_native_args = no_native_args  # they could not be given back unchanged
        for call in message.calls if self.cut else ():
            call.fields["arguments_cut_off"] = self.cut


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


def possible_guards(candidates: EventHooks, context: Mapping[str, object], *, of_any_tool: bool) -> list[str]:
    """Return the names of the hooks that might block a call whose arguments, or even tool, are unknown."""
    view = ConditionEvaluator(context)
    hooks = [candidates.hook(index) for index in range(candidates.count) if candidates.enforcing(index)]
    found = []
    for hook in hooks:
        claude = hook.claude
        if claude is not None:
            unknown = ("if", "twins", "matcher") if of_any_tool else ("if", "twins")
            claude = {key: value for key, value in claude.items() if key not in unknown}
        if view.selects(None if of_any_tool else hook.matcher, None, None, hook.agents, claude):
            found.append(hook.name)
    return found
