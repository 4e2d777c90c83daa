"""The hooks of an engine: a Python program's functions, checked like config entries, and each event's table."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from json import dumps
from threading import Lock
from typing import TypedDict

from hookrun.agents.known_tools import ARGUMENTS, canonical_tools, is_mcp, tool_by_arguments
from hookrun.config.document import Diagnostic, Document, Location, errors_in, key_text
from hookrun.config.parse import KeyPath
from hookrun.config.schema import HOOK_FIELDS
from hookrun.config.shapes import BOOL, Field, names, texts, validate_into
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.context import ContextError
from hookrun.core.events import TOOLS, UnknownEventError, resolve_event
from hookrun.core.literals import EventName, Mode, Policy
from hookrun.core.model import LAYERS, AnyHook, Hook
from hookrun.core.text import HookrunError, did_you_mean, escape, one_line, quote
from hookrun.library import Function, Handler, OnError
from hookrun.library.calls import FOREVER
from hookrun.library.event_contexts import Context

Event = EventName | type[Context]
Key = tuple[object, object, object, str | None]

LOG = logging.getLogger("hookrun")
# Tools whose hooks a table caches; tool names may come from outside.
MOST_REMEMBERED = 1024

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
    """Return the canonical names of events. Raises RegistrationError, which `who` begins."""
    found = list(dict.fromkeys(event_name(event, own_events, who) for event in events))
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

    Other doubts of `hookrun validate` are logged, but those about names that resemble no agent's tool: a program has
    its own. If `strict`, all of them are returned.
    """
    problems: list[Diagnostic] = []
    for hook in hooks:
        if hook.matcher or hook.when or hook.unless:
            from hookrun.config import lint

            source = _Source(
                hook.source or "hooks", hook.line, hook.name, "handler" if isinstance(hook, Handler) else "hook"
            )
            at = Location(source, (), problems)  # type: ignore[arg-type]  # as in `_checked`
            fields = {name: getattr(hook, name) for name in ("matcher", "when", "unless")}
            lint.warn_suspicious(fields, [*hook.events], {}, at, own_events)
    found: list[str] = []
    for each in problems:
        if strict or lint.NO_GLOB in each.message or lint.NO_FIELD in each.message:
            found.append(each.text)
        elif "no agent has a tool" not in each.message or "did you mean" in str(each.hint):
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


def check_signature(function: Function, name: str, events: Sequence[str]) -> None:
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


class Registry:
    """The hooks of an engine. Changes never affect a running fire; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._declared: list[Hook] = []
        self._handlers: dict[str, Handler] = {}
        self._off: set[str] = set()
        self.tables: dict[str, HookTable] = {}

    def declare(self, hooks: Iterable[Hook]) -> None:
        """Replace the configured hooks."""
        with self._lock:
            self._declared = list(hooks)
            self.tables = {}

    def register(self, handler: Handler, *, named: bool, replace: bool = False) -> None:
        """Add a handler; one of the same name is replaced and loses its position.

        A name derived from the function (not `named`) only replaces that very function of a module: others get a
        number. Raises RegistrationError if an event of the replaced handler would lose it, unless `replace`.
        """
        with self._lock:
            held = self._handlers.get(handler.name)
            if held is not None and named and not replace and not set(held.events) <= set(handler.events):
                raise RegistrationError(
                    f"handler {handler.name} for {', '.join(handler.events)}: the name is taken by the handler for "
                    f"{', '.join(held.events)} ({held.target}, {held.location()}), which would be lost; choose "
                    "another name, or pass replace=True"
                )
            made, number = handler.name, 1
            while held is not None and not (named or replace or _is_the_same(handler, held)):
                number += 1
                handler.name = f"{made}-{number}"
                held = self._handlers.get(handler.name)
            replaced = self._handlers.pop(handler.name, None)
            self._handlers[handler.name] = handler
            self.tables = {}
        if replaced is not None:
            LOG.info("hook %s is replaced: %s instead of %s", handler.name, handler.target, replaced.target)

    def remove(self, name: str) -> None:
        """Remove a handler. Raises KeyError if there is none."""
        with self._lock:
            if self._handlers.pop(name, None) is None:
                raise KeyError(f"no handler {name}")
            self.tables = {}

    def switch(self, name: str, *, on: bool) -> None:
        """Enable or disable every hook of this name. Raises KeyError as `named`, PermissionError for a managed one."""
        found = self.named(name)
        if not on and any(hook.layer == "managed" for hook in found):
            raise PermissionError(f"hook {name} is managed: it can be disabled only in its config file")
        with self._lock:
            if name in self._handlers:
                self._handlers[name].enabled = on
            if any(hook.name == name for hook in self._declared):
                (self._off.discard if on else self._off.add)(name)
            self.tables = {}

    def hooks(self, event: str | None = None) -> list[AnyHook]:
        """Return all hooks, or those of an event, in running order, including disabled ones."""
        with self._lock:
            found: list[AnyHook] = [
                hook for hook in (*self._declared, *self._handlers.values()) if event is None or event in hook.events
            ]
        return sorted(found, key=lambda hook: (LAYERS.index(hook.layer), hook.priority))

    def named(self, name: str) -> list[AnyHook]:
        """Return the hooks of this name. Raises KeyError if there is none."""
        found = [hook for hook in self.hooks() if hook.name == name]
        if not found:
            raise KeyError(f"no hook {name}")
        return found

    def is_on(self, hook: AnyHook) -> bool:
        """Return whether a hook is enabled: a handler by itself, a configured one by name, a managed one always."""
        if isinstance(hook, Handler):
            return hook.enabled
        return hook.name not in self._off or hook.layer == "managed"

    def table(self, event: str, name: str, known: frozenset[str], context_class: type[Context]) -> HookTable:
        """Return the enabled hooks of an event, and keep them for this `name` of it."""
        tables = self.tables
        hooks = [hook for hook in self.hooks(event) if self.is_on(hook) and hook.mode != "off"]
        table = tables[name] = HookTable(hooks, event, known, context_class)
        return table


def _is_the_same(handler: Handler, held: Handler) -> bool:
    """Return whether both are the same function of a module, not a lambda, partial, object or closure."""
    function = inspect.isfunction(handler.function) and "<" not in handler.target
    return function and held.target == handler.target and set(held.events) <= set(handler.events)


class HookTable:
    """An event's hooks, in running order, and for each tool those that may run.

    `known` are the fields that its context may have, `context_class` is the class of that.
    """

    def __init__(
        self,
        hooks: list[AnyHook],
        event: str = "",
        known: frozenset[str] = frozenset(),
        context_class: type[Context] = Context,
    ) -> None:
        self.hooks = hooks
        self.event = event
        self.known = known
        self.context_class = context_class
        self._known: dict[Key, TableCandidates] = {}

    def candidates_for(self, data: Mapping[str, object]) -> TableCandidates:
        """Return the hooks with matching matcher and agents. Raises ContextError without a tool that a guard needs."""
        possible = data.get("possible_tool_names")  # a list, which is no key
        text = None if possible is None else str(possible)
        key = (data.get("tool_name"), data.get("agent_tool_name"), data.get("agent"), text)
        known = self._known.get(key)
        if known is None:
            view = ConditionEvaluator(data)
            if not data.get("tool_name") and text is None and self.event in ("pre_tool_use", "permission_request"):
                for hook in self.hooks:
                    if hook.matcher and hook.enforcing and hook.on_failure == "block":
                        raise ContextError(f"fire {self.event}: no tool_name: {hook.name} may be for the tool")
            matching = [hook for hook in self.hooks if not view.mismatch(hook.matcher, agents=hook.agents)]
            if not any(hook.matcher and "*" not in hook.matcher for hook in matching):
                self._doubt_tool(data)
            if any(isinstance(hook, Hook) for hook in matching):
                self._doubt_arguments(data)
            known = TableCandidates(matching)
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[key] = known
        return known

    def _doubt_tool(self, data: Mapping[str, object]) -> None:
        """Warn of a tool that no matcher can mean, though by its arguments it is one that some are for."""
        tool, args = data.get("tool_name"), data.get("tool_args")
        if not isinstance(tool, str) or tool in TOOLS or not isinstance(args, dict) or is_mcp(tool):
            return
        ours, renamed = tool_by_arguments(tool, args)
        meant = ConditionEvaluator({"tool_name": ours})
        if ours and any(
            hook.matcher and "*" not in hook.matcher and meant.tool_matches(hook.matcher) for hook in self.hooks
        ):
            names = ", ".join(map(dumps, [{tool: ours}, {tool: renamed}] if renamed else [{tool: ours}]))
            by_name = "" if renamed else f'write "matcher": "{ours}|{tool}", or '
            advice = f"if it is one, {by_name}pass names=NameMap({names})"
            warn_once(f"no hook is asked about the tool {quote(tool)}, though some are for `{ours}`: {advice}")

    def _doubt_arguments(self, data: Mapping[str, object]) -> None:
        """Warn of arguments of hookrun's tool under other names, such as `cmd`: configured hooks do not read them."""
        tool, args = str(data.get("tool_name")), data.get("tool_args")
        own = str(data.get("agent_tool_name") or tool)
        if tool not in TOOLS or not isinstance(args, dict):
            return
        renamed = {theirs: ours for theirs, ours in tool_by_arguments(tool, args)[1].items() if ours in ARGUMENTS[tool]}
        if renamed and tool not in canonical_tools(own):  # loads all agents, so only then
            advice = f"pass names=NameMap({dumps({own: tool})}, {dumps({own: renamed})})"
            warn_once(f"hooks from config files do not read {quote(own)}'s {', '.join(renamed)}: {advice}")


class TableCandidates:
    """Hooks whose matcher and agents match, in the engine's form; shared by fires.

    `only` holds the handler if there is but one, without further conditions.
    """

    def __init__(self, hooks: list[AnyHook]) -> None:
        self.count = len(hooks)
        self._hooks = hooks
        self.layers = [LAYERS.index(hook.layer) for hook in hooks]
        self.always = [hook.always for hook in hooks]
        self.enforcing = [hook.enforcing for hook in hooks]
        self._unconditional = [hook.when is hook.unless is None and not getattr(hook, "claude", None) for hook in hooks]
        self.only = hooks if self._unconditional == [True] and isinstance(hooks[0], Handler) else None

    def selects(self, index: int, context: Mapping[str, object]) -> bool:
        """Return whether the hook's other conditions match this context."""
        hook = self._hooks[index]
        if self._unconditional[index]:
            return True
        from hookrun.library.encoding import plain

        return not ConditionEvaluator(plain(context)).mismatch(
            when=hook.when, unless=hook.unless, claude=getattr(hook, "claude", None)
        )

    def hook(self, index: int) -> AnyHook:
        """Return the hook."""
        return self._hooks[index]
