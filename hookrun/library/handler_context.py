"""What a handler is given: the context of a fire. The classes of single events are in event_contexts.py."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar, overload

from hookrun.events import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from hookrun.library.handlers import Handler

    class Starter(Protocol):
        """What starts background work for a handler: a fire."""

        def in_background(self, handler: Handler, work: Any, name: str | None) -> None:
            """Start it."""


T_co = TypeVar("T_co", covariant=True)


def deep_copy(value: Any) -> Any:
    """Return a copy of a JSON value: objects and lists anew, everything else as it is."""
    if isinstance(value, dict):
        return {key: deep_copy(each) if isinstance(each, (dict, list)) else each for key, each in value.items()}
    if isinstance(value, list):
        return [deep_copy(each) for each in value]
    return value


def _differs(one: object, other: object) -> bool:
    try:
        return bool(one != other)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a value that cannot be compared: nobody knows
        return False


class ContextField(Generic[T_co]):
    """A field of the context as an attribute: what is there if it is of the right type, else the default."""

    def __init__(self, kind: type[Any], default: T_co, says: str) -> None:
        self.kind = kind
        self._default = default
        self._name = ""
        self.__doc__ = says

    def __set_name__(self, owner: type[Context], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, context: None, owner: type[Context]) -> Self: ...
    @overload
    def __get__(self, context: Context, owner: type[Context]) -> T_co: ...
    def __get__(self, context: Context | None, owner: type[Context]) -> T_co | Self:
        if context is None:
            return self
        value: Any = context.get(self._name)
        return value if isinstance(value, self.kind) else self._default

    def __set__(self, context: Context, value: object) -> None:
        raise AttributeError(f"{self._name} cannot be set on a context: return a Verdict that changes it")


class ObjectField(ContextField[dict[str, Any]]):
    """A field that holds an object: the handler's own copy of it, empty where there is none."""

    def __init__(self, says: str) -> None:
        super().__init__(dict, {}, says)

    @overload
    def __get__(self, context: None, owner: type[Context]) -> Self: ...
    @overload
    def __get__(self, context: Context, owner: type[Context]) -> dict[str, Any]: ...
    def __get__(self, context: Context | None, owner: type[Context]) -> dict[str, Any] | Self:
        return self if context is None else context.own(self._name)


def text(says: str) -> ContextField[str | None]:
    """Return a field that is a string or null."""
    return ContextField(str, None, says)


def word(says: str) -> ContextField[str]:
    """Return a field that is a string, empty where it is null."""
    return ContextField(str, "", says)


def flag(says: str) -> ContextField[bool]:
    """Return a field that is true or false, false where it is null."""
    return ContextField(bool, False, says)  # noqa: FBT003  # the default


def count(says: str) -> ContextField[int | None]:
    """Return a field that is a whole number or null."""
    return ContextField(int, None, says)


class Context(Mapping[str, object]):
    """What a handler knows: every field of the context by its name, and what travels along the chain.

    It reads like the JSON object that a declared hook gets on its stdin (`ctx["tool_name"]`, fields that hookrun does
    not know included), and the known fields are attributes. Objects that attributes give out (`tool_args`, `metadata`)
    are the handler's own copies: to change something, return a `Verdict`.

    A program makes one to fire it: `await engine.fire(PreToolUse(session_id="s1", tool_name="bash", ...))`. Of this
    general class the event is the first argument: `Context("my_event", ...)`.

    `state` is whatever the program gave to `fire(..., state=...)`, or set on the context that it fires: one object for
    all handlers of the chain, in order; handlers that run side by side have a clone each.

    >>> from hookrun import PreToolUse
    >>> ctx = PreToolUse(session_id="s1", tool_name="bash", tool_args={"command": "ls"}, sandbox="docker")
    >>> ctx.event, ctx.tool_args["command"], ctx["sandbox"], ctx.user_prompt
    ('pre_tool_use', 'ls', 'docker', None)
    """

    __slots__ = ("_call", "_copies", "_data", "state")

    event_name: ClassVar[str] = ""
    """The canonical event of a class; empty for the general one."""

    session_id = text("The agent's session.")
    root_session_id = text("The session that started this one, or itself.")
    tool_name = text("The tool, by its canonical name.")
    tool_args = ObjectField("The tool's arguments; empty where there are none. The handler's own copy.")
    tool_use_id = text("The agent's own name for this one call.")
    tool_result_output = text("What the tool gave back.")
    tool_result_error = text("Why the tool failed.")
    user_prompt = text("What the person said.")
    assistant_response = text("What the model said.")
    file_path = text("The file that it is about, absolute and normalised.")
    working_dir = text("Where the agent works.")
    agent = text("The agent that fires.")
    agent_event = text("The event by the agent's own name.")
    agent_tool_name = text("The tool by the agent's own name.")
    request_id = word("One word per fire, the same for all of its hooks.")
    timestamp = word("When it was fired: UTC, RFC 3339.")
    permission_mode = text("How the agent asks for permission.")
    agent_id = text("The subagent that it is about.")
    transcript_path = text("Where the agent keeps its transcript.")
    metadata = ObjectField("What hooks before this one passed on (`modified_context`). The handler's own copy.")

    def __init__(self, event: str | None = None, /, **fields: object) -> None:
        """Make a context of `event` (the class's own when absent) with these fields.

        Raises ValueError when a class of one event is made for another, or the general one for none.
        """
        name = event if event is not None else self.event_name
        if not name or (self.event_name and canonical(name) != self.event_name):
            expected = repr(self.event_name) if self.event_name else "the name of an event"
            raise ValueError(f"{type(self).__name__}: the event is {event!r}, expected {expected}")
        self._data: dict[str, object] = {**fields, "event": canonical(name) or name}
        self._copies: dict[str, dict[str, Any]] | None = None
        self._call: tuple[Starter, Handler] | None = None
        self.state: Any = None

    @classmethod
    def of(
        cls,
        data: dict[str, object],
        state: object = None,
        call: tuple[Starter, Handler] | None = None,
    ) -> Self:
        """Return a context that reads `data`, which nobody may change afterwards.

        `call` is the fire and the handler that it is given to: it starts what that leaves in the background.
        """
        self = cls.__new__(cls)
        self._data = data
        self._copies = None
        self._call = call
        self.state = state
        return self

    @property
    def event(self) -> str:
        """The canonical name of the event."""
        return str(self._data["event"])

    def __getitem__(self, name: str) -> object:
        """Return a field as it is; of one that holds an object the handler's own copy. Raises KeyError."""
        value = self._data[name]
        return self.own(name) if isinstance(value, dict) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data!r})"

    def to_dict(self) -> dict[str, object]:
        """Return all fields, in a copy of the caller's own."""
        data: dict[str, object] = deep_copy(self._data)
        return data

    def clone(self) -> Self:
        """Return an independent context: fields copied, `state` copied deeply, background work not taken along.

        A state that knows better has a method `clone()`, which is used instead of `copy.deepcopy`.

        >>> ctx = Context("stop", session_id="s1")
        >>> ctx.state = {"seen": []}
        >>> ctx.clone().state["seen"].append("x")
        >>> ctx.state
        {'seen': []}
        """
        clone = getattr(self.state, "clone", None)
        state = clone() if callable(clone) else copy.deepcopy(self.state)
        return type(self).of(self.to_dict(), state)

    def background(self, work: Coroutine[Any, Any, object] | Callable[[], object], *, name: str | None = None) -> None:
        """Start work that the handler does not wait for: a coroutine, or a function, which gets a thread.

        A coroutine runs in the engine's own loop, in a thread of its own. The engine keeps track of the work: `await
        engine.wait_background()` waits for all of it; closing the engine waits some seconds for it, then ends it.
        Its error is logged and given to the hook's `on_error`. Raises RuntimeError outside of a handler.

        >>> from hookrun import Engine
        >>> kept = []
        >>> with Engine() as engine:
        ...     handler = engine.register("stop", lambda ctx: ctx.background(lambda: kept.append(ctx.event)))
        ...     result = engine.fire_sync("stop")
        ...     engine.close_sync(wait=5)
        >>> kept
        ['stop']
        """
        if self._call is None:
            if hasattr(work, "close"):
                work.close()
            raise RuntimeError("background work is started in a handler, on the context that it was given")
        starter, handler = self._call
        starter.in_background(handler, work, name)

    def own(self, name: str) -> dict[str, Any]:
        """Return the handler's own copy of a field that holds an object; empty where it holds none."""
        copies = self._copies
        if copies is None:
            copies = self._copies = {}
        if name not in copies:
            value = self._data.get(name)
            copies[name] = deep_copy(value) if isinstance(value, dict) else {}
        return copies[name]

    @property
    def given(self) -> dict[str, object]:
        """What it is made of, as it was given: nobody may change it."""
        return self._data

    def changed_in_place(self) -> dict[str, set[Any]]:
        """Return the fields whose copy was changed, and which keys: somebody may think that it has an effect."""
        changed: dict[str, set[Any]] = {}
        for name, copied in (self._copies or {}).items():
            was = self._data.get(name) or {}
            if _differs(copied, was) and isinstance(was, dict):
                keys = copied.keys() | was.keys()
                changed[name] = {
                    key for key in keys if key not in was or key not in copied or _differs(copied[key], was[key])
                }
        return changed

    @property
    def gave_copies(self) -> bool:
        """Whether anything was given out that could be changed."""
        return self._copies is not None
