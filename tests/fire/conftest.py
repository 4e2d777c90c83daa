"""Agents for the tests of runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.fire.agents import AGENTS, Agent, AgentOf


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, project: Project) -> Agent:
    """Return each agent in turn."""
    return Agent(request.param, project)


@pytest.fixture
def claude(project: Project) -> Agent:
    """Return Claude Code."""
    return Agent("claude", project)


@pytest.fixture
def agent_of(tmp_path: Path, server: object) -> AgentOf:
    """Return a function that returns an agent with a project of its own, for the rows of a table."""
    return lambda name: Agent(name, Project(Path(tempfile.mkdtemp(prefix=name, dir=tmp_path))))
