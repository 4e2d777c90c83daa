"""`hookrun test --update`: what came is written into the files of cases as what is expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.testing.cases import WORKDIR, load
from hookrun.testing.edit import CannotEditError, Change, edited
from hookrun.testing.results import NO_EXPECTATION, actual_expectation, default_expectation
from hookrun.testing.sandbox import expand_placeholders
from hookrun.wiring.files import WiringError, existing, write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.testing.cases import Case, CaseFile
    from hookrun.testing.results import CaseRun


class Updated:
    """What `update` did: how many `results` hold now that did not, and why others could not be updated, a line each."""

    def __init__(self) -> None:
        self.results = 0
        self.problems: list[str] = []


@dataclass(frozen=True, slots=True)
class Wanted:
    """The changes by which a case would hold, and how many of its results that is."""

    case: Case
    changes: list[Change]
    results: int


def update(results: Iterable[CaseRun]) -> Updated:
    """Write what came of each case that did not hold into its file. A case that cannot be edited stays as it is."""
    updated = Updated()
    by_file: dict[CaseFile, dict[Case, list[CaseRun]]] = {}
    for ran in results:
        by_file.setdefault(ran.case.file, {}).setdefault(ran.case, []).append(ran)
    for file, cases in by_file.items():
        changes: list[Wanted] = []
        for case, runs in cases.items():
            if any(ran.problems for ran in runs) or all(ran.passed for ran in runs):
                continue
            try:
                changes.append(Wanted(case, _changes(case, runs), sum(not ran.passed for ran in runs)))
            except CannotEditError as error:
                updated.problems.append(f"{case.where}: {case.name}: {error}")
        if changes:
            _write(file, changes, updated)
    return updated


def _changes(case: Case, runs: list[CaseRun]) -> list[Change]:
    """Return what has to change for a case to hold. Raises CannotEditError where its agents come to several things."""
    at = ("cases", case.index, "expect")
    keys = list(dict.fromkeys(each.key for ran in runs for each in ran.differences))
    if NO_EXPECTATION in keys:
        return [Change(at, _agreed("what comes of it", [_general(ran, _plain(ran)) for ran in runs]))]
    return [Change((*at, key), _agreed(key, [_general(ran, _accepted(key, ran)) for ran in runs])) for key in keys]


def _plain(ran: CaseRun) -> object:
    return default_expectation(ran.result) if ran.result is not None else None


def _accepted(key: str, ran: CaseRun) -> object:
    return actual_expectation(key, ran.result) if ran.result is not None else None


def _agreed(what: str, values: list[object]) -> object:
    if any(value != values[0] for value in values):
        raise CannotEditError(f"{what} is not the same for all its agents; make a case for each of them")
    return values[0]


def _general(ran: CaseRun, value: object) -> object:
    """Return a value with the word for the case's directory in the place of its path."""
    return expand_placeholders(value, {ran.directory: WORKDIR}) if ran.directory is not None else value


def _write(file: CaseFile, wanted: list[Wanted], updated: Updated) -> None:
    try:
        before = existing(file.path)
        _not_changed(file)
        text, possible = _edited(file.path, before.text(), wanted, updated)
        write(before.path, before.encoded(text))
    except (CannotEditError, WiringError) as error:
        updated.problems.append(f"{file.shown}: nothing of it was updated: {error}")
        return
    updated.results += sum(each.results for each in possible)


def _edited(path: str, text: str, wanted: list[Wanted], updated: Updated) -> tuple[str, list[Wanted]]:
    """Return the text with all changes; where that cannot be, with those of the cases that can be changed alone."""
    try:
        return edited(path, text, [change for each in wanted for change in each.changes]), wanted
    except CannotEditError:
        possible = [each for each in wanted if _can_be(each, path, text, updated)]
        return edited(path, text, [change for each in possible for change in each.changes]), possible


def _can_be(each: Wanted, path: str, text: str, updated: Updated) -> bool:
    try:
        edited(path, text, each.changes)
    except CannotEditError as error:
        updated.problems.append(f"{each.case.where}: {each.case.name}: {error}")
        return False
    return True


def _not_changed(file: CaseFile) -> None:
    """Raise CannotEditError where a file is not any more what was run."""
    now = load(file.path).document
    if now is None or file.document is None or now.data != file.document.data:
        raise CannotEditError("it has changed since its cases were run; run it again")
