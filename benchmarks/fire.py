"""What one `hookrun fire` costs, beside a bare interpreter, a plain runner and its peers, in one interleaved run.

    python benchmarks/fire.py [--rounds 60] [--quick] [--only NAME,...] [--no-peers] [--against CHECKOUT] [--json FILE]

Makes its own virtual environments. Exits 1 when a bar fails, 2 when a case is broken or cannot be set up.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import environments
import fire_cases
import trust_cases
from environments import InstallError
from fixtures import HOOK, Bench
from measure import BrokenCaseError, Case, Samples, columns, measure, paired_ratio, run_facts, table, verify
from peers import PEERS, UnavailableError

BASE = "bare"
OTHER = "@other"
"""End of the names of another checkout's cases."""
DEFAULT_ROUNDS = 60
QUICK_ROUNDS = 12
PLAIN_REQUIREMENTS = ["click", "orjson", "PyYAML"]

# hookrun believes its compile cache only for declarations whose ctime is more than 2 s old.
SETTLE = 2.5  # seconds


@dataclass(frozen=True)
class Bar:
    """A claim: `case` takes at most `limit` times as long as `against`, in the median of the paired ratios."""

    claim: str
    case: str
    against: str
    limit: float


BARS = (
    Bar("no hook for the event / bare", "fire-no-event", BASE, 1.35),
    Bar("no hook matches / bare", "fire-no-match", BASE, 1.35),
    Bar("one sh hook / bare", "fire-one", BASE, 1.7),
    Bar("ten parallel sh hooks / bare", "fire-ten-parallel", BASE, 2.5),
    Bar("1,000 declared of which 3 match / the 3 alone", "fire-three-of-1000", "fire-three", 1.2),
    Bar("declared in YAML / in JSON", "fire-one-yaml", "fire-one", 1.05),
    Bar("an agent's fire of an approved script / of the user's own", "agent-approved", "agent-own", 1.1),
)

# Printed beside the bars; none of them fails a run.
COMPARISONS = (
    ("1,000 declared of which 3 match / one declared, which matches", "fire-three-of-1000", "fire-one"),
    ("one sh hook / the hook without a runner", "fire-one", "sh-direct"),
    ("a context of 1 MB / a small one", "fire-one-1mb", "fire-one"),
    ("plain runner / hookrun, one sh hook (aim: 5)", "plain-one", "fire-one"),
    ("plain runner / hookrun, ten sh hooks in sequence", "plain-ten", "fire-ten"),
    ("oats engine / hookrun, one sh hook (aim: 5)", "oats-one", "fire-one"),
    ("nxthooks / hookrun, one sh hook", "nxthooks-one", "fire-one"),
    ("lefthook / hookrun, one sh hook", "lefthook-one", "fire-one"),
    ("prek / hookrun, one sh hook", "prek-one", "fire-one"),
)


@dataclass(frozen=True)
class Options:
    """The command line."""

    rounds: int
    seed: int
    only: frozenset[str]
    peers: bool
    against: Path | None
    results: Path | None
    cache: Path


@dataclass
class Suite:
    """What is to be run: timed cases, controls that are only checked, and what could not be set up."""

    cases: list[Case] = dataclasses.field(default_factory=list)
    controls: list[Case] = dataclasses.field(default_factory=list)
    absent: list[str] = dataclasses.field(default_factory=list)

    def add(self, cases: list[Case], controls: list[Case] | None = None) -> None:
        """Take in what one maker of cases made."""
        self.cases += cases
        self.controls += controls or []

    def keep(self, names: frozenset[str]) -> None:
        """Drop every timed case but the unit and those named; all stay when none is named."""
        known = frozenset(case.name for case in self.cases if not case.name.endswith(OTHER))
        known = known.union(*(peer.timed for peer in PEERS))
        if unknown := names - known:
            message = f"no case is named {', '.join(sorted(unknown))}; there are: {', '.join(sorted(known))}"
            raise BrokenCaseError(message)
        kept = names | {BASE}
        self.cases = [case for case in self.cases if not names or case.name.removesuffix(OTHER) in kept]


def main() -> int:
    """Set up, check, measure, print; return the exit status."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="hookrun-benchmark-") as root:
        bench = Bench(Path(root).resolve())
        bench.directory("home")
        try:
            suite = _suite(bench, options)
            suite.keep(options.only)
            time.sleep(SETTLE)
            for case in suite.cases + suite.controls:
                verify(case)
            load = os.getloadavg()[0]
            samples = measure(suite.cases, rounds=options.rounds, seed=options.seed)
        except (BrokenCaseError, InstallError) as error:
            print(f"fire.py: {error}", file=sys.stderr)
            return 2
    facts = run_facts(load, options.rounds, options.seed) | {"hook": HOOK}
    _print_report(facts, suite, samples)
    if options.results:
        options.results.write_text(json.dumps(_record(facts, suite, samples), indent=1) + "\n")
    return 0 if all(_holds(bar, samples) for bar in _decidable(samples)) else 1


def _options() -> Options:
    parser = argparse.ArgumentParser(prog="fire.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS, help="how often every case is run (%(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds: to see that it works")
    parser.add_argument("--only", default="", metavar="NAME,...", help="only these cases, and the unit")
    parser.add_argument("--no-peers", action="store_true", help="without the peers")
    parser.add_argument(
        "--against", type=Path, metavar="CHECKOUT", help="the same cases of another checkout beside them"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the order within the rounds (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement to FILE")
    parser.add_argument(
        "--cache", type=Path, default=environments.default_cache(), help="where environments are kept (%(default)s)"
    )
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error(f"--rounds {given.rounds}: expected at least 1")
    return Options(
        rounds=QUICK_ROUNDS if given.quick else given.rounds,
        seed=given.seed,
        only=frozenset(filter(None, given.only.split(","))),
        peers=not given.no_peers,
        against=given.against,
        results=given.json,
        cache=given.cache,
    )


def _suite(bench: Bench, options: Options) -> Suite:
    suite = Suite()
    hookrun = environments.install_checkout(options.cache)
    suite.add(fire_cases.basic_cases(bench, hookrun))
    suite.add(*fire_cases.hookrun_cases(bench, hookrun))
    suite.add(*trust_cases.cases(bench, hookrun))
    if options.against is not None:
        _add_other(suite, bench, environments.install_checkout(options.cache, options.against))
    plain = environments.install(options.cache, "plain", PLAIN_REQUIREMENTS)
    suite.add(*fire_cases.plain_cases(bench, plain))
    for peer in PEERS:
        if not options.peers or (options.only and not options.only & peer.timed):
            continue
        try:
            suite.add(*peer.cases(bench, environments.install(options.cache, peer.name, [peer.name])))
        except (InstallError, UnavailableError) as error:
            suite.absent.append(f"{peer.name}: {error}")
    return suite


def _add_other(suite: Suite, bench: Bench, hookrun: environments.Environment) -> None:
    """Add the cases of another checkout, in directories and a home of their own."""
    apart = Bench(bench.directory("other"))
    apart.directory("home")
    for timed, controls in (fire_cases.hookrun_cases(apart, hookrun), trust_cases.cases(apart, hookrun)):
        for cases, all_cases in ((timed, suite.cases), (controls, suite.controls)):
            all_cases += [dataclasses.replace(case, name=case.name + OTHER) for case in cases]


def _decidable(samples: dict[str, Samples]) -> list[Bar]:
    return [bar for bar in BARS if {bar.case, bar.against} <= samples.keys()]


def _holds(bar: Bar, samples: dict[str, Samples]) -> bool:
    return paired_ratio(samples[bar.case], samples[bar.against]).median <= bar.limit


def _print_report(facts: dict[str, str], suite: Suite, samples: dict[str, Samples]) -> None:
    for key, value in facts.items():
        print(f"{key}: {value}")
    print("\nCases")
    for case in suite.cases:
        print(textwrap.fill(f"{case.name}: {case.about}", 118, initial_indent="  ", subsequent_indent="      "))
    for reason in suite.absent:
        print(f"  not run: {reason}")
    print(f"\nTimes\n{table(samples, base=BASE)}")
    beside = [
        (name, str(paired_ratio(samples[name], samples[name + OTHER]))) for name in samples if name + OTHER in samples
    ]
    if beside:
        print(f"\nThis checkout / the other, paired [IQR]\n{columns(beside)}")
    compared = [
        (title, str(paired_ratio(samples[case], samples[against])))
        for title, case, against in COMPARISONS
        if {case, against} <= samples.keys()
    ]
    if compared:
        print(f"\nComparisons, paired [IQR]\n{columns(compared)}")
    rows = [_row(bar, samples) for bar in _decidable(samples)]
    if rows:
        print(f"\nBars, paired [IQR]\n{columns(rows)}")


def _row(bar: Bar, samples: dict[str, Samples]) -> tuple[str, ...]:
    ratio = paired_ratio(samples[bar.case], samples[bar.against])
    return (
        bar.claim,
        str(ratio),
        f"<= {bar.limit}",
        "PASS" if _holds(bar, samples) else "FAIL",
    )


def _record(facts: dict[str, str], suite: Suite, samples: dict[str, Samples]) -> dict[str, object]:
    bars = [
        dataclasses.asdict(bar)
        | {"ratio": paired_ratio(samples[bar.case], samples[bar.against]).median, "holds": _holds(bar, samples)}
        for bar in _decidable(samples)
    ]
    cases = {case.name: {"about": case.about} | dataclasses.asdict(samples[case.name]) for case in suite.cases}
    return {**facts, "not_run": suite.absent, "bars": bars, "cases": cases}


if __name__ == "__main__":
    sys.exit(main())
