"""Measure hookrun and five other hook runners under Claude Code, and write hookrun_conformance/peers/results.json.

python scripts/measure_peers.py [--check]

It needs `claude` on PATH, and installs the others, each in an environment of its own, from PyPI and npm. With --check
it writes nothing, and fails if a grade is not the recorded one. Then run scripts/document_peers.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "hookrun_conformance" / "peers" / "results.json"
LIMIT = 1800.0  # seconds, for all sessions of one
CANNOT = 75  # the exit status where a package cannot be installed, as of .ci/nightly's stages
CONNECT = "python3 {{kit}}/peers/connect_{}.py {{hooks}}"
"""The command that connects one, in a template of the kit's placeholders."""


class Peer(NamedTuple):
    """A hook runner: its package and version, where that is from, and the options that have the kit measure it."""

    name: str
    version: str
    source: str
    options: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        """The command that measures it."""
        runner = ("--runner", f"{self.name} {self.version}") if self.options else ()
        return ["hookrun", "conformance", "claude", *runner, *self.options]


PEERS = (
    Peer("hookrun", "", "", ()),
    Peer("nxthooks", "0.1.0", "PyPI", ("--install", CONNECT.format("nxthooks"))),
    Peer("rulesync", "17.0.0", "npm", ("--install", CONNECT.format("rulesync"))),
    Peer("agentseam", "0.3.5", "PyPI", ("--install", CONNECT.format("agentseam"))),
    Peer("agentbelay", "0.1.0", "PyPI", ("--install", CONNECT.format("agentbelay"))),
    Peer(
        "cc-safety-net",
        "2.4.5",
        "npm",
        (
            "--install",
            CONNECT.format("cc_safety_net") + " {project}",
            "--fire",
            "[ {event} != PreToolUse ] || cc-safety-net hook --coding-cli",
        ),
    ),
)


def main() -> int:
    """Measure them, and compare or write. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the recorded grades")
    checks = parser.parse_args().check
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hookrun-peers"
    found = [_measured(peer, _programs(peer, caches)) for peer in PEERS]
    if not checks:
        RESULTS.write_text(json.dumps(found, indent=2) + "\n")
        return 0
    recorded = {each["name"]: each["report"] for each in json.loads(RESULTS.read_bytes())}
    changes = [change for each in found for change in _changes(each["name"], recorded[each["name"]], each["report"])]
    print("\n".join(changes) or f"the grades of {len(found)} hook runners are those that are recorded")
    return 1 if changes else 0


def _programs(peer: Peer, caches: Path) -> str:
    """Return the directory with a peer's programs, installed once for each version."""
    if not peer.source:
        return str(Path(sys.executable).parent)
    place = caches / f"{peer.name}-{peer.version}"
    done = place / "complete"
    if peer.source == "npm":
        bin_, install = place / "node_modules" / ".bin", ["npm", "install", "--silent", "--prefix", str(place)]
        wanted = f"{peer.name}@{peer.version}"
    else:
        bin_, install = place / "bin", [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        wanted = f"{peer.name}=={peer.version}"
    if not done.exists():
        place.mkdir(parents=True, exist_ok=True)
        if peer.source != "npm":
            venv.create(place, with_pip=True, clear=True)
        if subprocess.run([*install, wanted], check=False).returncode:
            print(f"{wanted} cannot be installed here")
            sys.exit(CANNOT)
        done.touch()
    return str(bin_)


def _measured(peer: Peer, programs: str) -> dict[str, Any]:
    """Return a peer's results: what it is, the command that was run, and its report."""
    print(f"{peer.name} {peer.version}", file=sys.stderr, flush=True)
    main = [sys.executable, "-m", "hookrun", *peer.command[1:], "--json"]
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(main, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    [report] = json.loads(done.stdout)["reports"]
    about = {"name": peer.name, "version": peer.version, "source": peer.source, "command": shlex.join(peer.command)}
    return {**about, "report": report}


def _changes(name: str, recorded: dict[str, Any], report: dict[str, Any]) -> list[str]:
    """Return a line for each scenario with another grade than the recorded one."""
    before, after = ({each["scenario"]: each["grade"] for each in one["scenarios"]} for one in (recorded, report))
    return [
        f"{name}: {scenario}: {after.get(scenario)}, recorded {before.get(scenario)}"
        for scenario in {**before, **after}
        if before.get(scenario) != after.get(scenario)
    ]


if __name__ == "__main__":
    sys.exit(main())
