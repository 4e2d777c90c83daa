"""The files with an agent's hooks: where they are, and how to add, remove and read hookrun's part.

Everything else is left alone.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from hookrun.agents.types import InstallSpec, starts_directly
from hookrun.config.document import Diagnostic, field_name, key_text, line_and_column
from hookrun.config.parse import KeyPath, ParseError
from hookrun.core.model import as_object
from hookrun.core.state import NoHomeError, account_home
from hookrun.core.text import quote
from hookrun.edit.file_change import ExistingFile, FileError
from hookrun.edit.json_edit import Json
from hookrun.edit.toml_edit import TomlTables
from hookrun.shell.fire_call import handler_line
from hookrun.wiring import wired_command
from hookrun.wiring.wired_command import WiredCommand

SCOPES = ("user", "project", "managed")
EVENT = "{event}"
# Most agents' handlers, as InstallSpec describes them.
HANDLER: dict[str, object] = {"type": "command", "command": "{command}", "timeout": "{limit}"}
TOP: KeyPath = ("hooks",)

# Matchers that exclude nothing.
MATCH_ALL = ("", "*", ".*")

Editor = Json | TomlTables

# A limit that no agent reaches: an integer in its settings may exceed any float.
FOREVER = 1e15

SCRIPT_TEXT = """\
#!/bin/sh
# Written by `hookrun install {agent}`; do not edit it.
{line}
"""
EARLIER_TEXT = SCRIPT_TEXT.replace("; do", "; `hookrun uninstall {agent}` takes it away. Do")
# In such a script the line's end is a line of its own.
OR = " ||\n  "


@dataclass(frozen=True, slots=True)
class InstallLocation:
    """The home and project to install into; `variables` may name agents' directories."""

    home: str
    project: str
    variables: Mapping[str, str]

    @property
    def named_home(self) -> str | None:
        """The home to name in the command; None for the account's, which `hookrun fire` takes."""
        try:
            return None if self.home == account_home() else self.home
        except NoHomeError:
            return self.home


def agent_directory(spec: InstallSpec, location: InstallLocation) -> str:
    """Return an agent's directory: from its variable, or in the home."""
    named = location.variables.get(spec.get("variable", ""), "")
    return named.rstrip("/") if os.path.isabs(named) else os.path.join(location.home, spec["directory"])


def hooks_path(spec: InstallSpec, scope: str, location: InstallLocation) -> str | None:
    """Return a scope's hooks file, with `{event}` in it if there are several; None if the agent has no such scope."""
    if scope == "managed":
        return spec.get("managed_hooks")
    if scope == "user":
        return os.path.join(agent_directory(spec, location), spec["user"])
    return os.path.join(location.project, spec["project"])


def resolve_path(path: str, spec: InstallSpec, location: InstallLocation) -> str:
    """Return a spec's path: `~/` is the home, `{directory}/` the agent's, otherwise from the root."""
    if path.startswith("~/"):
        return os.path.join(location.home, path[2:])
    return os.path.join(location.project, path.replace("{directory}", agent_directory(spec, location)))


@dataclass(frozen=True, slots=True)
class WiredLine:
    """An event's command line to install, its words, the agent's timeout in seconds, whether no answer is a block."""

    text: str
    argv: list[str]
    limit: float
    shuts: bool = False


@dataclass(frozen=True, slots=True)
class WiredEvent:
    """What fires hookrun for one event: command line and meaning, the agent's timeout in seconds, its place.

    `only` is the matcher or condition that excludes part of the event, or "". In settings it is a `handler`, `at` its
    key path.
    """

    event: str
    text: str
    command: WiredCommand
    limit: float | None
    path: str
    line: int
    handler: dict[str, object] = field(default_factory=dict)
    only: str = ""
    at: KeyPath = ()


class HookFile:
    """A file with an agent's hooks. Texts have no byte-order mark; all methods raise FileError."""

    mode = 0o644

    def __init__(self, agent: str, path: str) -> None:
        self.path = path
        self._agent = agent

    def add(self, now: ExistingFile, lines: Mapping[str, WiredLine]) -> str:
        """Return the file's text with hookrun for each of the events."""
        raise NotImplementedError

    def remove(self, now: ExistingFile, before: str | None) -> str | None:
        """Return the text without hookrun, None for no file; `before` is the text before install."""
        raise NotImplementedError

    def describe(self, now: ExistingFile) -> object:
        """Return the file's data, however it is written."""
        return now.text()

    def wired(self, now: ExistingFile) -> list[WiredEvent]:
        """Return what fires hookrun in the file: hookrun's part and handwritten lines."""
        raise NotImplementedError

    def has_ours(self, now: ExistingFile) -> bool:
        """Return whether install wrote a part of the file."""
        return any(each.command.is_ours for each in self.wired(now))


class SettingsFile(HookFile):
    """JSON settings with hookrun's handlers among others.

    Under `hooks` each event has a list of groups with `hooks` or, for agents without nesting, of handlers.
    """

    def __init__(self, agent: str, path: str, spec: InstallSpec, scope: str = "user") -> None:
        super().__init__(agent, path)
        self._scope = scope
        self._spec = spec
        self._handler = spec.get("handler", HANDLER)
        self._starts_directly = starts_directly(spec)
        self._per_second = spec.get("per_second", 1)
        self._nested = spec.get("nested", True)
        self._first = spec.get("first", {})  # the members that a new file begins with

    def _key(self, holder: str) -> str:
        return next((key for key, value in self._handler.items() if value == holder), "command")

    def read(self, now: ExistingFile) -> Editor:
        """Return the file as JSON. Raises FileError with the place of a fault."""
        return self._parsed(now.text())

    def _parsed(self, text: str) -> Editor:
        with problems_in(self.path, text):
            return Json(text, self._spec["form"])

    def add(self, now: ExistingFile, lines: Mapping[str, WiredLine]) -> str:
        """Return the text with a handler for each event."""
        wanted = {event: self._handler_for(event, line) for event, line in lines.items()}
        return self.add_handlers(self.read(now), wanted).text

    def _handler_for(self, event: str, line: WiredLine) -> dict[str, object]:
        limit = line.limit * self._per_second
        values: dict[object, object] = {"{command}": line.text, "{limit}": int(limit) if limit == int(limit) else limit}
        values |= {"{event}": event, "{name}": f"hookrun-{self._scope}-{event}"}
        handler = {key: values.get(str(value), value) for key, value in self._handler.items()}
        if line.argv != [line.text]:
            handler.pop("args", None)
        more, shut = self._spec.get("more", {}), self._spec.get("shut", {})
        return {**handler, **more.get(event, {}), **(shut if line.shuts else {})}

    def remove(self, now: ExistingFile, before: str | None) -> str | None:
        """Return the text without our handlers, or None if there was no file and nothing is left."""
        left = self.remove_handlers(self.read(now), None if before is None else self._parsed(before))
        return None if before is None and left.data == {} and not left.text.strip(" \t\r\n{}") else left.text

    def describe(self, now: ExistingFile) -> object:
        """Return its data."""
        return self.read(now).data

    def has_ours(self, now: ExistingFile) -> bool:
        """Return whether install wrote a handler, even one made void since."""
        return bool(self.find_own(self.read(now)))

    def wired(self, now: ExistingFile) -> list[WiredEvent]:
        """Return the handlers that fire hookrun, except those that their agent rejects."""
        found = self.find_all(self.read(now))
        if not self._starts_directly:
            return found
        # With other `args` Claude Code silently runs no hook of the event (measured with 2.1.329).
        return [each for each in found if isinstance(each.handler.get("args", []), list)]

    # --- the handlers in it

    def find_own(self, json: Editor) -> list[WiredEvent]:
        """Return the handlers that install wrote, in file order."""
        return [each for each in self.find_all(json) if each.command.is_ours]

    def find_all(self, json: Editor) -> list[WiredEvent]:
        """Return the handlers that fire hookrun for this agent, also handwritten, in file order."""
        found = []
        for at, handler in self._handlers(json):
            text = handler_line(handler) if self._starts_directly else handler.get(self._key("{command}"))
            command = wired_command.read(text, self._agent)
            if command is None:
                continue
            limit = handler.get(self._key("{limit}"))
            seconds = max(-FOREVER, min(limit, FOREVER)) / self._per_second if isinstance(limit, (int, float)) else None
            line, _ = line_and_column(json.text, json.offset(at))
            narrowed = _narrowing(json, at)
            only = f"{narrowed[-1]} {quote(json.at(narrowed))}" if narrowed is not None else ""
            event = self._event(at, handler)
            found.append(WiredEvent(event, str(text), command, seconds, self.path, line, handler, only, at))
        return found

    def _event(self, at: KeyPath, _handler: Mapping[str, object]) -> str:
        return str(at[1])

    def _handlers(self, json: Editor) -> Iterator[tuple[KeyPath, dict[str, object]]]:
        """Yield each handler with its path, also in groups where the agent only tolerates these."""
        for event, items in as_object(json.at(TOP)).items():
            for number, item in enumerate(items if isinstance(items, list) else ()):
                path = (*TOP, event, number)
                group = item.get("hooks") if isinstance(item, dict) else None
                if isinstance(group, list):
                    listed = [((*path, "hooks", index), each) for index, each in enumerate(group)]
                else:
                    listed = [] if self._nested else [(path, item)]
                yield from (each for each in listed if isinstance(each[1], dict))

    def add_handlers(self, json: Editor, wanted: Mapping[str, dict[str, object]]) -> Editor:
        """Return the file with one handler for each event as `wanted`; existing ones keep their place.

        A matcher on one of ours is removed; if its group has other handlers, ours moves to its own group.

        Raises FileError for anything that the agent itself would not read.
        """
        self._check_form(json, wanted)
        if json.blank or not json.data:
            for key, value in self._first.items():
                json = json.put((key,), value)
        for event, handler in wanted.items():
            present = [each for each in self.find_own(json) if each.event == event]
            for surplus in reversed(present[1:]):
                json = self._without(json, surplus.at, None)
            if not present:
                json = self._with(json, event, handler)
                continue
            if present[0].handler != handler:
                json = json.put(present[0].at, handler)
            narrowed = _narrowing(json, present[0].at)
            if narrowed is not None:
                json = self._widened(json, present[0], narrowed, handler)
        return json

    def _check_form(self, json: Editor, events: Iterable[str]) -> None:
        """Raise FileError if hooks for these events cannot be added."""
        if not isinstance(json.data, dict):
            raise self._form_error(json, (), "an object with the agent's settings")
        hooks = json.data.get("hooks", {})
        for event in events:
            if not isinstance(hooks, dict):
                raise self._form_error(json, TOP, "an object with a list of hooks for each event")
            if not isinstance(hooks.get(event, []), list):
                raise self._form_error(json, (*TOP, event), "a list of hooks")

    def _form_error(self, json: Editor, path: KeyPath, expected: str) -> FileError:
        line, column = line_and_column(json.text, json.offset(path))
        message = f"{field_name(path)} must be {expected}, not {quote(json.at(path))}"
        hint = "correct it, or move it away; nothing was changed"
        return FileError(str(Diagnostic(self.path, line, column, key_text(path), message, hint)))

    def _widened(self, json: Editor, ours: WiredEvent, matcher: KeyPath, handler: dict[str, object]) -> Editor:
        handlers = as_object(json.at(matcher[:-1])).get("hooks")
        if isinstance(handlers, list) and len(handlers) > 1:
            return self._with(json.remove(ours.at), ours.event, handler)
        return json.remove(matcher)

    def _with(self, json: Editor, event: str, handler: dict[str, object]) -> Editor:
        return json.add((*TOP, event), {"hooks": [handler]} if self._nested else handler)

    def remove_handlers(self, json: Editor, before: Editor | None) -> Editor:
        """Return the file without our handlers, and without what is then empty but not in `before`."""
        for found in reversed(self.find_own(json)):
            json = self._without(json, found.at, before)
        if before is None and json.data == self._first:
            for key in reversed(self._first):
                json = json.remove((key,))
        return json

    def _without(self, json: Editor, path: KeyPath, before: Editor | None) -> Editor:
        """Return the file without a handler, and its group, event and `hooks` if then empty."""
        json = json.remove(path)
        if self._nested or len(path) > len(TOP) + 2:
            if json.at(path[:-1]):
                return json
            json = json.remove(path[:-2])
        for container in ((*TOP, str(path[1])), TOP):
            if json.at(container) or (before is not None and before.at(container) is not None):
                return json
            json = json.remove(container)
        return json


def _narrowing(json: Editor, at: KeyPath) -> KeyPath | None:
    """Return the path of what excludes part of a handler's event: a matcher, or Claude Code's `if`."""
    paths = (*at[:3], "matcher"), (*at, "if"), (*at, "match")
    return next((path for path in paths if json.at(path) not in (None, *MATCH_ALL)), None)


@contextmanager
def problems_in(path: str, text: str) -> Iterator[None]:
    """Raise FileError for a parser's error in a file, which is left as it is."""
    try:
        yield
    except ParseError as error:
        line, column = line_and_column(text, error.offset)
        hint = f"{error.hint.removesuffix(', or use YAML')}; nothing was changed"  # agents read JSON only
        raise FileError(str(Diagnostic(path, line, column, "", error.message, hint))) from error


class OwnedFile(HookFile):
    """A file that is all hookrun's, as install wrote it, removed as a whole. Others are left alone."""

    def add(self, now: ExistingFile, lines: Mapping[str, WiredLine]) -> str:
        """Return the file for these events, or its text unchanged if they need none."""
        if now.data is not None and now.data.strip() and not self.has_ours(now):
            message = f"{self.path} was not written by hookrun, or has been changed since"
            raise FileError(f"{message}\nhint: declare what it does as a hook, move the file away, and install again")
        text = self._text_for(lines)
        return now.text() if text is None else text

    def _text_for(self, lines: Mapping[str, WiredLine]) -> str | None:
        raise NotImplementedError

    def remove(self, now: ExistingFile, before: str | None) -> str | None:
        """Return None for hookrun's own file, else the text."""
        return None if self.has_ours(now) else now.text() if now.data is not None else before


class ScriptFile(OwnedFile):
    """An executable file called after its event."""

    mode = 0o755

    def __init__(self, agent: str, path: str, event: str) -> None:
        super().__init__(agent, path)
        self._event = event

    def _text_for(self, lines: Mapping[str, WiredLine]) -> str | None:
        line = lines.get(self._event)
        return None if line is None else SCRIPT_TEXT.format(agent=self._agent, line=line.text.replace(" || ", OR, 1))

    def wired(self, now: ExistingFile) -> list[WiredEvent]:
        """Return the script's command line; all of it if hookrun did not write it."""
        text = now.text() if now.data is not None else ""
        for form in (SCRIPT_TEXT, EARLIER_TEXT):
            before, after = form.format(agent=self._agent, line="{line}").split("{line}")
            line = text[len(before) : len(text) - len(after)]
            command = wired_command.read(line.replace(OR, " || ", 1), self._agent)
            if command is not None and command.is_ours and text == before + line + after:
                return [WiredEvent(self._event, line, command, None, self.path, before.count("\n") + 1)]
        command = wired_command.read(text, self._agent)
        return [] if command is None else [WiredEvent(self._event, text, command, None, self.path, 1)]


class PluginFile(OwnedFile):
    """A plugin that calls hookrun for all events."""

    def __init__(self, agent: str, path: str, spec: InstallSpec) -> None:
        super().__init__(agent, path)
        self._spec = spec

    def _text_for(self, lines: Mapping[str, WiredLine]) -> str | None:
        argv = next((line.argv for line in lines.values()), None)
        if argv is None:
            return None
        return self._spec["plugin"].source([word for word in argv if word not in lines], lines)

    def wired(self, now: ExistingFile) -> list[WiredEvent]:
        """Return the plugin's command for each of its events; a changed one counts as handwritten."""
        text = now.text() if now.data is not None else ""
        parsed = self._spec["plugin"].parse(text)
        if parsed is None:
            return []
        line = shlex.join(parsed["command"])
        command = wired_command.read_argv(parsed["command"], self._agent) if parsed["unchanged"] else None
        command = command or wired_command.read_handwritten(line, self._agent)
        if command is None:
            return []
        return [WiredEvent(event, line, command, parsed["seconds"], self.path, 1) for event in parsed["events"]]
