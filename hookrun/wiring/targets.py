"""One file in which an agent reads hooks: hookrun's part of it is put in, taken out, and read."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hookrun.config.parsed import ParseError
from hookrun.config.problem import Problem, key_text, kind, shown
from hookrun.config.source import place
from hookrun.edit.json_edit import Json
from hookrun.wiring import command, entries
from hookrun.wiring.entries import Form, FormError
from hookrun.wiring.files import WiringError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.agents.wiring import Wiring
    from hookrun.wiring.files import Existing

MARK = "Written by `hookrun install "
"""What a file that is ours as a whole says about who wrote it."""

SCRIPT = """\
#!/bin/sh
# Written by `hookrun install {agent}`; `hookrun uninstall {agent}` takes it away. Do not edit it.
{line}
"""


@dataclass(frozen=True, slots=True)
class Line:
    """What is wired for an event: the command line, its words, and the agent's time limit for it in seconds."""

    text: str
    argv: list[str]
    limit: float


@dataclass(frozen=True, slots=True)
class Wired:
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
    """A file that hookrun writes to. The texts are without a byte-order mark; all raise WiringError."""

    path: str
    mode: int

    def put_in(self, now: Existing, lines: Mapping[str, Line]) -> str:
        """Return the text of the file with hookrun in it, for each of the events."""

    def take_out(self, now: Existing, before: str | None) -> str | None:
        """Return the text without hookrun, None for no file; `before` is what stood there before install."""

    def wired(self, now: Existing) -> list[Wired]:
        """Return what of hookrun is in the file."""

    def says(self, now: Existing) -> object:
        """Return what the file says, however it is written."""


class Settings:
    """Settings in JSON, of which our handlers are a part."""

    mode = 0o644

    def __init__(self, agent: str, path: str, wiring: Wiring) -> None:
        """Take what the agent's module says of the form."""
        self.path = path
        self._agent = agent
        self._json = wiring["form"]
        self._handler = wiring.get("handler", {})
        self._per_second = wiring.get("per_second", 1)
        first = wiring.get("first", {})
        self.form = Form(self._key("{command}"), wiring.get("nested", True), tuple(first.items()))

    def _key(self, holder: str) -> str:
        return next((key for key, value in self._handler.items() if value == holder), "command")

    def read(self, now: Existing) -> Json:
        """Return the file as JSON. Raises WiringError with the place of what is not valid."""
        return read_json(self.path, now.text(), self._json)

    def put_in(self, now: Existing, lines: Mapping[str, Line]) -> str:
        """Return the text with a handler for each event."""
        wanted = {event: self.handler(line) for event, line in lines.items()}
        text = self.read(now)
        try:
            return entries.put_in(text, self.form, self._agent, wanted).text
        except FormError as error:
            line, column = place(text.text, text.offset(error.path))
            found = f"{shown(error.found)} ({kind(error.found)})"
            advice = "correct it, or move it away; nothing was changed"
            problem = Problem(self.path, line, column, key_text(error.path), found, error.expected, advice)
            raise WiringError(str(problem)) from error

    def handler(self, line: Line) -> dict[str, object]:
        """Return the handler for a command line."""
        limit = line.limit * self._per_second
        values: dict[object, object] = {"{command}": line.text, "{limit}": int(limit) if limit == int(limit) else limit}
        return {key: values.get(value, value) for key, value in self._handler.items()}

    def take_out(self, now: Existing, before: str | None) -> str | None:
        """Return the text without our handlers; None if there was no file and nothing is left."""
        left = entries.take_out(
            self.read(now), self.form, self._agent, None if before is None else read_json(self.path, before, self._json)
        )
        return None if before is None and left.data == {} and not left.text.strip(" \t\r\n{}") else left.text

    def says(self, now: Existing) -> object:
        """Return its data."""
        return self.read(now).data

    def wired(self, now: Existing) -> list[Wired]:
        """Return our handlers."""
        text = self.read(now)
        found = []
        for each in entries.ours(text, self.form, self._agent):
            limit = each.handler.get(self._key("{limit}"))
            seconds = limit / self._per_second if isinstance(limit, (int, float)) else None
            line, _ = place(text.text, text.offset(each.path))
            words = str(each.handler[self.form.command])
            narrowed = entries.only(text, each)
            only = f"{narrowed[0][-1]} {shown(narrowed[1])}" if narrowed is not None else ""
            found.append(Wired(each.event, words, seconds, self.path, line, each.handler, only))
        return found


class OursAlone:
    """A file that is ours as a whole: it is taken out as one, and no foreign one is touched."""

    def take_out(self, now: Existing, before: str | None) -> str | None:
        """Return None for a file of ours, the text for any other."""
        return None if MARK in now.text() else now.text() if now.data is not None else before

    def says(self, now: Existing) -> object:
        """Return its text."""
        return now.text()


class Script(OursAlone):
    """An executable file of ours alone, called after its event."""

    mode = 0o755

    def __init__(self, agent: str, path: str, event: str) -> None:
        """Take for whom and for what it is."""
        self.path = path
        self._agent = agent
        self._event = event

    def put_in(self, now: Existing, lines: Mapping[str, Line]) -> str:
        """Return the script, or the text as it is where the event is not among those to wire."""
        line = lines.get(self._event)
        _refuse_foreign(self.path, now)
        return now.text() if line is None else SCRIPT.format(agent=self._agent, line=line.text)

    def wired(self, now: Existing) -> list[Wired]:
        """Return the script's command line."""
        text = now.text()
        if now.data is None or MARK not in text:
            return []
        number, line = _first_line(text, self._agent)
        return [Wired(self._event, line, None, self.path, number)]


class Plugin(OursAlone):
    """A plugin of ours alone, that calls hookrun for all events."""

    mode = 0o644

    def __init__(self, agent: str, path: str, wiring: Wiring) -> None:
        """Take for whom it is, and what makes its text and reads it."""
        self.path = path
        self._agent = agent
        self._made = wiring["plugin"]
        self._says = wiring["plugin_says"]

    def put_in(self, now: Existing, lines: Mapping[str, Line]) -> str:
        """Return the plugin for these events."""
        _refuse_foreign(self.path, now)
        if not lines:
            return now.text()
        argv = next(iter(lines.values())).argv
        return self._made([word for word in argv if word not in lines], lines)

    def wired(self, now: Existing) -> list[Wired]:
        """Return the plugin's command for each of its events."""
        text = now.text()
        if now.data is None or MARK not in text:
            return []
        says = self._says(text)
        if says is None:
            raise WiringError(
                f"{self.path}:1:1: found something else than hookrun has written; "
                f"remove the file and run `hookrun install {self._agent}`"
            )
        argv, events, seconds = says
        return [Wired(event, shlex.join(argv), seconds, self.path, 1) for event in events]


def _refuse_foreign(path: str, now: Existing) -> None:
    if now.data is not None and now.data.strip() and MARK not in now.text():
        raise WiringError(
            f"{path}:1:1: found a file that hookrun has not written, expected none; "
            "declare what it does as a hook of hookrun's, move it away, and install again"
        )


def _first_line(text: str, agent: str) -> tuple[int, str]:
    for number, line in enumerate(text.splitlines(), 1):
        if command.is_ours(line, agent):
            return number, line
    return 1, ""


def read_json(path: str, text: str, form: str) -> Json:
    """Return a file's text as JSON. Raises WiringError with file, line and column of what is not valid."""
    try:
        return Json(text, form)
    except ParseError as error:
        raise WiringError(str(at_place(path, text, error))) from error


def at_place(path: str, text: str, error: ParseError) -> Problem:
    """Return a parser's error as a problem of a file; the file is left as it is."""
    line, column = place(text, error.offset)
    advice = f"{error.advice}; nothing was changed"
    return Problem(path, line, column, "", error.found, error.expected, advice)
