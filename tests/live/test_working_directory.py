"""The hooks of a session's project see each of its calls, wherever the model has a command run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookrun_conformance.driver import put
from hookrun_conformance.model import Turn, say, use
from tests.live.run import Agent

DONE = say("all-is-done")

ARGUMENT = {"codex": "workdir", "gemini": "dir_path", "qwen": "directory", "opencode": "workdir"}
"""Agent -> the argument of its shell tool that names a working directory. Elsewhere the shell changes directory."""


def declare(agent: Agent, project: Path, command: str) -> None:
    """Declare a hook for shell commands in a project, and approve it as a user does."""
    put(project / "coder.json", {"hooks": [{"event": "pre_tool_use", "matcher": "bash", "command": command}]})
    digests = [line.split()[0] for line in agent.hookrun("trust", "--digest", cwd=project, status=1).splitlines()]
    agent.hookrun("trust", "--yes", *digests, cwd=project)


def commands(agent: Agent, command: str, directory: Path) -> tuple[Turn, ...]:
    """Return the turns that run a command in a directory, in each way that the agent has."""
    shell = agent.driver.shell(command)
    if agent.name in ARGUMENT:
        call = shell.calls[0]
        assert isinstance(call.arguments, dict)
        shell = use(call.name, **call.arguments, **{ARGUMENT[agent.name]: str(directory)})
    return agent.driver.shell(f"cd {directory}"), shell, agent.driver.shell(f"cd {directory} && {command}")


def is_refused_in(agent: Agent, directory: Path) -> bool:
    """Return whether a call that writes into the guarded project from a directory is refused, and writes nothing."""
    project = agent.place.project
    declare(agent, project, """grep -q 'X >' || exit 0; echo "no-writing-here" >&2; exit 2""")
    agent.install()
    ran = agent.run(*commands(agent, f"echo X > {project}/in.txt", directory), DONE)
    assert sorted(ran.files) == ["coder.json"], ran
    return "no-writing-here" in ran.heard


@pytest.mark.parametrize("below", ["project/src", "other"])
def test_a_call_with_a_working_directory_of_its_own_is_seen_by_the_session_s_project(agent: Agent, below: str) -> None:
    """It writes into the guarded project from inside or elsewhere."""
    directory = agent.place.home.parent / below
    directory.mkdir()
    assert is_refused_in(agent, directory)


def test_the_hooks_of_the_project_that_a_call_happens_to_run_in_do_not_run(agent: Agent) -> None:
    """Those of the session's project do."""
    other = agent.place.home.parent / "other"
    (other / ".git").mkdir(parents=True)
    declare(agent, other, f"touch {other}/ran")
    assert is_refused_in(agent, other)
    assert not (other / "ran").exists()
