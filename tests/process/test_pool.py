"""The pool: the order of starts, the reports to callers, and that no slot and no wake-up gets lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.process.pool import Pool
from tests.process.bench import (
    NO,
    Bench,
    Told,
    bench,
    in_threads,
    kinds,
    later,
    pool_of,
    pytestmark,
    queued,
    running,
    submit,
    submitted,
    zombies,
)
from tests.waiting import until

if TYPE_CHECKING:
    from tests.process.bench import Given, Way

__all__ = ["bench", "pytestmark"]

# --- reports


@pytest.mark.parametrize("run_in", [Pool.run, submitted], ids=["run", "submit"])
def test_outcomes_stand_in_the_order_of_the_tasks(bench: Bench, run_in: Way) -> None:
    """Tasks, failures and output of others keep their order, whichever ends first."""
    tasks: Given = [bench.task("exit 3"), NO, None, bench.task("echo here")]
    with pool_of(2) as pool:
        outcomes = run_in(pool, tasks)
    assert [outcome.exit_code for outcome in outcomes] == [3, None, None, 0]
    assert (kinds(outcomes), outcomes[3].stdout) == ([None, "missing", None, None], b"here\n")


@pytest.mark.parametrize("tasks", [[], [NO], [NO, None, NO]], ids=["nothing", "a failure", "failures"])
def test_a_batch_with_nothing_to_run_is_over_at_once(bench: Bench, tasks: Given) -> None:
    """It is reported once, whether places are free or not."""
    with pool_of(1) as pool:
        assert len(submit(pool, tasks).outcomes()) == len(tasks)
        assert len(pool.run(tasks)) == len(tasks)
        waits = submit(pool, [bench.waiting()])
        bench.until_inside(1)
        assert len(submit(pool, tasks).outcomes()) == len(tasks)
        assert len(pool.run(tasks)) == len(tasks)
        bench.gate.tell()
        waits.outcomes()


def test_no_more_than_the_limit_run_at_once_however_they_came(bench: Bench) -> None:
    """Batches and threads share one limit, which is reached and never passed: the processes count one another."""
    most, rounds = 3, 6
    with pool_of(most) as pool:
        told = [submit(pool, [bench.waiting(), bench.waiting()]) for _ in range(rounds)]

        def both(number: int) -> None:
            if number:
                pool.run([bench.waiting()] * (1 + number % 2))
                return
            for _ in range(2 * rounds + sum(1 + n % 2 for n in range(1, 6))):
                until(lambda: bench.inside() == most or len(counts()) + bench.inside() == total, "places stay free")
                bench.gate.tell()
                seen.append(bench.inside())

        total = 2 * rounds + sum(1 + n % 2 for n in range(1, 6))
        seen: list[int] = []

        def counts() -> list[int]:
            path = bench.directory / "counts"
            return [int(line) for line in path.read_text().split()] if path.exists() else []

        in_threads(6, both)
        for each in told:
            assert kinds(each.outcomes()) == [None, None]
        assert not running(pool)
    assert (len(counts()), max(counts()), max(seen)) == (total, most, most)


def test_every_place_is_given_back(bench: Bench) -> None:
    """By batches and by threads, of several tasks each, however many of these were run at all."""
    with pool_of(4) as pool:
        tasks: Given = [bench.task("exit 0"), NO, None, bench.task("exit 0")]
        for _ in range(3):
            pool.run(tasks)
            submit(pool, tasks).outcomes()
            assert not running(pool)


def test_what_waits_starts_in_order(bench: Bench) -> None:
    """Batches start in order of arrival, the tasks of each in their order."""
    with pool_of(1) as pool:
        first = submit(pool, [bench.waiting()])
        bench.until_inside(1)
        lines = [[bench.task(f"echo {2 * n} >> order"), bench.task(f"echo {2 * n + 1} >> order")] for n in range(10)]
        told = [submit(pool, each) for each in lines]
        bench.gate.tell()
        for each in (first, *told):
            each.outcomes()
    assert (bench.directory / "order").read_text().split() == [str(n) for n in range(20)]


def test_no_wake_up_is_lost(bench: Bench) -> None:
    """Thousands of tiny batches from several threads, each waited for before the next is given."""
    with pool_of(2) as pool:

        def work(_: int) -> None:
            for _ in range(1500):
                assert kinds(submit(pool, [NO]).outcomes()) == ["missing"]

        in_threads(4, work)


def test_a_batch_has_its_turn_though_a_thread_always_has_something_to_run(bench: Bench) -> None:
    """A thread that runs one hook after another does not delay hooks that were submitted before its next."""
    with pool_of(1) as pool:
        second: list[Told] = []

        def busy(_: int) -> None:
            pool.run([bench.waiting()])
            for _ in range(300):
                if second[0].calls:
                    had_its_turn.append(True)
                    return
                pool.run([bench.task(":")])

        def other(_: int) -> None:
            bench.until_inside(1)
            second.append(submit(pool, [bench.task(":")]))
            until(lambda: queued(pool), "the batch waits for no place")
            bench.gate.tell()
            second[0].outcomes()

        had_its_turn: list[bool] = []
        in_threads(2, lambda number: (busy, other)[number](number))
    assert had_its_turn


# --- ending a batch


def test_a_cancelled_batch_is_over_when_its_processes_are_gone(bench: Bench) -> None:
    """Also one that ignores TERM, and one that has left its session; the other batch runs on."""
    with pool_of(8) as pool:
        stubborn = (
            "trap '' TERM; setsid sh -c 'trap \"\" TERM; mkdir far; sleep 60' & mkdir near; while :; do sleep 1; done"
        )
        other, told = submit(pool, [bench.waiting()]), Told()
        batch = pool.submit([bench.task(stubborn), bench.task("mkdir plain; sleep 60"), NO], told)
        until(lambda: all((bench.directory / each).exists() for each in ("far", "near", "plain")), "a hook is late")
        bench.until_inside(1)
        pool.cancel(batch)
        pool.cancel(batch)
        outcomes = told.outcomes()
        assert (kinds(outcomes), len(bench.processes())) == (["signal", "signal", "missing"], 1)
        pool.cancel(batch)
        bench.gate.tell()
        assert kinds(other.outcomes()) == [None]
    assert len(told.calls) == 1


def test_a_cancelled_batch_that_waits_never_starts(bench: Bench) -> None:
    """It ends at once, and the next batches take its turn."""
    with pool_of(1) as pool:
        first, told = submit(pool, [bench.waiting()]), Told()
        bench.until_inside(1)
        batch = pool.submit([bench.task("touch started")] * 3, told)
        last = submit(pool, [bench.task("echo last")])
        pool.cancel(batch)
        assert kinds(told.outcomes()) == ["signal"] * 3
        bench.gate.tell()
        assert (kinds(first.outcomes()), last.outcomes()[0].stdout) == ([None], b"last\n")
        assert not (bench.directory / "started").exists()
        assert not running(pool)


def test_a_batch_is_cancelled_whenever_it_is(bench: Bench) -> None:
    """Cancelling at any moment between waiting and finished reports once, and leaves nothing."""
    with pool_of(2) as pool:
        for _ in range(60):
            told = [Told() for _ in range(3)]
            batches = [pool.submit([bench.task("exit 0"), bench.task("exit 0")], each) for each in told]
            for batch in batches:
                pool.cancel(batch)
            for each in told:
                assert set(kinds(each.outcomes())) <= {None, "signal"}
        assert not running(pool)
    assert (bench.processes(), zombies()) == ([], [])


# --- time


def test_each_task_has_its_own_time(bench: Bench) -> None:
    """One that is out of time is ended, the others go on; a deadline that has passed starts nothing."""
    with pool_of(8) as pool:
        slow = submit(
            pool, [bench.waiting(), bench.task("sleep 60", timeout=0.1), bench.task("touch no", deadline=1.0)]
        )
        quick = submit(pool, [bench.task("sleep 60", timeout=0.1)])
        assert kinds(quick.outcomes()) == ["timeout"]
        bench.gate.tell()
        assert kinds(slow.outcomes()) == [None, "timeout", "timeout"]
    assert not (bench.directory / "no").exists()


def test_a_deadline_holds_while_a_place_is_waited_for(bench: Bench) -> None:
    """A task that has not started at its deadline is reported then, not when another one has ended."""
    with pool_of(1) as pool:
        first = submit(pool, [bench.waiting()])
        bench.until_inside(1)
        late = submit(pool, [bench.task("touch no", deadline=later(0.2))])
        try:
            assert kinds(late.outcomes()) == ["timeout"]
        finally:
            bench.gate.tell()
            first.outcomes()
