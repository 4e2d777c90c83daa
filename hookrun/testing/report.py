"""What a person is shown: progress while cases run, each failure as a difference, coverage, and the sum of it all."""

from __future__ import annotations

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.config.problem import printable
from hookrun.testing.told import failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.progress import Progress

    from hookrun.config.problem import Problem
    from hookrun.testing.coverage import Coverage
    from hookrun.testing.ran import Ran, Tested
    from hookrun.testing.update import Updated

STYLES = {"FAIL": "bold red", "BROKEN": "bold red", "NOT": "bold red", "-": "red", "+": "green"}
"""How what a line begins with is shown on a terminal."""


BETWEEN = 0.1
"""Seconds from one picture of the progress to the next."""


class Report:
    """Writes to stdout what is to be read, and to a terminal on stderr how far it has come."""

    def __init__(self) -> None:
        self._out = _console() if sys.stdout.isatty() else None
        self._progress: Progress | None = None
        self._shown = 0.0
        self._failed = 0

    def begin(self, total: int) -> None:
        """Begin to show progress, where there is a terminal."""
        if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            return
        from rich.console import Console  # only for a terminal
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # the same

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        # without a thread of its own, for what runs the cases forks
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        self._progress.add_task("cases", total=total)
        self._progress.start()

    def ran(self, ran: Ran) -> None:
        """Show that one more case has run."""
        self._failed += not ran.passed
        if self._progress is not None:
            failed = f", {self._failed} failed" if self._failed else ""
            self._progress.update(self._progress.task_ids[0], advance=1, description=f"cases{failed}")
            if monotonic() - self._shown > BETWEEN:
                self._shown = monotonic()
                self._progress.refresh()

    def end(self) -> None:
        """Show no more progress."""
        if self._progress is not None:
            self._progress.stop()

    def line(self, text: str = "") -> None:
        """Print a line."""
        text = printable(text)
        if self._out is None:
            print(text)
            return
        from rich.text import Text  # only for a terminal

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

    def all(self, tested: Tested, coverage: Coverage | None, updated: Updated | None = None) -> None:
        """Print all that is to be read; where cases were `updated`, of those that did not hold only the others."""
        self.problems(tested.problems)
        self.failures(ran for ran in tested.results if ran.problems or updated is None)
        if coverage is not None:
            self.coverage(coverage)
        for problem in updated.problems if updated is not None else ():
            self.line(f"NOT UPDATED {problem}")
        self.sum(tested, updated.results if updated is not None else 0)

    def sum(self, tested: Tested, updated: int = 0) -> None:
        """Print how many passed and how many did not."""
        count, broken, failed = len(tested.results), len(tested.problems), tested.failed - updated
        said = [f"{count - tested.failed} passed"]
        said += [f"{updated} updated"] if updated else []
        said += [f"{failed} failed"] if failed else []
        said += [f"{broken} {'problem' if broken == 1 else 'problems'} with files of cases"] if broken else []
        self.line(f"{count} {'case' if count == 1 else 'cases'}: {', '.join(said)} in {tested.seconds:.1f} s")


def _console() -> Console:
    from rich.console import Console  # only for a terminal

    return Console(highlight=False, markup=False, soft_wrap=True)
