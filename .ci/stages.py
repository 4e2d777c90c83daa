"""Run stages of checks, in lanes side by side: each with a log, a time and a result.

A stage that fails ends the run, and its log is printed whole. One that cannot run for the machine's sake (no network,
npm, apt, a full disk) exits with 75 and says why in its last line: the others run, and the run names it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CANNOT = 75  # EX_TEMPFAIL
LIMIT = 3600.0  # seconds for a stage
GRACE = 20.0  # seconds for a stage to end when it is stopped
LEAST_SPACE = 200 << 20  # bytes on the disk

INSTALLERS = re.compile(
    r"^(?:npm (?:ERR!|error)|pip|E:|Err:|WARNING: Retrying|ERROR: Could not install|fatal: unable to access).*"
    r"(?:No space left|ENOSPC|ENOTFOUND|EAI_AGAIN|ECONNRE|ETIMEDOUT|[Cc]onnection|[Tt]imed? ?out|resolv|getaddrinfo)",
    re.MULTILINE,
)
"""Lines of a log in which an installer blames the machine."""
RAN_TESTS = re.compile(r"^=+ test session starts =+$", re.MULTILINE)


class Stage(NamedTuple):
    """A few lines of bash, run in the checkout; `after` are the stages of any lane that it waits for.

    `shows` is a pattern of further lines of the log that are printed at the end, beside the last one.
    """

    name: str
    what: str
    lines: str
    after: tuple[str, ...] = ()
    shows: str = r"^FLAKY |^SKIPPED "


class Result(NamedTuple):
    """The result of a stage. The status is None for one that was stopped, because another had failed."""

    name: str
    status: int | None
    seconds: float
    last: str
    log: str

    @property
    def word(self) -> str:
        """What a table says."""
        return {0: "passed", CANNOT: "could not run", None: "stopped"}.get(self.status, f"FAILED ({self.status})")


class Runner:
    """Runs stages. `keeps_going` does so after one has failed, too; `done` is called with each result."""

    def __init__(
        self,
        logs: Path,
        environment: Mapping[str, str],
        done: Callable[[Result], None],
        *,
        keeps_going: bool = False,
        space: Callable[[], int] = lambda: shutil.disk_usage(ROOT).free,
    ) -> None:
        self.logs = logs
        self.environment = {**os.environ, **environment}
        self.done = done
        self.keeps_going = keeps_going
        self.space = space
        self.results: dict[str, Result] = {}
        self._changed = threading.Condition()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped = False

    def run(self, lanes: Sequence[Sequence[Stage]]) -> list[Result]:
        """Run the lanes side by side, and return the results in the order in which the stages ended.

        A signal that ends this program ends the stages, which are sessions of their own.
        """
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _frame: sys.exit(128 + number))
        self.logs.mkdir(parents=True, exist_ok=True)
        names = {stage.name for lane in lanes for stage in lane}
        threads = [threading.Thread(target=self._run_lane, args=(lane, names), daemon=True) for lane in lanes]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:
            self.stop()
            raise
        return list(self.results.values())

    def stop(self) -> None:
        """End the stages that are running, with all their processes; begin none."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            running = list(self._running.values())
        for process in running:
            _end(process)

    def _run_lane(self, lane: Sequence[Stage], names: Iterable[str]) -> None:
        for stage in lane:
            waited_for = set(stage.after) & set(names)
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or waited_for <= self.results.keys())  # noqa: B023
                if self._stopped:
                    return
            result = self._run_stage(stage)
            with self._changed:
                self.results[stage.name] = result
                self.done(result)
                self._changed.notify_all()
            if result.status not in (0, CANNOT, None) and not self.keeps_going:
                self.stop()

    def _run_stage(self, stage: Stage) -> Result:
        log = self.logs / f"{stage.name}.log"
        begun = time.monotonic()
        with log.open("wb") as file:
            with self._changed:  # `stop` either comes before it, or finds it
                if self._stopped:
                    return Result(stage.name, None, 0.0, last_line(""), str(log))
                self._running[stage.name] = process = subprocess.Popen(
                    # Under a name of its own: hookrun decides nothing below shells alone that nobody started.
                    ["ci-stage", "-euo", "pipefail", "-c", stage.lines],
                    executable="/bin/bash",
                    cwd=ROOT,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            try:
                status: int | None = process.wait(LIMIT)
                late = ""
            except subprocess.TimeoutExpired:
                _end(process)
                status, late = process.returncode, f"took more than {LIMIT:.0f} s"
            with self._changed:
                del self._running[stage.name]
                stopped = self._stopped
        text = log.read_text(errors="replace")
        if stopped:
            status = None
        elif status and (reason := None if late else blames_machine(status, text, self.space())):
            status, late = CANNOT, reason
        return Result(stage.name, status, time.monotonic() - begun, late or last_line(text), str(log))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a stage, which is a session of its own, and wait for it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def blames_machine(status: int, log: str, free: int) -> str:
    """Return why the machine is to blame for a stage that failed, or "".

    What tests print is no reason: they fail installers and fill disks on purpose.
    """
    if status == CANNOT:
        return last_line(log)
    if free < LEAST_SPACE:
        return f"the disk is full: {free >> 20} MB are free"
    found = None if RAN_TESTS.search(log) else INSTALLERS.search(log)
    return found[0].strip() if found else ""


def last_line(text: str) -> str:
    """Return the last line that is not blank."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "(nothing was printed)")


def shown(stage: Stage, result: Result) -> list[str]:
    """Return the lines to print for a stage that has ended: of one that failed the whole log."""
    head = f"== {stage.name}: {result.word}, {result.seconds:.0f} s"
    text = Path(result.log).read_text(errors="replace")
    if result.status not in (0, CANNOT, None):
        return [head, *text.splitlines(), f"== {stage.name}: {result.word}: {result.last}"]
    more = [line for line in text.splitlines() if re.search(stage.shows, line)]
    return [head, *(f"   {line}" for line in [*more, result.last])]


def table(results: Iterable[Result]) -> list[str]:
    """Return a table that can be pasted into a note."""
    rows = [f"| {each.name} | {each.word} | {each.seconds:.0f} s | {each.last.strip('= ')} |" for each in results]
    return ["| stage | result | time | last line |", "|---|---|---|---|", *rows]


def verdict(results: Sequence[Result]) -> int:
    """Return the exit status of a run: of the first stage that failed, or 75 if the machine kept one from running."""
    failed = [each.status for each in results if each.status not in (0, CANNOT, None)]
    cannot = any(each.status == CANNOT for each in results)
    return failed[0] or 1 if failed else CANNOT if cannot else 0


def of_machine(results: Sequence[Result]) -> list[str]:
    """Return lines that say which stages could not be run because of the machine."""
    found = [each for each in results if each.status == CANNOT]
    if not found:
        return []
    return [
        f"{len(found)} of {len(results)} stages could not be run because of the machine:",
        *(f"  {each.name}: {each.last}" for each in found),
    ]
