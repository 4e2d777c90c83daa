"""A test run names the real agents it has run: a skipped one cannot be mistaken for a tested one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.installed import PINS, ROOT
from tests.live.summary import lines_of

KILO = "tests/live/test_kilo_sessions.py"  # its runs are too slow for those of all drivers


def run(agents: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of the drivers with the agents of a directory."""
    # With a separate directory: at the end, pytest would spend minutes on removing what earlier runs left.
    base = agents.parent / "temporary"
    tests = ["--basetemp", str(base), "-m", "slow", "tests/live/test_drivers.py", KILO]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *tests],
        cwd=ROOT,
        env={**os.environ, "HOOKRUN_AGENTS": str(agents)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_agents_that_are_not_installed_are_named(tmp_path: Path) -> None:
    """With the reason and the way out, in the last lines; the run itself passes. Side by side as well as alone."""
    for workers in ("0", "2"):
        done = run(tmp_path / "none", "-n", workers)
        assert done.returncode == 0, done.stdout
        section = done.stdout.partition("real agents")[2]
        for pin in PINS.values():
            expected = f"{pin.name} {pin.version}: NOT RUN, not installed; `python -m tests.live.install {pin.name}`"
            assert (expected in section) == pin.is_agent


@pytest.mark.slow
def test_an_agent_that_could_not_be_installed_says_why(tmp_path: Path) -> None:
    """The output of npm is kept beside the agents, and is the reason."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "qwen.why-not").write_text("cannot be installed: npm: no space left\n")
    done = run(agents, "-n", "0", "-k", "qwen")
    assert f"qwen {PINS['qwen'].version}: NOT RUN, cannot be installed: npm: no space left" in done.stdout


def test_runs_and_failures_are_counted() -> None:
    """A test that was called counts; setting up and tearing down do not."""

    def report(name: str, when: str, outcome: str) -> pytest.TestReport:
        told = [("agent", name)]
        return pytest.TestReport("id", ("f", 1, "d"), {}, outcome, None, when, user_properties=told)  # type: ignore[arg-type]

    reports = [report("codex", "call", "passed"), report("codex", "call", "failed"), report("codex", "setup", "passed")]
    assert list(lines_of(reports)) == [f"codex {PINS['codex'].version}: run, 2 tests, 1 failed"]
