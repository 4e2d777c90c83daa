"""What a handler's function takes, and where it stands."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from hookrun.core.text import HookrunError
from hookrun.library.event_contexts import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class RegistrationError(HookrunError, ValueError):
    """A handler cannot be registered; the message says why."""


def check_signature(function: Callable[..., object], name: str, events: Sequence[str]) -> None:
    """Check that a function can be called with the context of its events alone. Raises RegistrationError."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a function in C
        return
    try:
        given = next(iter(signature.bind(None).arguments))
    except (TypeError, StopIteration):
        raise RegistrationError(
            f"handler {name} takes {signature}: a handler is called with the context alone"
        ) from None
    try:
        wanted = inspect.signature(function, eval_str=True).parameters[given].annotation
    except Exception:  # an annotation may name what is imported for type checkers only
        return
    if isinstance(wanted, type) and issubclass(wanted, Context) and wanted.event_name not in {"", *events}:
        raise RegistrationError(
            f"handler {name} takes a {wanted.__name__}, the context of {wanted.event_name}, and is registered "
            f"for {', '.join(events)}"
        )


def place_of(function: object) -> tuple[str, int]:
    """Return the file and line of a function, "" and 0 if it has none."""
    code = getattr(inspect.unwrap(getattr(function, "func", function)), "__code__", None)  # type: ignore[arg-type]
    code = code or getattr(call_method(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)


def call_method(function: object) -> object:
    """Return the method that calls an object which is not a function."""
    return getattr(type(function), "__call__", None)  # noqa: B004  # the method is wanted
