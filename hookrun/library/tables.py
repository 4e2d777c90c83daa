"""The hooks of an engine: registered, switched on and off, and each event's table of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from json import dumps
from threading import Lock
from types import FunctionType

from hookrun.agents.known_tools import ARGUMENTS, canonical_tools, is_mcp, tool_by_arguments
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.context import ContextError
from hookrun.core.events import TOOLS
from hookrun.core.model import LAYERS, AnyHook, Hook
from hookrun.core.text import quote
from hookrun.library import Handler
from hookrun.library.event_contexts import Context
from hookrun.library.fire_context import checked
from hookrun.library.handlers import LOG, RegistrationError, warn_once

Key = tuple[object, ...]

# Tools whose hooks a table caches, and shapes of contexts; their names may come from outside.
MOST_REMEMBERED = 1024


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
        if self._declared:
            # What runs them, as nothing can be loaded in a program that has run out of descriptors later.
            import hookrun.library.encoding
            import hookrun.library.processes

            if "asyncio" in sys.modules:
                import hookrun.library.group  # noqa: F401

    def register(self, handler: Handler, *, named: bool, replace: bool = False) -> None:
        """Add a handler; one of the same name is replaced and loses its position.

        A name derived from the function (not `named`) only replaces that very function of a module: others get a
        number. Raises RegistrationError if an event of the replaced handler would lose it, unless `replace`.
        """
        with self._lock:
            held = self._handlers.get(handler.name)
            if held is not None and named and not replace and not _covers(handler, held):
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
                hook
                for hook in (*self._declared, *self._handlers.values())
                if event is None or not {event, "*"}.isdisjoint(hook.events)
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


def _covers(handler: Handler, held: Handler) -> bool:
    """Return whether a handler is for all events of another."""
    return handler.events == ["*"] or set(held.events) <= set(handler.events)


def _is_the_same(handler: Handler, held: Handler) -> bool:
    """Return whether both are the same function of a module, not a lambda, partial, object or closure."""
    function = isinstance(handler.function, FunctionType) and "<" not in handler.target
    return function and held.target == handler.target and _covers(handler, held)


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
        self._right: set[tuple[object, ...]] = set()

    def checked(self, data: Mapping[str, object]) -> Mapping[str, object]:
        """Return a context's fields as `fire_context.checked` does. Raises ContextError."""
        shape = (*data, *map(type, data.values()))  # whether they are right depends on nothing else
        if shape in self._right:
            return data
        fields = checked(data, self.event, self.known)
        if fields is data:
            if len(self._right) >= MOST_REMEMBERED:
                self._right.clear()
            self._right.add(shape)
        return fields

    def candidates_for(self, data: Mapping[str, object]) -> TableCandidates:
        """Return the hooks with matching matcher and agents. Raises ContextError without a tool that a guard needs."""
        get = data.get
        key: Key = (get("tool_name"), get("agent_tool_name"), get("agent"))
        possible = get("possible_tool_names")
        if possible is not None:
            key = (*key, str(possible))  # a list, which is no key
        try:
            return self._known[key]
        except KeyError:  # of another kind of call
            pass
        view = ConditionEvaluator(data)
        if not data.get("tool_name") and possible is None and self.event in ("pre_tool_use", "permission_request"):
            for hook in self.hooks:
                if hook.matcher and hook.enforcing and hook.on_failure == "block":
                    raise ContextError(f"fire {self.event}: no tool_name: {hook.name} may be for the tool")
        matching = [hook for hook in self.hooks if not view.mismatch(hook.matcher, agents=hook.agents)]
        if not any(hook.matcher and "*" not in hook.matcher for hook in matching):
            self._doubt_tool(data)
        if any(isinstance(hook, Hook) for hook in matching):
            self._doubt_arguments(data)
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[key] = found = TableCandidates(matching)
        return found

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
