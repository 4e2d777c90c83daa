"""How fast `hookrun test` is: 1,000 cases of a sh hook, beside the rate at which sh alone can be started.

    python benchmarks/testing.py [--rounds 7] [--cases 1000] [--json FILE]

What is judged is the rate at which the cases run and are judged, by hookrun's own clock (`seconds` of `--json`); the
whole command, with the interpreter's start, reading the cases and reporting, is shown beside it. It is held against
what starts the same sh from one process per core, feeds it, reads what it prints, and does nothing else. Makes its own
virtual environment. Exits 1 when the bar fails, 2 when a case is broken or cannot be set up.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import environments
from environments import InstallError
from fixtures import EVENT, TOOL, Bench, context, hook
from measure import BrokenCaseError, Spread, columns, machine
from plain_spawn import Workers

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, CASES = 7, 1000
LIMIT = 0.6
BY_HAND = "sh alone"
OURS, WHOLE = "hookrun test", "hookrun test, the whole command"
WIDTHS = (1, 2, 4, 8)  # processes at once in each of the processes by hand
SH_ONLY = """read -r line; echo '{"action":"continue"}'"""  # builtins: one process, and it reads its context

Samples = dict[str, list[float]]


def main() -> int:
    """Set up, measure, print; return the exit status."""
    options = _options()
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = Workers(cores, SH_ONLY, context().encode())
    try:
        with tempfile.TemporaryDirectory(prefix="hookrun-benchmark-") as root:
            hookrun = environments.install_checkout(options.cache)
            test = _hookrun_test(Bench(Path(root).resolve()), hookrun.python, options.cases)
            samples = _measure(test, workers, cores, options)
    except (BrokenCaseError, InstallError) as error:
        print(f"testing.py: {error}", file=sys.stderr)
        return 2
    finally:
        workers.close()
    best = max(
        (name for name in samples if name.startswith(BY_HAND)), key=lambda name: statistics.median(samples[name])
    )
    ratio = Spread.of([mine / other for mine, other in zip(samples[OURS], samples[best], strict=True)])
    facts = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "machine": machine(),
        "load": f"{load:.1f} at the start",
        "rounds": f"{options.rounds} of {options.cases} cases",
        "hook": SH_ONLY,
    }
    for key, value in facts.items():
        print(f"{key}: {value}")
    rows = [("what", "per second", f"x {best}, paired [IQR]")]
    for name, rates in samples.items():
        compared = Spread.of([mine / other for mine, other in zip(rates, samples[best], strict=True)])
        rows.append((name, f"{statistics.median(rates):.0f}", str(compared)))
    print(f"\n{columns(rows)}")
    holds = ratio.median >= LIMIT
    bar = (f"{OURS} / {best}", str(ratio), f">= {LIMIT:g}", "PASS" if holds else "FAIL")
    print(f"\nBars\n{columns([bar])}")
    if options.json:
        found = {**facts, "limit": LIMIT, "median": ratio.median, "holds": holds, "samples": samples}
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if holds else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="testing.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often everything is run (%(default)s)")
    parser.add_argument("--cases", type=int, default=CASES, help="in one round (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the order within the rounds (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement to FILE")
    parser.add_argument(
        "--cache", type=Path, default=environments.default_cache(), help="where environments are kept (%(default)s)"
    )
    options = parser.parse_args()
    if options.rounds < 1 or options.cases < 1:
        parser.error("--rounds and --cases: expected at least 1")
    return options


def _hookrun_test(bench: Bench, python: Path, count: int) -> Callable[[], float]:
    """Return what runs `hookrun test` on so many cases and returns the seconds that they took by its own clock.

    It raises BrokenCaseError unless all of them pass.
    """
    project = bench.json([hook(command=SH_ONLY)]).parent
    cases = [
        {
            "name": f"case {number}",
            "event": EVENT,
            "tool": TOOL,
            "args": {"command": f"ls -la src/{number}"},
            "expect": {"action": "continue", "message": None, "fired": ["hook-0"]},
        }
        for number in range(count)
    ]
    bench.write(f"{project}/many.hooktest.json", json.dumps({"cases": cases}, indent=1) + "\n")
    bench.directory("home")

    def test() -> float:
        command = [python, "-m", "hookrun", "test", "--json"]
        done = subprocess.run(command, cwd=project, env=bench.env, capture_output=True, check=False, text=True)
        report = json.loads(done.stdout) if done.stdout else {}
        if done.returncode or report.get("passed") != count:
            raise BrokenCaseError(f"{OURS}: exit status {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
        return float(report["seconds"])

    test()
    return test


def _measure(test: Callable[[], float], workers: Workers, cores: int, options: argparse.Namespace) -> Samples:
    """Return cases, or processes, per second of each way, one per round, in an order shuffled anew in each."""

    def by_hand(width: int) -> float:
        started = perf_counter()
        answered = workers.many(count=options.cases, width=width)
        took = perf_counter() - started
        if answered != options.cases // cores * cores:
            raise BrokenCaseError(f"{BY_HAND}: {answered} of {options.cases} answered")
        return took

    ways = {OURS: test, **{f"{BY_HAND}, {cores} x {width}": partial(by_hand, width) for width in WIDTHS}}
    order = random.Random(options.seed)  # noqa: S311 - the same order for the same seed; nothing is kept secret
    samples: Samples = {name: [] for name in (OURS, WHOLE, *ways)}
    for _ in range(options.rounds):
        for name in order.sample(list(ways), len(ways)):
            started = perf_counter()
            took = ways[name]()
            samples[name].append(options.cases / took)
            if name == OURS:
                samples[WHOLE].append(options.cases / (perf_counter() - started))
    return samples


if __name__ == "__main__":
    sys.exit(main())
