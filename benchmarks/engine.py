"""What a program pays that embeds hookrun's engine: per handler, per declared hook, and with 1,000 fires at once.

    python benchmarks/engine.py [--rounds 200] [--quick] [--no-peers] [--against CHECKOUT] [--json FILE]

Makes its own virtual environments. Exits 1 when a bar fails, 2 when a case is broken or cannot be set up.

The same code is some percent faster or slower in another process, wherever its objects lie in memory, and the process
that has the first turn is faster too. So new processes take over every few rounds, and with `--against` the two that
run at the same time take the first turn alternately. What waits for nothing is measured in processor time. A checkout
beside itself must show 1.00 there, whatever else the machine does.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime as dt
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from operator import truediv
from pathlib import Path
from typing import TYPE_CHECKING

import environments
from environments import InstallError
from fixtures import BLOCKING_HOOK, HOOK, Bench, hook
from measure import TURN, BrokenCaseError, Spread, columns, machine

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_ROUNDS, QUICK_ROUNDS = 200, 20
CROWD_ROUNDS, QUICK_CROWD_ROUNDS = 5, 3
PROCESS_ROUNDS = 10
"""Rounds that one process runs: fewer would average over more processes, and take longer for their starts."""
PEERS = ("pluggy", "oats-coder")

HANDLER_CASES = ("sync-none", "fire-none", "fire-none-async")
NO_MATCH_CASES = ("sync-other-tool", "fire-other-tool", "sync-no-event", "fire-no-event")
BY_HAND = ("posix-spawn", "popen", "asyncio-exec")
HANDLER_LIMIT, NO_MATCH_LIMIT = 8.0, 1.5  # us
PROCESS_LIMITS = {"fire-sync": 1.12, "fire": 1.2}
BY_A_PROGRAM = "popen"
"""What a program without an engine would write: the bars of a declared hook are beside it."""
CROWD_LIMIT = 0.9
IMPORT_LIMIT = 60.0  # ms
IMPORT = "from hookrun import Engine"
CROWD = "gather"
"""What is judged: 1,000 fires at once. Eight threads, with eight at once, are shown beside it."""

Samples = dict[str, list[float]]


@dataclass(frozen=True)
class Bar:
    """A claim with what was found: the median has to be at most, or at least, the limit."""

    claim: str
    found: Spread
    limit: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether the claim is true here."""
        return self.found.median >= self.limit if self.at_least else self.found.median <= self.limit

    def row(self) -> tuple[str, ...]:
        """Return the bar as a line of a table."""
        sign = ">=" if self.at_least else "<="
        return self.claim, str(self.found), f"{sign} {self.limit:g}", "PASS" if self.holds else "FAIL"


@dataclass(frozen=True)
class Found:
    """What engine_program.py has measured: us per call, ms per hook, hooks per second; each case once per round.

    `imports` are ms of the processor, of a new interpreter each; none in what one engine_program.py found.
    """

    absent: list[str]
    about: dict[str, str]
    base: dict[str, str | None]
    in_process: Samples
    processes: Samples
    crowds: Samples
    imports: Sequence[float] = ()

    @classmethod
    def of(cls, parts: Sequence[Found]) -> Found:
        """Return what several processes have found, one after the other."""

        def joined(samples: Sequence[Samples]) -> Samples:
            return {name: [each for part in samples for each in part[name]] for name in samples[0]}

        return dataclasses.replace(
            parts[0],
            in_process=joined([part.in_process for part in parts]),
            processes=joined([part.processes for part in parts]),
            crowds=joined([part.crowds for part in parts]),
        )

    def on_top(self, name: str) -> Spread:
        """Return what a call costs beyond the bare call in the same round, in us; all of it where it calls nothing."""
        base = self.base[name]
        if base is None or name in NO_MATCH_CASES:
            return Spread.of(self.in_process[name])
        pairs = zip(self.in_process[name], self.in_process[base], strict=True)
        return Spread.of([mine - other for mine, other in pairs])

    @property
    def fastest(self) -> str:
        """The fastest way to run the hook by hand."""
        return min(BY_HAND, key=lambda name: statistics.median(self.processes[name]))

    def ratio(self, name: str, by_hand: str | None = None) -> Spread:
        """Return how many times as long as by hand, the fastest way: 1 + median of paired differences / its median."""
        base = self.processes[by_hand or self.fastest]
        unit = statistics.median(base)
        return Spread.of([1 + (mine - other) / unit for mine, other in zip(self.processes[name], base, strict=True)])

    @property
    def fastest_crowd(self) -> str:
        """The driver that starts hooks at the highest rate by hand."""
        by_hand = [name for name in self.crowds if name.startswith("plain-")]
        return max(by_hand, key=lambda name: statistics.median(self.crowds[name]))

    def rate(self, name: str) -> Spread:
        """Return the rate as a part of the highest one by hand, compared within each round."""
        best = self.crowds[self.fastest_crowd]
        return Spread.of([mine / other for mine, other in zip(self.crowds[name], best, strict=True)])

    def beside(self, other: Found) -> list[tuple[str, str]]:
        """Return the time of each case by that of another checkout, compared within each round."""
        mine = self.in_process | self.processes
        its = other.in_process | other.processes
        pairs = {name: (samples, its[name]) for name, samples in mine.items() if name in its}
        pairs |= {name: (other.crowds[name], samples) for name, samples in self.crowds.items()}  # rates, not times
        return [(name, str(Spread.of(list(map(truediv, *pair))))) for name, pair in pairs.items()]

    def bars(self) -> list[Bar]:
        """Return the claims. Where a claim is about several cases, the worst decides."""
        handler = max(HANDLER_CASES, key=lambda name: self.on_top(name).median)
        no_match = max(NO_MATCH_CASES, key=lambda name: self.on_top(name).median)
        return [
            Bar(f"a handler, us on top of calling it ({handler})", self.on_top(handler), HANDLER_LIMIT),
            Bar(f"nothing concerned, us ({no_match})", self.on_top(no_match), NO_MATCH_LIMIT),
            *(
                Bar(f"a declared sh hook, {name} / {BY_A_PROGRAM}", self.ratio(name, BY_A_PROGRAM), limit)
                for name, limit in PROCESS_LIMITS.items()
            ),
            Bar(f"1,000 at once, {CROWD} / {self.fastest_crowd}", self.rate(CROWD), CROWD_LIMIT, at_least=True),
            Bar(f"{IMPORT}, ms of processor", Spread.of(self.imports), IMPORT_LIMIT),
        ]


def main() -> int:
    """Set up, measure, print; return the exit status."""
    options = _options()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="hookrun-benchmark-") as root:
        try:
            hookrun = environments.install_checkout(options.cache)
            peers, absent = _peers(options)
            bench = Bench(Path(root).resolve())
            pythons = [hookrun.python]
            if options.against:
                pythons.append(environments.install_checkout(options.cache, options.against).python)
            found, *others = _measure(bench, pythons, options, peers)
            imports = [_import_ms(hookrun.python) for _ in range(options.rounds)]
            found = dataclasses.replace(found, imports=imports)
        except (BrokenCaseError, InstallError) as error:
            print(f"engine.py: {error}", file=sys.stderr)
            return 2
    found.absent[:0] = absent
    facts = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "machine": machine(),
        "load": f"{load:.1f} at the start",
        "rounds": f"{options.rounds}, {_crowd_rounds(options)} of 1,000 at once",
        "seed": str(options.seed),
        "hook": HOOK,
    }
    _print_report(facts, found)
    for each in others:
        print(f"\nThis checkout / the other, time, paired [IQR]\n{columns(found.beside(each))}")
    if options.json:
        bars = [dataclasses.asdict(bar) | {"holds": bar.holds} for bar in found.bars()]
        record = {**facts, "bars": bars, **dataclasses.asdict(found), "against": list(map(dataclasses.asdict, others))}
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if all(bar.holds for bar in found.bars()) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="engine.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS, help="how often every case is run (%(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds: to see that it works")
    parser.add_argument("--no-peers", action="store_true", help="without pluggy and the oats engine")
    parser.add_argument(
        "--against", type=Path, metavar="CHECKOUT", help="the same cases of another checkout, by turns with this one's"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the order within the rounds (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement to FILE")
    parser.add_argument(
        "--cache", type=Path, default=environments.default_cache(), help="where environments are kept (%(default)s)"
    )
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: expected at least 1")
    if options.quick:
        options.rounds = QUICK_ROUNDS
    return options


def _crowd_rounds(options: argparse.Namespace) -> int:
    return QUICK_CROWD_ROUNDS if options.quick else CROWD_ROUNDS


def _peers(options: argparse.Namespace) -> tuple[dict[str, str], list[str]]:
    """Return where the packages of each peer lie, and which cannot be installed."""
    places: dict[str, str] = {}
    absent: list[str] = []
    for name in () if options.no_peers else PEERS:
        try:
            home = environments.install(options.cache, name, [name]).home
            (packages,) = home.glob("lib/python*/site-packages")
            places[name] = str(packages)
        except InstallError as error:
            absent.append(f"{name}: {error}")
    return places, absent


def _measure(bench: Bench, pythons: list[Path], options: argparse.Namespace, peers: dict[str, str]) -> list[Found]:
    """Run all rounds, PROCESS_ROUNDS by one process of each Python, then by new ones; return what each found."""
    found: list[list[Found]] = [[] for _ in pythons]
    count = math.ceil(options.rounds / PROCESS_ROUNDS)
    for number in range(count):
        part = {
            "rounds": _share(options.rounds, count, number),
            "crowd_rounds": _share(_crowd_rounds(options), count, number),
            "seed": options.seed + number,
            "peers": peers,
        }
        places = [Bench(bench.directory(f"{number}-{side}")) for side in range(len(pythons))]
        programs = [_start(*each, part) for each in zip(places, pythons, strict=True)]
        for mine, more in zip(found, _take_turns(programs), strict=True):
            mine.append(more)
    return [Found.of(parts) for parts in found]


def _import_ms(python: Path) -> float:
    """Return the milliseconds of the processor that a new interpreter takes to import the engine and end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, "-c", IMPORT], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def _share(total: int, count: int, number: int) -> int:
    """Return how many of `total` rounds the process of this number runs, of `count`."""
    return total * (number + 1) // count - total * number // count


def _start(bench: Bench, python: Path, part: dict[str, object]) -> subprocess.Popen[str]:
    """Start engine_program.py in a project that declares the hook; it waits for its turn before every round."""
    home = bench.directory("home")
    project = bench.json([hook()]).parent
    silent = bench.directory("home-without-audit")
    bench.write(f"{silent}/.config/hookrun/hooks.json", '{"hooks": [], "hookrun": {"audit": false}}\n')
    order = {
        "project": str(project),
        "blocking_project": str(bench.json([hook(command=BLOCKING_HOOK)]).parent),
        "home": str(home),
        "home_without_audit": str(silent),
        **part,
    }
    program = Path(__file__).with_name("engine_program.py")
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [python, program, json.dumps(order)], env=bench.env, cwd=project, stdin=pipe, stdout=pipe, text=True
    )


def _take_turns(programs: list[subprocess.Popen[str]]) -> list[Found]:
    """Give each program its turn, round by round; return what they found. Raises BrokenCaseError."""
    found: list[Found] = []
    turns = list(enumerate(programs))
    try:
        lines = [_next_line(program) for program in programs]
        while lines[0] == TURN:
            for number, program in turns:
                print(file=program.stdin, flush=True)
                lines[number] = _next_line(program)
            turns.reverse()
        found = [Found(**json.loads(line)) for line in lines]
    finally:
        for program in programs:
            program.communicate()
    return found


def _next_line(program: subprocess.Popen[str]) -> str:
    line = next(iter(program.stdout or ()), "")
    if not line:
        raise BrokenCaseError("engine_program.py has ended, see above")
    return line


def _print_report(facts: dict[str, str], found: Found) -> None:
    for key, value in facts.items():
        print(f"{key}: {value}")
    print("\nCases")
    for name, about in found.about.items():
        print(textwrap.fill(f"{name}: {about}", 118, initial_indent="  ", subsequent_indent="      "))
    for reason in found.absent:
        print(f"  not run: {reason}")
    rows = [("case", "min us", "median us", "us on top, paired [IQR]")]
    for name, samples in found.in_process.items():
        compared = str(found.on_top(name)) if found.base[name] else ""
        rows.append((name, f"{min(samples):.2f}", f"{statistics.median(samples):.2f}", compared))
    print(f"\nIn the process, processor time per fire\n{columns(rows)}")
    rows = [("case", "min ms", "median ms", f"x {found.fastest}, paired [IQR]")]
    for name, samples in found.processes.items():
        rows.append((name, f"{min(samples):.2f}", f"{statistics.median(samples):.2f}", str(found.ratio(name))))
    print(f"\nOne sh hook\n{columns(rows)}")
    rows = [("case", "hooks per second", f"x {found.fastest_crowd}, paired [IQR]")]
    for name, samples in found.crowds.items():
        rows.append((name, f"{statistics.median(samples):.0f}", str(found.rate(name))))
    print(f"\n1,000 at once\n{columns(rows)}")
    print(f"\nBars\n{columns([bar.row() for bar in found.bars()])}")


if __name__ == "__main__":
    sys.exit(main())
