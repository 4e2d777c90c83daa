"""Keep all hooks of an engine, configured and registered, in running order, in one table per event."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from inspect import isfunction
from threading import Lock

from hookrun.conditions import ConditionEvaluator
from hookrun.library.handlers import Handler, RegistrationError
from hookrun.model import LAYERS, Hook

Key = tuple[object, object, object, str]

LOG = logging.getLogger("hookrun")
MOST_REMEMBERED = 1024
"""Tools whose hooks a table caches; names of tools may come from outside."""


class Registry:
    """The hooks of an engine. Changes never affect a running fire; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._declared: list[Hook] = []
        self._handlers: dict[str, Handler] = {}
        self._off: set[str] = set()
        self._tables: dict[str, HookTable] = {}

    def declare(self, hooks: Iterable[Hook]) -> None:
        """Replace the configured hooks."""
        with self._lock:
            self._declared = list(hooks)
            self._tables = {}

    def register(self, handler: Handler, *, named: bool, replace: bool = False) -> None:
        """Add a handler; one of the same name is replaced and loses its position.

        A name derived from the function (not `named`) only replaces that very function of a module: others with such a
        name get a number. Raises RegistrationError if an event of the replaced handler would be left without it, unless
        `replace`.
        """
        with self._lock:
            held = self._handlers.get(handler.name)
            if held is not None and named and not replace and not _serves_all(handler, held):
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
            self._tables = {}
        if replaced is not None:
            LOG.info("hook %s is replaced: %s instead of %s", handler.name, handler.target, replaced.target)

    def remove(self, name: str) -> bool:
        """Remove a handler; return whether there was one."""
        with self._lock:
            self._tables = {}
            return self._handlers.pop(name, None) is not None

    def switch(self, name: str, *, on: bool) -> None:
        """Enable or disable every hook of this name."""
        with self._lock:
            if name in self._handlers:
                self._handlers[name].enabled = on
            if any(hook.name == name for hook in self._declared):
                (self._off.discard if on else self._off.add)(name)
            self._tables = {}

    def hooks(self, event: str | None = None) -> list[Hook]:
        """Return all hooks, or those of an event, in running order, including disabled ones."""
        with self._lock:
            found = [
                hook for hook in (*self._declared, *self._handlers.values()) if event is None or event in hook.events
            ]
        return sorted(found, key=lambda hook: (LAYERS.index(hook.layer), hook.priority))

    def named(self, name: str) -> list[Hook]:
        """Return the hooks of this name."""
        return [hook for hook in self.hooks() if hook.name == name]

    def is_on(self, hook: Hook) -> bool:
        """Return whether a hook is enabled: a handler by itself, a configured one by its name, a managed one always."""
        if isinstance(hook, Handler):
            return hook.enabled
        return hook.name not in self._off or hook.layer == "managed"

    def table(self, event: str) -> HookTable:
        """Return the enabled hooks of an event."""
        table = self._tables.get(event)
        if table is None:
            tables = self._tables
            hooks = [hook for hook in self.hooks(event) if self.is_on(hook) and hook.mode != "off"]
            table = tables[event] = HookTable(hooks)
        return table


def _serves_all(handler: Handler, held: Handler) -> bool:
    return set(held.events) <= set(handler.events)


def _is_the_same(handler: Handler, held: Handler) -> bool:
    """Return whether it is the same function of a module, not a lambda, partial, object or closure."""
    function = isfunction(handler.function) and "<" not in handler.target
    return function and held.target == handler.target and _serves_all(handler, held)


class HookTable:
    """The hooks of one event, in running order, and which of them may run for a tool."""

    def __init__(self, hooks: list[Hook]) -> None:
        self.hooks = hooks
        self.layers = [LAYERS.index(hook.layer) for hook in hooks]
        self._known: dict[Key, frozenset[int]] = {}

    def candidates_for(self, data: Mapping[str, object]) -> frozenset[int]:
        """Return the indexes of the hooks whose matcher and agents match, before their other conditions."""
        possible = str(data.get("possible_tool_names", ""))
        key = (data.get("tool_name"), data.get("agent_tool_name"), data.get("agent"), possible)
        known = self._known.get(key)
        if known is None:
            view = ConditionEvaluator(data)
            found = (n for n, hook in enumerate(self.hooks) if view.selects(hook.matcher, None, None, hook.agents))
            known = frozenset(found)
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[key] = known
        return known


class TableCandidates:
    """The candidates of one fire: the hooks of a table, in the form that the engine reads."""

    __slots__ = ("_context", "_indexes", "_table", "_view")

    def __init__(self, table: HookTable, indexes: frozenset[int]) -> None:
        self._table = table
        self._indexes = indexes
        self._context: Mapping[str, object] | None = None
        self._view: ConditionEvaluator | None = None

    def only_candidate(self) -> Hook | None:
        """Return the hook if it is the only candidate and has no further conditions."""
        if len(self._indexes) == 1:
            (index,) = self._indexes
            hook = self._table.hooks[index]
            if hook.when is hook.unless is hook.claude is None:
                return hook
        return None

    def __len__(self) -> int:
        return len(self._table.hooks)

    def layer(self, index: int) -> int:
        """Return the layer's number in LAYERS."""
        return self._table.layers[index]

    def always(self, index: int) -> bool:
        """Return whether the hook runs even after the chain has ended."""
        return self._table.hooks[index].always

    def enforcing(self, index: int) -> bool:
        """Return whether the hook can block or modify the call."""
        return self._table.hooks[index].enforcing

    def selects(self, index: int, context: Mapping[str, object]) -> bool:
        """Return whether the hook matches this context; its tool is already known to match."""
        if index not in self._indexes:
            return False
        hook = self._table.hooks[index]
        if hook.when is hook.unless is hook.claude is None:
            return True
        if context is not self._context or self._view is None:
            self._context, self._view = context, ConditionEvaluator(context)
        return self._view.selects(None, hook.when, hook.unless, None, hook.claude)

    def hook(self, index: int) -> Hook:
        """Return the hook."""
        return self._table.hooks[index]
