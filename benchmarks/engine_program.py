"""The measured half of engine.py: one process, in the environment where hookrun is installed; prints JSON.

In-process costs can only be compared within one process. `engine.py` starts this one, with its order as argv[1], and
answers each line `turn` with one of its own when a round may begin.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from time import perf_counter, thread_time

import engine_cases
import plain_spawn
from engine_cases import Case, ran
from fixtures import EVENT, HOOK
from measure import TURN, BrokenCaseError

from hookrun import Engine

Samples = dict[str, list[float]]
Crowd = Callable[[int], int]

AT_ONCE = 1_000
THREADS = 8  # that call fire_sync
WORKERS = 2  # processes that start hooks by hand
WIDTHS = (2, 4, 8, 16, 32)
WORKER_WIDTHS = (1, 2, 4, 8)
ANSWERS = os.fdopen(os.dup(1), "w")  # to engine.py; what a peer prints, as the log of oats, goes to stderr
CONTEXT = {"session_id": "s", "tool_name": "bash", "tool_args": {"command": "ls -la src"}}


@dataclass
class Order:
    """What is to be measured: directories made before, numbers of rounds, where peers are installed."""

    project: str
    blocking_project: str
    home: str
    home_without_audit: str
    rounds: int
    crowd_rounds: int
    seed: int
    peers: dict[str, str] = field(default_factory=dict)


def main() -> int:
    """Check every case, measure all of them, print every sample by the case's name; exit 2 for a broken case."""
    order = Order(**json.loads(sys.argv[1]))
    os.dup2(2, 1)
    context = json.dumps(CONTEXT).encode() + b"\n"
    workers = plain_spawn.Workers(WORKERS, HOOK, context)  # while there is one thread
    loop = asyncio.new_event_loop()
    try:
        found = _measure(order, workers, context, loop)
    except BrokenCaseError as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        workers.close()
        loop.close()
    print(json.dumps(found), file=ANSWERS, flush=True)
    return 0


def _measure(
    order: Order, workers: plain_spawn.Workers, context: bytes, loop: asyncio.AbstractEventLoop
) -> dict[str, object]:
    project, home = Path(order.project), Path(order.home)
    silent = Path(order.home_without_audit)
    in_process = engine_cases.in_process_cases()
    processes = engine_cases.process_cases(project, home, silent)
    controls = engine_cases.process_controls(Path(order.blocking_project), home)
    absent = _add_peers(order, in_process, processes, controls)
    for case in in_process + processes + controls:
        case.sample(loop)
    for place, wanted in ((home, True), (silent, False)):
        if (place / ".local/state/hookrun/audit.jsonl").exists() is not wanted:
            raise BrokenCaseError(f"the audit of {place.name}: expected {'one' if wanted else 'none'}")
    shuffled = random.Random(order.seed)  # noqa: S311 - the same order for the same seed; nothing is kept secret
    engine = Engine.load(project, home=home, trust_project=True)
    crowds = _crowds(engine, workers, context, loop)
    return {
        "absent": absent,
        "about": {case.name: case.about for case in in_process + processes},
        "base": {case.name: case.base for case in in_process},
        "in_process": _rounds(in_process, order.rounds, shuffled, lambda case: _microseconds(case, loop)),
        "processes": _rounds(processes, order.rounds, shuffled, lambda case: case.sample(loop) * 1e3),
        "crowds": _crowd_rounds(crowds, order.crowd_rounds, shuffled),
    }


def _add_peers(order: Order, in_process: list[Case], processes: list[Case], controls: list[Case]) -> list[str]:
    """Add the cases of the peers; return which cannot be had, and why. Their packages come after all of ours."""
    absent: list[str] = []
    sys.path += order.peers.values()
    for name in order.peers:
        try:
            if name == "pluggy":
                in_process += engine_cases.pluggy_cases()
            else:
                inside, outside, control = engine_cases.oats_cases()
                in_process += inside
                processes += outside
                controls += control
        except ImportError as error:
            absent.append(f"{name}: {error}")
    return absent


def _await_turn() -> None:
    """Wait until no other program measures."""
    ANSWERS.write(TURN)
    ANSWERS.flush()
    if not sys.stdin.readline():
        sys.exit("engine.py has ended")


def _microseconds(case: Case, loop: asyncio.AbstractEventLoop) -> float:
    """Return what one call within the process takes of the processor: none waits, and others' programs do not count.

    What counts follows a run that does not: the case before it has left the caches cold, and how cold would be part of
    what is measured, most of all of the shortest case.
    """
    case.sample(loop)
    return case.sample(loop, thread_time) * 1e6


def _rounds(cases: list[Case], rounds: int, shuffled: random.Random, measure: Callable[[Case], float]) -> Samples:
    """Return the samples of each case, one per round: every round has every case once."""
    samples: Samples = {case.name: [] for case in cases}
    for _ in range(rounds):
        _await_turn()
        for case in shuffled.sample(cases, len(cases)):
            samples[case.name].append(measure(case))
    return samples


def _crowds(
    engine: Engine, workers: plain_spawn.Workers, context: bytes, loop: asyncio.AbstractEventLoop
) -> dict[str, Crowd]:
    """Return what runs so many hooks as fast as it can and tells how many of them answered."""
    crowds: dict[str, Crowd] = {
        "gather": lambda count: loop.run_until_complete(_gather(engine, count)),
        f"{THREADS}-threads": lambda count: _from_threads(lambda: ran(engine.fire_sync(EVENT, CONTEXT)), count),
        f"popen-{THREADS}-threads": lambda count: _from_threads(
            lambda: plain_spawn.by_popen(HOOK, context) == engine_cases.ANSWER, count
        ),
    }
    for width in WIDTHS:
        many = partial(plain_spawn.many, HOOK, context, width=width)
        crowds[f"plain-{width}"] = lambda count, many=many: many(count=count)  # type: ignore[misc]
    for width in WORKER_WIDTHS:
        crowds[f"plain-{WORKERS}x{width}"] = lambda count, width=width: workers.many(count=count, width=width)  # type: ignore[misc]
    return crowds


async def _gather(engine: Engine, count: int) -> int:
    return sum(map(ran, await asyncio.gather(*(engine.fire(EVENT, CONTEXT) for _ in range(count)))))


def _from_threads(answers_right: Callable[[], bool], count: int) -> int:
    """Run hooks from threads, each the next one while there is one: an executor's futures are not what is measured."""
    numbers = iter(range(count))
    answers: list[bool] = []
    threads = [Thread(target=lambda: answers.extend(answers_right() for _ in numbers)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(answers)


def _crowd_rounds(crowds: dict[str, Crowd], rounds: int, shuffled: random.Random) -> Samples:
    """Return the hooks per second of each, one per round."""
    samples: Samples = {name: [] for name in crowds}
    for _ in range(rounds):
        _await_turn()
        for name in shuffled.sample(list(crowds), len(crowds)):
            started = perf_counter()
            answers = crowds[name](AT_ONCE)
            samples[name].append(AT_ONCE / (perf_counter() - started))
            if answers != AT_ONCE:
                raise BrokenCaseError(f"{name}: {answers} of {AT_ONCE} hooks answered")
    return samples


if __name__ == "__main__":
    sys.exit(main())
