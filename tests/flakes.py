"""Try failed tests of processes again, alone, at a run's end. One that passes then is flaky: shown, and in flakes.json.

The run stays green with up to three of them. Only tests marked `process` are tried again, as all of these rooms are,
and none marked `no_second_try`.
`-p no:flakes` switches this off.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from pathlib import Path

ROOMS = (
    *("client", "fire", "live", "process", "serve", "torture"),
    *(f"library/test_{name}.py" for name in ("cancelling", "forking", "leaks", "processes", "timeouts")),
)
"""Folders and files below tests/: the kernel's scheduler has a part in what their tests see."""

TRIES = 2  # for each test
MOST_FLAKES = 3  # in a green run
MOST_FAILURES = 10  # with more, the code is to blame, and trying them all again takes long

FILE = "flakes.json"
TEXT = 20_000  # characters of a failure's text in the file: its end


def register(config: pytest.Config, environment: Mapping[str, str] | None = None) -> None:
    """Switch this on for a run, whose tests are tried again with this environment, or for a worker of it."""
    config.pluginmanager.register(Marks(), "flakes-marks")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Flakes(config, environment or os.environ), "flakes")


class Marks:
    """Marks the tests of these rooms, and the reports of failures that may be tried again."""

    @pytest.hookimpl(tryfirst=True)  # before `-m` selects
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Mark the tests of these rooms."""
        tests = config.rootpath / "tests"
        rooms = [tests / room for room in ROOMS]
        files = {path: any(path.is_relative_to(room) for room in rooms) for path in {item.path for item in items}}
        for item in items:
            if files[item.path]:
                item.add_marker(pytest.mark.process)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Mark a failure, with the machine's load."""
        report = yield
        if report.failed and item.get_closest_marker("process") and not item.get_closest_marker("no_second_try"):
            report.may_be_flaky = True
            report.load = os.getloadavg()[0]
        return report


class Flakes:
    """Tries the failed tests of a run again, after its workers have ended."""

    def __init__(self, config: pytest.Config, environment: Mapping[str, str]) -> None:
        self.root = config.rootpath
        self.environment = environment
        self.flaky: list[dict[str, object]] = []
        self.red = ""

    @pytest.hookimpl(wrapper=True, trylast=True)  # within the terminal's, which shows the results
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Try again what failed, and make the run green if nothing else is wrong."""
        result = yield
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        stats: dict[str, list[Any]] = terminal.stats if terminal is not None else {}
        failed = self._failed(stats)
        stopped = session.shouldfail or session.shouldstop or session.config.getoption("usepdb")
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED or stopped or not 0 < len(failed) <= MOST_FAILURES:
            return result
        for name, reports in failed.items():
            if tries := self._passes_again(name):
                self.flaky.append(_entry(name, reports, tries))
                _count_as_flaky(stats, reports)
        if len(self.flaky) > MOST_FLAKES:
            self.red = f"{len(self.flaky)} flaky tests: more than {MOST_FLAKES} make a run red"
        elif not any(stats.get(outcome) for outcome in ("failed", "error")):
            session.exitstatus = pytest.ExitCode.OK
        if self.flaky:
            append(self.root / FILE, self.flaky)
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the flaky tests, each with its first failure."""
        if not self.flaky:
            return
        terminalreporter.section("flakes", yellow=True, bold=True)
        for entry in self.flaky:
            passed = f"failed (load {entry['load']}), passed alone in try {entry['tries']}"
            terminalreporter.write_line(f"FLAKY {entry['name']}: {passed}", yellow=True)
            terminalreporter.write_line(str(entry["failure"]))
        if self.red:
            terminalreporter.write_line(self.red, red=True, bold=True)

    @staticmethod
    def _failed(stats: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """Return the failed reports of each test that may be tried again: of its setup, call and teardown."""
        found: dict[str, list[Any]] = {}
        for report in [*stats.get("failed", ()), *stats.get("error", ())]:
            if getattr(report, "may_be_flaky", False):
                found.setdefault(report.nodeid, []).append(report)
        return found

    def _passes_again(self, name: str) -> int:
        """Return in which try a test passes alone, or 0. To be skipped is not to pass."""
        options = ("-n", "0", "-m", "", "-p", "no:flakes", "-p", "no:cacheprovider", "--color", "no")
        for number in range(1, TRIES + 1):
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, name],
                cwd=self.root,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0 and "1 passed" in done.stdout:
                return number
        return 0


def _entry(name: str, reports: list[Any], tries: int) -> dict[str, object]:
    return {
        "name": name,
        "room": name.split("/")[1] if name.startswith("tests/") else "",
        "failure": "\n".join(report.longreprtext for report in reports)[-TEXT:],
        "tries": tries,
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(reports[0].start)),
        "seconds": round(sum(report.duration for report in reports), 2),
        "load": round(reports[0].load, 2),
    }


def _count_as_flaky(stats: dict[str, list[Any]], reports: list[Any]) -> None:
    """Count a test as flaky in pytest's last line."""
    for outcome in ("failed", "error"):
        left = [report for report in stats.pop(outcome, ()) if report not in reports]
        if left:
            stats[outcome] = left
    stats.setdefault("flaky", []).append(reports[0])


def append(path: Path, entries: list[dict[str, object]]) -> None:
    """Add entries to those of earlier runs, or of one at the same time."""
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        file.truncate(0)
        file.write(json.dumps([*json.loads(text or "[]"), *entries], indent=2) + "\n")
