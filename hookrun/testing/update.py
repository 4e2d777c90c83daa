"""Write files of cases: actual results as expectations (`--update`), recorded runs as cases (`--from-log`)."""

from __future__ import annotations

import sys

from hookrun.config.parse import KeyPath
from hookrun.core import audit_reader
from hookrun.core.audit_reader import FireRecords, Record
from hookrun.core.text import UserError
from hookrun.edit import editor_for
from hookrun.edit.file_change import FileError, existing, missing_directories, write_file
from hookrun.edit.json_edit import EditError
from hookrun.testing import is_case_file
from hookrun.testing.cases import WORKDIR, Case, CaseFile, load
from hookrun.testing.results import NO_EXPECTATION, CaseRun, TestRun, actual_expectation, default_expectation
from hookrun.testing.sandbox import expand_placeholders

# A case, the changes that make it pass, and the number of its failed results.
Update = tuple[Case, list[tuple[KeyPath, object]], int]

# Instead of an id: the newest run recorded with its context.
LAST = "last"
# Context fields that a case holds elsewhere, or that belong to one run or machine.
LEFT_OUT = frozenset(
    {"version", "event", "request_id", "timestamp", "hook", "payload", "working_dir", "tool_name", "tool_args"}
)
HOW = 'contexts are kept with "hookrun": {"audit": {"details": "full"}} in your own ~/.config/hookrun/hooks.json'


class NoCaseError(UserError, LookupError):
    """The run is missing, or its case cannot be written; the message says what to do."""


def update(tested: TestRun) -> None:
    """Write each failed case's actual result into its file. A case that cannot be edited stays unchanged."""
    by_file: dict[CaseFile, dict[Case, list[CaseRun]]] = {}
    for run in tested.results:
        by_file.setdefault(run.case.file, {}).setdefault(run.case, []).append(run)
    for file, cases in by_file.items():
        updates: list[Update] = []
        for case, of_case in cases.items():
            failed = sum(not run.passed for run in of_case)
            if not failed or any(run.problems for run in of_case):
                continue
            try:
                updates.append((case, _changes(case, of_case), failed))
            except EditError as error:
                tested.not_updated.append(f"{case.where}: {case.name}: {error}")
        if updates:
            _write(file, updates, tested)


def _changes(case: Case, runs: list[CaseRun]) -> list[tuple[KeyPath, object]]:
    """Return the changes that make a case pass. Raises EditError if its agents' results differ."""
    at: KeyPath = ("cases", case.index, "expect")
    keys = list(dict.fromkeys(each.key for run in runs for each in run.differences))
    if NO_EXPECTATION in keys:
        return [(at, _expectation(None, runs))]
    return [((*at, key), _expectation(key, runs)) for key in keys]


def _expectation(key: str | None, runs: list[CaseRun]) -> object:
    """Return the expectation for this key (None: the whole) that all runs of a case meet. Raises EditError."""
    values: list[object] = []
    for run in runs:
        if (result := run.result) is not None:
            value = default_expectation(result) if key is None else actual_expectation(key, result)
            values.append(expand_placeholders(value, {run.directory: WORKDIR} if run.directory is not None else {}))
    if any(value != values[0] for value in values):
        what = f"`{key}`" if key else "the result"
        between = (
            "its agents: write a case for each" if runs[-1].case.agents else "the runs that keep a program and not"
        )
        raise EditError(f"{what} differs between {between}")
    return values[0]


def _write(file: CaseFile, updates: list[Update], tested: TestRun) -> None:
    results = 0
    try:
        before = existing(file.path)
        _check_unchanged(file)
        document = editor_for(file.path, before.text())
        for case, changes, failed in updates:
            try:
                edited = document
                for path, value in changes:
                    edited = edited.put(path, value)
            except EditError as error:
                tested.not_updated.append(f"{case.where}: {case.name}: {error}")
            else:
                document = edited
                results += failed
        write_file(before.path, before.encoded(document.text))
    except (EditError, FileError) as error:
        tested.not_updated.append(f"{file.shown}: nothing of it was updated: {error}")
        return
    tested.updated += results


def _check_unchanged(file: CaseFile) -> None:
    if load(file.path).document.data != file.document.data:
        raise EditError("the file has changed since its cases ran: run it again")


def case_from_log(home: str, request_id: str) -> dict[str, object]:
    """Return the case of the recorded run with this beginning of its id, or LAST. Raises NoCaseError."""
    last = request_id == LAST

    def wanted(run: FireRecords) -> bool:
        return run.fire is not None and ("context" in run.fire if last else run.request_id.startswith(request_id))

    runs = audit_reader.latest_fires(home, wanted, 1 if last else sys.maxsize)
    if not runs and last:
        raise NoCaseError(f"no run was recorded with its context\nhint: {HOW}")
    if not runs:
        raise NoCaseError(f"no run with the id {request_id}\nhint: `hookrun log` lists the runs")
    if len(runs) > 1:
        raise NoCaseError(f"{len(runs)} runs have an id that begins with {request_id}\nhint: give more of the id")
    (run,) = runs
    context = run.header.get("context")
    if not isinstance(context, dict):
        raise NoCaseError(f"run {run.request_id} was recorded without its context\nhint: {HOW}")
    return _case(run.header, context, [each for each in run.hooks if each.get("kind") == audit_reader.HOOK])


def _case(fire: Record, context: Record, hooks: list[Record]) -> dict[str, object]:
    tool, args, event = context.get("tool_name"), context.get("tool_args"), str(fire.get("event"))
    others = {name: value for name, value in context.items() if name not in LEFT_OUT and value not in (None, {})}
    if isinstance(args, dict) and "file_path" in args:
        others.pop("file_path", None)  # derived from the arguments
    name = f"{tool or event} as in {fire['request_id']}"
    case = {"name": name, "event": event, "tool": tool, "args": args, "context": others or None}
    failure = next((each["failure"] for each in hooks if "failure" in each), None)
    fired = list(dict.fromkeys(str(each.get("hook")) for each in hooks))
    expect = {"action": fire.get("action") or "continue", "failure": failure, "fired": fired}
    return {**_known(case), "expect": _known(expect)}


def _known(fields: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def case_as_text(case: dict[str, object], path: str = "a.yaml") -> str:
    """Return a new file's text with this case, in the format of the file name."""
    return editor_for(path, "").add(("cases",), case).text


def append_case(path: str, case: dict[str, object]) -> None:
    """Append a case to a file of cases, created if missing. Raises NoCaseError."""
    if not is_case_file(path):
        raise NoCaseError(f"{path}: the name must end in .hooktest.yaml, .hooktest.yml or .hooktest.json")
    try:
        before = existing(path)
        if before.data is None:
            if missing_directories(before.path):
                raise NoCaseError(f"{path}: its directory does not exist\nhint: create it first")
            write_file(before.path, case_as_text(case, path).encode())
            return
        file = load(path)
        if file.problems:
            raise NoCaseError("\n".join(map(str, file.problems)))
        if case["name"] in {each.name for each in file.cases}:
            raise NoCaseError(f"{path}: case {case['name']} already exists")
        write_file(before.path, before.encoded(editor_for(path, before.text()).add(("cases",), case).text))
    except (EditError, FileError) as error:
        raise NoCaseError(f"{path}: {error}") from error
