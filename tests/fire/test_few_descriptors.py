"""With few free descriptors hookrun answers or ends with a status other than 0: never nothing at status 0."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.fire.agents import Agent, run

if TYPE_CHECKING:
    from tests.conftest import Project

pytestmark = pytest.mark.may_be_cold({"limits", "directory", "socket", "no-greeting"})

LIMITS = (*range(4, 15), 20)
"""Open files, the three standard ones included. Python itself does not start with fewer."""


def limited(project: Project, limit: int, stdin: object, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run hookrun with at most so many open files."""
    command = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *project.command(*arguments)]
    return run(project, command, stdin=stdin)


def answered(project: Project, name: str, limit: int, on_failure: str) -> subprocess.CompletedProcess[bytes]:
    """Run hookrun for an agent, with a hook that refuses and the policy for one that cannot be started."""
    project.user_hooks({"command": "echo no >&2; exit 2", "on_failure": on_failure})
    message = Agent(name, project).shell()
    return limited(project, limit, message, "fire", "--agent", name, "--home", str(project.home))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", ["claude", "gemini", "copilot"])
def test_an_agent_gets_an_answer_or_a_status(project: Project, name: str, limit: int) -> None:
    """A hook that cannot be started is a failure like any other, and the user is notified."""
    done = answered(project, name, limit, "continue")
    assert done.returncode or json.loads(done.stdout), done.stderr


@pytest.mark.sampled(12)
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", ["claude", "gemini", "copilot"])
def test_an_agent_gets_a_refusal_or_a_status_where_failures_block(project: Project, name: str, limit: int) -> None:
    """Or hears of an internal error, which refuses nothing."""
    done = answered(project, name, limit, "block")
    assert done.returncode or re.search(rb'"(permissionDecision|decision)": ?"deny"|internal error', done.stdout)


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
