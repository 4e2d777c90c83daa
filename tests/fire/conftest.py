"""Agents for the tests of runs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import Project
from tests.fire.agents import AGENTS, Agent

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, project: Project) -> Agent:
    """Return each agent in turn."""
    return Agent(request.param, project)


@pytest.fixture
def claude(project: Project) -> Agent:
    """Return Claude Code."""
    return Agent("claude", project)


@pytest.fixture
def agent_of(tmp_path: Path, server: object) -> Callable[[str], Agent]:
    """Return a function that returns an agent with a project of its own, for the rows of a table."""
    return lambda name: Agent(name, Project(Path(tempfile.mkdtemp(prefix=name, dir=tmp_path))))
