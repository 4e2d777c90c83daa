"""`hookrun fire --repeat N`: one call, measured; the verdict once, the times and advice on stderr."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from hookrun.fire.command import parse_arguments
from hookrun.fire.invocation import FireError
from tests.cli.command import hookrun_process
from tests.fire.agents import says
from tests.rows import rows

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pre_tool_us", "--ctx", "ctx.json"), 'error: unknown event "pre_tool_us"'),
        (("pre_tool_use", "--ctx", "/nonexist"), 'error: cannot read "/nonexist"'),
    ],
)
def test_an_error_is_not_measured(
    project: Project, context: tuple[str, ...], arguments: tuple[str, ...], message: str
) -> None:
    """It is printed once, without times; the exit status is the run's."""
    done = hookrun_process(project, "fire", *arguments, "--repeat", "3")
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert "note: " not in done.stderr
    assert [record["kind"] for record in project.audit()] == ["fire"]


def test_a_command_that_only_the_shell_can_read(project: Project, context: tuple[str, ...]) -> None:
    """Its program is the one that the config names, if any."""
    project.hooks({"name": "a", "command": "sleep 0.02; true # don't"})
    done = hookrun_process(project, *context, "--repeat", "2")
    assert (done.status, "internal error" in done.stderr) == (0, False)
    assert "hint: a: it allowed every call" in done.stderr


@pytest.mark.parametrize(("settings", "advised"), [({}, True), ({"audit": False}, False)])
def test_a_message_is_not_silence(
    project: Project, context: tuple[str, ...], settings: dict[str, bool], advised: bool
) -> None:
    """A `when` would lose it: no advice. Without the log, a hook beside one with a message gets none either."""
    project.hooks(
        {"name": "talks", "command": f"sleep 0.02; {says(action='continue', message='M')}"},
        {"name": "silent", "command": "sleep 0.02"},
    )
    project.user_hooks(**settings)
    stderr = hookrun_process(project, *context, "--repeat", "2").stderr
    assert re.search(rf"note: hook talks: {FIGURES}\nnote: hook silent: {FIGURES}", stderr)
    assert "talks: it allowed" not in stderr
    assert ("silent: it allowed" in stderr) is advised


def test_hooks_of_one_name(project: Project, context: tuple[str, ...]) -> None:
    """Each file's has its own times and advice."""
    project.hooks({"name": "a", "command": "sleep 0.02"})
    project.user_hooks({"name": "a", "command": "true"})
    stderr = hookrun_process(project, *context, "--repeat", "1").stderr
    assert "note: 1 run: min " in stderr
    assert re.search(rf"note: hook a \(coder.json:1\): {FIGURES}\n", stderr)
    assert re.search(rf"note: hook a \(.*/hooks.json:1\): {FIGURES}\n", stderr)
    assert "hint: a (coder.json:1): it allowed" in stderr


@rows("count", ["0", "-1", "many", "1001", "9" * 5000])
def test_a_wrong_count(count: str) -> None:
    """It is an error of the command line, so nothing is run."""
    with pytest.raises(FireError) as error:
        parse_arguments(["stop", "--repeat", count])
    assert f'--repeat must be a whole number from 1 to 1000, not "{count[:50]}' in str(error.value)
