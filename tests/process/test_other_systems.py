"""Features that macOS, older kernels or sandboxes lack, removed here: pidfd, /proc, /dev/fd, a session's start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Project

WITHOUT = ("pidfd", "a pidfd to spare", "/proc", "a list of descriptors", "a session from posix_spawn")
PROGRAM = str(Path(__file__).with_name("programs") / "other_system.py")

each = pytest.mark.parametrize("what", WITHOUT)


def fire(project: Project, what: str, *arguments: str) -> tuple[int, dict[str, object]]:
    """Fire in a Python from which a feature was removed; return the exit status and the verdict."""
    done = subprocess.run(
        [sys.executable, PROGRAM, what, *arguments],
        input=b'{"tool_name": "bash", "tool_args": {}}',
        capture_output=True,
        cwd=project.root,
        env=project.environment(),
        check=False,
    )
    return done.returncode, json.loads(done.stdout or b"{}")


@pytest.mark.sampled(2)
@each
def test_a_verdict_is_heard(project: Project, what: str) -> None:
    """A hook answers, one after the other and side by side, in its own session."""
    project.hooks(
        {"name": "session", "command": 'test "$(ps -o sid= -p $$ | tr -d " ")" = $$'},
        {"name": "a", "command": "cat >/dev/null; sleep 0.1", "parallel": True},
        {"name": "b", "args": ["sh", "-c", "cat >/dev/null; echo no >&2; exit 2"], "parallel": True},
    )
    status, verdict = fire(project, what)
    assert (status, verdict["message"]) == (2, "no")
    assert [hook["failure"] for hook in verdict["hooks"]] == [None] * 3  # type: ignore[attr-defined]


@pytest.mark.slow
@each
def test_a_hook_that_hangs_is_ended_with_its_group(project: Project, what: str) -> None:
    """At the timeout the hook and its process group are gone."""
    project.hooks({"command": "trap '' TERM; sleep 300 & echo $$ $! > pids; wait; sleep 300", "timeout": 2})
    _, verdict = fire(project, what)
    assert verdict["hooks"][0]["failure"] == "timeout"  # type: ignore[index]
    pids = (project.root / "pids").read_text().split()
    alive = subprocess.run(["ps", "-o", "stat=", "-p", ",".join(pids)], capture_output=True, text=True, check=False)
    assert [state for state in alive.stdout.split() if not state.startswith("Z")] == []


@pytest.mark.sampled
@each
def test_a_child_that_holds_stdout_does_not_hold_the_verdict(project: Project, what: str) -> None:
    """The verdict counts while a child of the hook still holds its stdout."""
    project.hooks({"command": "sleep 300 & echo $! > pid; echo no >&2; exit 2"})
    assert fire(project, what)[0] == 2
    subprocess.run(["kill", (project.root / "pid").read_text().strip()], check=True)


def test_without_posix_spawn_sessions_a_missing_interpreter_still_has_its_name(project: Project) -> None:
    """A script whose #! line names a missing program fails visibly, even if the program is started by fork."""
    project.hooks({"args": [project.script("h", "#!/no/such/interpreter\n")], "on_failure": "block"})
    status, verdict = fire(project, "a session from posix_spawn")
    assert (status, verdict["action"]) == (2, "block")
    assert verdict["hooks"][0]["failure"] == "missing"  # type: ignore[index]
