"""What it costs that all of an agent's events are connected: ten tool calls, four of them at once, beside gates alone.

Claude Code runs sessions that a scripted model on loopback asks for: six shell calls one after the other, then four in
one turn. A session's time is that from the model's first request to its last, with all that the agent itself does.
Every kind has the same guard before tools; `all events` is what `hookrun install` connects, `gates` only what can
refuse. Rounds are interleaved: each runs one session of every kind, in an order shuffled anew, and sessions are
compared within their round.

    python -m tests.live.install claude
    python benchmarks/events.py [--rounds 30]
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import sys
import tempfile
from pathlib import Path

from measure import BrokenCaseError, Spread, columns, machine

from hookrun.agents import load
from hookrun.core.events import GATES
from hookrun_conformance.drivers import DRIVERS
from hookrun_conformance.model import Turn, say
from tests.live.installed import absent
from tests.live.run import Agent, Place, Ran

NAME = "claude"
KINDS = tuple(itertools.product(("warm", "cold"), ("gates", "all events")))
"""Whether a server answers, and what is connected."""

SINGLE, TOGETHER = 6, 4
"""Tool calls one after the other, and at once."""

GUARD = {"name": "guard", "event": "pre_tool_use", "args": ["/bin/sh", "-c", "cat >/dev/null"]}


def main() -> int:
    """Measure, print a table, and return the exit status: 1 if nothing could be measured, 2 if a case is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if reason := absent(NAME):
        print(f"events.py: {NAME} is not measured: {reason}", file=sys.stderr)
        return 1
    order = random.Random(options.seed)  # noqa: S311  # the same order for the same seed
    samples: dict[tuple[str, str], list[float]] = {kind: [] for kind in KINDS}
    try:
        for _ in range(options.rounds):
            for kind in order.sample(KINDS, len(KINDS)):
                samples[kind].append(_session(*kind))
    except BrokenCaseError as error:
        print(f"events.py: {error}", file=sys.stderr)
        return 2
    print(machine())
    print(f"{SINGLE + TOGETHER} tool calls, {TOGETHER} of them at once; {options.rounds} rounds")
    rows = [_row(served, samples[served, "gates"], samples[served, "all events"]) for served in ("warm", "cold")]
    print(columns([("", "gates ms", "all events ms", "all / gates, paired [IQR]"), *rows]))
    return 0


def _session(served: str, wired: str) -> float:
    """Return the milliseconds of one session. Raises BrokenCaseError if it is not what it claims."""
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        with Agent(DRIVERS[NAME], place, warm=served == "warm") as agent:
            agent.declare(GUARD)
            if wired == "gates":
                _leave_gates(place.home / ".claude" / "settings.json")
            call = agent.driver.shell("true")
            together = Turn("", call.calls * TOGETHER)
            ran = agent.run(*[call] * SINGLE, together, say("done"))
        _verify(ran, wired)
    return (ran.model.arrived[-1] - ran.model.arrived[0]) * 1000


def _leave_gates(path: Path) -> None:
    settings, events = json.loads(path.read_text()), load(NAME).EVENTS
    settings["hooks"] = {event: groups for event, groups in settings["hooks"].items() if events[event] in GATES}
    path.write_text(json.dumps(settings))


def _verify(ran: Ran, wired: str) -> None:
    guarded = sum(each.get("hook") == "guard" for each in ran.audit if each["kind"] == "hook")
    if (len(ran.model.arrived), guarded) != (SINGLE + 2, SINGLE + TOGETHER):
        raise BrokenCaseError(f"{wired}: {guarded} guarded calls, {len(ran.model.arrived)} requests\n{ran}")


def _row(served: str, gates: list[float], every: list[float]) -> tuple[str, ...]:
    ratio = Spread.of([more / less for less, more in zip(gates, every, strict=True)])
    return served, f"{statistics.median(gates):.0f}", f"{statistics.median(every):.0f}", str(ratio)


if __name__ == "__main__":
    sys.exit(main())
