"""Write the audit: a JSON line per hook that ran and one for the event, in one append; rotated by size."""

from __future__ import annotations

import os
from time import monotonic

from hookrun.core.events import REPLACEABLE
from hookrun.core.fastjson import dump_lines, dumps
from hookrun.core.state import STATE_DIR, open_private, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hookrun.core.model import AnyHook, Hook, HookResult, Outcome

VERSION = 1
# Bytes after which the file is rotated.
MAX_BYTES = 10 << 20
# Rotated files kept: audit.jsonl.1 is the newest.
KEEP = 5
# Seconds for which a long-running program trusts that its open file is still the audit.
RECHECK_AFTER = 0.02
# Characters of a message or other text from outside.
MAX_TEXT = 500

# How much of a call is kept (the setting `audit.details`): only the tool's name; its file and its command's beginning;
# the whole context.
NONE, SUMMARY, FULL = "none", "summary", "full"

# Characters of a command that a summary keeps.
MAX_COMMAND = 200
# Characters of a command searched for credentials; the rest is not kept.
MAX_READ = 1 << 13
# Bytes of a context that `full` keeps; of a larger one it keeps the size.
MAX_CONTEXT_BYTES = 1 << 20
# Characters of a changed argument that `full` keeps.
MAX_VALUE = 1 << 14
# Characters of the shortest credential known by its form alone.
SHORTEST_CREDENTIAL = 15

# Characters of a `traceparent`'s version, trace, span and flags (w3.org/TR/trace-context, version 00).
TRACEPARENT = [2, 32, 16, 2]

# Parts of the words before a credential that follows neither `=` nor `:`.
CREDENTIAL_WORDS = (
    *("bearer", "basic", "authorization", "pass", "token", "secret", "key", "credential", "cookie"),
    *("mysql", "mariadb", "login"),
)

# Fields of every record, and the context's fields behind them.
ABOUT = (
    ("request_id", "request_id"),
    ("agent", "agent"),
    ("through", "fired_through"),
    ("event", "event"),
    ("session_id", "session_id"),
    ("tool", "tool_name"),
    ("proof", "proof"),
)


def path(home: str) -> str:
    """Return the audit's path; rotated files end in a number, .1 the newest."""
    return home + STATE_DIR + "/audit.jsonl"


def record(kind: str, context: Mapping[str, object], /, **fields: object) -> dict[str, object]:
    """Return a record of this kind with the fields that are not None, False or empty."""
    return _with(base_record(kind, context), fields)


def _with(data: dict[str, object], fields: Mapping[str, object]) -> dict[str, object]:
    """Add the fields that are not None, False or empty to a record."""
    for name, field in fields.items():
        if field or (field == 0 and field is not False):
            data[name] = _capped(field) if isinstance(field, str) else field
    return data


def base_record(kind: str, context: Mapping[str, object]) -> dict[str, object]:
    """Return the first fields of every record."""
    data: dict[str, object] = {"v": VERSION, "kind": kind, "time": timestamp()}
    for name, field in ABOUT:
        value = context.get(field)
        if isinstance(value, str):
            data[name] = value if len(value) <= MAX_TEXT else _capped(value)
    parent = os.environ.get("TRACEPARENT")  # of the agent's own trace
    if parent and [len(part) for part in parent.split("-") if part.isalnum()] == TRACEPARENT:
        data["traceparent"] = parent
    return data


def hook_record(run: HookResult, context: Mapping[str, object]) -> dict[str, object]:
    """Return the record of a hook that ran, without the arguments' values."""
    return _of_run(run, base_record("hook", context), NONE)


def _of_run(run: HookResult, first: dict[str, object], details: str) -> dict[str, object]:
    outcome, hook, failure = run.outcome, run.hook, run.failure
    data = {**first, **hook_fields(hook)}
    data["ms"] = round(outcome.ms, 1)
    if run.interrupted:
        data["interrupted"] = True
    else:
        data["action"] = run.verdict.action
    if failure is not None:
        data["failure"] = failure.kind
        data["detail"] = _excerpt(failure.detail)
    if outcome.exit_code is not None:
        data["exit"] = outcome.exit_code
    if hook.kind != "handler":
        data["bytes_in"], data["bytes_out"], data["bytes_err"] = outcome.bytes_in, outcome.bytes_out, outcome.bytes_err
    _with(
        data,
        {
            "consequence": run.consequence,
            "mode": None if hook.mode == "enforce" else hook.mode,
            "background": getattr(hook, "background", False) or outcome.runs_on,
            "recheck": run.recheck,
            "call": run.call,
            "allowed": run.allowed,
            "truncated": outcome.truncated,
            "left_running": outcome.processes_left or None,
        },
    )
    if run.changed:
        data["changed"] = [_capped(path) for path in run.changed[:50]]
        if details != NONE and (changes := _changes(run, details)):
            data["changes"] = changes
    _add_texts(data, run, details)
    return data


def _add_texts(data: dict[str, object], run: HookResult, details: str) -> None:
    verdict = run.verdict
    if verdict.message:
        data["message"] = _excerpt(verdict.message)
    if verdict.additional_context:
        data["additional_context"] = _excerpt(verdict.additional_context)
    hides_arguments = run.hook.mode == "advise" and details != FULL  # its system message has them
    if verdict.system_message and run.failure is None and not hides_arguments:
        data["system_message"] = _excerpt(verdict.system_message)
    if run.notes:
        data["notes"] = [_excerpt(note) for note in run.notes]


def hook_fields(hook: AnyHook) -> dict[str, object]:
    """Return a record's fields about the hook."""
    return {"hook": _capped(hook.name), "layer": hook.layer, "source": _capped(hook.location())}


def _changes(run: HookResult, details: str) -> dict[str, list[str | None]]:
    """Return each changed argument that may be kept: before and after, None where missing."""
    before, after = run.before or {}, run.args
    names = ("command", "file_path") if details == SUMMARY else dict.fromkeys((*before, *after))
    changed = (name for name in names if before.get(name) != after.get(name))
    return {name: [_argument(before.get(name), details), _argument(after.get(name), details)] for name in changed}


def _argument(value: object, details: str) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else dumps(value)
    return summarized(text) if details == SUMMARY else summarized(text, MAX_VALUE, 2 * MAX_VALUE)


def fire_records(
    runs: Sequence[HookResult],
    context: Mapping[str, object],
    *,
    ms: float,
    problems: Sequence[str],
    setting: object,
    message: str | None = None,
    error: str | None = None,
    notes: Sequence[str] = (),
    **fields: object,
) -> list[dict[str, object]]:
    """Return an event's records: one of each hook that ran, one of the event.

    `ms` is milliseconds, `setting` the setting `audit`.
    """
    first = base_record("hook", context)
    details = details_of(setting)
    records = [_of_run(run, first, details) for run in runs]
    fields.update(message=message and _redacted(message), error=error and _redacted(error))
    fields["notes"] = [_redacted(note) for note in notes]
    fields["ms"] = round(ms, 1)
    fields["problems"] = [_redacted(problem)[:MAX_TEXT] for problem in problems]
    if details == FULL:
        context = _with_replaced(context, runs)
        size = len(dumps(context))
        if size <= MAX_CONTEXT_BYTES:
            from hookrun.core.credentials import redact_json  # only where whole contexts are kept

            fields["context"] = redact_json(context)
        else:
            fields["context_bytes"] = size
    return [*records, _with({**first, "kind": "fire", "hooks": len(runs)}, {**call_fields(context, details), **fields})]


def _with_replaced(context: Mapping[str, object], runs: Sequence[HookResult]) -> Mapping[str, object]:
    """Return a context with the texts that hooks put there, and nowhere those that they replaced."""
    for run in runs:
        for name, field in REPLACEABLE.values() if run.changed else ():
            if field in run.changed and (new := getattr(run.verdict, name)) is not None:
                context = {name: value for name, value in context.items() if name != "payload"} | {field: new}
    return context


def details_of(setting: object) -> str:
    """Return how much of a call is kept now, by the setting `audit` (None: the default)."""
    given: Mapping[str, object] = setting if isinstance(setting, dict) else {}
    details, until = given.get("details"), given.get("full_until")
    if isinstance(until, str) and timestamp() < until:
        return FULL
    return details if isinstance(details, str) else SUMMARY


def call_fields(context: Mapping[str, object], details: str) -> dict[str, object]:
    """Return a call's file and its command's beginning, if they may be kept."""
    if details == NONE:
        return {}
    fields: dict[str, object] = {}
    file, args = context.get("file_path"), context.get("tool_args")
    if isinstance(file, str):
        fields["file"] = summarized(file)
    command = args.get("command") if isinstance(args, dict) else None
    if isinstance(command, str):
        fields["command"] = summarized(command)
    return fields


def summarized(text: str, limit: int = MAX_COMMAND, read: int = MAX_READ) -> str:
    """Return the first `limit` characters of a text without credentials, sought in the first `read`."""
    text = _without_credentials(text[:read])
    return text if len(text) <= limit else f"{text[:limit]}..."


def _without_credentials(text: str) -> str:
    if not may_hold_credential(text):
        return text
    from hookrun.core.credentials import redact  # its table is not needed for most texts

    return redact(text)


def may_hold_credential(text: str) -> bool:
    """Return whether to search the table of credentials: a quick look that misses none of its patterns."""
    if "=" in text or ":" in text or "-----" in text:
        return True
    if max(map(len, text.split()), default=0) >= SHORTEST_CREDENTIAL:
        return True
    return any(map(text.lower().__contains__, CREDENTIAL_WORDS))


def background_record(hook: Hook, outcome: Outcome, context: Mapping[str, object]) -> dict[str, object]:
    """Return a finished background hook's record."""
    from hookrun.claude import interpret
    from hookrun.core.model import Failure, HookResult

    answer, notes = interpret(hook, outcome, str(context.get("event")), context)
    run = HookResult(hook, outcome, failure=answer if isinstance(answer, Failure) else None)
    run.notes = notes
    return {**hook_record(run, context), "kind": "background"}


def _capped(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}... ({len(text)} characters)"


def _excerpt(text: str) -> str:
    return _capped(_redacted(text))


def _redacted(text: str) -> str:
    """Return a text's beginning without credentials."""
    return _without_credentials(text[: MAX_TEXT * 4])


def write(home: str, records: Iterable[Mapping[str, object]], settings: object = None) -> str | None:
    """Append the records to the account's audit in one write; return any error, raise nothing.

    `settings` is the `audit` setting: False writes nothing, an object may hold limits.
    """
    if settings is False:
        return None
    return Log(home, settings).append(dump_lines(records).encode("ascii"))


# Beside the audit: empty, as a full disk has room for little more; its time is that of the last lost record.
GAP = ".gap"


class Log:
    """Write to an account's audit: opened on first use, and again when another file has its name.

    With `stay_open`, for long-running programs, it stays open until `close`. Safe in many threads and forked processes.
    """

    def __init__(self, home: str, settings: object, *, stay_open: bool = False) -> None:
        self._stay_open = stay_open
        self._path = path(home)
        self._settings: Mapping[str, int] = settings if isinstance(settings, dict) else {}
        self._file: _File | None = None

    def append(self, lines: bytes) -> str | None:
        """Append whole lines in one write; return any error, raise nothing."""
        try:
            file = self.ready()  # stays open while we hold it, whatever other threads do
            written = os.write(file.number, lines)
            size = os.lseek(file.number, 0, os.SEEK_CUR)
            if written != len(lines):
                if os.fstat(file.number).st_size == size:  # else another process's line follows the cut one
                    os.ftruncate(file.number, size - written)
                return self._lost(f"{self._path}: there is no room for the record")
            most = self._settings.get("max_bytes", MAX_BYTES)
            if size > most:
                from hookrun.core.files import rotate  # rare

                limits = self._settings.get("max_size"), self._settings.get("max_age")
                rotate(self._path, most, self._settings.get("keep", KEEP), *limits)
        except OSError as error:
            return self._lost(f"{error.filename or self._path}: {error.strerror}")
        return None

    def _lost(self, why: str) -> str:
        try:
            os.close(open_private(self._path + GAP, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
        except OSError:  # not even room for this
            pass
        return why

    def ready(self) -> _File:
        """Return the open file: the last one if it is, or just was, the audit. Raises OSError."""
        file = self._file
        if file is None or not file.is_at(self._path):
            file = _File(open_private(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT))
            if self._stay_open:
                self._file = file
        return file

    def close(self) -> None:
        """Close the file once no thread uses it."""
        self._stay_open = False
        self._file = None


class _File:
    """An open file, closed with its last reference."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._own: os.stat_result | None = None
        self._seen = monotonic()

    def is_at(self, path: str) -> bool:
        """Return whether this is the file at the path, or was less than RECHECK_AFTER ago."""
        now = monotonic()
        if now - self._seen < RECHECK_AFTER:
            return True
        self._own = self._own or os.fstat(self.number)
        try:
            there = os.lstat(path)
        except FileNotFoundError:
            return False
        self._seen = now
        return os.path.samestat(there, self._own)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self.number)
