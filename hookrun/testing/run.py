"""Runs cases, many at once: what `hookrun test` and other programs call."""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING

from hookrun.process.loop import MAX_PROCESSES
from hookrun.testing import shards, threads
from hookrun.testing.ran import Ran, Tested
from hookrun.testing.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.testing.cases import Case, CaseFile
    from hookrun.testing.declared import Declared

PER_CORE = 4
"""Hooks that run at once for each core."""


def run_cases(
    files: Iterable[CaseFile],
    cases: Iterable[Case] | None = None,
    *,
    at_once: int | None = None,
    given: Declared | None = None,
    directory: str | None = None,
    on_ran: Callable[[Ran], object] = lambda _: None,
) -> Tested:
    """Run the cases of these files, or only some, and return what came of them; whatever is raised, no hook is left.

    Many cases are run in several processes.

    `at_once` is how many hooks run side by side. `given` are declarations that stand in for those around the files,
    made by `declared.from_data` or `declared.from_files`; `directory` is where those are looked for that a file has not
    around it.
    """
    files = list(files)
    begun = monotonic()
    to_run = cases if cases is not None else [case for file in files for case in file.cases]
    width = at_once or default_width()
    with Runner(width, given, directory) as runner:
        results = [runner.to_run(case, agent) for case in to_run for agent in (case.agents or (None,))]
        if (count := shards.wanted(len(results), width)) > 1:
            shards.run_all(runner, results, count, width, on_ran)
        else:
            threads.run_all(runner, results, max(1, min(width, len(results))), on_ran)
    return Tested(results, [problem for file in files for problem in file.problems], monotonic() - begun)


def default_width() -> int:
    """Return how many hooks run at once where nobody says: enough to keep every core busy."""
    return min(MAX_PROCESSES, PER_CORE * (os.cpu_count() or 1))
