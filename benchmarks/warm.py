"""What hooks cost through hookrun, cold and warm, beside the hooks alone, bare Python and its peers, in one run.

    python benchmarks/warm.py [--rounds 40] [--only SET,...] [--session 5] [--json FILE]

Makes its own virtual environments. Exits 1 when a bar fails, 2 when a case is broken or cannot be set up.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import textwrap
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import environments
import warm_session
from environments import InstallError
from fire import BASE, SETTLE
from fire_cases import basic_cases
from fixtures import HOOK, Bench
from measure import (
    BrokenCaseError,
    Case,
    Samples,
    columns,
    cpu_ratio,
    measure,
    paired_difference,
    paired_ratio,
    run_facts,
    table,
    verify,
)
from peers import PEERS, UnavailableError
from warm_cases import USUAL, Warm, fires

COMPARED = frozenset({"lefthook", "prek"})
"""The peers that are as quick as a process without an interpreter can be; started as Claude Code starts hookrun."""

RATIO, MILLISECONDS, PROCESSOR = "wall", "wall, ms more", "processor"


@dataclass(frozen=True)
class Bar:
    """A claim: `case` takes at most `limit` times as long as `against` (or so many ms more, or of processor time).

    Of wall time both must hold: the median of the pairs, and the two minima.
    """

    claim: str
    case: str
    against: str
    limit: float
    kind: str = RATIO

    def known(self, samples: dict[str, Samples]) -> bool:
        """Return whether both cases were measured."""
        return {self.case, self.against} <= samples.keys()

    def measured(self, samples: dict[str, Samples]) -> list[float]:
        """Return what must not be more than the limit."""
        case, base = samples[self.case], samples[self.against]
        if self.kind == PROCESSOR:
            return [cpu_ratio(case, base)]
        if self.kind == MILLISECONDS:
            return [paired_difference(case, base).median, min(case.wall) - min(base.wall)]
        return [paired_ratio(case, base).median, min(case.wall) / min(base.wall)]


BARS = (
    Bar("cold: no match / bare", "no-match-wired", BASE, 1.35),
    Bar("cold: one sh hook / bare", "sh-wired", BASE, 1.7),
    Bar("cold: eight recipes, a harmless line / bare", "recipes-eight-wired", BASE, 1.8),
    Bar("cold: eight recipes, a line for their parser / bare", "recipes-parsed-wired", BASE, 2.6),
    Bar("cold: the two with a catalogue", "recipes-ten-wired", "recipes-eight-wired", 1.0, MILLISECONDS),
    Bar("warm: no match / bare", "no-match-warm", BASE, 0.15),
    Bar("warm: one sh hook - the hook alone", "sh-warm", "sh-direct", 2.0, MILLISECONDS),
    Bar("warm: one sh hook / prek", "sh-warm", "prek-one", 0.4),
    Bar("warm: eight recipes, a harmless line / bare", "recipes-eight-warm", BASE, 0.28),
    Bar("warm: eight recipes, a line for their parser / bare", "recipes-parsed-warm", BASE, 0.6),
    *(Bar(f"warm: seven recipes, {line} / bare", f"{name}-warm", BASE, 0.35) for name, line in USUAL.items()),
    Bar("warm: one `python` hook / bare", "python-function-warm", BASE, 0.8),
    Bar("warm: five Node coprocesses / five processes", "node-five-served-warm", "node-five-direct", 0.1, PROCESSOR),
)


def main() -> int:
    """Set up, check, measure, print; return the exit status."""
    options = _options()
    sessions: warm_session.Sessions | None = None
    with tempfile.TemporaryDirectory(prefix="hw-", dir="/tmp") as root:
        bench = Bench(Path(root).resolve())
        bench.directory("home")
        warm: Warm | None = None
        try:
            hookrun = environments.install_checkout(options.cache)
            warm = Warm(bench, hookrun)
            cases, absent = _cases(bench, warm, options)
            time.sleep(SETTLE)
            for case in cases:
                if case.server is not None:
                    warm.warm_up(case)
                verify(case)
            before = {case.name: len(fires(case)) for case in cases}
            load = os.getloadavg()[0]
            samples = measure(cases, rounds=options.rounds, seed=options.seed)
            _all_as_verified(cases, before)
            rows = [_row(bar.claim, bar.limit, bar.kind, bar.measured(samples)) for bar in BARS if bar.known(samples)]
            rows += [_row(*bar) for bar in warm.own_bars(cases, options.rounds)]
            if options.session:
                sessions = warm_session.run(hookrun, options.session, options.calls, options.seed)
        except (BrokenCaseError, InstallError) as error:
            print(f"warm.py: {error}", file=sys.stderr)
            return 2
        finally:
            if warm is not None:
                warm.stop()
    facts = run_facts(load, options.rounds, options.seed) | {"hook": HOOK}
    if sessions is not None:
        rows.append(_row(*sessions.bar()))
    _print_report(facts, cases, absent, samples, rows)
    if sessions is not None:
        print(f"\nClaude Code, one of {options.calls} shell calls, {options.session} sessions\n{sessions.table()}")
    if options.results:
        record = {**facts, "not_run": absent, "bars": rows, "cases": {n: asdict(s) for n, s in samples.items()}}
        options.results.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if all(row[-1] == "PASS" for row in rows) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="warm.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40, help="how often every case is run (%(default)s)")
    parser.add_argument("--only", default="", metavar="SET,...", help="only these sets of hooks, such as sh")
    parser.add_argument("--no-peers", action="store_true", help="without the peers")
    parser.add_argument(
        "--session", type=int, default=0, metavar="N", help="also N sessions of Claude Code of each kind"
    )
    parser.add_argument("--calls", type=int, default=20, help="tool calls in a session (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the order within the rounds (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", dest="results", help="write every measurement to FILE")
    parser.add_argument(
        "--cache", type=Path, default=environments.default_cache(), help="where environments are kept (%(default)s)"
    )
    return parser.parse_args()


def _cases(bench: Bench, warm: Warm, options: argparse.Namespace) -> tuple[list[Case], list[str]]:
    """Return the cases, and the peers that cannot be run with the reason."""
    [unit, _] = basic_cases(bench, warm.hookrun)
    cases, absent = [unit, *warm.cases()], []
    if not any(case.server for case in cases):
        absent.append("the warm cases: this hookrun has no server")
    if not warm.node:
        absent.append("the Node cases: node is not on PATH")
    for peer in PEERS:
        if peer.name not in COMPARED or options.no_peers:
            continue
        try:
            direct = peer.cases(bench, environments.install(options.cache, peer.name, [peer.name]))[0]
            cases += direct
        except (InstallError, UnavailableError) as error:
            absent.append(f"{peer.name}: {error}")
    only = set(filter(None, options.only.split(",")))
    kept = [case for case in cases if not only or case is unit or case.name.rpartition("-")[0] in only]
    if only and len(kept) == 1:
        raise BrokenCaseError(f"--only {options.only}: no such set")
    return kept, absent


def _all_as_verified(cases: list[Case], before: dict[str, int]) -> None:
    """Raise BrokenCaseError where a hook objected in a measured run, or the server of a case did not answer it."""
    for case in cases:
        ran = fires(case)[before[case.name] :]
        if not all(record["action"] == "continue" for record in ran):
            raise BrokenCaseError(f"{case.name}: hooks objected in some runs")
        if case.server is not None and not all(record.get("warm") for record in ran):
            reasons = {str(record.get("cold")) for record in ran if not record.get("warm")}
            raise BrokenCaseError(f"{case.name}: some runs were cold: {', '.join(sorted(reasons))}")


def _row(claim: str, limit: float, kind: str, found: list[float]) -> tuple[str, ...]:
    result = "PASS" if max(found) <= limit else "FAIL"
    return (claim, kind, " / ".join(f"{value:.2f}" for value in found), f"<= {limit:g}", result)


def _print_report(
    facts: dict[str, str],
    cases: list[Case],
    absent: list[str],
    samples: dict[str, Samples],
    rows: list[tuple[str, ...]],
) -> None:
    for key, value in facts.items():
        print(f"{key}: {value}")
    print("\nCases")
    for case in cases:
        print(textwrap.fill(f"{case.name}: {case.about}", 118, initial_indent="  ", subsequent_indent="      "))
    for reason in absent:
        print(f"  not run: {reason}")
    print(f"\nTimes\n{table(samples, base=BASE)}")
    alone = [
        (name, str(paired_ratio(samples[name], samples[direct])), f"{cpu_ratio(samples[name], samples[direct]):.2f}")
        for name in samples
        if (direct := name.rpartition("-")[0] + "-direct") in samples and name != direct
    ]
    if alone:
        print(f"\nBeside the same hooks run directly\n{columns([('case', 'wall, paired [IQR]', 'processor'), *alone])}")
    if rows:
        print(f"\nBars: median of the pairs / minima\n{columns(rows)}")


if __name__ == "__main__":
    sys.exit(main())
