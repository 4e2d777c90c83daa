"""`hookrun fire --repeat N`: one call, measured; the verdict once, the times and advice on stderr."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun_process
from tests.fire.agents import says

if TYPE_CHECKING:
    from tests.conftest import Project

FIGURES = r"min [0-9.]+, median [0-9.]+, p95 [0-9.]+ ms"


@pytest.fixture
def context(project: Project) -> tuple[str, ...]:
    """Return a command line with a context in a file."""
    (project.root / "ctx.json").write_text('{"tool_name": "bash", "tool_args": {"command": "ls"}}')
    return ("fire", "pre_tool_use", "--ctx", "ctx.json")


def test_the_verdict_once_and_the_times(project: Project, context: tuple[str, ...]) -> None:
    """Every run is a real one; the exit status is that of the call."""
    project.hooks({"name": "no", "command": f"echo x >> ran; {says(action='block', message='R')}"})
    done = hookrun_process(project, *context, "--repeat", "3")
    assert done.status == 2
    assert json.loads(done.stdout)["action"] == "block"
    assert (project.root / "ran").read_text() == "x\n" * 3
    assert re.search(rf"^note: 3 runs: {FIGURES}\nnote: hook no: {FIGURES}\n", done.stderr, re.MULTILINE)
    assert [record["kind"] for record in project.audit()].count("fire") == 3


@pytest.mark.slow
def test_advice_rests_on_figures(project: Project, context: tuple[str, ...]) -> None:
    """Slow hooks that allow every call, one after another; none for a hook that blocks."""
    project.hooks(
        {"name": "a", "command": "sleep 0.05"}, {"name": "b", "command": "sleep 0.05", "when": {"tool_name": "bash"}}
    )
    done = hookrun_process(project, *context, "--repeat=2")
    assert re.search(r"hint: a: it allowed every call and took [0-9.]+ ms: a `when` would", done.stderr)
    assert re.search(r"hint: a, b: set `parallel` .* they take 1[0-9.]+ ms", done.stderr)
    assert "hint: b: it allowed" not in done.stderr
    project.hooks({"name": "no", "command": "sleep 0.05; exit 2"})
    assert "`" not in hookrun_process(project, *context, "--repeat", "2").stderr


@pytest.mark.slow
def test_the_start_of_an_interpreter_is_measured(project: Project, context: tuple[str, ...]) -> None:
    """Beside the time of the hook that pays it."""
    project.hooks({"name": "py", "args": ["python3", "-c", "import json"]})
    stderr = hookrun_process(project, *context, "--repeat", "2").stderr
    assert re.search(r"hint: py: starting python3 takes [0-9.]+ of its [0-9.]+ ms: configure", stderr)


@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_a_wrong_count(project: Project, context: tuple[str, ...], count: str) -> None:
    """Nothing is run."""
    project.hooks({"command": "touch ran"})
    done = hookrun_process(project, *context, "--repeat", count)
    assert (done.status, done.stdout) == (1, "")
    assert f'--repeat must be a whole number from 1, not "{count}"' in done.stderr
    assert not (project.root / "ran").exists()
