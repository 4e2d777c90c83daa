"""Read a run's context from a file or stdin, check it and add missing fields; make what is printed of the run."""

from __future__ import annotations

import os
from time import monotonic

from hookrun.core.events import ALIASES, WITH_TOOL, canonical
from hookrun.core.fastjson import loads, type_name
from hookrun.core.model import AnyVerdict
from hookrun.core.state import timestamp
from hookrun.core.text import UserError, escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrun.core.model import HookResult

    Parts = Callable[[bytes, "ContextError"], dict[str, object]]

VERSION = 1
BOM = b"\xef\xbb\xbf"
# Seconds without more on stdin after which a complete object is accepted.
PAUSE = 0.02
# Milliseconds to wait for the first byte of discarded input.
FIRST_BYTE = 500
# Seconds to wait for more of an incomplete context.
SILENCE = 60.0
# Limit on the bytes of a context.
LARGEST = 256 << 20
# Bytes: what a pipe holds.
CHUNK = 1 << 16
# The type of a regular file, in its mode (not worth loading the module `stat`).
REGULAR = 8

# Fields of every context -> their type if not null.
FIELDS = {
    "session_id": str,
    "tool_name": str,
    "tool_args": dict,
    "tool_result_output": str,
    "tool_result_error": str,
    "user_prompt": str,
    "assistant_response": str,
    "root_session_id": str,
    "file_path": str,
    "working_dir": str,
    "agent": str,
    "agent_event": str,
    "agent_tool_name": str,
    "timestamp": str,
    "metadata": dict,
}
# Common wrong names of fields -> the field.
MISNAMED = {
    "args": "tool_args",
    "arguments": "tool_args",
    "command": "tool_args.command",
    "content": "tool_args.content",
    "cwd": "working_dir",
    "new_string": "tool_args.new_string",
    "old_string": "tool_args.old_string",
    "pattern": "tool_args.pattern",
    "prompt": "user_prompt",
    "query": "tool_args.query",
    "session": "session_id",
    "tool": "tool_name",
    "toolArgs": "tool_args",
    "toolInput": "tool_args",
    "toolName": "tool_name",
    "tool_input": "tool_args",
    "url": "tool_args.url",
}
# A context without values, in hooks' order.
EMPTY: dict[str, object] = {"version": VERSION, "event": None, **dict.fromkeys(FIELDS), "request_id": None}


OBJECT = 'give one JSON object, such as {"tool_name": "bash"}'


class ContextError(UserError, ValueError):
    """The context cannot be read; the message says from where and why."""


def read(source: str, deadline: float, parts: Parts | None = None) -> dict[str, object]:
    """Return the JSON object in a file (`-` is stdin) by `deadline` (monotonic). Raises ContextError.

    `parts` returns what can be read of bytes that are none, or raises their error.
    """
    return _from_stdin(deadline, parts) if source == "-" else _from_file(source, deadline, parts)


def is_cut(context: Mapping[str, object]) -> bool:
    """Return whether a call's context lacks arguments that there were, or the name of its tool."""
    names_tool = context["event"] not in WITH_TOOL or isinstance(context.get("tool_name"), str)
    return "arguments_cut_off" in context or not names_tool


def _from_file(path: str, deadline: float, parts: Parts | None) -> dict[str, object]:
    """Return a file's context; a pipe is read like stdin."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if os.fstat(fd).st_mode >> 12 == REGULAR:
                with open(fd, "rb", buffering=0, closefd=False) as file:
                    return _parse(file.read(), path, parts)
            return _from_stream(fd, path, deadline, parts)
        finally:
            os.close(fd)
    except OSError as error:
        raise ContextError(
            f'cannot read "{escape(path)}": {error.strerror}\nhint: give a file with a JSON object, or - for stdin'
        ) from None


def _from_stdin(deadline: float, parts: Parts | None) -> dict[str, object]:
    if os.isatty(0):
        os.write(2, b"note: reading the context from the terminal; end it with Ctrl-D, or give --ctx FILE\n")
    try:
        return _from_stream(0, "stdin", deadline, parts)
    except OSError as error:
        raise ContextError(
            f"cannot read stdin: {error.strerror}\nhint: `--ctx FILE` reads the context from a file"
        ) from None


def _from_stream(fd: int, name: str, deadline: float, parts: Parts | None) -> dict[str, object]:
    """Return the context at its end, or when a PAUSE follows a complete object.

    It is parsed in pauses only; after a failed attempt the next pause must be several times as long. Raises
    ContextError if it is incomplete at `deadline` (monotonic) or after SILENCE.
    """
    import select

    poll = select.poll()
    poll.register(fd, select.POLLIN)
    chunks: list[bytes] = []
    size = tried = 0
    last, pause = monotonic(), PAUSE
    while True:
        now = monotonic()
        give_up = min(deadline, last + SILENCE)
        if size > LARGEST or (size >= CHUNK and now >= deadline):  # less is read whatever the time: it is there already
            found = f"more than {LARGEST >> 20} MiB" if size > LARGEST else "no end of it by the deadline"
            raise ContextError(f"{name}: the context is not whole: {found}\nhint: {OBJECT}")
        until = min(give_up, last + pause) if size > tried else give_up
        if poll.poll(max(0, int((until - now) * 1000) + 1)):
            chunk = os.read(fd, CHUNK)
            if not chunk:
                return _parse(b"".join(chunks), name, parts)
            chunks.append(chunk)
            size += len(chunk)
            last = monotonic()
            continue
        now = monotonic()
        if size > tried and now >= last + pause:
            data = b"".join(chunks)
            chunks, tried = [data], len(data)
            if data.rstrip().endswith(b"}"):
                try:
                    return _parse(data, name, parts)
                except ContextError:
                    pause = max(PAUSE, 4 * (monotonic() - now))
        if now >= give_up:
            if not chunks:
                raise ContextError(f"{name}: nothing came\nhint: pipe a JSON object into it, or use `--ctx FILE`")
            return _parse(b"".join(chunks), name, parts)


def drain_stdin() -> None:
    """Discard stdin until its end or a pause, so that the writer gets no broken pipe."""
    if os.isatty(0):
        return
    import select

    poll = select.poll()
    poll.register(0, select.POLLIN)
    until = monotonic() + 1
    try:
        wait = FIRST_BYTE
        while monotonic() < until and poll.poll(wait) and os.read(0, CHUNK):
            wait = int(PAUSE * 1000)
    except OSError:
        return


def _parse(data: bytes, where: str, parts: Parts | None) -> dict[str, object]:
    try:
        return parse(data, where)
    except ContextError as error:
        if parts is None:
            raise
        return parts(data, error)


def parse(data: bytes, where: str) -> dict[str, object]:
    """Return the bytes as a JSON object; skip up to two byte-order marks. Raises ContextError."""
    text = data.removeprefix(BOM).removeprefix(BOM)
    try:
        value = loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ContextError(f"{where}: the context is not UTF-8 (byte {error.start})\nhint: {OBJECT}") from None
    except ValueError as error:
        line = getattr(error, "lineno", None)  # Python words a JSONDecodeError in its own way
        place = error if line is None else f"line {line}, column {getattr(error, 'colno', 1)}"
        found = "the context is empty" if not text.strip() else f"the context is not JSON ({place})"
        raise ContextError(f"{where}: {found}\nhint: {OBJECT}") from None
    if not isinstance(value, dict):
        raise ContextError(f"{where}: the context is {type_name(value)}\nhint: {OBJECT}")
    return value


def check(data: Mapping[str, object], where: str) -> None:
    """Raise ContextError if a field has the wrong type."""
    for name, value in data.items():
        if value is not None and (type_ := FIELDS.get(name)) is not None and not isinstance(value, type_):
            expected = "a string" if type_ is str else "an object"
            raise ContextError(f"{where}: {name} is {type_name(value)}, not {expected} or null")


def with_defaults(data: Mapping[str, object], event: str, request_id: str, cwd: str | None) -> dict[str, object]:
    """Return the complete context: every field, null where unknown, then all other given ones."""
    context = {**EMPTY, **data}
    context["version"], context["event"], context["request_id"] = VERSION, event, request_id
    if "hook" in data:
        del context["hook"]  # hookrun sets it itself
    given = context["working_dir"]
    if not isinstance(given, str) or not given:
        context["working_dir"] = cwd
    elif cwd is not None and given[0] != "/":
        context["working_dir"] = os.path.join(cwd, given)
    if not context["timestamp"]:
        context["timestamp"] = timestamp()
    if not context["metadata"]:
        context["metadata"] = {}
    args = context["tool_args"]
    if context["file_path"] is not None or (isinstance(args, dict) and "file_path" in args):
        context["file_path"] = file_path(context)
    return context


def doubts_about(data: Mapping[str, object], event: str, source: str) -> list[str]:
    """Return warnings about likely mistakes in a context from `source`, as for `read`. Raises ContextError."""
    own = {"hook_event_name", "hookName", *(() if "tool_args" in data else ("tool_input", "toolArgs"))}
    opencodes = "hook" in data and ("input" in data or isinstance(data.get("event"), dict))
    if opencodes or not own.isdisjoint(data):
        hint = "`--agent NAME` reads it; a context has `tool_name` and `tool_args`"
        raise ContextError(f"the context is an agent's own message, whose fields no hook would see\nhint: {hint}")
    check(data, "stdin" if source == "-" else source)
    found = [
        f"no matcher, condition or hook reads {name} of the context: give it as {instead}"
        for name, instead in MISNAMED.items()
        if name in data and data.get(instead.partition(".")[0]) is None and event in ALIASES
    ]
    given = data.get("event")
    if isinstance(given, str) and given != event and canonical(given) != event:
        found.append(f"the context is for {given}, not for {event}")
    return found


def file_path(context: Mapping[str, object]) -> str | None:
    """Return a context's file, absolute and normalised: from its arguments, else its own field."""
    args = context.get("tool_args")
    path = args.get("file_path") if isinstance(args, dict) else None
    if not isinstance(path, str):
        path = os.fsdecode(path) if isinstance(path, os.PathLike) else context.get("file_path")
    if not isinstance(path, str) or not path:
        return None
    directory = context.get("working_dir")
    return os.path.normpath(os.path.join(directory, path)) if isinstance(directory, str) else os.path.normpath(path)


def answer(verdict: AnyVerdict, request_id: str, runs: Sequence[HookResult]) -> dict[str, object]:
    """Return what `hookrun fire` prints: a verdict, the run's id, and a summary of each hook."""
    return {**AnyVerdict.to_dict(verdict), "request_id": request_id, "hooks": [run.summary() for run in runs]}
