"""Sandboxes and micro-VMs without /dev/fd, or without /proc: every hook still runs, under every agent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

BARE_DEV = 'touch "$1"/null; mount --bind /dev/null "$1"/null; mount --rbind "$1" /dev'
NO_PROC = f"{BARE_DEV}; mount -t tmpfs none /proc"
PLACES = {"a bare /dev": BARE_DEV, "a bare /dev and no /proc": NO_PROC}

ROWS = [("a bare /dev", "cold"), ("a bare /dev", "warm"), ("a bare /dev and no /proc", "cold")]
"""Without /proc a server does not start: every run is cold."""


REASONS = {"sh": "guarded", "python": "guarded", "recipe": "This would remove /"}


def inside(place: str, directory: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a mount namespace in which /dev holds a null device only."""
    (directory / "dev").mkdir()
    line = f'set -e; {PLACES[place]}; shift; exec "$@"'
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", line, "sh", str(directory / "dev"), *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("place", "way"), ROWS)
def test_every_guard_refuses_under_every_agent(tmp_path: Path, place: str, way: str) -> None:
    """A hook of each kind: nothing about its descriptors can be listed."""
    try:
        can = inside(place, tmp_path, "sh", "-c", "! ls /dev/fd")
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if can.returncode:
        pytest.skip(f"no mount namespace can be made here: {can.stderr.strip()}")
    (tmp_path / "dev").rename(tmp_path / "tried")
    done = inside(place, tmp_path, sys.executable, "-m", "tests.torture.fire_here", way, str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [kind for kind, (reason, _) in found.items() if not reason] == [], found
    assert len({kind.split()[0] for kind in found}) == 3, found
    odd = [kind for kind, (reason, _) in found.items() if not reason.startswith(REASONS[kind.split()[0]])]
    assert odd == [], found
    assert {warm for _, warm in found.values()} == {way == "warm"}, found
