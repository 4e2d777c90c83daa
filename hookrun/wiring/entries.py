"""Find, add, update and remove hookrun's handlers in JSON settings; all other handlers are left alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.wiring import wired_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.config.parse import KeyPath
    from hookrun.edit.json_edit import Json
    from hookrun.wiring.wired_command import WiredCommand

TOP: KeyPath = ("hooks",)

MATCH_ALL = ("", "*", ".*")
"""Matchers that exclude nothing."""


class LayoutError(Exception):
    """The value at `path` does not have the form that the agent reads: `found` instead of `expected`."""

    def __init__(self, path: KeyPath, found: object, expected: str) -> None:
        super().__init__(path, found, expected)
        self.path = path
        self.found = found
        self.expected = expected


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """The form of a file: under `hooks` each event has a list, of groups with `hooks` (nested) or of handlers.

    `command` is the handler's key for the command line, `first` the members that a new file begins with.
    """

    command: str = "command"
    nested: bool = True
    first: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class WiredEntry:
    """One handler that fires hookrun: its event, its path in the file, its data, and what its command says."""

    event: str
    path: KeyPath
    handler: dict[str, object]
    command: WiredCommand


def find_own(json: Json, layout: EntryLayout, agent: str) -> list[WiredEntry]:
    """Return the handlers that install wrote for this agent, in the order of the file."""
    return [each for each in find_all(json, layout, agent) if each.command.is_ours]


def find_all(json: Json, layout: EntryLayout, agent: str) -> list[WiredEntry]:
    """Return the handlers that fire hookrun for this agent, handwritten ones too, in the order of the file."""
    found = []
    events = json.at(TOP)
    for event in events if isinstance(events, dict) else ():
        for path in _handlers(json, (*TOP, event), layout):
            handler = json.at(path)
            command = wired_command.read(handler.get(layout.command), agent) if isinstance(handler, dict) else None
            if isinstance(handler, dict) and command is not None:
                found.append(WiredEntry(event, path, handler, command))
    return found


def _handlers(json: Json, path: KeyPath, layout: EntryLayout) -> list[KeyPath]:
    """Return the paths of all handlers of an event, also of those in groups where the agent only tolerates these."""
    items = json.at(path)
    paths: list[KeyPath] = []
    for number, item in enumerate(items if isinstance(items, list) else ()):
        group = item.get("hooks") if isinstance(item, dict) else None
        if isinstance(group, list):
            paths += [(*path, number, "hooks", each) for each in range(len(group))]
        elif not layout.nested:
            paths.append((*path, number))
    return paths


def narrowing(json: Json, found: WiredEntry) -> tuple[KeyPath, object] | None:
    """Return the path and value of what excludes a part of a handler's event: a matcher, or Claude Code's `if`."""
    matcher, condition = (*found.path[:3], "matcher"), (*found.path, "if")
    for path in (matcher, condition):
        value = json.at(path)
        if value is not None and value not in MATCH_ALL:
            return path, value
    return None


def add_handlers(json: Json, layout: EntryLayout, agent: str, wanted: Mapping[str, dict[str, object]]) -> Json:
    """Return the file with one handler for each event as `wanted`; what is there already stays where it is.

    A matcher on one of ours is removed; if its group has other handlers, ours moves to a group of its own.

    Raises LayoutError where there is something else than the agent itself would read.
    """
    if not isinstance(json.data, dict):
        raise LayoutError((), json.data, "an object with the agent's settings")
    if json.blank or not json.data:
        for key, value in layout.first:
            json = json.add((), value, key)
    for event, handler in wanted.items():
        present = [each for each in find_own(json, layout, agent) if each.event == event]
        for surplus in reversed(present[1:]):
            json = _without(json, surplus.path, layout, None)
        if not present:
            json = _added(json, layout, event, handler)
            continue
        if present[0].handler != handler:
            json = json.set(present[0].path, handler)
        narrowed = narrowing(json, present[0])
        if narrowed is not None:
            json = _widened(json, layout, present[0], narrowed[0], handler)
    return json


def _widened(json: Json, layout: EntryLayout, ours: WiredEntry, matcher: KeyPath, handler: dict[str, object]) -> Json:
    group = json.at(matcher[:-1])
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if isinstance(handlers, list) and len(handlers) > 1:
        return _added(json.remove(ours.path), layout, ours.event, handler)
    return json.remove(matcher)


def _added(json: Json, layout: EntryLayout, event: str, handler: dict[str, object]) -> Json:
    entry = {"hooks": [handler]} if layout.nested else handler
    events = json.at(TOP)
    if not isinstance(json.data, dict) or "hooks" not in json.data:
        return json.add((), {event: [entry]}, "hooks")
    if not isinstance(events, dict):
        raise LayoutError(TOP, events, "an object with a list of hooks for each event")
    if event not in events:
        return json.add(TOP, [entry], event)
    if not isinstance(events[event], list):
        raise LayoutError((*TOP, event), events[event], "a list of hooks")
    return json.add((*TOP, event), entry)


def remove_handlers(json: Json, layout: EntryLayout, agent: str, before: Json | None) -> Json:
    """Return the file without our handlers, and without what is then empty, unless that was in the file `before`."""
    for found in reversed(find_own(json, layout, agent)):
        json = _without(json, found.path, layout, before)
    if before is None and json.data == dict(layout.first):
        for key, _ in reversed(layout.first):
            json = json.remove((key,))
    return json


def _without(json: Json, path: KeyPath, layout: EntryLayout, before: Json | None) -> Json:
    """Return the file without one handler, and without its group, its event and `hooks` if they are then empty."""
    json = json.remove(path)
    if layout.nested or len(path) > len(TOP) + 2:
        if json.at(path[:-1]):
            return json
        json = json.remove(path[:-2])
    for container in ((*TOP, str(path[1])), TOP):
        if json.at(container) or (before is not None and before.at(container) is not None):
            return json
        json = json.remove(container)
    return json
