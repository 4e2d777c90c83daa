"""A hook whose caller waits for it: the same outcome as from any loop, whatever it does, and nothing left behind."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from hookrun.core.model import Failure, Outcome
from hookrun.process.child import PIPE_ATOMIC, WATCHER, CannotStart, Task
from hookrun.process.loop import Loop
from hookrun.process.pool import SIGNALS_SEEN_AFTER, Pool
from tests.process.bench import (
    MOMENTS,
    Bench,
    bench,
    noted_waits,
    pool_of,
    pytestmark,
    streams_of,
    zombies,
)
from tests.waiting import limit, until

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["bench", "pytestmark"]

LINES = {
    "nothing": "true",
    "an answer": """cat >/dev/null; echo '{"action": "continue"}'""",
    "both streams": "echo out; echo err >&2; exit 2",
    "what it read": "cat",
    "a status": "exit 7",
    "a signal": "kill -9 $$",
    "it does not read": "exec <&-; echo x",
    "later than we are patient": "sleep 0.1; echo late",
    "in pieces": "printf a; sleep 0.05; printf b",
    "streams closed long before its end": "exec >&- 2>&-; sleep 0.1; exit 4",
    "more than is kept": "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2",
    "too late": "echo begun; sleep 60",
    "too late, and stubborn": "trap '' TERM; echo begun; while :; do sleep 60; done",
    "a child that holds its streams": "echo x; sleep 60 & exit 5",
    "a child that holds nothing": "sleep 60 >/dev/null 2>&1 </dev/null & exit 5",
}
SIZES = {"an empty context": 0, "a small one": 100, "all a pipe takes at once": PIPE_ATOMIC, "a large one": 1 << 20}


def task(bench: Bench, line: str, size: int = 100, timeout: float = 60) -> Task:
    """Return the task of a shell line that is given a context of so many bytes."""
    made = bench.task(line, timeout=timeout)
    return Task(made.start, b"x" * size, timeout=timeout, max_output=100_000, marker=made.marker)


def run(task: Task) -> Outcome:
    """Run a task in a pool."""
    with pool_of(1) as pool:
        return pool.run([task])[0]


def told(outcome: Outcome) -> dict[str, object]:
    """Return the fields of an outcome, except its time and how much of an unread stdin was written."""
    failure = outcome.failure and (outcome.failure.kind, outcome.failure.detail)
    names = ("exit_code", "stdout", "stderr", "bytes_out", "bytes_err", "truncated", "processes_left")
    return {"failure": failure, **{name: getattr(outcome, name) for name in names}}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("what", LINES)
def test_the_outcome_is_that_of_a_loop(bench: Bench, what: str) -> None:
    """Whether a hook is quick or slow, quiet or loud, obedient or not."""
    is_late = what.startswith("too late")
    for timeout in (0.4, 4, 20) if is_late else (60,):
        by_loop, by_itself = (told(way(task(bench, LINES[what], timeout=timeout))) for way in (_by_loop, run))
        if by_loop["stdout"] and by_itself["stdout"]:  # on a slow machine it may be ended before it prints anything
            break
    assert by_itself == by_loop
    assert (by_itself["failure"] is not None) is is_late


def _by_loop(task: Task) -> Outcome:
    return Loop().run([task])[0]


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_context_of_any_size_is_given_whole(bench: Bench, size: int) -> None:
    """What does not fit into the pipe at once is written as it is read."""
    outcome = run(task(bench, "wc -c", size))
    assert (outcome.stdout.split(), outcome.bytes_in, outcome.failure) == ([b"%d" % size], size, None)


@pytest.mark.slow
def test_nothing_of_ours_stays_open_and_nobody_is_unreaped(bench: Bench) -> None:
    """After every kind of end the same descriptors are open as before, and there is no child."""
    before = os.listdir("/proc/self/fd")
    for what, line in LINES.items():
        run(task(bench, line, timeout=0.2 if what.startswith("too late") else 60))
    assert (os.listdir("/proc/self/fd"), zombies()) == (before, [])


def test_a_program_that_cannot_start_is_told_by_its_name() -> None:
    """A failure that is the hook's own is its outcome; no loop tries again."""

    def begin(_in: int, _out: int, _err: int) -> int:
        raise CannotStart(Failure("missing", "nowhere to be found"))

    outcome = run(Task(begin, b"", timeout=60, max_output=100))
    assert told(outcome)["failure"] == ("missing", "nowhere to be found")


def test_an_exclusive_hook_takes_its_lock_first(bench: Bench) -> None:
    """A task with a lock needs a loop: while another holds it, it waits."""
    made = task(bench, "echo x")
    made.lock = str(bench.directory / "the.lock")
    assert run(made).stdout == b"x\n"
    assert (bench.directory / "the.lock").exists()


def test_a_deadline_that_has_passed_starts_nothing(bench: Bench) -> None:
    """It is a timeout, and the hook never ran."""
    made = task(bench, "touch ran")
    made.deadline = 0.0
    outcome = run(made)
    assert told(outcome)["failure"] == ("timeout", "the deadline passed before the hook could start")
    assert not (bench.directory / "ran").exists()


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_exception_from_outside_leaves_nothing_running(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, moment: tuple[object, str, str, Callable[..., object]]
) -> None:
    """Ctrl-C just after it has started, while it runs, or after its end: it is ended, and the exception is raised."""
    where, name, line, first = moment
    real: Callable[..., object] = getattr(where, name)
    calls: list[int] = []

    def interrupted(*given: object) -> object:
        calls.append(1)
        if len(calls) > 1:
            return real(*given)
        first(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(where, name, interrupted)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(KeyboardInterrupt):
        _by_loop(task(bench, line))
    WATCHER.close()
    assert bench.processes() == []
    assert (os.listdir("/proc/self/fd"), zombies()) == (before, [])


def test_a_forked_child_holds_none_of_its_streams(bench: Bench) -> None:
    """What the program forks meanwhile has none of the hook's streams open."""
    outcomes: list[Outcome] = []
    pool = Pool(1)
    thread = threading.Thread(target=lambda: outcomes.extend(pool.run([bench.waiting(timeout=60)])))
    thread.start()
    bench.until_inside(1)
    streams = until(lambda: streams_of(pool), "the pool does not read")  # the hook may be the quicker
    child = os.fork()
    if child == 0:
        os._exit(sum(_is_open(fd) for fd in streams))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    bench.gate.tell()
    thread.join(limit())
    pool.close()
    assert (len(streams), status) == (2, 0)
    assert [outcome.exit_code for outcome in outcomes] == [0]


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def test_a_signal_just_before_it_waits_is_seen_soon(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing wakes it then: it looks from time to time, not only at the hook's end."""
    with pool_of(1) as pool:
        pool.run([task(bench, ":")])
        seen = noted_waits(monkeypatch)
        assert pool.run([task(bench, "echo late")])[0].stdout == b"late\n"
    assert set(seen) == {SIGNALS_SEEN_AFTER}
