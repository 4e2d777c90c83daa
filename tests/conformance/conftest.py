"""Agents, as in the tests of runs, and a project whose hooks run in the test's own process."""

from pathlib import Path

import pytest

from tests.conftest import Project
from tests.fire.conftest import agent_of

__all__ = ["agent_of"]


@pytest.fixture
def place(tmp_path: Path) -> Project:
    """Return an empty project, for an engine in this process."""
    return Project(tmp_path)
