"""A newcomer's tasks, each in an account of its own, by what the pages say (tasks.md)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import tour

if TYPE_CHECKING:
    from tests.conftest import Project

_, *TASKS = Path(__file__).with_name("tasks.md").read_text().split("\n## ")


@pytest.mark.parametrize("task", TASKS, ids=[each.partition("\n")[0] for each in TASKS])
def test_a_task_can_be_done_as_the_pages_say(task: str, project: Project) -> None:
    """Every command prints what it shows."""
    tour.Tour(project).take(task)
