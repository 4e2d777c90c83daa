"""Registering the handlers of an engine, with types that let a checker find what would fail at run time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack, overload

from hookrun.core.events import EVENTS
from hookrun.core.model import AnyHook
from hookrun.library import Answer, Bundle, Function, Handler, handlers
from hookrun.library.event_contexts import Context
from hookrun.library.handlers import Event, Options
from hookrun.library.tables import Registry

if TYPE_CHECKING:
    from hookrun.core.literals import EventName

C = TypeVar("C", bound=Context)
D = TypeVar("D", bound=Context)
Returned = TypeVar("Returned", bound=Answer | Awaitable[Answer])
Given = TypeVar("Given", bound=Function)
TakesAny = TypeVar("TakesAny", bound=Callable[[Context], Answer | Awaitable[Answer]])
Decorator = Callable[[Callable[[C], Returned]], Callable[[C], Returned]]


class HandlerRegistration:
    """The part of an engine that registers handlers, and switches hooks on and off."""

    def __init__(self, own_events: Iterable[str], *, strict: bool) -> None:
        self._registry = Registry()
        self._own_events = set(own_events)
        self._own_classes: dict[str, type[Context]] = {}
        self._declared_events: set[str] = set()
        self._strict = strict

    @overload
    def on(self, event: Literal["*"], /, **options: Unpack[Options]) -> Callable[[TakesAny], TakesAny]: ...
    @overload
    def on(self, event: type[C], /, **options: Unpack[Options]) -> Decorator[C, Returned]: ...
    @overload
    def on(self, event: type[C], other: type[D], /, **options: Unpack[Options]) -> Decorator[C | D, Returned]: ...
    @overload
    def on(self, event: EventName, /, *events: Event, **options: Unpack[Options]) -> Callable[[Given], Given]: ...
    @overload
    def on(
        self, event: type[Context], other: EventName, /, *events: Event, **options: Unpack[Options]
    ) -> Callable[[Given], Given]: ...
    @overload
    def on(
        self, event: type[Context], other: type[Context], third: Event, /, *events: Event, **options: Unpack[Options]
    ) -> Callable[[Given], Given]: ...
    def on(self, *events: Event, **options: Unpack[Options]) -> Callable[[Any], Any]:
        """Return a decorator that registers a function for these events and returns it unchanged; see `register`.

        `*`, alone, is every event, also those of the program and those that it declares later.

        >>> from hookrun import Engine
        >>> from hookrun.events import PostToolUse
        >>> engine = Engine()
        >>> @engine.on(PostToolUse, "post_tool_failure", matcher="write|edit", priority=10, name="count-writes")
        ... def count(ctx: PostToolUse) -> None: ...
        >>> [(hook.name, hook.events) for hook in engine.hooks()]
        [('count-writes', ['post_tool_use', 'post_tool_failure'])]
        """
        handlers.check_events(events, self._known_events(*events), "on")

        def decorate(function: Function) -> Function:
            self.register(events, function, **options)
            return function

        return decorate

    @overload
    def register(
        self,
        events: Literal["*"],
        function: Callable[[Context], Answer | Awaitable[Answer]],
        **options: Unpack[Options],
    ) -> Handler: ...
    @overload
    def register(
        self, events: type[C], function: Callable[[C], Answer | Awaitable[Answer]], **options: Unpack[Options]
    ) -> Handler: ...
    @overload
    def register(
        self, events: EventName | Iterable[Event], function: Function, **options: Unpack[Options]
    ) -> Handler: ...
    def register(self, events: Event | Iterable[Event], function: Function, **options: Unpack[Options]) -> Handler:
        """Register a function as a hook of one event or several, and return its handler.

        An event is any of its names or its context class; a class of your own declares its event. `*` is every one, and
        its handler takes a `Context`. A handler of the same name is replaced, and the new one has its own priority.
        Raises RegistrationError for invalid options, for a function that cannot be called with the context alone or is
        annotated for another event, and if the replaced handler serves one that this does not, without `replace=True`.

        >>> from hookrun import Engine
        >>> Engine().register("stop", print, name="tell", priority=900).priority
        900
        """
        listed = [events] if isinstance(events, (str, type, Context)) or not isinstance(events, Iterable) else [*events]
        own_events = self._known_events(*listed)
        handler = handlers.make(listed, function, options, own_events=own_events, strict=self._strict)
        named = "name" in options and options["name"] is not None
        self._registry.register(handler, named=named, replace=options.get("replace") is True)
        return handler

    def use(self, bundle: Bundle) -> Self:
        """Register the handlers of a bundle; return this engine."""
        bundle.register(self)  # type: ignore[arg-type]  # this is the engine's part
        return self

    def hooks(self, event: Event | None = None) -> list[AnyHook]:
        """Return all hooks, or those of an event, in running order; a handler is a hook with a `function`.

        Disabled hooks are included (see `enabled`). Raises RegistrationError for an unknown event.
        """
        name = None if event is None else handlers.event_name(event, self._known_events(event), "hooks")
        return self._registry.hooks(name)

    def enabled(self, name: str) -> bool:
        """Return whether the hooks of this name are enabled. Raises KeyError if there is none."""
        return all(self._registry.is_on(hook) for hook in self._registry.named(name))

    def enable(self, name: str) -> None:
        """Enable every hook of this name. Raises KeyError if there is none."""
        self._registry.switch(name, on=True)

    def disable(self, name: str) -> None:
        """Disable every hook of this name. Raises KeyError if there is none, PermissionError for a managed hook.

        >>> from hookrun import Engine, Verdict
        >>> engine = Engine()
        >>> handler = engine.register("stop", lambda ctx: Verdict.block("not yet"), name="not-yet")
        >>> engine.disable("not-yet")
        >>> engine.enabled("not-yet"), engine.fire_sync("stop").action
        (False, 'continue')
        """
        self._registry.switch(name, on=False)

    def remove(self, name: str) -> None:
        """Remove a handler. Raises KeyError if there is none; configured hooks can only be disabled."""
        self._registry.remove(name)

    def _known_events(self, *given: object) -> set[str]:
        """Return the program's own events, with those that the classes given declare. Raises RegistrationError."""
        for each in given:
            if isinstance(each, type) and issubclass(each, Context):
                handlers.check_class(each, self._own_classes)
                if each.event_name not in {"", *EVENTS}:
                    self._own_classes[each.event_name] = each
                    self._own_events.add(each.event_name)
                    self._registry.tables.pop(each.event_name, None)  # of another class
        return self._own_events | self._declared_events
