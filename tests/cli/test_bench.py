"""`hookrun bench`: hooks are run for real and only when somebody said so; advice stands on what was measured."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.measure import Times
from tests.cli.command import hookrun
from tests.fire.agents import says

if TYPE_CHECKING:
    from tests.conftest import Project


def test_nothing_is_run_before_somebody_said_so(project: Project) -> None:
    """Without a terminal it takes `--yes`."""
    project.hooks({"name": "a", "command": "touch ran"})
    done = hookrun(project, "bench")
    assert (done.status, done.stdout) == (1, "")
    assert "found no terminal to ask on whether to run a for real, 20 times each and somewhat more; give --yes" in (
        done.stderr
    )
    assert not (project.root / "ran").exists()


def test_each_hook_is_run_as_often_as_was_asked_for(project: Project) -> None:
    """On a context that its matcher applies to; each has figures, and so has hookrun; the audit has none of it."""
    project.hooks(
        {"name": "edits", "event": "post_tool_use", "matcher": "write", "command": "cat >> edits; echo >&2"},
        {"name": "ends", "event": "stop", "args": ["sh", "-c", "cat >> ends"]},
        {"name": "off", "mode": "off", "command": "touch ran"},
    )
    done = hookrun(project, "bench", "--yes", "--rounds", "3", "--json")
    assert (done.status, done.stderr) == (0, "")
    assert [(project.root / name).read_text().count("\n") for name in ("edits", "ends")] == [3, 3]
    assert '"tool_name":"write"' in (project.root / "edits").read_text()
    report: Any = done.json
    assert [hook["name"] for hook in report["hooks"]] == ["edits", "ends"]
    for times in (report["hookrun"], *(hook[part] for hook in report["hooks"] for part in ("start", "whole"))):
        assert 0 < times["p50_ms"] <= times["p95_ms"]
    assert list(report["per_call"]) == ["post_tool_use"]
    assert report["session"]["calls"] == 200
    assert project.audit() == []
    assert not (project.root / "ran").exists()


def test_advice_stands_on_what_was_measured(project: Project) -> None:
    """Two that wait are faster side by side; one that refuses needs no `when`; what changes things is left alone."""
    project.hooks(
        {"name": "a", "command": "sleep 0.06; exit 0"},
        {"name": "b", "command": "sleep 0.06; exit 0"},
        {"name": "refuses", "event": "stop", "command": "echo no >&2; exit 2"},
    )
    done = hookrun(project, "bench", "--yes", "--rounds", "2")
    assert "- a, b: `parallel` if none depends on another's work: measured 1" in done.stdout
    assert "- a: it had no objection in any round" in done.stdout
    assert "- refuses" not in done.stdout
    patch = {"command": "ls -l"}
    project.hooks(
        {"name": "a", "command": f"sleep 0.06; {says(action='modify', args_patch=patch)}"},
        {"name": "b", "command": "sleep 0.06; exit 0"},
    )
    assert "parallel" not in hookrun(project, "bench", "--yes", "--rounds", "1").stdout


def test_a_hook_that_fails_is_told(project: Project) -> None:
    """How, and how often; the status is 1."""
    project.hooks({"name": "bad", "event": "stop", "command": "exit 3"})
    done = hookrun(project, "bench", "bad", "--yes", "--rounds", "2")
    assert done.status == 1
    assert "stop; failed 2 times: exit_code" in done.stdout


def test_a_hook_in_claude_s_dialect_is_understood(project: Project) -> None:
    """What Claude Code takes for an answer is no failure."""
    project.hooks(
        {"name": "said", "event": "stop", "dialect": "claude", "command": """echo '{"systemMessage": "x"}'"""}
    )
    done = hookrun(project, "bench", "said", "--yes", "--rounds", "1")
    assert (done.status, done.stderr) == (0, "")
    assert "failed" not in done.stdout


@pytest.mark.parametrize("command", [("bench", "--yes"), ("explain", "stop", "--run")])
def test_an_interrupt_ends_the_hook_that_runs(project: Project, command: tuple[str, ...]) -> None:
    """What was asked for is ended, the status says so, and nothing of it lives on."""
    begun = project.root / "begun"
    os.mkfifo(begun)
    project.hooks({"event": "stop", "command": "echo $$ > begun; exec sleep 60"})
    with subprocess.Popen(
        project.command(*command),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=project.root,
        env=project.environment(),
    ) as process:
        hook = int(begun.read_text())
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(hook, 0)


def test_a_hook_that_is_not_there(project: Project) -> None:
    """The nearest name is given."""
    project.hooks({"name": "guard", "command": "true"})
    assert 'did you mean "guard"?' in hookrun(project, "bench", "gard", "--yes").stderr


def test_percentiles_are_times_that_were_taken() -> None:
    """Nearest rank: of twenty the tenth and the nineteenth."""
    times = Times(range(1, 21))
    assert (times.p50, times.p95) == (10, 19)
    assert (Times([7]).p50, Times([7]).p95) == (7, 7)
