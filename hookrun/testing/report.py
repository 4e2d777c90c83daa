"""What a person is shown: progress while cases run, each failure as a difference, coverage, and the sum of it all."""

from __future__ import annotations

import difflib
import json
import os
from shlex import quote
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from hookrun.config.problem import printable
from hookrun.testing.judge import as_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookrun.config.problem import Problem
    from hookrun.testing.came import Came
    from hookrun.testing.coverage import Coverage
    from hookrun.testing.judge import Difference
    from hookrun.testing.run import Ran, Tested

LONGEST_CONTEXT = 4000
"""Characters of a context beyond which the line to try a case does not hold it."""

STYLES = {"FAIL": "bold red", "BROKEN": "bold red", "-": "red", "+": "green"}
"""How what a line begins with is shown on a terminal."""


class Report:
    """Writes to stdout what is to be read, and to a terminal on stderr how far it has come."""

    def __init__(self) -> None:
        self._out = Console(highlight=False, markup=False, soft_wrap=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("cases", total=None)
        self._failed = 0

    def begin(self, total: int) -> None:
        """Begin to show progress, where there is a terminal."""
        self._failed = 0
        self._progress.reset(self._task, total=total, description="cases")
        if self._progress.console.is_terminal:
            self._progress.start()

    def ran(self, ran: Ran) -> None:
        """Show that one more case has run."""
        self._failed += not ran.passed
        failed = f", {self._failed} failed" if self._failed else ""
        self._progress.update(self._task, advance=1, description=f"cases{failed}")

    def end(self) -> None:
        """Show no more progress."""
        if self._progress.live.is_started:
            self._progress.stop()

    def line(self, text: str = "") -> None:
        """Print a line."""
        text = printable(text)
        word = text.split(" ", 1)[0] if not text.startswith(" ") else text.lstrip()[:1]
        self._out.print(Text(text, style=STYLES.get(word, "")))

    def problems(self, problems: Iterable[Problem]) -> None:
        """Print what is wrong with files of cases."""
        for problem in problems:
            self.line(f"BROKEN {problem}")

    def failures(self, results: Iterable[Ran]) -> None:
        """Print every case that did not pass."""
        for ran in results:
            if not ran.passed:
                for line in failure(ran):
                    self.line(line)

    def coverage(self, coverage: Coverage) -> None:
        """Print what no case has reached."""
        self.line(f"coverage: {coverage.reached} of {coverage.total} ({coverage.percent:.0f} %)")
        for of in coverage.hooks:
            if of.missing:
                self.line(f"  {of.hook.name} ({of.hook.where()}): {'; '.join(of.told)}")

    def sum(self, tested: Tested) -> None:
        """Print how many passed and how many did not."""
        count, broken = len(tested.results), len(tested.problems)
        said = [f"{count - tested.failed} passed"]
        said += [f"{tested.failed} failed"] if tested.failed else []
        said += [f"{broken} {'problem' if broken == 1 else 'problems'} with files of cases"] if broken else []
        self.line(f"{count} {'case' if count == 1 else 'cases'}: {', '.join(said)} in {tested.seconds:.1f} s")


def failure(ran: Ran) -> Iterator[str]:
    """Yield the lines about a case that did not pass."""
    if ran.problems:
        yield from (f"BROKEN {problem}" for problem in ran.problems)
        return
    yield f"FAIL {ran.case.where}: {ran.name}"
    for each in ran.differences:
        yield from (f"  {line}" for line in difference(each))
    if ran.came is None:
        return
    yield f"  ran: {_what_ran(ran.came)}"
    for name, text in ran.came.stderr():
        yield f"  stderr of {name}:"
        yield from (f"    | {line}" for line in text.splitlines())
    yield f"  try it: {line_to_try(ran)}"


def difference(found: Difference) -> Iterator[str]:
    """Yield the lines of a difference: what was expected with `-`, what came with `+`."""
    expected, came = as_lines(found.expected), as_lines(found.came)
    if len(expected) == len(came) == 1:
        yield f"- {found.key}: {expected[0]}"
        yield f"+ {found.key}: {came[0]}"
    else:
        yield f"{found.key}:"
        yield from (f"{line[0]} {line[2:]}" for line in difflib.ndiff(expected, came) if line[0] != "?")
    if found.why:
        yield f"({found.why})"


def _what_ran(came: Came) -> str:
    said = []
    for run in came.runs:
        failed = f", failed: {run.failure.kind}" if run.failure is not None else ""
        said.append(f"{run.name} ({run.action}{failed}, {run.ms:.0f} ms)")
    return ", ".join(said) or "no hook"


def line_to_try(ran: Ran) -> str:
    """Return the command line that fires the same at the same hooks and says of each why it ran or did not."""
    case, came = ran.case, ran.came
    context = json.dumps(came.context if came is not None else case.context, ensure_ascii=False)
    if len(context) > LONGEST_CONTEXT:
        context = "..."
    where = ran.declared.root if ran.declared is not None else "."
    there = "" if where == os.getcwd() else f"cd {quote(where)} && "
    config = f" --config {quote(case.file.config)}" if case.file.config is not None else ""
    return f"{there}echo {quote(context)} | hookrun fire {case.event} --explain{config}"
