"""What hookrun adds to one tool call of a real agent, beside the same hook wired directly and beside no hook at all.

An agent runs a session of many shell calls that a scripted model on loopback asks for; the time from one request of its
model to the next is the time of one call, with all that the agent itself does. Rounds are interleaved: each runs one
session of every kind, in an order shuffled anew, and sessions are compared within their round.

    python -m tests.live.install claude codex gemini
    python benchmarks/agents.py [--rounds 15] [--calls 20] [claude codex gemini qwen]
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import sys
import tempfile
from pathlib import Path

from measure import BrokenCaseError, Spread, columns, machine

from hookrun_conformance.drivers import DRIVERS
from hookrun_conformance.model import say
from tests.live.installed import PINS, absent
from tests.live.run import Agent, Place, Ran

GUARD = """#!/bin/sh
case "$(cat)" in *forbidden*) echo "reason-of-the-guard" >&2; exit 2;; esac
"""
"""The hook: it reads what it is given, and refuses by the one answer that hookrun and these agents both know."""

AGENTS = ("claude", "codex", "gemini", "qwen")
"""The agents that are refused by exit status 2 and tell their model why."""

KINDS = ("no hook", "wired directly", "by hookrun")


def main() -> int:
    """Measure, print a table, and return the exit status: 1 if nothing could be measured, 2 if a case is broken."""
    options = _options()
    names = [name for name in options.agents if not _told_absent(name)]
    rows = [("agent", *(f"{kind} ms" for kind in KINDS), "hook adds, paired [IQR]", "hookrun adds to it, paired [IQR]")]
    for name in names:
        try:
            rows.append(_row(name, _measure(name, options.rounds, options.calls, random.Random(options.seed))))  # noqa: S311
        except BrokenCaseError as error:
            print(f"agents.py: {error}", file=sys.stderr)
            return 2
    print(machine())
    print(f"one shell call, {options.calls} in a session, median of each session; {options.rounds} rounds")
    print(columns(rows))
    return 0 if names else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=f"of {', '.join(AGENTS)}; default: the first three")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=20, help="tool calls in a session")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    unknown = [name for name in options.agents if name not in AGENTS]
    if unknown:
        parser.error(f"{unknown[0]!r} is not measured, expected some of {', '.join(AGENTS)}")
    options.agents = options.agents or AGENTS[:3]
    return options


def _told_absent(name: str) -> bool:
    reason = absent(name)
    if reason:
        print(f"agents.py: {name} is not measured: {reason}", file=sys.stderr)
    return reason is not None


def _measure(name: str, rounds: int, calls: int, order: random.Random) -> dict[str, list[float]]:
    """Return the milliseconds of one call by kind, one per round."""
    for kind in KINDS:
        _verify(name, kind)
    samples: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind in order.sample(KINDS, len(KINDS)):
            ran = _session(name, kind, ["true"] * calls)
            arrived = ran.model.arrived
            if len(arrived) != calls + 1:
                message = f"{name}, {kind}: {len(arrived)} requests, expected {calls + 1}\n{ran}"
                raise BrokenCaseError(message)
            each = [later - sooner for sooner, later in itertools.pairwise(arrived)]
            samples[kind].append(statistics.median(each) * 1000)
    return samples


def _session(name: str, kind: str, commands: list[str]) -> Ran:
    """Run one session of these commands."""
    with tempfile.TemporaryDirectory() as directory, Agent(DRIVERS[name], Place(Path(directory))) as agent:
        guard = agent.place.home / "guard.sh"
        guard.write_text(GUARD)
        guard.chmod(0o755)
        if kind == "wired directly":
            agent.driver.wire(agent.place.home, {agent.driver.before_a_tool: str(guard)})
        elif kind == "by hookrun":
            agent.declare({"name": "guard", "event": "pre_tool_use", "args": [str(guard)]})
        return agent.run(*(agent.driver.shell(command) for command in commands), say("done"))


def _verify(name: str, kind: str) -> None:
    """Raise BrokenCaseError unless the guard refuses where there is one, and only there."""
    ran = _session(name, kind, ["echo forbidden"])
    if ("reason-of-the-guard" in "".join(ran.model.results())) != (kind != "no hook"):
        message = f"{name}, {kind}: the guard is not what it should be\n{ran}"
        raise BrokenCaseError(message)


def _row(name: str, samples: dict[str, list[float]]) -> tuple[str, ...]:
    bare, direct, hookrun = (samples[kind] for kind in KINDS)
    medians = (f"{statistics.median(samples[kind]):.1f}" for kind in KINDS)
    return (f"{name} {PINS[name].version}", *medians, str(_added(bare, direct)), str(_added(direct, hookrun)))


def _added(base: list[float], case: list[float]) -> Spread:
    """Return what `case` takes more than `base`, in ms, compared within each round."""
    return Spread.of([more - less for less, more in zip(base, case, strict=True)])


if __name__ == "__main__":
    sys.exit(main())
