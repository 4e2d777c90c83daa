"""A guard that crashes the interpreter, leaves it or hangs in native code refuses, cold and warm, under every agent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import no_force_push
from tests.conftest import Project, copy_package
from tests.fire.agents import AGENTS, Agent
from tests.waiting import until
from tests.warm import WarmServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

BREAKING = Path(__file__).parent / "programs" / "breaking_parser.py"
GUARD = {**no_force_push.RECIPE.hooks[0], "timeout": 1}
"""It has to parse every line with git."""
LOST = "hookrun: its server ended before it answered, so the call was not run; try again"
COLD = {
    "crashes": "hook no-force-push failed (signal)",
    "leaves": "hook no-force-push failed (exit_code)",
    "hangs": "hook no-force-push failed (timeout)",
}
"""How it breaks -> the beginning of the reason in a process of its own."""


class ColdProject(Project):
    """A project whose runs are processes of their own, of a package."""

    package: Path

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of that package's hookrun."""
        return [sys.executable, "-I", str(self.package / "__main__.py"), *arguments]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of hookrun whose parser breaks."""
    made = copy_package(tmp_path_factory.mktemp("lib") / "hookrun")
    with (made / "shell" / "syntax_tree.py").open("a") as file:
        file.write(BREAKING.read_text())
    return made


@pytest.fixture(scope="module")
def server(package: Path) -> Iterator[WarmServer]:
    """Return its server."""
    with WarmServer(main=package / "__main__.py") as running:
        yield running


@pytest.fixture
def warm(server: WarmServer, tmp_path: Path) -> Iterator[Project]:
    """Return a project with the guard, whose runs go to the server."""
    Project.server = server
    project = Project(tmp_path)
    project.user_hooks(GUARD)
    yield project
    Project.server = None


@pytest.fixture
def cold(package: Path, tmp_path: Path) -> Project:
    """Return a project with the guard, whose runs have no server."""
    ColdProject.package = package
    project = ColdProject(tmp_path)
    project.user_hooks(GUARD)
    return project


@pytest.mark.parametrize("ending", COLD)
@pytest.mark.parametrize("name", AGENTS)
def test_a_guard_that_breaks_refuses(name: str, ending: str, cold: Project) -> None:
    """By its `on_failure`, with the failure's name."""
    told = Agent(name, cold).fire(Agent(name, cold).shell(f"git {ending}"))
    assert str(told.reason).startswith(COLD[ending])
    assert Agent(name, cold).fire(Agent(name, cold).shell("git status")).reason is None


@pytest.mark.parametrize("ending", COLD)
@pytest.mark.parametrize("name", AGENTS)
def test_a_guard_that_breaks_its_worker_refuses(name: str, ending: str, warm: Project) -> None:
    """The launcher answers for it, and the next call has another worker."""
    agent = Agent(name, warm)
    told = agent.fire(agent.shell(f"git {ending}"))
    assert told.reason == LOST
    assert agent.fire(agent.shell("git status")).reason is None
    assert agent.fire(agent.shell("git push -f")).reason is not None


def test_a_refusal_of_a_lost_run_is_of_its_event(warm: Project, server: WarmServer) -> None:
    """A prompt is not sent; after a tool and at the end of a turn nothing is refused."""
    agent = Agent("claude", warm)
    warm.user_hooks({"event": ["user_prompt_submit", "post_tool_use", "stop"], "command": "kill -KILL $PPID"})
    prompt = agent.fire(agent.prompt())
    assert prompt.json["decision"] == "block"
    lost = "hookrun: its server ended before it answered"
    assert prompt.json["reason"] == f"{lost}, so the prompt was not sent; try again"
    for message in (agent.ran(), agent.stop()):
        told = agent.fire(message)
        assert "decision" not in told.json
    until(server.lives, "the server has ended")
