"""Two logs of one agent: what happened, for people; and every tool call with its result, a line of JSON for each."""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from tempfile import mkstemp
from threading import Lock
from typing import TYPE_CHECKING

from hookrun.bundles.log_values import Kept
from hookrun.bundles.naming import named
from hookrun.bundles.plain_text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from hookrun.library.context import Context
    from hookrun.library.engine import Engine

MAX_VALUE = 10_000
"""Characters of one value that are kept."""
PRIORITY = 1000
"""Last: what is logged is what the hooks before it have made of the call."""
ERRORS = frozenset({"ERROR", "CRITICAL"})
"""The levels of a message that count as errors."""


class AgentLog:
    """Log what an agent does: `pre_tool_use`, `post_tool_use` and `post_tool_failure`, refused calls included.

    Each call is a line of JSON in `tools_log_file` when it is asked for (`"event_type": "pre_tool"`: `timestamp`,
    `tool_name`, `tool_input`, `tool_use_id`) and another when it is over (`"post_tool"`: `tool_output` and `error` as
    well). A refused call has only the first. Each line is one append, so that threads and processes can share a file.
    Files are made for their owner alone (0600), directories as needed.

    A log that cannot be written never stops the agent: its hook fails, which the result of the fire and the audit tell.

    Args:
        log_file: For people: `log_message` writes to it.
        tools_log_file: For programs: JSON Lines.
        redact: Whether what looks like a credential is taken out, of both.
        max_value: Characters of one value (`tool_output`, an argument) that are kept; a longer one is cut, and ends
            with how long it was.
        name: The name of the hooks in the engine. Of a second log in one engine, to another file, the file is added.
    """

    def __init__(
        self,
        log_file: str | os.PathLike[str],
        tools_log_file: str | os.PathLike[str],
        *,
        redact: bool = True,
        max_value: int = MAX_VALUE,
        name: str = "agent-log",
    ) -> None:
        self.log_file = os.path.abspath(log_file)
        self.tools_log_file = os.path.abspath(tools_log_file)
        self.name = name
        self._kept = Kept(max_value, redact=redact)
        self._started = _now()
        self._lock = Lock()
        self._tools: Counter[str] = Counter()
        self._messages = 0
        self._errors = 0

    @classmethod
    def for_document(
        cls, directory: str | os.PathLike[str], document: str, *, redact: bool = True, name: str | None = None
    ) -> Self:
        """Return the log of one document: `<document>_agent.log` and `<document>_tools.jsonl` in the directory.

        Its hooks are called `agent-log-<document>` where no other name is given.

        Raises ValueError where the document's name is not the name of a file.
        """
        if document in ("", ".", "..") or any(char in document for char in "/\\\0"):
            raise ValueError(f"the document is called {document!r}, expected a name without a directory")
        stem = os.path.join(directory, document)
        return cls(f"{stem}_agent.log", f"{stem}_tools.jsonl", redact=redact, name=name or f"agent-log-{document}")

    def register(self, engine: Engine) -> None:
        """Register for what happens to a tool call, after all other hooks and whatever they say."""
        for event, handler in (
            ("pre_tool_use", self.before),
            ("post_tool_use", self.after),
            ("post_tool_failure", self.after),
        ):
            engine.register(
                event,
                handler,
                priority=PRIORITY,
                always=True,
                on_failure="continue",
                description=f"log tool calls to {self.tools_log_file}",
                **named(engine, f"{self.name}-{event}", self.tools_log_file),
            )

    def before(self, ctx: Context) -> None:
        """Log that a tool is about to run, or would have run. Raises OSError where that cannot be written."""
        self.log_tool_call(_entry("pre_tool", ctx))

    def after(self, ctx: Context) -> None:
        """Log what a tool gave back, or why it failed. Raises OSError where that cannot be written."""
        self.log_tool_call(
            {
                **_entry("post_tool", ctx),
                "tool_output": ctx.get("tool_result_output"),
                "error": ctx.get("tool_result_error"),
            }
        )

    def log_message(self, message: str, level: str = "INFO") -> None:
        """Append a line with time and level to the log for people; DEBUG, INFO, WARNING, ERROR, CRITICAL or any word.

        Line ends and control characters in it become escapes: no message can look like two. Raises OSError.
        """
        level = visible(level).upper()
        with self._lock:
            self._messages += 1
            self._errors += level in ERRORS
        _append(self.log_file, f"{_now()} [{level}] {visible(self._kept.text(message))}\n")

    def log_tool_call(self, entry: Mapping[str, object]) -> None:
        """Append an entry to the log of tool calls, `timestamp` added where it has none. Raises OSError.

        Whatever is not JSON is logged as text. A `pre_tool` entry counts as a call, one with an `error` as an error.
        """
        with self._lock:
            if entry.get("event_type") == "pre_tool":
                self._tools[str(entry.get("tool_name"))] += 1
            self._errors += bool(entry.get("error"))
        line = {"timestamp": _now(), **{str(name): self._kept.value(value, str(name)) for name, value in entry.items()}}
        _append(self.tools_log_file, json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")

    def get_stats(self) -> dict[str, object]:
        """Return what this object was asked to log: `tool_calls`, `tools` (name -> calls), `messages`, `errors`."""
        with self._lock:
            return {
                "tool_calls": self._tools.total(),
                "tools": dict(sorted(self._tools.items())),
                "messages": self._messages,
                "errors": self._errors,
            }

    def write_summary(self, path: str | os.PathLike[str]) -> None:
        """Put the statistics of this log into a `summary.json`, beside those of other logs that are there already.

        The file is an object with `documents` (name -> statistics, files and times); this log's name is that of its
        `log_file` without `_agent.log`. It is replaced whole, one writer at a time.

        Raises:
            OSError: It cannot be written.
            ValueError: What is there already is no such summary; it is left alone.
        """
        path = os.path.abspath(path)
        directory = os.path.dirname(path)
        os.makedirs(directory, exist_ok=True)
        name = os.path.basename(self.log_file).removesuffix(".log").removesuffix("_agent")
        with _locked(directory):
            documents = _documents(path)
            documents[name] = {
                **self.get_stats(),
                "log_file": self.log_file,
                "tools_log_file": self.tools_log_file,
                "started_at": self._started,
                "written_at": _now(),
            }
            _replace(path, json.dumps({"documents": documents}, indent=2) + "\n")


def _entry(event_type: str, ctx: Context) -> dict[str, object]:
    return {
        "timestamp": ctx.timestamp or _now(),
        "event_type": event_type,
        "tool_name": ctx.tool_name,
        "tool_input": ctx.get("tool_args"),
        "tool_use_id": ctx.tool_use_id,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _append(path: str, line: str) -> None:
    """Append a line in one write. Raises OSError, also where there is room for a part only, which is taken back."""
    data = line.encode("utf-8", "backslashreplace")  # half a surrogate pair: its escape is JSON, too
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        fd = os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fd = os.open(path, flags, 0o600)
    try:
        written = os.write(fd, data)
        if written != len(data):
            size = os.lseek(fd, 0, os.SEEK_CUR)
            if os.fstat(fd).st_size == size:  # else another line stands behind it already
                os.ftruncate(fd, size - written)
            raise OSError(f"{path}: there is no room for the line")
    finally:
        os.close(fd)


@contextmanager
def _locked(directory: str) -> Iterator[None]:
    """Hold the directory's lock: one writer of its summary at a time."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _documents(path: str) -> dict[str, object]:
    """Return what a summary says of the documents. Raises ValueError where it is none."""
    try:
        with open(path, encoding="utf-8") as file:
            summary = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{path} is there already and is not JSON: {error}") from error
    documents = summary.get("documents") if isinstance(summary, dict) else None
    if not isinstance(documents, dict):
        raise ValueError(f"{path} is there already and has no object `documents`")  # noqa: TRY004
    return documents


def _replace(path: str, text: str) -> None:
    fd, temporary = mkstemp(dir=os.path.dirname(path), prefix=".summary-")
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
