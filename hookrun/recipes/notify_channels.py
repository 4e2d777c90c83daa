"""Deliver notifications to the user: by terminal bell, desktop, webhook or program."""

from __future__ import annotations

import asyncio
import html
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from http.client import HTTPException
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from hookrun.core.nesting import CallerProcess
from hookrun.core.text import HookrunError, printable_lines
from hookrun.process.program import ProgramError, run_program

# Texts are the script's arguments, never code.
OSASCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
# Bytes read of an HTTP response.
MAX_RESPONSE = 1 << 16
# The last bytes of a program's stderr, for an error message.
MAX_STDERR = 2000
PS_TIMEOUT = 5.0


@dataclass(frozen=True)
class Notice:
    """A message to the user: each text is on one line, shortened, without credentials. `timestamp` is RFC 3339, UTC."""

    title: str
    text: str
    level: str
    event: str
    session_id: str | None
    agent: str | None
    timestamp: str


class ChannelError(HookrunError, RuntimeError):
    """A notification could not be delivered; the message names the channel and the reason."""


class Channel(Protocol):
    """A way to notify the user; programs can add their own."""

    def unavailable(self) -> str | None:
        """Return why this channel cannot work here, None if it can."""

    async def send(self, note: Notice) -> None:
        """Deliver the notification. Raises ChannelError or another exception."""


@dataclass(frozen=True)
class Bell:
    """Ring the bell of the terminal that the program runs in, without using the agent's streams."""

    device: str = "/dev/tty"

    def unavailable(self) -> str | None:
        """Return why the terminal cannot be opened, None if it can."""
        try:
            os.close(self._open())
        except OSError as error:
            return f"{self.device}: {error.strerror}"
        return None

    async def send(self, note: Notice) -> None:  # noqa: ARG002  # a bell has no text
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
        """Return which program is missing, None if it is installed."""
        program = self._command(Notice("", "", "", "", None, None, ""))[0]
        return None if shutil.which(program) else f"{program} was not found"

    async def send(self, note: Notice) -> None:
        """Show the notification. Raises ChannelError if the program fails."""
        await _run(self._command(note), b"", self.timeout)

    def _command(self, note: Notice) -> list[str]:
        if self.platform == "darwin":
            return ["osascript", *(word for line in OSASCRIPT for word in ("-e", line)), note.title, note.text]
        # The body is markup with backslashes interpreted by notify-send (Desktop Notifications Specification 1.2).
        body = html.escape(note.text, quote=False).replace("\\", "\\\\")
        urgency = "critical" if note.level in ("error", "critical", "fatal") else "normal"
        return ["notify-send", f"--urgency={urgency}", "--app-name=hookrun", "--", note.title, body]


@dataclass(frozen=True)
class CommandChannel:
    """Run a program, without a shell, with the notification as JSON on stdin; kill it after `timeout` seconds."""

    args: Sequence[str]
    timeout: float = 10.0

    def __post_init__(self) -> None:
        if isinstance(self.args, str) or not self.args:
            raise ValueError(f"Command: args must be a list (a program and its arguments), not {self.args!r}")

    def unavailable(self) -> str | None:
        """Return that the program is missing, None if it is installed."""
        return None if shutil.which(self.args[0]) else f"{self.args[0]} was not found"

    async def send(self, note: Notice) -> None:
        """Run the program. Raises ChannelError if it fails or times out."""
        await _run(self.args, json.dumps(asdict(note)).encode() + b"\n", self.timeout)


@dataclass(frozen=True)
class Webhook:
    """POST the notification as JSON to a URL. Redirects are not followed: they would send the headers elsewhere.

    Args:
        url: http or https.
        headers: More headers, such as Authorization.
        timeout: Seconds for each step of the exchange.
        template: Returns what is sent, such as `lambda note: {"text": note.text}`; by default, all fields.

    Raises:
        ValueError: The URL is not http or https, holds a user or unescaped characters; or a header holds control or
            non-ASCII characters.
    """

    url: str
    headers: Mapping[str, str] | None = None
    timeout: float = 5.0
    template: Callable[[Notice], object] | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("Webhook: the URL must be http://HOST or https://HOST")
        if parts.username is not None:
            raise ValueError("Webhook: the URL must be without a user: pass Authorization in headers")
        if not self.url.isascii() or not self.url.isprintable() or " " in self.url:
            raise ValueError("Webhook: the URL must be printable ASCII: escape other characters")
        try:
            _ = parts.port
        except ValueError:
            raise ValueError("Webhook: the URL must be one with a port from 0 to 65535") from None
        for name, value in (self.headers or {}).items():
            if not (name + value).isascii() or not (name + value).isprintable():
                raise ValueError(f"Webhook: the header {name!r} contains control or non-ASCII characters")

    def unavailable(self) -> str | None:
        """Return None: only sending shows whether the server answers."""
        return None

    async def send(self, note: Notice) -> None:
        """Send the notification. Raises ChannelError with the host only: the rest of the URL is often a secret."""
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

        class RefuseRedirects(HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                """Return no request: a redirect is an error, as any other status."""

        headers = {"Content-Type": "application/json", "User-Agent": "hookrun", **(self.headers or {})}
        request = Request(self.url, body, headers, method="POST")  # noqa: S310  # http and https only, see above
        with build_opener(RefuseRedirects).open(request, timeout=self.timeout) as answer:
            answer.read(MAX_RESPONSE)


async def _run(argv: Sequence[str], stdin: bytes, seconds: float) -> None:
    try:
        result = await run_program(argv, timeout=seconds, stdin=stdin, max_output=MAX_STDERR)
    except ProgramError as error:
        raise ChannelError(f"cannot start {argv[0]}: {error}") from error
    if result.exit_code is None:
        raise ChannelError(f"{argv[0]} timed out after {seconds:g} s")
    if result.exit_code != 0:
        output = printable_lines(result.output).strip()
        raise ChannelError(f"{argv[0]} exited with status {result.exit_code}: {output}".rstrip(": "))


def terminal_device() -> str | None:
    """Return the terminal of the nearest parent process with one; None without any, or without `ps`.

    A hook runs in its own session, which has no terminal.
    """
    try:
        done = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,tty="],  # noqa: S607  # POSIX: the same on Linux and macOS
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PS_TIMEOUT,
            check=False,
        )
        rows = [line.split() for line in done.stdout.decode().splitlines()]
        parents = {int(process): (int(parent), terminal) for process, parent, terminal in rows}
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    process = CallerProcess.pid or os.getppid()
    while process in parents:
        process, name = parents.pop(process)
        if name.strip("?-"):
            return f"/dev/{name}"
        if process <= 1:
            break
    return None
