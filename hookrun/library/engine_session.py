"""What several events of a program share: a session's fields and state, and the ID of the current request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hookrun.library.engine_fire import new_id

if TYPE_CHECKING:
    from typing import Unpack

    from hookrun.core.literals import EventName
    from hookrun.integrations.tool_loop import ToolOutcome
    from hookrun.library import Result
    from hookrun.library.embedded_engine import Engine
    from hookrun.library.event_contexts import Context
    from hookrun.library.fire_fields import FireFields, Id

State = TypeVar("State")


class EngineSession(Generic[State]):
    """A request of a session: its events have the same fields, `state` and `request_id`. Made by `Engine.session`.

    `fields` are those of every context. An event's own take precedence, in `fire` and in `run_tool`. Set `session_id`
    or `new_checkpoint_id` when it is known. `state` is `ctx.state` of all handlers.
    """

    __slots__ = ("__weakref__", "engine", "fields", "state")

    def __init__(self, engine: Engine, state: State, fields: Mapping[str, object]) -> None:
        self.engine = engine
        self.state = state
        self.fields: dict[str, object] = {**fields}
        self.fields["request_id"] = str(self.fields.get("request_id") or new_id())

    def __repr__(self) -> str:
        return f"EngineSession({self.fields!r})"

    @property
    def request_id(self) -> str:
        """The ID of the request: 16 hexadecimal digits, or what was given."""
        return str(self.fields["request_id"])

    @property
    def session_id(self) -> str | None:
        """The session's ID, None if it is not known."""
        return self._text("session_id")

    @session_id.setter
    def session_id(self, value: Id) -> None:
        self.fields["session_id"] = value

    @property
    def new_checkpoint_id(self) -> str | None:
        """The checkpoint that the request makes, None before; handlers read `ctx.get("new_checkpoint_id")`."""
        return self._text("new_checkpoint_id")

    @new_checkpoint_id.setter
    def new_checkpoint_id(self, value: Id) -> None:
        self.fields["new_checkpoint_id"] = None if value is None else str(value)

    def _text(self, name: str) -> str | None:
        value = self.fields.get(name)
        return None if value is None else str(value)

    def new_request(self, request_id: Id = None) -> EngineSession[State]:
        """Return the session for its next request: other ID, no new checkpoint, the same state and other fields."""
        fields = {name: value for name, value in self.fields.items() if name != "new_checkpoint_id"}
        return EngineSession(self.engine, self.state, {**fields, "request_id": request_id})

    async def fire(
        self,
        event: EventName | Context,
        context: Mapping[str, object] | None = None,
        /,
        *,
        deadline: float | None = None,
        **fields: Unpack[FireFields],
    ) -> Result:
        """Fire an event of the session, as `Engine.fire` does."""
        about = self._about(event, context)
        return await self.engine.fire(event, about, state=self.state, deadline=deadline, **fields)

    def fire_sync(
        self,
        event: EventName | Context,
        context: Mapping[str, object] | None = None,
        /,
        *,
        deadline: float | None = None,
        **fields: Unpack[FireFields],
    ) -> Result:
        """Fire an event of the session, as `Engine.fire_sync` does."""
        about = self._about(event, context)
        return self.engine.fire_sync(event, about, state=self.state, deadline=deadline, **fields)

    async def run_tool(
        self, name: str, args: Mapping[str, object], call: Callable[..., object], **options: Any
    ) -> ToolOutcome:
        """Run a tool with the session's fields and state, as `hookrun.run_tool` does, with the same `options`."""
        from hookrun import run_tool  # by its public name: the integrations are made of the engine

        return await run_tool(self.engine, name, args, call, **{**self.fields, "state": self.state, **options})

    def _about(self, event: object, context: Mapping[str, object] | None) -> dict[str, object]:
        """Return the session's fields, with those of a `Context` that is fired and of a mapping."""
        own = event if isinstance(event, Mapping) else {}
        return {**self.fields, **own, **(context or {})}
