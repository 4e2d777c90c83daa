"""The context that a handler receives: the general class of those in `hookrun.events`, and its typed fields."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from inspect import CORO_CREATED, get_annotations, getcoroutinelocals, getcoroutinestate
from types import CoroutineType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, dataclass_transform, overload

from hookrun.core.context import ContextError
from hookrun.core.events import canonical

if TYPE_CHECKING:
    from hookrun.library import Handler
    from hookrun.library.engine_fire import EngineFire

T = TypeVar("T")


class ContextField(Generic[T]):
    """A field of the context as an attribute: its value if of the right type, else the default."""

    def __init__(self, kind: type[Any], default: T, says: str) -> None:
        self.kind = kind
        self._default = default
        self._name = ""
        self.__doc__ = says

    def __set_name__(self, owner: type[Context], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, context: None, owner: type[Context]) -> Self: ...
    @overload
    def __get__(self, context: Context, owner: type[Context]) -> T: ...
    def __get__(self, context: Context | None, owner: type[Context]) -> T | Self:
        if context is None:
            return self
        value: Any = context.get(self._name)
        return value if isinstance(value, self.kind) else self._default

    def __set__(self, context: Context, value: T) -> None:  # its type is that of the argument of a class's `__init__`
        raise AttributeError(f"cannot set {self._name} on a context: return a Verdict that changes it")


class ObjectField(ContextField[dict[str, Any]]):
    """A field that holds an object: the handler's own copy, empty if absent."""

    # In a method of its own: handlers read arguments at every call.
    @overload
    def __get__(self, context: None, owner: type[Context]) -> Self: ...
    @overload
    def __get__(self, context: Context, owner: type[Context]) -> dict[str, Any]: ...
    def __get__(self, context: Context | None, owner: type[Context]) -> dict[str, Any] | Self:
        return self if context is None else context.own(self._name)


class OwnField(ContextField[Any]):
    """An annotated field of a program's own class: what was given, else the default of the class."""

    def __get__(self, context: Context | None, owner: type[Context]) -> Any:
        if context is None or self._name in context:
            return self if context is None else context[self._name]
        if self._default is ...:  # a guard must not judge something else
            raise AttributeError(f"this {owner.__name__} has no {self._name}")
        return deep_copy(self._default)


annotations_of: Callable[[type], dict[str, Any]] = get_annotations
if sys.version_info >= (3, 14):  # they would be evaluated, and some are for type checkers only
    from annotationlib import Format

    annotations_of = partial(get_annotations, format=Format.STRING)

Text = ContextField[str | None]
Word = ContextField[str]
Flag = ContextField[bool]
Count = ContextField[int | None]

# Make a field of a type, with the value that it has if absent.
text: Callable[[str], Text] = partial(Text, str, None)
word: Callable[[str], Word] = partial(ContextField, str, "")
flag: Callable[[str], Flag] = partial(ContextField, bool, False)  # noqa: FBT003  # the default
count: Callable[[str], Count] = partial(Count, int, None)
mapping: Callable[[str], ObjectField] = partial(ObjectField, dict, {})


def required(says: str) -> Any:
    """Make a text without which type checkers do not let a context of the class be made."""
    return word(says)


@dataclass_transform(kw_only_default=True, field_specifiers=(required,))
class TypedFields:
    """Tells type checkers that the annotated fields of a class are the arguments with which one is made."""

    def __init_subclass__(cls, *, event: str | None = None) -> None: ...


def deep_copy(value: Any) -> Any:
    """Return a copy of a JSON value, with new objects and lists."""
    if isinstance(value, dict):
        copied = {**value}
        for key, each in value.items():  # a comprehension, a function of its own, would cost more than most objects
            if isinstance(each, (dict, list)):
                copied[key] = deep_copy(each)
        return copied
    if isinstance(value, list):
        return [deep_copy(each) for each in value]
    return value


def close_unstarted(wanted: Any) -> None:
    """Close a coroutine that was never started, and what it was given to await."""
    if isinstance(wanted, CoroutineType) and getcoroutinestate(wanted) == CORO_CREATED:
        given = getcoroutinelocals(wanted)
        wanted.close()
        for each in given.values():
            close_unstarted(each)


def _differs(one: object, other: object) -> bool:
    try:
        return bool(one != other)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a value that cannot be compared
        return False


class Context(TypedFields, Mapping[str, object]):
    """The context of an event: its fields by name, and values passed along the chain.

    It is a mapping like the JSON object that a configured hook gets on stdin (`ctx["tool_name"]`, with fields unknown
    to hookrun), and known fields are also attributes. Objects returned by attributes (`tool_args`, `metadata`) are the
    handler's own copies: to change something, return a `Verdict`.

    A program creates one to fire it: `await engine.fire(PreToolUse(session_id="s1", tool_name="bash", ...))`. For this
    general class the event is the first argument: `Context("my_event", ...)`. A class with `event="deploy"` declares an
    event of the program's own, with its annotations as fields.

    `state` is the object passed to `fire(..., state=...)` or set on the fired context. All handlers of the chain share
    it, in order; handlers that run side by side get a clone each.

    >>> from hookrun.events import PreToolUse
    >>> ctx = PreToolUse(session_id="s1", tool_name="bash", tool_args={"command": "ls"}, sandbox="docker")
    >>> ctx.event, ctx.tool_args["command"], ctx["sandbox"], ctx.user_prompt
    ('pre_tool_use', 'ls', 'docker', None)
    """

    __slots__ = ("_call", "_copies", "_data", "state")

    event_name: ClassVar[str] = ""
    """The canonical event of a class; "" for the general one."""

    session_id: Text = text("The agent's session.")
    root_session_id: Text = text("The session that started this one, or itself.")
    tool_name: Text = text("The tool, by its canonical name.")
    tool_args: ObjectField = mapping("The tool's arguments, empty if absent. The handler's own copy.")
    tool_use_id: Text = text("The agent's ID of this call.")
    tool_result_output: Text = text("The tool's result.")
    tool_result_error: Text = text("Why the tool failed.")
    user_prompt: Text = text("The user's prompt.")
    assistant_response: Text = text("The model's answer.")
    file_path: Text = text("The file concerned, absolute and normalised.")
    working_dir: Text = text("The agent's working directory.")
    agent: Text = text("The agent's name.")
    agent_event: Text = text("The agent's name of the event.")
    agent_tool_name: Text = text("The agent's name of the tool.")
    request_id: Word = word("ID of the request, or of this fire; the same for all of its hooks.")
    timestamp: Word = word("Time of the fire: UTC, RFC 3339.")
    permission_mode: Text = text("The agent's permission mode.")
    agent_id: Text = text("The ID of the subagent concerned.")
    transcript_path: Text = text("The agent's transcript file.")
    metadata: ObjectField = mapping("Values passed on by earlier hooks (`modified_context`). The handler's own copy.")

    def __init_subclass__(cls, *, event: str | None = None) -> None:
        super().__init_subclass__()
        if event is not None:
            cls.event_name = canonical(event) or event
        for name, type_ in annotations_of(cls).items():  # what type checkers take for fields
            default = vars(cls).get(name, ...)
            if not isinstance(default, ContextField) and "ClassVar" not in str(type_):
                own = OwnField(object, default, "")
                own.__set_name__(cls, name)
                setattr(cls, name, own)

    def __init__(self, event: str | None = None, /, **fields: object) -> None:
        """Create a context of `event` (by default that of the class) with these fields.

        Raises ContextError if a class of one event is given another, or the general class none.
        """
        name = event if event is not None else self.event_name
        if not name or (self.event_name and (canonical(name) or name) != self.event_name):
            expected = repr(self.event_name) if self.event_name else "the name of an event"
            raise ContextError(f"{type(self).__name__}: the event must be {expected}, not {event!r}")
        self._data: dict[str, object] = {**fields, "event": canonical(name) or name}
        self._copies: dict[str, dict[str, Any]] | None = None
        self._call: tuple[EngineFire, Handler] | None = None
        self.state: Any = None

    @classmethod
    def of(cls, data: dict[str, object], state: object = None, call: tuple[EngineFire, Handler] | None = None) -> Self:
        """Return a context that reads `data`, which must not change; `call` is the fire and the handler it is for."""
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

    @property
    def fire_id(self) -> str:
        """ID of this one fire, as `Result.request_id`; outside of a handler, the `request_id`."""
        return self.request_id if self._call is None else self._call[0].request_id

    def __getitem__(self, name: str) -> object:
        """Return a field's value; for an object, the handler's own copy. Raises KeyError."""
        value = self._data[name] if name in self._data else self.given[name]
        return self.own(name) if isinstance(value, dict) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.given!r})"

    def to_dict(self) -> dict[str, object]:
        """Return a copy of all fields."""
        data: dict[str, object] = deep_copy(self.given)
        return data

    def clone(self) -> Self:
        """Return an independent context: fields copied, `state` copied deeply, without background work.

        If the state has a method `clone()`, that is used instead of `copy.deepcopy`.

        >>> ctx = Context("stop", session_id="s1")
        >>> ctx.state = {"seen": []}
        >>> ctx.clone().state["seen"].append("x")
        >>> ctx.state
        {'seen': []}
        """
        clone = getattr(self.state, "clone", None)
        try:
            state = clone() if callable(clone) else copy.deepcopy(self.state)
        except Exception as error:
            raise TypeError(f"ctx.state cannot be copied ({error}): give it a method `clone`") from error
        return type(self).of(self.to_dict(), state)

    def background(self, work: Coroutine[Any, Any, object] | Callable[[], object], *, name: str | None = None) -> None:
        """Start work that the handler does not wait for: a coroutine, or a function, which gets a thread.

        A coroutine runs in the engine's own loop, in a separate thread. `await engine.wait_background()` waits for all
        such work; closing the engine waits some seconds for it, then cancels it. Its errors are logged and passed to
        the hook's `on_error`. Raises RuntimeError outside of a handler.

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
            raise RuntimeError("background work can be started only in a handler, on the context passed to it")
        fire, handler = self._call
        fire.in_background(handler, work, name)

    def own(self, name: str) -> dict[str, Any]:
        """Return the handler's own copy of a field that holds an object, or {}."""
        copies = self._copies
        if copies is None:
            copies = self._copies = {}
        elif name in copies:
            return copies[name]
        value = self._data.get(name)
        copied: dict[str, Any] = deep_copy(value) if isinstance(value, dict) else {}
        copies[name] = copied
        return copied

    @property
    def given(self) -> dict[str, object]:
        """The original data, which must not be changed: in a handler with `hook`, its name."""
        # Put there on request, as all handlers of a chain share the rest.
        return self._data if self._call is None else {**self._data, "hook": self._call[1].name}

    def changed_in_place(self) -> dict[str, set[Any]]:
        """Return the fields whose copy was changed, and which keys, as the author may expect an effect."""
        changed: dict[str, set[Any]] = {}
        for name, copied in (self._copies or {}).items():
            was = self._data.get(name) or {}
            if _differs(copied, was) and isinstance(was, dict):
                keys = copied.keys() | was.keys()
                changed[name] = {
                    key for key in keys if key not in was or key not in copied or _differs(copied[key], was[key])
                }
        return changed
