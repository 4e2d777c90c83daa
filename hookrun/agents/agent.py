"""What a module about an agent has, as a protocol: for the type checker and whoever adds one. Never imported to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.agents.forms import Form
    from hookrun.agents.message import Message
    from hookrun.agents.names import Names
    from hookrun.agents.wiring import Wiring


class Agent(Protocol):
    """A module of hookrun.agents. Everything here is data but for `read`; docs/adding-an-agent.md shows one."""

    @property
    def NAME(self) -> str:
        """What it is called on the command line and in a context's `agent`."""

    @property
    def TITLE(self) -> str:
        """What people call it."""

    @property
    def MEASURED(self) -> str:
        """With which versions, and how, the facts in the module were seen."""

    @property
    def EVENTS(self) -> Mapping[str, str]:
        """Its name of an event, as its wiring has it -> hookrun's."""

    @property
    def MADE_FROM(self) -> Mapping[str, tuple[str, ...]]:
        """An event (hookrun's name) that it has none of its own for -> its events from which it is made."""

    @property
    def GUARDED(self) -> str:
        """Its event before a tool call: what is answered when a message cannot be read."""

    @property
    def TOOLS(self) -> Mapping[str, str]:
        """Its name of a tool -> hookrun's, as far as they differ or are worth telling."""

    @property
    def NAMES(self) -> Names:
        """Its names of tools and arguments, both ways."""

    @property
    def VARIABLES(self) -> tuple[str, ...]:
        """The environment variables in which it names the project's root, to hooks."""

    @property
    def LIMITS(self) -> Mapping[str, float]:
        """Its event -> how many seconds it gives to a hook whose wiring says nothing; "" for every other event."""

    @property
    def MOST(self) -> Mapping[str, float]:
        """Its event -> the seconds that no wiring can raise it beyond."""

    @property
    def ALWAYS_ZERO(self) -> bool:
        """Whether any other exit status than 0 is a refusal to it."""

    @property
    def FORMS(self) -> Mapping[str, Form]:
        """Its event -> what can be said there, and how. An event that is missing takes no answer."""

    @property
    def NOTES(self) -> tuple[str, ...]:
        """What else people should know, for docs/agents.md, a sentence or two each."""

    @property
    def WIRING(self) -> Wiring:
        """Where it reads its hooks, and how one is written there."""

    def read(self, payload: dict[str, object], event: str) -> Message:
        """Return what its message says. `event` is the one in its wiring, "" for none. Raises UnreadableError."""
