"""Run hooks around a function that is a tool, whoever calls it; and in two halves, where a framework calls the tool.

    @hooked(engine, session_id="s1")
    def read(file_path: str) -> str: ...

    call = HookedCall(engine, name, arguments, session_id="s1")
    if (refused := await call.before()) is not None:
        return refused.content
    ...  # the framework runs the tool with call.args
    return (await call.after(result)).content

`before_sync`, `after_sync` and `failed_sync` are for callbacks without a loop.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from hookrun.agents.formats import join_paragraphs
from hookrun.core.text import quote
from hookrun.integrations import OnError, check_fields, check_use, log
from hookrun.integrations.tool_loop import TOOL_EVENTS, HookedCall, NameMap, ToolOutcome, run_tool, run_tool_sync
from hookrun.library import Abort
from hookrun.library.embedded_engine import Engine
from hookrun.library.handlers import RegistrationError, call_method

P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["HookedCall", "hooked"]


def hooked(
    engine: Engine,
    *,
    name: str | None = None,
    hidden: Iterable[str] = (),
    refused: Callable[[ToolOutcome], Any] | None = None,
    approve: Callable[..., Any] | None = None,
    names: NameMap | None = None,
    text: Callable[[object], str] | None = None,
    on_error: OnError = None,
    **fields: object,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that runs a function, async or not, with the hooks of `engine` around each call.

    The function keeps its name, signature and documentation, from which frameworks make a tool's schema. Hooks know it
    as the tool `name`, by default the function's name, with its arguments by name. A method's `self`, and what is in
    `hidden`, such as a framework's own context, is shown to no hook. The other options are those of `run_tool`.

    It returns what the function returns, a text with the notes of hooks behind it; else they are logged. An exception
    of the function is raised after its hooks have run. A refused call raises `Abort`, or returns `refused(outcome)`.

    Raises RegistrationError for a function that takes `*args`, for one that yields (hooks would not see that) and for a
    parameter in `hidden` that it does not have, ContextError for wrong options, and ClosedError with a closed engine.

    >>> from hookrun import Verdict
    >>> engine = Engine()
    >>> guard = engine.register("pre_tool_use", lambda ctx: Verdict.block("not there"), when={"file_path": "/etc/*"})
    >>> @hooked(engine)
    ... def read(file_path: str) -> str:
    ...     return f"content of {file_path}"
    >>> read("notes.txt")
    'content of notes.txt'
    >>> try:
    ...     read("/etc/shadow")
    ... except Abort as error:
    ...     print(error.reason)
    not there
    """
    check_use(engine, on_error, names, refused=refused, approve=approve, text=text)
    check_fields(fields, TOOL_EVENTS)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        out_of_sight = frozenset(hidden)
        _check(function, signature, out_of_sight)
        within = getattr(function, "__qualname__", "").rpartition(".")[0]
        if within and not within.endswith("<locals>"):  # a method
            out_of_sight |= {"self", "cls"} & {*[*signature.parameters][:1]}

        def options(given: inspect.BoundArguments) -> dict[str, Any]:
            shown, kept = _split(given, out_of_sight)

            def call(**args: object) -> object:
                return _call(function, signature, {**kept, **args})

            tool: Any = name or getattr(function, "__name__", type(function).__name__)
            common = {"approve": approve, "names": names, "text": text, "on_error": on_error}
            return {"engine": engine, "name": tool, "args": shown, "call": call, **common, **fields}

        if any(map(inspect.iscoroutinefunction, (function, call_method(function)))):

            @functools.wraps(function)
            async def run_async(*args: P.args, **kwargs: P.kwargs) -> Any:
                return _returned(await run_tool(**options(signature.bind(*args, **kwargs))), refused)

            return run_async  # type: ignore[return-value]  # R is the coroutine

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            found: R = _returned(run_tool_sync(**options(signature.bind(*args, **kwargs))), refused)
            return found

        return run

    return decorate


def _check(function: object, signature: inspect.Signature, hidden: frozenset[str]) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise RegistrationError("a tool returns its result: hooks do not see what a generator yields")
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise RegistrationError(f"a tool's arguments have names: *{parameter.name} has none")
    if unknown := sorted(hidden - {*signature.parameters}):
        raise RegistrationError(f"the function has no parameter {quote(unknown[0])} to hide")


def _split(given: inspect.BoundArguments, hidden: frozenset[str]) -> tuple[dict[str, object], dict[str, object]]:
    """Return the arguments for hooks and function, and those for the function alone."""
    shown: dict[str, object] = {}
    for name, value in given.arguments.items():
        many = given.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        shown.update(value if many else {name: value})
    kept = {name: shown.pop(name) for name in hidden & shown.keys()}
    return shown, kept


def _call(function: Callable[..., object], signature: inspect.Signature, args: Mapping[str, object]) -> object:
    """Call the function with arguments by name, also those that it takes by position only."""
    positional = [name for name, each in signature.parameters.items() if each.kind is each.POSITIONAL_ONLY]
    first = [args[name] for name in positional if name in args]
    return function(*first, **{name: value for name, value in args.items() if name not in positional})


def _returned(outcome: ToolOutcome, refused: Callable[[ToolOutcome], Any] | None) -> Any:
    if outcome.exception is not None:
        for note in outcome.notes:
            outcome.exception.add_note(note)
        raise outcome.exception
    if not outcome.ran or outcome.stop:
        if refused is None:
            raise Abort(outcome.stop_reason or outcome.content)
        return refused(outcome)
    if outcome.notes and not isinstance(outcome.result, str):
        log.warning("hookrun: not shown to the model: %s", join_paragraphs(*outcome.notes))
        return outcome.result
    return outcome.content if outcome.notes else outcome.result
