"""`hookrun test --update`: what came is written into the files of cases as what is expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.edit import editor_for
from hookrun.edit.span_editor import EditError
from hookrun.testing.around import filled
from hookrun.testing.cases import WORKDIR, load
from hookrun.testing.judge import NOTHING, accepted, plain
from hookrun.wiring.files import WiringError, existing, write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.config.parsed import KeyPath
    from hookrun.testing.cases import Case, CaseFile
    from hookrun.testing.ran import Ran


class Updated:
    """What `update` did: how many `results` hold now that did not, and why others could not be updated, a line each."""

    def __init__(self) -> None:
        self.results = 0
        self.problems: list[str] = []


@dataclass(frozen=True, slots=True)
class Wanted:
    """The changes by which a case would hold, and how many of its results that is."""

    case: Case
    changes: list[tuple[KeyPath, object]]
    results: int


def update(results: Iterable[Ran]) -> Updated:
    """Write what came of each case that did not hold into its file. A case that cannot be edited stays as it is."""
    updated = Updated()
    by_file: dict[CaseFile, dict[Case, list[Ran]]] = {}
    for ran in results:
        by_file.setdefault(ran.case.file, {}).setdefault(ran.case, []).append(ran)
    for file, cases in by_file.items():
        changes: list[Wanted] = []
        for case, runs in cases.items():
            if any(ran.problems for ran in runs) or all(ran.passed for ran in runs):
                continue
            try:
                changes.append(Wanted(case, _changes(case, runs), sum(not ran.passed for ran in runs)))
            except EditError as error:
                updated.problems.append(f"{case.where}: {case.name}: {error}")
        if changes:
            _write(file, changes, updated)
    return updated


def _changes(case: Case, runs: list[Ran]) -> list[tuple[KeyPath, object]]:
    """Return what has to change for a case to hold. Raises EditError where its agents come to several things."""
    at: KeyPath = ("cases", case.index, "expect")
    keys = list(dict.fromkeys(each.key for ran in runs for each in ran.differences))
    if NOTHING in keys:
        return [(at, _agreed("what comes of it", [_general(ran, _plain(ran)) for ran in runs]))]
    return [((*at, key), _agreed(key, [_general(ran, _accepted(key, ran)) for ran in runs])) for key in keys]


def _plain(ran: Ran) -> object:
    return plain(ran.came) if ran.came is not None else None


def _accepted(key: str, ran: Ran) -> object:
    return accepted(key, ran.came) if ran.came is not None else None


def _agreed(what: str, values: list[object]) -> object:
    if any(value != values[0] for value in values):
        raise EditError(f"{what} is not the same for all its agents; make a case for each of them")
    return values[0]


def _general(ran: Ran, value: object) -> object:
    """Return a value with the word for the case's directory in the place of its path."""
    return filled(value, {ran.directory: WORKDIR}) if ran.directory is not None else value


def _write(file: CaseFile, wanted: list[Wanted], updated: Updated) -> None:
    """Make the changes of each case that can be edited; a case that cannot be stays as it is."""
    results = 0
    try:
        before = existing(file.path)
        _not_changed(file)
        document = editor_for(file.path, before.text())
        for each in wanted:
            try:
                edited = document
                for path, value in each.changes:
                    edited = edited.put(path, value)
            except EditError as error:
                updated.problems.append(f"{each.case.where}: {each.case.name}: {error}")
            else:
                document = edited
                results += each.results
        write(before.path, before.encoded(document.text))
    except (EditError, WiringError) as error:
        updated.problems.append(f"{file.shown}: nothing of it was updated: {error}")
        return
    updated.results += results


def _not_changed(file: CaseFile) -> None:
    """Raise EditError where a file is not any more what was run."""
    now = load(file.path).document
    if now is None or file.document is None or now.data != file.document.data:
        raise EditError("it has changed since its cases were run; run it again")
