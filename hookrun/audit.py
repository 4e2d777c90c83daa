"""The audit: one JSON line per hook run and one per fire, written with one append, rotated by size."""

from __future__ import annotations

import os
from time import monotonic

from hookrun.context import timestamp
from hookrun.fastjson import dumps
from hookrun.state import open_private, state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hookrun.model import Hook, HookResult, Outcome

VERSION = 1
MAX_BYTES = 10 << 20
"""Bytes after which the file is put aside."""
KEEP = 5
"""Files put aside that are kept: audit.jsonl.1 is the newest."""
RECHECK_AFTER = 0.02
"""Seconds for which a program that lives on takes it that the file at the audit's place is the one it has open."""
MAX_TEXT = 500
"""Characters of a message, and of any other text from outside."""

MAX_CONTEXT_BYTES = 1 << 20
"""Bytes of a context that `record_context` keeps; of a larger one only its size is."""

ABOUT = (
    ("request_id", "request_id"),
    ("agent", "agent"),
    ("through", "fired_through"),
    ("event", "event"),
    ("session_id", "session_id"),
    ("tool", "tool_name"),
)
"""What every record says of the context: the record's name for it, and the context's."""


def path(home: str) -> str:
    """Return the file that is written; those put aside have a number behind it, .1 the newest."""
    return state_dir(home) + "/audit.jsonl"


def record(kind: str, context: Mapping[str, object], /, **fields: object) -> dict[str, object]:
    """Return a record: what kind, when, in which fire and session, and the given fields that are not None or empty."""
    return _with(base_record(kind, context), fields)


def _with(data: dict[str, object], fields: Mapping[str, object]) -> dict[str, object]:
    """Put those of the fields into a record that say something."""
    for name, field in fields.items():
        if field is not None and field is not False and field not in ([], ""):
            data[name] = _capped(field) if isinstance(field, str) else field
    return data


def base_record(kind: str, context: Mapping[str, object]) -> dict[str, object]:
    """Return what every record begins with."""
    data: dict[str, object] = {"v": VERSION, "kind": kind, "time": timestamp()}
    for name, field in ABOUT:
        value = context.get(field)
        if isinstance(value, str):
            data[name] = value if len(value) <= MAX_TEXT else _capped(value)
    return data


def hook_record(run: HookResult, context: Mapping[str, object]) -> dict[str, object]:
    """Return the record of one hook run. Arguments are not in it, only the paths of those that were changed."""
    return _of_run(run, base_record("hook", context))


def _of_run(run: HookResult, first: dict[str, object]) -> dict[str, object]:
    outcome, hook, failure = run.outcome, run.hook, run.failure
    data = {**first, **hook_fields(hook)}
    data["ms"] = round(outcome.ms, 1)
    if run.interrupted:
        data["interrupted"] = True
    else:
        data["action"] = run.verdict.action
    if failure is not None:
        data["failure"] = failure.kind
        data["detail"] = _capped(redacted(failure.detail) or "")
    if outcome.exit_code is not None:
        data["exit"] = outcome.exit_code
    if hook.kind != "handler":
        data["bytes_in"], data["bytes_out"], data["bytes_err"] = outcome.bytes_in, outcome.bytes_out, outcome.bytes_err
    if hook.mode != "enforce" or hook.background or run.recheck or outcome.truncated or outcome.processes_left:
        data.update(_unusual_fields(run))
    if run.changed:
        data["changed"] = [_capped(path) for path in run.changed[:50]]
    if run.verdict.message:
        data["message"] = _capped(redacted(run.verdict.message) or "")
    if run.notes:
        data["notes"] = [_capped(redacted(note) or "") for note in run.notes]
    return data


def hook_fields(hook: Hook) -> dict[str, object]:
    """Return what a record says of the hook."""
    return {"hook": _capped(hook.name), "layer": hook.layer, "source": _capped(hook.location())}


def _unusual_fields(run: HookResult) -> dict[str, object]:
    """Return what is kept of a run only where it is not as usual."""
    fields = {
        "mode": run.hook.mode if run.hook.mode != "enforce" else None,
        "background": run.hook.background,
        "recheck": run.recheck,
        "truncated": run.outcome.truncated,
        "left_running": run.outcome.processes_left,
    }
    return {name: value for name, value in fields.items() if value}


def fire_records(
    runs: Sequence[HookResult],
    context: Mapping[str, object],
    *,
    ms: float,
    problems: Sequence[str],
    keep_context: object,
    **fields: object,
) -> list[dict[str, object]]:
    """Return the records of a fire: one of each hook run, and one of it all.

    `ms` is milliseconds. With `keep_context` true the context is kept as it is; of one too large only its size is.
    """
    first = base_record("hook", context)
    records = [_of_run(run, first) for run in runs]
    fields["ms"] = round(ms, 1)
    fields["problems"] = [(redacted(problem) or "")[:MAX_TEXT] for problem in problems]
    if keep_context is True:
        size = len(dumps(context))
        if size <= MAX_CONTEXT_BYTES:
            fields["context"] = context
        else:
            fields["context_bytes"] = size
    return [*records, _with({**first, "kind": "fire", "hooks": len(runs)}, fields)]


def background_record(hook: Hook, outcome: Outcome, context: Mapping[str, object]) -> dict[str, object]:
    """Return the record of a background hook that has ended."""
    from hookrun.dialects import interpret
    from hookrun.model import Failure, HookResult, Verdict

    answer, notes = interpret(hook, outcome, str(context.get("event")), context)
    run = HookResult(hook, Verdict(), outcome=outcome, failure=answer if isinstance(answer, Failure) else None)
    run.notes = notes
    return {**hook_record(run, context), "kind": "background"}


def _capped(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}... ({len(text)} characters)"


def redacted(text: str | None) -> str | None:
    """Return the beginning of a text without its credentials."""
    if text is None:
        return None
    from hookrun.credentials import redact

    return redact(text[: MAX_TEXT * 4])


def write(home: str, records: Iterable[Mapping[str, object]], settings: object = None) -> str | None:
    """Append the records to the account's audit in one write; return what is wrong if that fails, it raises nothing.

    `settings` is the `audit` setting: False writes nothing, an object may hold `max_bytes` and `keep`.
    """
    if settings is False:
        return None
    return Log(home, settings).append("".join([dumps(record) + "\n" for record in records]).encode("ascii"))


class Log:
    """An account's audit as it is written: opened at first need, and anew when the file at its place is another.

    It stays open, until `close`, only where the program lives on and asks for it (`stay_open`). Safe to use from many
    threads, and in a process that was forked.
    """

    __slots__ = ("_file", "_path", "_settings", "_stay_open")

    def __init__(self, home: str, settings: object, *, stay_open: bool = False) -> None:
        self._stay_open = stay_open
        self._path = path(home)
        self._settings: Mapping[str, int] = settings if isinstance(settings, dict) else {}
        self._file: _File | None = None

    def append(self, lines: bytes) -> str | None:
        """Append whole lines in one write; return what is wrong if that fails, it raises nothing."""
        try:
            file = self.ready()  # open as long as we have it, whatever another thread does meanwhile
            written = os.write(file.number, lines)
            size = os.lseek(file.number, 0, os.SEEK_CUR)
            if written != len(lines):
                _undo_partial_write(file.number, size, written)
                return f"{self._path}: there is no room for the record"
            most = self._settings.get("max_bytes", MAX_BYTES)
            if size > most:
                from hookrun.files import rotate  # rare

                rotate(self._path, most, self._settings.get("keep", KEEP))
        except OSError as error:
            return f"{error.filename or self._path}: {error.strerror}"
        return None

    def ready(self) -> _File:
        """Return the file, open; the one of the last time if it is still there, or was just now. Raises OSError."""
        file = self._file
        if file is None or not file.is_at(self._path):
            file = _File(_open(self._path))
            if self._stay_open:
                self._file = file
        return file

    def close(self) -> None:
        """Stay open no longer."""
        self._stay_open = False
        self._file = None


class _File:
    """An open file, closed when nobody has it any more."""

    __slots__ = ("_identity", "_seen", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self._identity: tuple[int, int] | None = None
        self._seen = monotonic()

    def is_at(self, path: str) -> bool:
        """Tell whether this is the file at the path, or was less than JUST_NOW ago."""
        now = monotonic()
        if now - self._seen < RECHECK_AFTER:
            return True
        if self._identity is None:
            mine = os.fstat(self.number)
            self._identity = mine.st_dev, mine.st_ino
        try:
            there = os.lstat(path)
        except FileNotFoundError:
            return False
        self._seen = now
        return (there.st_dev, there.st_ino) == self._identity

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self.number)


def _undo_partial_write(fd: int, size: int, written: int) -> None:
    """Take a line that a full disk cut short out of the file again, unless another line stands behind it already."""
    if os.fstat(fd).st_size == size:
        os.ftruncate(fd, size - written)


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        return open_private(path, flags)
