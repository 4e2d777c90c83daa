"""Show runs from the audit: `hookrun log` the latest, `hookrun why` one in detail."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from operator import ne

import click
import orjson

from hookrun.cli.commands import MAX_ANSWER, Workspace, command, explain_call, json_options
from hookrun.cli.log_filter import NOT_LOGGED, RunFilter, log_options
from hookrun.cli.parquet import write_days
from hookrun.cli.printing import (
    DIFF_STYLES,
    Line,
    count,
    print_json,
    print_line,
    print_lines,
    print_message,
    print_paragraphs,
    shortened,
)
from hookrun.core import audit, audit_reader
from hookrun.core.audit_reader import FireRecords, Record, local_time
from hookrun.core.files import Locked, beyond, relative_path
from hookrun.core.gate import with_end
from hookrun.core.model import Failure, as_object
from hookrun.core.text import diff, quote
from hookrun.trust import allowed_calls
from hookrun.trust.approvals import by_reason

# Seconds between checks for new records.
FOLLOW_INTERVAL = 0.2

# Characters of a request id that identify it.
MIN_ID = 4
# Characters of a request id in `hookrun log`.
SHORT_ID = 8

# Runs in `hookrun log`.
DEFAULT_RUNS = 20
# Limit on the characters of a text in `hookrun log`.
MAX_LOG_TEXT = 200

# Field of a run's record -> its label.
LABELS = {
    "skipped": "skipped by HOOKRUN_SKIP",
    "switched_off": "switched off",
    "left_to": "nothing was run",
    "problems": "config error",
    "error": "error",
    "interrupted": "interrupted by signal",
    "degraded": "changed for the agent",
    "notes": "note",
}

# Action of a run -> how it was decided.
VERBS = {
    "block": "blocked by",
    "skip": "skipped by",
    "stop": "stopped by",
    "ask": "approval asked by",
    "modify": "modified by",
    "allow": "allowed by",
}

STYLES = {"block": "error", "skip": "error", "stop": "error", "ask": "warning", "modify": "warning", "allow": "ok"}

# Failure of a hook that did not start -> its reason.
NOT_RUN = {"untrusted": "not approved", "missing": "cannot start", "declaration": "invalid config"}

# Recorded condition -> why its hook did not run.
UNMET = {
    "agents": "it is for other agents",
    "matcher": "it is for other tools (`matcher`)",
    "unless": "`unless` matched",
    "when": "`when` did not match: {}",
}

# A hook's texts besides its message, with their readers.
TEXTS = (("additional_context", "model"), ("system_message", "user"))


# --- hookrun log


@command(
    "log",
    "log",
    "log --oneline -n 50",
    "log --since 2h --failures",
    "log --hook no-force-push --json",
    "log --action block --all-projects",
)
@click.option("-n", "limit", type=click.IntRange(1), help="Number of runs, the newest; default 20, with --to all.")
@log_options
@click.option("--oneline", is_flag=True, help="Show one line for each run, with the hook that decided.")
@click.option("--follow", is_flag=True, help="Keep showing new runs, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print the records as they are, one per line.")
@click.option(
    "--to", nargs=2, type=(click.Choice(["parquet"]), click.Path(file_okay=False)), metavar="parquet DIR",
    help="Write the records into DIR, a Parquet file a day, with the views of `stats` for DuckDB.",
)  # fmt: skip
@click.option("--prune", is_flag=True, help="Remove rotated logs beyond the settings audit.max_size and audit.max_age.")
@click.option("--dry-run", is_flag=True, help="With --prune and --to: show what would be done.")
def log_command(
    *,
    runs: RunFilter,
    limit: int | None,
    follow: bool,
    as_json: bool,
    oneline: bool,
    to: tuple[str, str] | None,
    prune: bool,
    dry_run: bool,
) -> None:
    """Show the latest runs of this project, newest last: the call, the result, and what each hook answered."""
    if dry_run and not (prune or to):
        raise click.UsageError("--dry-run is only for --prune and --to")
    if prune + bool(to) + follow > 1:
        raise click.UsageError("--prune, --to and --follow exclude each other")
    if prune:
        _prune(runs, as_json=as_json, dry_run=dry_run)
        return
    if to is not None:
        _write_parquet(runs, limit, to[1], as_json=as_json, dry_run=dry_run)
        return
    last = next(audit_reader.newest_first(runs.home), None)
    found = runs.latest(limit or DEFAULT_RUNS)
    if not found and not follow:
        _show_nothing(runs, as_json=as_json)
    for run in found:
        _show(run, as_json=as_json, oneline=oneline)
    _note_gaps(runs, found)
    for note in () if as_json else runs.at.project().missing_notes():
        print_message(note, "note")
    seen = {run.request_id for run in found}
    for run in _ended_runs(runs.home, last) if follow else ():
        if runs.selects(run) and (run.fire is None or run.request_id not in seen):
            _show(run, as_json=as_json, oneline=oneline)


def _show_nothing(runs: RunFilter, *, as_json: bool) -> None:
    runs.require_known_hook()
    if not as_json:
        print_paragraphs([("no matching entries", ""), (runs.why_nothing("log"), "dim")])


def _prune(runs: RunFilter, *, as_json: bool, dry_run: bool) -> None:
    """Remove the rotated logs that are beyond the limits, as each rotation does, and report them."""
    limits = as_object(runs.setting)
    size, age = (limit if isinstance(limit := limits.get(name), int) else None for name in ("max_size", "max_age"))
    if size is None and age is None:
        hint = 'in your own config, such as `"audit": {"max_age": 90}`'
        raise click.ClickException(f"no limit is set\nhint: set `audit.max_size` or `audit.max_age` {hint}")
    path = audit.path(runs.home)
    with nullcontext() if dry_run else Locked(path.removesuffix(".jsonl") + ".lock"):
        found = [(each, os.stat(each)) for each in beyond(path, size, age)]
        for each, _ in () if dry_run else reversed(found):
            os.unlink(each)
    if as_json:
        print_json({"removed": [each for each, _ in found], "dry_run": dry_run})
        return
    for each, status in found:
        last = local_time(datetime.fromtimestamp(status.st_mtime, UTC).isoformat(), with_date=True)
        verb = "would remove" if dry_run else "removed"
        click.echo(f"{verb} {relative_path(each)}: {status.st_size / 1e6:.1f} MB, last written {last}")
    if not found:
        click.echo("nothing to remove")


def _write_parquet(runs: RunFilter, limit: int | None, directory: str, *, as_json: bool, dry_run: bool) -> None:
    """Write the newest selected runs, all without a limit, and report the files."""
    days = write_days(runs.latest(limit) if limit else runs.complete(), os.path.abspath(directory), dry_run=dry_run)
    if as_json:
        print_json({"to": os.path.abspath(directory), "days": days, "dry_run": dry_run})
        return
    for day, records in days.items():
        verb = "would write" if dry_run else "wrote"
        print_line(f"{verb} {os.path.join(directory, day)}.parquet: {count(records, 'record')}")
    if not days:
        _show_nothing(runs, as_json=False)
    _note_gaps(runs, [])


def _note_gaps(runs: RunFilter, found: Sequence[FireRecords]) -> None:
    """Report records that were lost, and that later runs are not logged; if none was found, another message says so."""
    if found and runs.setting is False:
        print_message(NOT_LOGGED, "note")
    if gaps := audit_reader.gaps(runs.home):
        print_message("{}: {}\nhint: {}".format(*gaps), "note")


def _show(run: FireRecords, *, as_json: bool, oneline: bool) -> None:
    if as_json:
        for record in run.records:
            click.echo(orjson.dumps(record))
        return
    header = run.header
    project = os.path.basename(str(header.get("project", "")))
    about = (local_time(header.get("time")), run.request_id[:SHORT_ID], project, _call(header))
    file = str(header.get("file") or "").removeprefix(f"{header.get('project')}/")
    subject = str(header.get("command") or file)
    by = f" by {_deciding(run)}" if oneline and run.deciding else ""
    parts = (*about, f"{_result(run)}{by}", " ".join(subject.split()))
    lines: list[Line] = [("  ".join(filter(None, parts)), STYLES.get(run.answer, "error" if run.failed else "bold"))]
    if oneline:
        print_lines(lines)
        return
    for record in run.hooks:
        lines += _hook_lines(record, MAX_LOG_TEXT)
    print_paragraphs([*lines, *((f"  {problem}", "warning") for problem in _problems(header))])


def _deciding(run: FireRecords) -> str:
    return ", ".join(dict.fromkeys(str(each.get("hook")) for each in run.deciding))


def _call(header: Record) -> str:
    return " ".join(str(header[key]) for key in ("event", "tool") if header.get(key))


def _result(run: FireRecords) -> str:
    if run.unfinished:
        return "not finished"
    verdict, action = run.header.get("action"), run.answer
    return action if verdict in (None, action) else f"{verdict} -> {action}"


def _hook_lines(record: Record, limit: int) -> Iterator[Line]:
    """Yield a hook's result, texts and changes, each text at most `limit` characters."""
    if record.get("kind") == audit_reader.ALLOW:
        yield f"  {record.get('hook')}: you allowed this call once at {local_time(record.get('time'))}", "ok"
        return
    failure = record.get("failure")
    marks = [mark for mark in ("recheck", "interrupted", "truncated") if record.get(mark)]
    marks += [str(record["mode"])] if record.get("mode") else []
    marks += ["background"] if record.get("kind") == audit_reader.BACKGROUND else []
    marked = f" ({', '.join(marks)})" if marks else ""
    action = str(record.get("action") or "no verdict")
    result, text = (_ended(record, "not run"), record.get("detail")) if failure else (action, record.get("message"))
    timed = result if result.startswith("not run: ") else f"{result} in {record.get('ms')} ms"
    said = with_end(shortened(text or "", limit), str(record.get("consequence", "")))
    reason = f": {said.removeprefix('not approved: ')}" if said else ""
    yield f"  {record.get('hook')}{marked}: {timed}{reason}", "error" if failure else STYLES.get(action, "")
    if call := str(record.get("call", ""))[: allowed_calls.SHORT_ID]:
        once = f"to let this call through once: `hookrun allow {call}`"
        yield f"    {f'{call}: you let this call through once' if record.get('allowed') else once}", ""
    for field, reader in TEXTS if not failure else ():
        if record.get(field):
            yield f"    to the {reader}: {shortened(record[field], limit)}", ""
    yield from _changes(record)
    notes = record.get("notes")
    yield from ((f"    note: {note}", "warning") for note in (notes if isinstance(notes, list) else ()))


def _ended(record: Record, not_run: str) -> str:
    """Return how a failed hook ended; `not_run` are the words where it did not start."""
    why = None if "exit" in record else NOT_RUN.get(str(record["failure"]))  # else it changed while it ran
    return f"{not_run}: {why}" if why else f"failed ({record['failure']})"


def _changes(record: Record) -> Iterator[Line]:
    changed, values = record.get("changed"), as_object(record.get("changes"))
    for name, value in values.items():
        if isinstance(value, list) and len(value) == len(("before", "after")):
            yield f"    changed {name}:", "warning"
            for line in diff(*(str(each) if each is not None else "" for each in value)):
                if not line.startswith("@@"):
                    yield f"      {line}", DIFF_STYLES.get(line[:1], "")
    others = [str(path) for path in changed if str(path) not in values] if isinstance(changed, list) else []
    if others:
        yield f"    changed {', '.join(others)}", "warning"


def _problems(header: Record) -> Iterator[str]:
    if header.get("off"):
        yield "HOOKRUN=0: every hook was switched off"
    off: list[str] = []
    for key, label in LABELS.items():
        value = header.get(key)
        values = value if isinstance(value, list) else [value] if value else []
        if key == "switched_off":
            values = off = by_reason(dict(str(each).split(": ", 1) for each in values))
        elif key == "notes":  # what an agent's user was shown of these
            values = [each for each in values if str(each).removeprefix("hookrun: ") not in off]
        yield from (f"{label}: {each}" for each in values)


def _ended_runs(home: str, last: Record | None) -> Iterator[FireRecords]:
    """Yield the runs that end from now on; `last` is the newest record so far."""
    begun: dict[str, FireRecords] = {}
    while True:
        newer = list(takewhile(partial(ne, last), audit_reader.newest_first(home)))
        for record in reversed(newer):
            name, kind = str(record.get("request_id")), record.get("kind")
            run = begun.setdefault(name, FireRecords(name))
            if kind in (audit_reader.HOOK, audit_reader.BACKGROUND, audit_reader.ALLOW):
                run.hooks.append(record)
            else:
                run.add(record)
            if kind in (audit_reader.FIRE, audit_reader.BACKGROUND, audit_reader.ALLOW):
                yield begun.pop(name)
        last = newer[0] if newer else last
        time.sleep(FOLLOW_INTERVAL)


# --- hookrun why


@command(
    "why",
    "why",
    "why 9db9ad05",
    note="The request id is in every verdict, in every hook's context, and in `hookrun log`.",
)
@click.argument("request_id", required=False, metavar="[REQUEST_ID|last]")
@json_options
def why_command(request_id: str | None, at: Workspace, *, as_json: bool) -> None:
    """Show the result of a run and which hook decided it: of the last one with hooks, or of the one with this id.

    The beginning of the id is enough.
    """
    runs = RunFilter(at, {})
    run = _find(runs, request_id or "last")
    if as_json:
        print_json({"answer": _answer(run), "fire": run.fire, "start": run.start, "hooks": run.hooks})
    else:
        print_paragraphs(_details(run))
    _note_gaps(runs, [run] if request_id in (None, "last") else [])


def _find(runs: RunFilter, name: str) -> FireRecords:
    if name == "last":
        if (last := next(runs.selected(), None)) is None:
            raise click.ClickException(f"no matching entries\n{runs.why_nothing('log')}")
        session = last.header.get("session_id")  # an older one's last call would be no answer
        same = takewhile(lambda run: run.header.get("session_id") == session, runs.selected())
        return next((run for run in same if run.hooks or run.header.get("declared") or run.answer != "continue"), last)
    if len(name) < MIN_ID:
        raise click.UsageError(f"{quote(name)} is too short: give at least {MIN_ID} characters of a request id")
    found = audit_reader.latest_fires(
        runs.home, lambda run: run.request_id.startswith(name) and runs.selects(run, any_project=True), 1
    )
    if not found:
        hint = runs.why_nothing("log", any_project=True)
        raise click.ClickException(f"no run {quote(name)} in the audit log\n{hint}")
    return found[-1]


def _answer(run: FireRecords) -> str:
    header = run.header
    return shortened(f"{_call(header)}: {_decision(run)}", MAX_ANSWER)


def _decision(run: FireRecords) -> str:
    header, action = run.header, run.answer
    if run.unfinished:
        return f"not finished: it began at {local_time(header.get('time'))} and still runs, or was killed"
    if not action:
        return f"no verdict: {'; '.join(_problems(header)) or 'nothing more is known'}"
    if run.deciding:
        reason = next(filter(None, map(_reason, run.deciding)), "")
        return f"{VERBS.get(action, action)} {_deciding(run)}{f': {reason}' if reason else ''}"
    if action in VERBS and action != "allow":
        return f"{VERBS[action]} hookrun: {header.get('message') or '; '.join(_problems(header))}"
    failed = [f"{each.get('hook')} {_ended(each, 'did not run')}" for each in run.hooks if each.get("failure")]
    ran_hooks = ", ".join(dict.fromkeys(str(each.get("hook")) for each in run.hooks))
    declared = header.get("declared")
    none = f"none of {count(declared, 'hook')} ran" if isinstance(declared, int) and declared else "no hooks"
    reasons = "; ".join(failed or [*_problems(header)] or ([] if ran_hooks else [none]))
    return f"continued: {reasons}" if reasons else f"continued (ran: {ran_hooks})"


def _reason(record: Record) -> str:
    if record.get("failure"):
        return Failure(str(record["failure"]), str(record.get("detail"))).line("it")
    changed = record.get("changed")
    return ", ".join(map(str, changed)) if isinstance(changed, list) else str(record.get("message") or "")


def _details(run: FireRecords) -> Iterator[Line]:
    header = run.header
    yield _answer(run), STYLES.get(run.answer, "bold")
    ms = f", {header['ms']} ms" if "ms" in header else ""
    own = f" ({header['own_ms']} ms of it in hookrun)" if "own_ms" in header else ""
    for label, value in (
        ("command", " ".join(str(header.get("command", "")).split())),
        ("file", header.get("file")),
        ("agent", header.get("agent")),
        ("session", header.get("session_id")),
        ("project", header.get("project")),
        ("time", f"{local_time(header.get('time'), with_date=True)}{ms}{own}"),
        ("run", run.request_id),
    ):
        if value:
            yield f"  {label:<8} {value}", ""
    for record in run.hooks:
        (first, style), *more = _hook_lines(record, audit.MAX_TEXT + 100)
        path, _, number = str(record.get("source")).rpartition(":")
        yield f"{first} ({f'{relative_path(path)}:{number}' if path else number})", style
        yield from more
    yield from ((f"  {problem}", "warning") for problem in _problems(header))
    reasons = as_object(header.get("not_run"))
    for why, names in reasons.items():
        yield from (
            (f"  {name}: did not run: {_why_not(why)}", "dim") for name in (names if isinstance(names, list) else ())
        )
    run_count = len({str(each.get("hook")) for each in run.hooks})
    declared = header.get("declared")
    if isinstance(declared, int) and declared > run_count and not reasons:  # of a Python program, or an older hookrun
        event, tool, agent, line, file = map(header.get, ("event", "tool", "agent", "command", "file"))
        explained = explain_call(event, tool=tool, agent=agent, command=line, file_path=file)
        others = count(declared - run_count, "hook" if not run_count else "other hook")
        yield f"  {others} did not run: `{explained}` shows why", "dim"


def _why_not(recorded: str) -> str:
    """Return why a hook did not run, as recorded then: the condition that did not match, or other words."""
    condition, _, path = recorded.partition(" ")
    return UNMET[condition].format(path) if condition in UNMET and (path or condition != "when") else recorded
