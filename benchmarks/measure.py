"""Measure whole processes side by side: interleaved rounds, paired ratios, one table.

Machines drift: they warm up, throttle and share their cores. So no case is measured on its own. Every round runs every
case once, in an order shuffled anew, and two cases are compared round by round.
"""

from __future__ import annotations

import datetime as dt
import gc
import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

CHECK_TIMEOUT = 60.0  # seconds; a case that takes longer to be checked is broken, not slow
MEMORY_RUNS = 3
SERVED_RUNS = 10
"""Runs in a round of a case that has a server: the first one's wall time counts, the processor time of all."""

# What runs a case when its memory is measured. It imports nothing but what is compiled into the interpreter.
_SMALL_PARENT = """
import posix, sys
null = posix.open("/dev/null", posix.O_RDWR)
stdin = posix.open(sys.argv[1], posix.O_RDONLY)
actions = [(posix.POSIX_SPAWN_DUP2, stdin, 0), (posix.POSIX_SPAWN_DUP2, null, 1), (posix.POSIX_SPAWN_DUP2, null, 2)]
pid = posix.posix_spawn(sys.argv[2], sys.argv[2:], posix.environ, file_actions=actions)
print(posix.wait4(pid, 0)[2].ru_maxrss)
"""


class BrokenCaseError(Exception):
    """A case did not do what it claims, so that its time would mean nothing."""


TURN = "turn\n"
"""What a program says that waits for a line before its next round."""


@dataclass(frozen=True)
class Outcome:
    """What one run of a case left behind: its exit status (negative: the signal) and its output."""

    status: int
    stdout: bytes
    stderr: bytes


def always_right(_: Outcome) -> str | None:
    """Accept any output: the check of a case that prints nothing worth reading."""
    return None


@dataclass(frozen=True)
class Case:
    """One command to be measured.

    `argv[0]` is an absolute path. `stdin` is the file it reads from. `check` returns what is wrong with an outcome, or
    None. `about` says what is run, and for a peer what it does and does not do. `server` returns the id of the process
    that does part of the work, whose processor time is counted with that of all its descendants.
    """

    name: str
    about: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    stdin: Path = Path(os.devnull)
    check: Callable[[Outcome], str | None] = always_right
    status: int = 0
    server: Callable[[], int] | None = None


@dataclass
class Samples:
    """The measurements of one case, one per round: wall and CPU time in ms; peak memory in MB, measured apart."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak_rss: float = 0.0


@dataclass(frozen=True)
class Spread:
    """A median with its quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of `values`, which are at least one."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def __str__(self) -> str:
        """Read as `1.23 [1.20 1.27]`."""
        return f"{self.median:.2f} [{self.low:.2f} {self.high:.2f}]"


def cpu_ratio(case: Samples, base: Samples) -> float:
    """Return how many times as much processor time as `base` a `case` took: a server's is exact only in the mean."""
    return statistics.fmean(case.cpu) / statistics.fmean(base.cpu)


def paired_difference(case: Samples, base: Samples) -> Spread:
    """Return how many ms more than `base` a `case` took, compared within each round."""
    return Spread.of([mine - other for mine, other in zip(case.wall, base.wall, strict=True)])


def paired_ratio(case: Samples, base: Samples) -> Spread:
    """Return how many times as long as `base` a `case` took, compared within each round."""
    return Spread.of([mine / other for mine, other in zip(case.wall, base.wall, strict=True)])


def verify(case: Case) -> None:
    """Run `case` once and raise BrokenCaseError unless its output and its exit status are right."""
    with case.stdin.open("rb") as stdin:
        done = subprocess.run(
            case.argv,
            env=case.env,
            cwd=case.cwd,
            stdin=stdin,
            capture_output=True,
            timeout=CHECK_TIMEOUT,
            check=False,
        )
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    trouble = case.check(outcome)
    if trouble is None and outcome.status != case.status:
        trouble = f"exit status {outcome.status}, expected {case.status}"
    if trouble is not None:
        shown = b"\n".join(stream.strip()[-1000:] for stream in (outcome.stdout, outcome.stderr) if stream.strip())
        message = f"{case.name}: {trouble}\n{shown.decode(errors='replace')}"
        raise BrokenCaseError(message)


def measure(cases: Sequence[Case], *, rounds: int, seed: int) -> dict[str, Samples]:
    """Return the samples of each case by name, after `rounds` interleaved rounds. The cases are verified by then."""
    order = random.Random(seed)  # noqa: S311 - the same order for the same seed; nothing is kept secret
    samples = {case.name: Samples(peak_rss=_peak_memory(case)) for case in cases}
    came_from = Path.cwd()
    gc.disable()
    try:
        for number in range(1, rounds + 1):
            _progress(f"round {number} of {rounds}")
            for case in order.sample(cases, len(cases)):
                wall, cpu = _run_served(case, case.server) if case.server else run_timed(case)
                samples[case.name].wall.append(wall)
                samples[case.name].cpu.append(cpu)
    finally:
        gc.enable()
        os.chdir(came_from)
        _progress("")
    return samples


def run_timed(case: Case) -> tuple[float, float]:
    """Run `case` once and return its wall and processor time in ms. Raises BrokenCaseError on another exit status."""
    os.chdir(case.cwd)  # posix_spawn cannot; the measuring program has one thread
    actions = (
        (os.POSIX_SPAWN_OPEN, 0, str(case.stdin), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    )
    started = time.perf_counter()
    pid = os.posix_spawn(case.argv[0], case.argv, case.env, file_actions=actions, setsigdef=[signal.SIGPIPE])
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    found = os.waitstatus_to_exitcode(status)
    if found != case.status:
        message = f"{case.name}: exit status {found} in a timed run, expected {case.status}"
        raise BrokenCaseError(message)
    return wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000


def _run_served(case: Case, server: Callable[[], int]) -> tuple[float, float]:
    """Return the wall time of one run, and the processor time of a run, by SERVED_RUNS of them one after the other.

    What a server spends is shown in ticks of 10 ms: one run would be lost in them.
    """
    before = processor_time(server())
    runs = [run_timed(case) for _ in range(SERVED_RUNS)]
    spent = processor_time(server()) - before + sum(cpu for _, cpu in runs)
    return runs[0][0], spent / SERVED_RUNS


def processor_time(root: int) -> float:
    """Return the milliseconds that a process and its descendants have spent, those included that ended and were reaped.

    Only Linux shows them; elsewhere 0.
    """
    found: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended just now: its parent has its time
            continue
        found[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family = {root} & found.keys()
    while more := {pid for pid, (parent, _) in found.items() if parent in family} - family:
        family |= more
    return sum(found[pid][1] for pid in family) * 1000 / os.sysconf("SC_CLK_TCK")


def _peak_memory(case: Case) -> float:
    """Return the peak resident size in MB of `case` or of its largest child, whichever is more.

    Linux counts what the parent held at the spawn as the child's, so this program, with all its imports, would be the
    least that any case could show. A parent that imports nothing keeps that floor below a bare interpreter.
    """
    argv = (sys.executable, "-I", "-S", "-c", _SMALL_PARENT, str(case.stdin), *case.argv)
    sizes = [
        int(subprocess.run(argv, env=case.env, cwd=case.cwd, capture_output=True, check=True).stdout)
        for _ in range(MEMORY_RUNS)
    ]
    return max(sizes) / (1_000_000 if sys.platform == "darwin" else 1_000)  # getrusage(2): bytes there, KB on Linux


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def run_facts(load: float, rounds: int, seed: int) -> dict[str, str]:
    """Return when, on what and how a run measures; `load` is the load average before its first round."""
    return {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "machine": machine(),
        "load": f"{load:.1f} before the first round",
        "rounds": str(rounds),
        "seed": str(seed),
    }


def machine() -> str:
    """Return one line that says what this was measured on."""
    return f"{platform.platform()}, {_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def table(samples: Mapping[str, Samples], *, base: str) -> str:
    """Return the measurements as text, one line per case, each compared with the case named `base`."""
    unit = samples[base]
    rows = [("case", "min ms", "median ms", "x medians", f"x {base}, paired [IQR]", "CPU ms", "peak MB")]
    for name, case in samples.items():
        median = statistics.median(case.wall)
        row = (
            name,
            f"{min(case.wall):.1f}",
            f"{median:.1f}",
            f"{median / statistics.median(unit.wall):.2f}",
            str(paired_ratio(case, unit)),
            f"{statistics.fmean(case.cpu):.1f}",
            f"{case.peak_rss:.1f}",
        )
        rows.append(row)
    return columns(rows)


def columns(rows: Iterable[Sequence[str]]) -> str:
    """Return `rows` aligned: the first column to the left, the others to the right."""
    rows = list(rows)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
