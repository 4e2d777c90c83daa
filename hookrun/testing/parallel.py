"""Run cases in parallel: in threads, because hooks are waited for, and many cases also in several processes."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from hookrun.library.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from hookrun.testing.case_runner import CaseRunner
    from hookrun.testing.results import CaseRun

    OnDone = Callable[[CaseRun], object]

CASES_PER_PROCESS = 64
"""Cases that are worth starting one more process for."""
INDEX_SIZE = 4
"""Bytes of an index in the queue of cases."""
MAX_CHUNKS = 4096
"""Chunks into which the cases are divided: their indices fit into a pipe, which holds at least 16 KiB."""


def process_count(cases: int, width: int) -> int:
    """Return how many processes to run so many cases in, for `width` hooks at once: at most one per core."""
    if threading.active_count() > 1:
        return 1  # a fork would copy whatever locks the other threads hold, held for ever
    return max(1, min(os.cpu_count() or 1, width, cases // CASES_PER_PROCESS))


def run_in_threads(runner: CaseRunner, runs: Iterable[CaseRun], width: int, on_done: OnDone) -> None:
    """Run these cases, at most `width` at a time, and call `on_done` with each, never concurrently.

    If anything raises, KeyboardInterrupt included, the runner is stopped and every thread has ended when this returns.
    """
    pending = iter(runs)
    taking, reporting = threading.Lock(), threading.Lock()

    def take() -> CaseRun | None:
        with taking:
            return next(pending, None)

    def work() -> None:
        while (run := take()) is not None:
            runner.run(run)
            with reporting:
                on_done(run)

    with ThreadPoolExecutor(width) as pool:
        futures = [pool.submit(work) for _ in range(width)]
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:
            with taking:
                pending = iter(())
            runner.stop()
            raise


def run_in_processes(runner: CaseRunner, runs: Sequence[CaseRun], count: int, width: int, on_done: OnDone) -> None:
    """Run these cases in `count` processes, at most `width` at a time, and call `on_done` with each.

    One interpreter alone starts hooks slower than several cores run them. A case whose process died has a problem that
    says so. No process is left running, whatever this raises.
    """
    from multiprocessing import connection, get_context  # 15 ms, only for many cases

    context = get_context("fork")  # the runner and its cases need not be pickled
    size = -(-len(runs) // MAX_CHUNKS)
    queue, end = os.pipe()  # no lock that a process could die with
    os.write(end, b"".join(start.to_bytes(INDEX_SIZE) for start in range(0, len(runs), size)))
    os.close(end)
    left = set(range(len(runs)))
    workers = {}
    try:
        for number in range(count):
            receiver, sender = context.Pipe(duplex=False)
            share = width // count + (number < width % count)
            worker = context.Process(target=_work, args=(runner, runs, _take_chunks(queue, runs, size), share, sender))
            worker.start()
            sender.close()
            workers[receiver] = worker
        open_ends = list(workers)
        while open_ends:
            for ready in connection.wait(open_ends):
                assert isinstance(ready, connection.Connection)  # noqa: S101  # not one of the other things it can wait for
                try:
                    index, *result = ready.recv()
                except (EOFError, OSError):  # OSError in the middle of a result
                    open_ends.remove(ready)
                    continue
                run = runs[index]
                run.result, run.differences, run.problems, run.directory = result
                left.discard(index)
                on_done(run)
    finally:
        os.close(queue)
        for receiver, worker in workers.items():
            receiver.close()
            if worker.is_alive() and worker.pid is not None:
                os.kill(worker.pid, signal.SIGINT)
            worker.join()
    for index in sorted(left):
        runs[index].problems = [f"{runs[index].case.where}: the process that was to run it has died"]
        on_done(runs[index])


def _work(
    runner: CaseRunner, runs: Sequence[CaseRun], pending: Iterable[CaseRun], width: int, results: Connection
) -> None:
    os.setpgid(0, 0)  # Ctrl-C at the terminal is for the parent, which passes it on
    indices = {id(run): index for index, run in enumerate(runs)}

    def report(run: CaseRun) -> None:
        if run.result is not None and isinstance(run.result.verdict, Result):
            run.result.verdict.context_after = None  # it refers to the fire
        results.send((indices[id(run)], run.result, run.differences, run.problems, run.directory))

    try:
        run_in_threads(runner, pending, width, report)
    except (KeyboardInterrupt, BrokenPipeError):  # the parent is ending or gone
        pass
    finally:
        runner.stop()


def _take_chunks(queue: int, runs: Sequence[CaseRun], size: int) -> Iterator[CaseRun]:
    """Yield the cases of every chunk that no other process has taken."""
    while data := os.read(queue, INDEX_SIZE):
        start = int.from_bytes(data)
        yield from runs[start : start + size]
