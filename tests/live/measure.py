"""Measure the pinned agents with the conformance kit and write what was seen into hookrun's table.

python -m tests.live.measure [--write] [AGENT]...
"""

from __future__ import annotations

import sys

from hookrun_conformance.command import Request, run
from hookrun_conformance.place import Installation
from hookrun_conformance.runners import Hookrun
from hookrun_conformance.scenarios import SCENARIOS
from tests.live.installed import PINS, absent, installation
from tests.waiting import limit


def pinned(agent: str) -> tuple[Installation, str] | None:
    """Return the pinned program of an agent and its version, None if it is not installed."""
    return None if absent(agent) else (installation(agent), PINS[agent].version)


def main(arguments: list[str]) -> int:
    """Measure. Return the exit status."""
    agents = [each for each in arguments if each != "--write"]
    writes = "--write" in arguments
    return run(Request(agents, Hookrun(), SCENARIOS, 4 * limit(), writes=writes, find=pinned))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
