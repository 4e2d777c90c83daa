"""Show runs from the audit: `hookrun log` the latest ones, `hookrun why` one in detail and which hook decided it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click
import orjson

from hookrun import audit, audit_reader
from hookrun.audit_reader import FireRecords
from hookrun.cli.common import command, home_option, json_option, resolve_home
from hookrun.cli.printing import BOLD, DIM, ERROR, WARNING, print_json, print_lines
from hookrun.text import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.audit_reader import Record
    from hookrun.cli.printing import Line

FOLLOW_INTERVAL = 0.2
"""Seconds between two looks for new records."""

MIN_ID = 4
"""Characters of a request id that are enough to name it."""

LABELS = {
    "skipped": "HOOKRUN_SKIP",
    "switched_off": "switched off",
    "left_to": "nothing was run",
    "problems": "trouble",
    "error": "trouble",
    "interrupted": "interrupted by signal",
    "degraded": "changed for the agent",
}
"""A field of a run's record -> how it is labelled."""


# --- hookrun log


@command("log", "log", "log -n 100 --failures", "log --hook no-force-push --json", "log --follow")
@click.option("-n", "limit", default=20, show_default=True, type=click.IntRange(1), help="How many runs to show.")
@click.option("--hook", "name", metavar="NAME", help="Only runs that included this hook.")
@click.option("--failures", is_flag=True, help="Only runs in which something failed.")
@click.option("--follow", is_flag=True, help="Keep showing new runs, until Ctrl-C.")
@home_option
@click.option("--json", "as_json", is_flag=True, help="Print the records as they are, one per line.")
def log_command(*, limit: int, name: str | None, failures: bool, follow: bool, home: str | None, as_json: bool) -> None:
    """Show the latest runs, newest last: event, tool, agent, the result, and what each hook answered."""
    where = resolve_home(home)

    def wanted(fired: FireRecords) -> bool:
        if name is not None and all(each.get("hook") != name for each in fired.hooks):
            return False
        return not failures or _has_failures(fired)

    tail = AuditTail(where) if follow else None
    found = audit_reader.latest_fires(where, wanted, limit)
    if not found and not follow and not as_json:
        click.echo(f"no matching entries in {audit.path(where)}")
    for fired in found:
        _show(fired, as_json=as_json)
    seen = {fired.request_id for fired in found}
    while tail is not None:
        for fired in tail.new():
            if wanted(fired) and (fired.fire is None or fired.request_id not in seen):
                _show(fired, as_json=as_json)
        time.sleep(FOLLOW_INTERVAL)


def _has_failures(fired: FireRecords) -> bool:
    header = fired.header
    return (
        fired.unfinished
        or any(each.get("failure") for each in fired.hooks)
        or bool(header.get("problems") or header.get("error") or header.get("interrupted"))
    )


def _show(fired: FireRecords, *, as_json: bool) -> None:
    if as_json:
        for record in (fired.start, *fired.hooks, fired.fire):
            if record is not None:
                click.echo(orjson.dumps(record))
        return
    lines = [(_headline(fired), BOLD)]
    lines += [line for record in fired.hooks for line in _hook_lines(record, "    ")]
    lines += [(f"    {problem}", ERROR) for problem in _problems(fired.header)]
    print_lines(lines)


def _headline(fired: FireRecords) -> str:
    header = fired.header
    event = " ".join(str(header[key]) for key in ("event", "tool") if header.get(key))
    agent = f" from {header['agent']}" if header.get("agent") else ""
    if fired.unfinished:
        result = "has not answered: it still runs, or was killed"
    else:
        result = str(header.get("action") or "no verdict") + (f" in {header['ms']} ms" if "ms" in header else "")
    return f"{header.get('time')}  {event}{agent}: {result}  ({fired.request_id})"


def _hook_lines(record: Record, indent: str) -> Iterator[Line]:
    failure = record.get("failure")
    marks = [mark for mark in ("recheck", "interrupted", "truncated") if record.get(mark)]
    marks += ["background"] if record.get("kind") == audit_reader.BACKGROUND else []
    marked = f" ({', '.join(marks)})" if marks else ""
    failed = f", failed ({failure}: {record.get('detail')})" if failure else ""
    message = f": {record['message']}" if record.get("message") and not failure else ""
    result = f"{record.get('action') or 'no verdict'} in {record.get('ms')} ms{failed}{message}"
    yield f"{indent}{record.get('hook')}{marked}: {result}", ERROR if failure else ""
    changed, notes = record.get("changed"), record.get("notes")
    if isinstance(changed, list):
        yield f"{indent}    changed: {', '.join(map(str, changed))}", WARNING
    yield from ((f"{indent}    note: {note}", WARNING) for note in (notes if isinstance(notes, list) else ()))


def _problems(header: Record) -> Iterator[str]:
    """Yield what the record of a run says besides its hooks' results."""
    if header.get("off"):
        yield "HOOKRUN=0: every hook was switched off"
    for key, label in LABELS.items():
        value = header.get(key)
        for each in value if isinstance(value, list) else [value] if value else ():
            yield f"{label}: {each}"


class AuditTail:
    """The records that are appended to an audit from now on."""

    def __init__(self, home: str) -> None:
        self._path = audit.path(home)
        self._inode, self._offset = self._state()
        self._open: dict[str, FireRecords] = {}

    def _state(self) -> tuple[int, int]:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return 0, 0
        return status.st_ino, status.st_size

    def new(self) -> Iterator[FireRecords]:
        """Yield the runs that have finished since the last call; a rotated file is read to its end first."""
        inode, size = self._state()
        if inode != self._inode:
            if self._inode:
                yield from self._read(f"{self._path}.1")
            self._inode, self._offset = inode, 0
        if size > self._offset:
            yield from self._read(self._path)

    def _read(self, path: str) -> Iterator[FireRecords]:
        try:
            with open(path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            record = audit_reader.parse(line)
            if record is None:
                continue
            name = str(record.get("request_id"))
            fired = self._open.setdefault(name, FireRecords(name))
            if record.get("kind") in (audit_reader.HOOK, audit_reader.BACKGROUND):
                fired.hooks.append(record)
            else:
                fired.add(record)
            if record.get("kind") in (audit_reader.FIRE, audit_reader.BACKGROUND):
                yield self._open.pop(name)


# --- hookrun why


@command(
    "why",
    "why",
    "why 9db9ad05a220fadd --json",
    note="The request id is in every verdict, in every hook's context, and in `hookrun log`.",
)
@click.argument("request_id", required=False, metavar="[REQUEST_ID|last]")
@home_option
@json_option
def why_command(request_id: str | None, home: str | None, *, as_json: bool) -> None:
    """Show the result of a run and which hook decided it: of the last run, or of the one whose id begins like this."""
    fired = _find(resolve_home(home), request_id or "last")
    if as_json:
        report = {"answer": _answer(fired), "fire": fired.fire, "start": fired.start, "hooks": fired.hooks}
        print_json(report)
    else:
        print_lines(_details(fired))


def _find(home: str, name: str) -> FireRecords:
    if name != "last" and len(name) < MIN_ID:
        raise click.UsageError(f"{quote(name)} is too short: give at least {MIN_ID} characters of a request id")
    found = audit_reader.latest_fires(home, lambda fired: name == "last" or fired.request_id.startswith(name), 1)
    if not found:
        where = audit.path(home)
        if name == "last":
            raise click.ClickException(
                f"{where} has no run at all; `hookrun doctor` checks whether agents call hookrun"
            )
        raise click.ClickException(f"{where} has no run {quote(name)}; `hookrun log` lists the latest")
    return found[-1]


def _answer(fired: FireRecords) -> str:
    """Return the result and which hook decided it, in one line."""
    header = fired.header
    event = header.get("event")
    if fired.unfinished:
        return f"{event}: began at {header.get('time')} and has not answered: it still runs, or was killed"
    action = header.get("action")
    if action is None:
        return f"{event}: no verdict: {'; '.join(_problems(header)) or 'nothing more is known'}"
    reasons = [_reason(each) for each in fired.hooks if each.get("action") == action and action != "continue"]
    if reasons:
        return f"{event}: {action}: {'; '.join(reasons)}"
    ran = ", ".join(dict.fromkeys(str(each.get("hook")) for each in fired.hooks))
    failures = [_reason(each) for each in fired.hooks if each.get("failure")]
    declared = header.get("declared")
    none = f"of {declared} hooks that are declared for it none ran" if declared else "no hook was declared for it"
    parts = [f"ran: {ran}" if ran else none, *failures, *_problems(header)]
    return f"{event}: {action}: {'; '.join(parts)}"


def _reason(record: Record) -> str:
    if record.get("failure"):
        return f"{record.get('hook')} failed ({record['failure']}: {record.get('detail')})"
    changed = record.get("changed")
    what = f"changed {', '.join(map(str, changed))}" if isinstance(changed, list) else record.get("message")
    return f"{record.get('hook')}{f': {what}' if what else ''}"


def _details(fired: FireRecords) -> Iterator[Line]:
    yield _answer(fired), BOLD
    yield f"  {_headline(fired)}", DIM
    header = fired.header
    if header.get("session_id"):
        yield f"  session {header['session_id']}", DIM
    for record in fired.hooks:
        (first, style), *more = _hook_lines(record, "  ")
        yield f"{first}  ({record.get('source')})", style
        yield from more
    for problem in _problems(header):
        yield f"  {problem}", ERROR
    ran = len({str(each.get("hook")) for each in fired.hooks})
    declared = header.get("declared")
    if isinstance(declared, int) and declared > ran:
        tool = f" --tool {header['tool']}" if header.get("tool") else ""
        more_text = f"{declared - ran} more declared for it did not run"
        yield f"  {more_text}: hookrun explain {header.get('event')}{tool}", DIM
