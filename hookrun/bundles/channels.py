"""The ways in which a person is told something: a bell, a message on the desktop, an HTTP request, a program."""

from __future__ import annotations

import asyncio
import html
import json
import os
import shutil
import sys
from dataclasses import asdict, dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from hookrun.bundles import programs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

OSASCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
"""The texts are arguments of the script, never part of it."""
ANSWER = 1 << 16
"""Bytes of an HTTP answer that are read."""


@dataclass(frozen=True)
class Note:
    """What a person is told: plain text on one line each, cut, without credentials. `timestamp` is RFC 3339, UTC."""

    title: str
    text: str
    level: str
    event: str
    session_id: str | None
    agent: str | None
    timestamp: str


class ChannelError(RuntimeError):
    """A note could not be delivered; the message says by which channel and why."""


class Channel(Protocol):
    """A way to tell a person something; a program may bring its own."""

    def unavailable(self) -> str | None:
        """Return why this channel cannot work here, None where it can."""

    async def send(self, note: Note) -> None:
        """Deliver the note. Raises ChannelError, or whatever goes wrong."""


@dataclass(frozen=True)
class Bell:
    """Ring the bell of the terminal that the program runs in: the agent's streams are left alone."""

    device: str = "/dev/tty"

    def unavailable(self) -> str | None:
        """Return why there is no terminal, None where there is one."""
        try:
            os.close(self._open())
        except OSError as error:
            return f"{self.device}: {error.strerror}"
        return None

    async def send(self, note: Note) -> None:  # noqa: ARG002  # a bell says only that there is something
        """Ring. Raises OSError."""
        fd = self._open()
        try:
            os.write(fd, b"\a")
        finally:
            os.close(fd)

    def _open(self) -> int:
        return os.open(self.device, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)


@dataclass(frozen=True)
class Desktop:
    """Show a message on the desktop: `notify-send` on Linux, `osascript` on macOS. `timeout` is seconds."""

    timeout: float = 10.0
    platform: str = sys.platform

    def unavailable(self) -> str | None:
        """Return which program is missing, None where it is there."""
        program = self._command(Note("", "", "", "", None, None, ""))[0]
        return None if shutil.which(program) else f"{program} was not found"

    async def send(self, note: Note) -> None:
        """Show the note. Raises ChannelError where the program fails."""
        await _run(self._command(note), b"", self.timeout)

    def _command(self, note: Note) -> list[str]:
        if self.platform == "darwin":
            return ["osascript", *(word for line in OSASCRIPT for word in ("-e", line)), note.title, note.text]
        # The body is markup, and notify-send undoes backslash escapes in it (Desktop Notifications Specification 1.2).
        body = html.escape(note.text, quote=False).replace("\\", "\\\\")
        urgency = "critical" if note.level in ("error", "critical", "fatal") else "normal"
        return ["notify-send", f"--urgency={urgency}", "--app-name=hookrun", "--", note.title, body]


@dataclass(frozen=True)
class Command:
    """Run a program with the note as one JSON object on its stdin.

    `args` is its command line, run without a shell; `timeout` is seconds, then it is killed with its process group.
    """

    args: Sequence[str]
    timeout: float = 10.0

    def __post_init__(self) -> None:
        if isinstance(self.args, str) or not self.args:
            raise ValueError(f"Command: args is {self.args!r}, expected a list: the program and its arguments")

    def unavailable(self) -> str | None:
        """Return that the program is missing, None where it is there."""
        return None if shutil.which(self.args[0]) else f"{self.args[0]} was not found"

    async def send(self, note: Note) -> None:
        """Run the program. Raises ChannelError where it fails or does not end in time."""
        await _run(self.args, json.dumps(asdict(note)).encode() + b"\n", self.timeout)


@dataclass(frozen=True)
class Webhook:
    """POST the note as JSON to a URL. Redirects are not followed: they would take the headers elsewhere.

    Args:
        url: http or https.
        headers: More headers, such as an Authorization.
        timeout: Seconds for each step of the exchange.
        template: Makes what is sent out of the note, `lambda note: {"text": note.text}`; by default, all its fields.

    Raises:
        ValueError: The URL is not http or https, holds a user or what must be escaped; or a header holds control or
            non-ASCII characters.
    """

    url: str
    headers: Mapping[str, str] | None = None
    timeout: float = 5.0
    template: Callable[[Note], object] | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"Webhook: the URL begins with {parts.scheme!r}, expected http://HOST or https://HOST")
        if parts.username is not None:
            raise ValueError("Webhook: the URL holds a user, expected an Authorization in headers instead")
        if not self.url.isascii() or not self.url.isprintable() or " " in self.url:
            raise ValueError("Webhook: the URL holds spaces, control or non-ASCII characters, expected them escaped")
        try:
            _ = parts.port
        except ValueError:
            raise ValueError("Webhook: the port in the URL is none, expected 0 to 65535") from None
        for name, value in (self.headers or {}).items():
            if not (name + value).isascii() or not (name + value).isprintable():
                raise ValueError(f"Webhook: the header {name!r} holds control or non-ASCII characters")

    def unavailable(self) -> str | None:
        """Return None: only sending shows whether the other side is there."""
        return None

    async def send(self, note: Note) -> None:
        """Send the note. Raises ChannelError, which names the host only: the rest of such a URL is often a secret."""
        body = json.dumps(asdict(note) if self.template is None else self.template(note)).encode()
        try:
            await asyncio.to_thread(self._post, body)
        except HTTPError as error:
            error.close()
            raise ChannelError(f"webhook at {urlsplit(self.url).hostname}: HTTP {error.code}") from None
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise ChannelError(f"webhook at {urlsplit(self.url).hostname}: {reason or type(error).__name__}") from None

    def _post(self, body: bytes) -> None:
        from urllib.request import HTTPRedirectHandler, Request, build_opener

        class Stay(HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                """Make no request of a redirect: it is an error then, as any other status."""

        headers = {"Content-Type": "application/json", "User-Agent": "hookrun", **(self.headers or {})}
        request = Request(self.url, body, headers, method="POST")  # noqa: S310  # http and https only, see above
        with build_opener(Stay).open(request, timeout=self.timeout) as answer:
            answer.read(ANSWER)


async def _run(argv: Sequence[str], stdin: bytes, seconds: float) -> None:
    try:
        ended = await programs.run(argv, seconds=seconds, stdin=stdin)
    except OSError as error:
        raise ChannelError(f"{argv[0]} could not be started: {error.strerror}") from error
    if ended.exit_code is None:
        raise ChannelError(f"{argv[0]} had not ended after {seconds:g} s and was killed")
    if ended.exit_code != 0:
        raise ChannelError(f"{argv[0]} ended with exit status {ended.exit_code}: {ended.output}".rstrip(": "))
