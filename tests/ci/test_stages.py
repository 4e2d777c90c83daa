"""Stages of CI: lanes side by side, logs, what fails, and what the machine keeps from running."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import stages
from stages import CANNOT, Result, Runner, Stage, blames_machine, of_machine, shown, table, verdict

from tests import waiting
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PLENTY = 1 << 40  # bytes
TESTS = "=== test session starts ===\n"


def stage(name: str, lines: str, *after: str) -> Stage:
    """Return a stage."""
    return Stage(name, "", lines, after=after)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Restore the handlers of the signals that a run handles."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def run(directory: Path, *lanes: Sequence[Stage], keeps_going: bool = False) -> dict[str, Result]:
    """Run lanes with plenty of space on the disk, and return the results by their stages' names."""
    environment = {"HERE": str(directory)}
    runner = Runner(directory / "logs", environment, lambda _: None, keeps_going=keeps_going, space=lambda: PLENTY)
    return {each.name: each for each in runner.run(lanes)}


def test_lanes_run_side_by_side_and_wait_for_the_stages_they_need(tmp_path: Path) -> None:
    """Each of two stages waits for the other's file; a third begins after both, with what its lane did before."""
    meet = 'touch "$HERE/{0}"; until [ -e "$HERE/{1}" ]; do sleep 0.01; done; echo met'
    first = [stage("a", meet.format("a", "b")), stage("last", 'ls "$HERE"; echo done', "b2")]
    second = [stage("b", meet.format("b", "a")), stage("b2", 'touch "$HERE/b2"')]
    done = run(tmp_path, first, second)
    assert {each.name: each.status for each in done.values()} == dict.fromkeys(("a", "b", "b2", "last"), 0)
    assert Path(done["last"].log).read_text().split() == ["a", "b", "b2", "logs", "done"]
    assert (done["a"].last, done["b2"].last, done["last"].last) == ("met", "(nothing was printed)", "done")
    assert list(done)[-1] == "last"


def test_a_stage_that_fails_ends_the_run(tmp_path: Path) -> None:
    """Its log is shown whole; what runs beside it is ended with its children, and nothing else begins.

    What was ended is not taken for passed: bash can see its child's end, and exit with 0, before its own signal.
    """
    sleeper = 'trap "exit 0" TERM; sleep 600 & echo $! >"$HERE/pid"; mv "$HERE/pid" "$HERE/ready"; wait'
    failing = 'until [ -e "$HERE/ready" ]; do sleep 0.01; done; echo one; echo two; (exit 3); echo never'
    lanes = [stage("bad", failing), stage("next", ":")], [stage("long", sleeper)]
    done = run(tmp_path, *lanes)
    assert {each.name: each.status for each in done.values()} == {"bad": 3, "long": None}
    assert shown(lanes[0][0], done["bad"])[1:] == ["one", "two", "== bad: FAILED (3): two"]
    assert verdict(list(done.values())) == 3
    pid = int((tmp_path / "ready").read_text())
    waiting.until(lambda: not waiting.is_running(pid), "the stage's child ends")


def test_a_run_that_is_ended_ends_its_stages(tmp_path: Path) -> None:
    """With their children: a stage is a session of its own, which a signal to the run does not reach."""
    program = """
import pathlib, stages, sys
lines = f"sleep 600 & echo $! >{sys.argv[1]}/pid; mv {sys.argv[1]}/pid {sys.argv[1]}/ready; wait"
runner = stages.Runner(pathlib.Path(sys.argv[1]), {}, print)
runner.run([[stages.Stage("long", "", lines)]])
"""
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT / ".ci") as process:
        waiting.until((tmp_path / "ready").exists, "the stage begins")
        process.send_signal(signal.SIGTERM)
        assert waiting.ended(process) == 128 + signal.SIGTERM
    pid = int((tmp_path / "ready").read_text())
    waiting.until(lambda: not waiting.is_running(pid), "the stage's child ends")


def test_a_run_that_is_ended_finds_the_stage_that_just_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its process's start and the note of it the run may be ended."""
    runner = Runner(tmp_path, {}, lambda _: None, space=lambda: PLENTY)
    start, asked = subprocess.Popen, threading.Event()
    found: list[subprocess.Popen[bytes]] = []

    def slowly(*words: Any, **more: Any) -> subprocess.Popen[bytes]:  # as Popen
        process = start(*words, **more)
        ending.start()
        asked.wait()
        found.append(process)
        return process

    def end() -> None:
        asked.set()
        runner.stop()

    ending = threading.Thread(target=end)
    monkeypatch.setattr(subprocess, "Popen", slowly)
    runner.run([[stage("long", "sleep 600")]])
    ending.join()
    assert [process.returncode for process in found] == [-signal.SIGTERM]


def test_a_nightly_run_continues_after_a_failure(tmp_path: Path) -> None:
    """The exit status is that of the first stage that failed."""
    done = list(run(tmp_path, [stage("a", "exit 4"), stage("b", "exit 5"), stage("c", ":")], keeps_going=True).values())
    assert [each.status for each in done] == [4, 5, 0]
    assert verdict(done) == 4


def test_the_machine_is_blamed_by_its_own_exit_status(tmp_path: Path) -> None:
    """The others run; the run says which stages could not and why, and exits with 75 if all else passed."""
    done = list(run(tmp_path, [stage("a", "echo npm is away; exit 75"), stage("b", ":")]).values())
    assert [each.status for each in done] == [CANNOT, 0]
    assert of_machine(done) == ["1 of 2 stages could not be run because of the machine:", "  a: npm is away"]
    assert verdict(done) == CANNOT
    assert verdict([*done, Result("c", 1, 0, "", "")]) == 1
    assert of_machine(done[1:]) == []
    assert verdict(done[1:]) == 0


REASONS = [
    ("plain failure\n", PLENTY, ""),
    ("", 100 << 20, "the disk is full: 100 MB are free"),
    ("npm error network request failed: ENOTFOUND registry\nmore\n", PLENTY, "npm error network request"),
    ("ERROR: Could not install packages due to an OSError: No space left on device\n", PLENTY, "ERROR: Could not"),
    ("WARNING: Retrying (Retry(total=4)) after connection broken by ...\n", PLENTY, "WARNING: Retrying (Retry"),
    (f"{TESTS}npm error ENOTFOUND\n1 failed\n", PLENTY, ""),
    ("ERROR: No matching distribution found for hookrum\n", PLENTY, ""),
]


def test_the_machine_is_blamed_for_what_installers_say_but_not_where_tests_ran() -> None:
    """Tests fail installers and fill disks on purpose, and print it."""
    found = [(log, blames_machine(1, log, free), expected) for log, free, expected in REASONS]
    assert [row for row in found if not row[1].startswith(row[2]) or bool(row[1]) != bool(row[2])] == []
    assert blames_machine(CANNOT, "pip says no\n", PLENTY) == "pip says no"


def test_a_stage_that_takes_too_long_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and is no affair of the machine's."""
    monkeypatch.setattr(stages, "LIMIT", 0.05)
    (done,) = run(tmp_path, [stage("a", "sleep 600")]).values()
    assert (done.status, done.last) == (-15, "took more than 0 s")


def test_what_is_printed_of_a_stage_that_passed(tmp_path: Path) -> None:
    """The last line, which is pytest's, and the lines that the stage wants to be seen."""
    lines = "echo noise; echo codex 1.2: NOT RUN, away; echo '== 5 passed in 2.00s =='; echo"
    one = Stage("live", "", lines, shows=r"NOT RUN")
    done = run(tmp_path, [one])["live"]
    assert shown(one, done)[1:] == ["   codex 1.2: NOT RUN, away", "   == 5 passed in 2.00s =="]
    assert table([done])[2:] == ["| live | passed | 0 s | 5 passed in 2.00s |"]
