"""The script of a model, in no API's format: turns of text and tool calls."""

from __future__ import annotations

from typing import Any, NamedTuple

Json = dict[str, Any]


class Call(NamedTuple):
    """A tool that the model asks for. `id` is set by the model when it sends the call.

    String arguments are those of a tool that takes no JSON: the Responses API's custom tools.
    """

    name: str
    arguments: Json | str
    id: str = ""


class Turn(NamedTuple):
    """One message of the model: some text, and the tools it asks for."""

    text: str = ""
    calls: tuple[Call, ...] = ()

    def numbered(self, request: int) -> Turn:
        """Return the turn with an id for each call that is unique within a session."""
        calls = (Call(call.name, call.arguments, f"call_{request}_{n}") for n, call in enumerate(self.calls))
        return self._replace(calls=tuple(calls))


def say(text: str) -> Turn:
    """Return the turn that only has text."""
    return Turn(text)


def use(name: str, **arguments: Any) -> Turn:
    """Return the turn that asks for one tool."""
    return Turn("", (Call(name, arguments),))
