"""The hooks of an engine: a Python program's functions, checked like config entries, and each event's table."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypedDict

from hookrun.config.document import Diagnostic, Document, Location, errors_in, key_text
from hookrun.config.parse import KeyPath
from hookrun.config.schema import HOOK_FIELDS
from hookrun.config.shapes import BOOL, Field, names, texts, validate_into
from hookrun.core.events import UnknownEventError, resolve_event
from hookrun.core.literals import EventName, Mode, Policy
from hookrun.core.model import AnyHook, Hook
from hookrun.core.text import HookrunError, did_you_mean, escape, one_line, quote
from hookrun.events import CLASSES
from hookrun.library import Function, Handler, OnError
from hookrun.library.calls import FOREVER
from hookrun.library.event_contexts import Context

Event = EventName | Literal["*"] | type[Context]

LOG = logging.getLogger("hookrun")

FIELDS = names(HOOK_FIELDS)
# Options of handlers only, validated like a config entry's fields.
OWN_FIELDS = {name: Field(name, BOOL, "") for name in ("enabled", "replace", "strict", "thread")}


class RegistrationError(HookrunError, ValueError):
    """A handler cannot be registered; the message says why."""


class Options(TypedDict, total=False):
    """Options of a registered handler. The fields are those of a config entry, with the same limits and defaults.

    `name`: default the function's. `matcher`, `when`, `unless`, `agents`: conditions. `priority`: 0 to 1000, lower
    first, default 500. `timeout`: in seconds, default 30, None for no limit. `parallel`: run side by side with
    neighbours that also set it. `always`: run even after the chain has ended. `on_failure`: `continue` or `block`.
    `mode`: `enforce`, `advise` or `off`. `description`, `metadata`: for people and tools.

    For handlers only: `enabled`, default true. `on_error`: called with the failure and the context if the handler
    fails. `thread`: run a blocking function in a thread, so that its time can be limited and the event loop continues.
    `replace`: replace a handler of the same name even if it is for other events, which lose it. `strict`: see Engine.
    """

    name: str | None
    matcher: str | Sequence[str] | None
    when: Mapping[str, object] | None
    unless: Mapping[str, object] | None
    agents: str | Sequence[str] | None
    priority: int
    timeout: float | None
    parallel: bool
    always: bool
    on_failure: Policy
    mode: Mode
    description: str | None
    metadata: Mapping[str, object] | None
    enabled: bool
    on_error: OnError | None
    replace: bool
    strict: bool
    thread: bool


def make(
    events: Iterable[Event], function: Function, options: Options, *, own_events: Collection[str], strict: bool
) -> Handler:
    """Return the handler of a function. Raises RegistrationError."""
    if unknown := [key for key in options if key not in Options.__annotations__]:
        hint = did_you_mean(unknown[0], Options.__annotations__)
        raise RegistrationError(f"unknown option {quote(unknown[0])}{f'; {hint}' if hint else ''}")
    if not callable(function):
        raise RegistrationError(f"{quote(repr(function))} is not a function: pass one that takes the context")
    on_error = options.get("on_error")
    if on_error is not None and not callable(on_error):
        raise RegistrationError(f"on_error is {quote(repr(on_error))}: pass a function of a failure and a context")
    target = f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__qualname__)}"
    source, line = place_of(function)
    made = target.rpartition(":")[2].rpartition(".")[2].replace("<lambda>", "lambda")
    name = made if options.get("name") is None else options["name"]
    fields = _checked({**options, "name": name}, _Source(source, line, str(name)))
    fields["events"] = check_events(events, own_events, f"handler {fields['name']}")
    fields |= {"function": function, "on_error": on_error, "target": target, "source": source, "line": line}
    fields["is_async"] = any(map(inspect.iscoroutinefunction, (function, call_method(function))))
    handler = Handler(**fields, thread=bool(options.get("thread")), enabled=options.get("enabled") is not False)
    if wrong := mistakes_in([handler], own_events, strict=options.get("strict", strict)):
        raise RegistrationError("\n".join(wrong))
    check_signature(handler.function, handler.name, handler.events)
    if handler.thread and handler.is_async:
        raise RegistrationError(f"handler {handler.name} is async: thread=True is for functions that are not async")
    return handler


def event_name(event: object, own_events: Collection[str], who: str) -> str:
    """Return an event's canonical name, given any of its names or its context class.

    `who` begins the message. Raises RegistrationError for an unknown event.
    """
    name = event.event_name if isinstance(event, type) and issubclass(event, Context) else event
    try:
        return resolve_event(name if isinstance(name, str) else repr(name), own_events)
    except UnknownEventError as error:
        given_to = "declare custom events with Engine(events=[...])"
        raise RegistrationError(f"{who}: {one_line(str(error))} ({given_to})") from None


def check_events(events: Iterable[Event], own_events: Collection[str], who: str) -> list[str]:
    """Return the canonical names of events; `*` is every one. Raises RegistrationError, which `who` begins."""
    listed = list(events)
    if listed == ["*"]:
        return ["*"]
    if "*" in listed:
        raise RegistrationError(f'{who}: "*" is every event: give no other beside it')
    found = list(dict.fromkeys(event_name(event, own_events, who) for event in listed))
    if not found:
        raise RegistrationError(f"{who}: no event given (use pre_tool_use, for example)")
    return found


def _checked(options: Mapping[str, object], source: _Source) -> dict[str, object]:
    """Return the options as in a hook. Raises RegistrationError with all errors."""
    problems: list[Diagnostic] = []
    at = Location(source, (), problems)  # type: ignore[arg-type]  # a place in Python code instead of a document
    values: dict[str, object] = {}
    for key, value in options.items():
        field = FIELDS.get(key) or OWN_FIELDS.get(key)
        if value is not None and field is not None:
            validate_into(values, key, field.shape, list(value) if isinstance(value, tuple) else value, at)
    if problems:
        raise RegistrationError("\n".join(problem.text for problem in problems))
    if "matcher" in values:
        from hookrun.config.validate import split_matcher, with_canonical_names  # most of the import of an engine

        split_matcher(values)
        values["matcher"] = with_canonical_names(texts(values, "matcher"))
    if options.get("timeout", 0) is None:
        values["timeout"] = FOREVER
    return {key: value for key, value in values.items() if key not in OWN_FIELDS}


# What was logged: once for each text, up to so many.
LOGGED: set[str] = set()
MOST_LOGGED = 1024


def warn_once(text: str) -> None:
    """Log a warning, but none again."""
    if text not in LOGGED and len(LOGGED) < MOST_LOGGED:
        LOGGED.add(text)
        LOG.warning("%s", text)


def mistakes_in(hooks: Iterable[AnyHook], own_events: Collection[str], *, strict: bool) -> list[str]:
    """Return what keeps hooks from ever matching: regular expressions, and fields such as `command` in conditions.

    Other doubts of `hookrun validate` are logged, but those about names that resemble no agent's or tool's: a program
    has its own. If `strict`, all of them are returned.
    """
    problems: list[Diagnostic] = []
    for hook in hooks:
        if hook.matcher or hook.when or hook.unless or hook.agents:
            from hookrun.config import lint

            source = _Source(
                hook.source or "hooks", hook.line, hook.name, "handler" if isinstance(hook, Handler) else "hook"
            )
            at = Location(source, (), problems)  # type: ignore[arg-type]  # as in `_checked`
            fields = {name: getattr(hook, name) for name in ("matcher", "when", "unless", "agents")}
            events = [*CLASSES] if hook.events == ["*"] else [*hook.events]
            lint.warn_suspicious(fields, events, fields, at, own_events)
    found: list[str] = []
    for each in problems:
        if strict or lint.NO_GLOB in each.message or lint.NO_FIELD in each.message:
            found.append(each.text)
        elif "did you mean" in str(each.hint) or not (lint.NO_TOOL in each.message or lint.NO_AGENT in each.message):
            warn_once(each.text)
    return found


class _Source:
    """The location of a function, for messages about its options."""

    def __init__(self, path: str, line: int, name: str, kind: str = "handler") -> None:
        self._path = path
        self._line = line
        self._name = f"{kind} `{escape(name)}`"

    def problem(self, path: KeyPath, message: str, hint: str | None, **_more: object) -> Diagnostic:
        return Diagnostic(self._path, self._line, 1, key_text(path), f"{self._name}: {message}", hint)


def declared_hooks(entries: Iterable[Mapping[str, object]], own_events: Collection[str], *, strict: bool) -> list[Hook]:
    """Return the hooks of entries as in a config file. Raises RegistrationError with a line per error.

    They belong to the user layer, as the program defines them; relative paths start at its working directory.
    """
    if not entries:
        return []
    from hookrun.config.recipe_entries import hooks_from_data  # as above

    try:
        document = Document.from_data("hooks", list(entries))
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"hooks: {error}: pass a list of hook entries as in a config file") from error
    listed = document.data if isinstance(document.data, list) else []
    hooks, problems = hooks_from_data(document, (), listed, own_events)
    errors = [problem.text for problem in errors_in(problems)] or mistakes_in(hooks, own_events, strict=strict)
    if errors:
        raise RegistrationError("\n".join(errors))
    for hook in hooks:
        hook.layer = "user"
    return hooks


def check_class(given: type[Context], own: Mapping[str, type[Context]]) -> None:
    """Check that a class is that of its event, as handlers get no other. Raises RegistrationError."""
    held = CLASSES.get(given.event_name) or own.get(given.event_name, given)
    if held is not given:
        raise RegistrationError(
            f"{given.__qualname__}: {held.__qualname__} is the class of the event {given.event_name}: use that one"
        )


def check_signature(function: Function, name: str, events: Sequence[str]) -> None:
    """Check that a function can be called with the context of its events alone. Raises RegistrationError."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise RegistrationError(f"handler {name} is a generator: return the answer, do not yield it")
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
    if isinstance(wanted, type) and issubclass(wanted, Context):
        if wanted.event_name not in {"", *events}:
            raise RegistrationError(
                f"handler {name} takes a {wanted.__name__}, the context of {wanted.event_name}, and is registered "
                f"for {', '.join(events)}"
            )
        check_class(wanted, {})


def place_of(function: object) -> tuple[str, int]:
    """Return the file and line of a function, "" and 0 if it has none."""
    code = getattr(inspect.unwrap(getattr(function, "func", function)), "__code__", None)  # type: ignore[arg-type]
    code = code or getattr(call_method(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)


def call_method(function: object) -> object:
    """Return the method that calls an object which is not a function."""
    return getattr(type(function), "__call__", None)  # noqa: B004  # the method is wanted
