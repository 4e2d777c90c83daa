"""The fields of a context as attributes, with types that a checker reads as the arguments of its class."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from hookrun.library.event_contexts import Context

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
