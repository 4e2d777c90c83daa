"""Five Node hooks in a real Claude Code session against a scripted model: none, run directly, cold, as coprocesses."""

from __future__ import annotations

import itertools
import os
import random
import resource
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from measure import BrokenCaseError, columns, processor_time
from warm_cases import COPROCESS, NODE, awaited_server

from hookrun_conformance.driver import change, put
from hookrun_conformance.drivers import DRIVERS
from hookrun_conformance.model import say
from tests.live.installed import absent
from tests.live.run import Agent, Place, Ran

if TYPE_CHECKING:
    from environments import Environment

KINDS = ("none", "direct", "cold", "coprocess")
HOOKS = 5
FIFTH = 0.2


@dataclass
class Sessions:
    """What one call took, by kind and session: ms of wall time (median) and of processor time (mean)."""

    wall: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)

    def added(self, kind: str, times: dict[str, list[float]]) -> float:
        """Return the ms that the hooks add to a call."""
        return statistics.median(times[kind]) - statistics.median(times["none"])

    def bar(self) -> tuple[str, float, str, list[float]]:
        """Return the claim: the processor time that coprocesses add to a call, beside what the hooks add natively.

        Not of wall time: Claude Code waits between calls for other things, by more than coprocesses add.
        """
        claim = "session: five Node coprocesses / five processes"
        return claim, FIFTH, "processor", [self.added("coprocess", self.cpu) / self.added("direct", self.cpu)]

    def table(self) -> str:
        """Return one line per kind."""
        rows = [("hooks", "min ms", "median ms", "adds", "CPU ms", "adds")]
        for kind, times in self.wall.items():
            cpu = self.cpu[kind]
            rows.append(
                (
                    kind,
                    f"{min(times):.1f}",
                    f"{statistics.median(times):.1f}",
                    f"{self.added(kind, self.wall):.1f}",
                    f"{statistics.median(cpu):.1f}",
                    f"{self.added(kind, self.cpu):.1f}",
                )
            )
        return columns(rows)


def run(hookrun: Environment, rounds: int, calls: int, seed: int) -> Sessions:
    """Run `rounds` sessions of each kind, interleaved. Raises BrokenCaseError."""
    if reason := absent("claude"):
        raise BrokenCaseError(f"no session: claude {reason}")
    found = Sessions({kind: [] for kind in KINDS}, {kind: [] for kind in KINDS})
    order = random.Random(seed)  # noqa: S311 - the same order for the same seed
    for number in range(rounds):
        for kind in order.sample(KINDS, len(KINDS)):
            print(f"\rsession {number + 1} of {rounds}: {kind}      ", end="", file=sys.stderr, flush=True)
            wall, cpu = _session(hookrun, kind, calls)
            found.wall[kind].append(wall)
            found.cpu[kind].append(cpu)
    print(file=sys.stderr)
    return found


def _session(hookrun: Environment, kind: str, calls: int) -> tuple[float, float]:
    """Run one session after one call that is not counted: server, caches and coprocesses are there by then."""
    with tempfile.TemporaryDirectory(prefix="hw-", dir="/tmp") as directory:
        place = Place(Path(directory))
        with Agent(DRIVERS["claude"], place) as agent:
            _wire(hookrun, kind, agent)
            agent.run(agent.driver.shell("true"), say("done"))
            server = awaited_server(place.home) if kind == "coprocess" else 0
            try:
                before = _spent(server)
                ran = agent.run(*[agent.driver.shell("true")] * calls, say("done"))
                spent = _spent(server) - before
            finally:
                if server:
                    os.kill(server, signal.SIGTERM)
        _verify(kind, ran, calls)
    each = [later - sooner for sooner, later in itertools.pairwise(ran.model.arrived)]
    return statistics.median(each) * 1000, spent / calls


def _wire(hookrun: Environment, kind: str, agent: Agent) -> None:
    """Wire the hooks, or hookrun for them, as a user does."""
    home = agent.place.home
    script = home / "guard.mjs"
    script.write_text(COPROCESS if kind == "coprocess" else NODE)
    line = shlex.join([shutil.which("node") or "node", str(script)])
    if kind == "direct":  # each with another argument: Claude Code runs the same command once only
        commands = [{"type": "command", "command": f"{line} {number}"} for number in range(HOOKS)]
        change(home / ".claude" / "settings.json", hooks={agent.driver.before_a_tool: [{"hooks": commands}]})
    elif kind != "none":
        served = {"serve": True} if kind == "coprocess" else {}
        hooks = [{"name": f"hook-{n}", "event": "pre_tool_use", "command": line} | served for n in range(HOOKS)]
        put(agent.place.hooks, {"hooks": hooks, "hookrun": {"warm": "off" if kind == "cold" else "auto"}})
        argv = [hookrun.program("hookrun"), "install", agent.name, "--from-here"]
        subprocess.run(argv, cwd=agent.place.project, env=agent.place.environment(), capture_output=True, check=True)


def _spent(server: int) -> float:
    """Return the ms of processor time of all children that ended, and of the server."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1000 + (processor_time(server) if server else 0.0)


def _verify(kind: str, ran: Ran, calls: int) -> None:
    """Raise BrokenCaseError unless the session did what it claims."""
    asked = len(ran.model.arrived)
    answered = [each for each in ran.audit if each["kind"] == "hook" and not each.get("failure")]
    cold = [each.get("cold") for each in ran.audit if each["kind"] == "fire"][1:] if kind == "coprocess" else []
    wanted = HOOKS * (calls + 1) if kind in {"cold", "coprocess"} else 0
    if asked != calls + 1 or len(answered) < wanted or any(cold):
        told = f"{asked} requests, expected {calls + 1}; {len(answered)} hooks answered, expected {wanted}; {cold}"
        raise BrokenCaseError(f"session, {kind}: {told}\n{ran}")
