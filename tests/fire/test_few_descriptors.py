"""With few free descriptors hookrun answers or ends with a status other than 0: never nothing at status 0."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.fire.agents import Agent

if TYPE_CHECKING:
    from tests.conftest import Project

pytestmark = pytest.mark.may_be_cold({"limits", "directory", "socket", "no-greeting"})

LIMITS = (*range(4, 15), 20)
"""Open files, the three standard ones included. Python itself does not start with fewer."""


def limited(project: Project, limit: int, stdin: object, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run hookrun with at most so many open files."""
    command = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *project.command(*arguments)]
    return subprocess.run(
        command,
        input=json.dumps(stdin).encode(),
        capture_output=True,
        cwd=project.root,
        env=project.environment(),
        check=False,
    )


@pytest.mark.sampled(12)
@pytest.mark.parametrize("on_failure", ["continue", "block"])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", ["claude", "gemini", "copilot"])
def test_an_agent_gets_an_answer_or_a_status(project: Project, name: str, limit: int, on_failure: str) -> None:
    """A hook that cannot be started is a failure like any other: its policy decides, and the user is notified."""
    project.user_hooks({"command": "echo no >&2; exit 2", "on_failure": on_failure})
    agent = Agent(name, project)
    done = limited(project, limit, agent.shell(), "fire", "--agent", name, "--home", str(project.home))
    if done.returncode == 0:
        answer = json.loads(done.stdout)
        assert answer, done.stderr
        if on_failure == "block" and b"internal error" not in done.stdout:
            own = answer.get("hookSpecificOutput", answer)
            assert "deny" in {own.get("permissionDecision"), answer.get("decision")}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("limit", LIMITS)
def test_a_program_gets_a_verdict_or_a_status(project: Project, limit: int) -> None:
    """With `on_failure: block` the call is blocked, or hookrun itself could not work."""
    project.hooks({"command": "echo no >&2; exit 2", "on_failure": "block"})
    done = limited(project, limit, {"tool_name": "bash"}, "fire", "pre_tool_use")
    assert done.returncode in {1, 2}


@pytest.mark.only_cold("runs in the test's own process")
def test_a_run_leaves_no_descriptor_open(project: Project) -> None:
    """A message that is several calls makes several runs in one process."""
    line = "import os; os.closerange(3, 50); from hookrun.process import runner; before = len(os.listdir('/dev/fd'))\n"
    line += "for _ in range(3): runner.catch_signals(); runner.release_signals()\n"
    line += "print(len(os.listdir('/dev/fd')) - before)"
    done = subprocess.run(
        [*project.command()[:1], "-c", line],
        capture_output=True,
        env={**os.environ, **project.environment()},
        check=True,
    )
    assert done.stdout == b"0\n"
