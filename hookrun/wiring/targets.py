"""One file in which an agent reads hooks: hookrun's part of it is put in, taken out, and read."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hookrun.config.diagnostics import Diagnostic, key_text, quote, type_name
from hookrun.config.discovery import NoHomeError, account_home
from hookrun.config.document import line_and_column
from hookrun.config.parse import ParseError
from hookrun.edit.file_change import FileError
from hookrun.edit.json_edit import Json
from hookrun.wiring import entries, wired_command
from hookrun.wiring.entries import EntryLayout, LayoutError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.agents.types import InstallSpec
    from hookrun.edit.file_change import ExistingFile


OWNED_MARK = "Written by `hookrun install "
"""What a file that is ours as a whole says about who wrote it."""

SCRIPT_TEXT = """\
#!/bin/sh
# Written by `hookrun install {agent}`; `hookrun uninstall {agent}` takes it away. Do not edit it.
{line}
"""


@dataclass(frozen=True, slots=True)
class WiredLine:
    """What is wired for an event: the command line, its words, and the agent's time limit for it in seconds."""

    text: str
    argv: list[str]
    limit: float


@dataclass(frozen=True, slots=True)
class WiredEvent:
    """hookrun's part of a file for one event: the command line, the agent's time limit in seconds, and where it is.

    `only` is what keeps it from a part of its event, as it stands there; empty where nothing does.
    """

    event: str
    text: str
    limit: float | None
    path: str
    line: int
    handler: dict[str, object] | None = None
    only: str = ""


class Target(Protocol):
    """A file that hookrun writes to. The texts are without a byte-order mark; all raise FileError."""

    path: str
    mode: int

    def put_in(self, now: ExistingFile, lines: Mapping[str, WiredLine]) -> str:
        """Return the text of the file with hookrun in it, for each of the events."""

    def take_out(self, now: ExistingFile, before: str | None) -> str | None:
        """Return the text without hookrun, None for no file; `before` is what stood there before install."""

    def wired(self, now: ExistingFile) -> list[WiredEvent]:
        """Return what of hookrun is in the file."""

    def says(self, now: ExistingFile) -> object:
        """Return what the file says, however it is written."""


class SettingsFile:
    """Settings in JSON, of which our handlers are a part."""

    mode = 0o644

    def __init__(self, agent: str, path: str, wiring: InstallSpec) -> None:
        """Take what the agent's module says of the form."""
        self.path = path
        self._agent = agent
        self._json = wiring["form"]
        self._handler = wiring.get("handler", {})
        self._per_second = wiring.get("per_second", 1)
        first = wiring.get("first", {})
        self.form = EntryLayout(self._key("{command}"), wiring.get("nested", True), tuple(first.items()))

    def _key(self, holder: str) -> str:
        return next((key for key, value in self._handler.items() if value == holder), "command")

    def read(self, now: ExistingFile) -> Json:
        """Return the file as JSON. Raises FileError with the place of what is not valid."""
        return read_json(self.path, now.text(), self._json)

    def put_in(self, now: ExistingFile, lines: Mapping[str, WiredLine]) -> str:
        """Return the text with a handler for each event."""
        wanted = {event: self.handler(line) for event, line in lines.items()}
        text = self.read(now)
        try:
            return entries.add_handlers(text, self.form, self._agent, wanted).text
        except LayoutError as error:
            line, column = line_and_column(text.text, text.offset(error.path))
            found = f"{quote(error.found)} ({type_name(error.found)})"
            advice = "correct it, or move it away; nothing was changed"
            problem = Diagnostic(self.path, line, column, key_text(error.path), found, error.expected, advice)
            raise FileError(str(problem)) from error

    def handler(self, line: WiredLine) -> dict[str, object]:
        """Return the handler for a command line."""
        limit = line.limit * self._per_second
        values: dict[object, object] = {"{command}": line.text, "{limit}": int(limit) if limit == int(limit) else limit}
        return {key: values.get(value, value) for key, value in self._handler.items()}

    def take_out(self, now: ExistingFile, before: str | None) -> str | None:
        """Return the text without our handlers; None if there was no file and nothing is left."""
        left = entries.remove_handlers(
            self.read(now), self.form, self._agent, None if before is None else read_json(self.path, before, self._json)
        )
        return None if before is None and left.data == {} and not left.text.strip(" \t\r\n{}") else left.text

    def says(self, now: ExistingFile) -> object:
        """Return its data."""
        return self.read(now).data

    def wired(self, now: ExistingFile) -> list[WiredEvent]:
        """Return our handlers."""
        text = self.read(now)
        found = []
        for each in entries.find_own(text, self.form, self._agent):
            limit = each.handler.get(self._key("{limit}"))
            seconds = limit / self._per_second if isinstance(limit, (int, float)) else None
            line, _ = line_and_column(text.text, text.offset(each.path))
            words = str(each.handler[self.form.command])
            narrowed = entries.narrowing(text, each)
            only = f"{narrowed[0][-1]} {quote(narrowed[1])}" if narrowed is not None else ""
            found.append(WiredEvent(each.event, words, seconds, self.path, line, each.handler, only))
        return found


class OwnedFile:
    """A file that is ours as a whole: it is taken out as one, and no foreign one is touched."""

    def take_out(self, now: ExistingFile, before: str | None) -> str | None:
        """Return None for a file of ours, the text for any other."""
        return None if OWNED_MARK in now.text() else now.text() if now.data is not None else before

    def says(self, now: ExistingFile) -> object:
        """Return its text."""
        return now.text()


class ScriptFile(OwnedFile):
    """An executable file of ours alone, called after its event."""

    mode = 0o755

    def __init__(self, agent: str, path: str, event: str) -> None:
        """Take for whom and for what it is."""
        self.path = path
        self._agent = agent
        self._event = event

    def put_in(self, now: ExistingFile, lines: Mapping[str, WiredLine]) -> str:
        """Return the script, or the text as it is where the event is not among those to wire."""
        line = lines.get(self._event)
        _refuse_foreign(self.path, now)
        return now.text() if line is None else SCRIPT_TEXT.format(agent=self._agent, line=line.text)

    def wired(self, now: ExistingFile) -> list[WiredEvent]:
        """Return the script's command line."""
        text = now.text()
        if now.data is None or OWNED_MARK not in text:
            return []
        number, line = _first_line(text, self._agent)
        return [WiredEvent(self._event, line, None, self.path, number)]


class PluginFile(OwnedFile):
    """A plugin of ours alone, that calls hookrun for all events."""

    mode = 0o644

    def __init__(self, agent: str, path: str, wiring: InstallSpec) -> None:
        """Take for whom it is, and what makes its text and reads it."""
        self.path = path
        self._agent = agent
        self._made = wiring["plugin"]
        self._says = wiring["parse_plugin"]

    def put_in(self, now: ExistingFile, lines: Mapping[str, WiredLine]) -> str:
        """Return the plugin for these events."""
        _refuse_foreign(self.path, now)
        if not lines:
            return now.text()
        argv = next(iter(lines.values())).argv
        return self._made([word for word in argv if word not in lines], lines)

    def wired(self, now: ExistingFile) -> list[WiredEvent]:
        """Return the plugin's command for each of its events."""
        text = now.text()
        if now.data is None or OWNED_MARK not in text:
            return []
        says = self._says(text)
        if says is None:
            raise FileError(
                f"{self.path}:1:1: found something else than hookrun has written; "
                f"remove the file and run `hookrun install {self._agent}`"
            )
        argv, events, seconds = says
        return [WiredEvent(event, shlex.join(argv), seconds, self.path, 1) for event in events]


def _refuse_foreign(path: str, now: ExistingFile) -> None:
    if now.data is not None and now.data.strip() and OWNED_MARK not in now.text():
        raise FileError(
            f"{path}:1:1: found a file that hookrun has not written, expected none; "
            "declare what it does as a hook of hookrun's, move it away, and install again"
        )


def _first_line(text: str, agent: str) -> tuple[int, str]:
    for number, line in enumerate(text.splitlines(), 1):
        if wired_command.is_ours(line, agent):
            return number, line
    return 1, ""


def read_json(path: str, text: str, form: str) -> Json:
    """Return a file's text as JSON. Raises FileError with file, line and column of what is not valid."""
    try:
        return Json(text, form)
    except ParseError as error:
        raise FileError(str(to_problem(path, text, error))) from error


def to_problem(path: str, text: str, error: ParseError) -> Diagnostic:
    """Return a parser's error as a problem of a file; the file is left as it is."""
    line, column = line_and_column(text, error.offset)
    advice = f"{error.advice}; nothing was changed"
    return Diagnostic(path, line, column, "", error.found, error.expected, advice)


SCOPES = ("user", "project")
EVENT = "{event}"


@dataclass(frozen=True, slots=True)
class InstallLocation:
    """Whose home and which project it is about; `variables` is the environment that may name agents' directories."""

    home: str
    project: str
    variables: Mapping[str, str]

    @property
    def named_home(self) -> str | None:
        """The home as the wired command has to name it; None where it is the account's, which a fire takes itself."""
        try:
            return None if self.home == account_home() else self.home
        except NoHomeError:
            return self.home


def agent_directory(wiring: InstallSpec, spot: InstallLocation) -> str:
    """Return an agent's directory: where its variable says, else in the home."""
    named = spot.variables.get(wiring.get("variable", ""), "")
    return named.rstrip("/") if os.path.isabs(named) else os.path.join(spot.home, wiring["directory"])


def hooks_path(wiring: InstallSpec, scope: str, spot: InstallLocation) -> str:
    """Return the file with hooks of a scope, with `{event}` in it where there are several."""
    if scope == "user":
        return os.path.join(agent_directory(wiring, spot), wiring["user"])
    return os.path.join(spot.project, wiring["project"])


def install_targets(
    agent: str, wiring: InstallSpec, scope: str, spot: InstallLocation, events: Iterable[str]
) -> list[Target]:
    """Return the files that are written for these events, or that may have been."""
    where = hooks_path(wiring, scope, spot)
    if wiring["form"] == "script":
        return [ScriptFile(agent, where.replace(EVENT, event), event) for event in events]
    if wiring["form"] == "plugin":
        return [PluginFile(agent, where, wiring)]
    return [SettingsFile(agent, where, wiring)]


def resolve_path(each: str, wiring: InstallSpec, spot: InstallLocation) -> str:
    """Return the path that a wiring means: `~/` is the home, `{directory}/` the agent's, else it is from the root."""
    if each.startswith("~/"):
        return os.path.join(spot.home, each[2:])
    return os.path.join(spot.project, each.replace("{directory}", agent_directory(wiring, spot)))
