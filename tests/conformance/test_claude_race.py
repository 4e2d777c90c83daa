"""Two hooks that both replace a tool's input: Claude Code takes the one that ends last, hookrun always the same one."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Project

DELAYS = [f"0.0{tens}{ones}" for tens in range(2) for ones in range(0, 10, 2)]
"""Seconds, ten of them: each hook takes each of them with each of the other's."""


def rewriter(delay: str, **replaced: object) -> dict[str, object]:
    """Return a hook that takes its time, then replaces the whole input."""
    output = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": replaced}
    answer = json.dumps({"hookSpecificOutput": output})
    return {"type": "command", "command": f"cat >/dev/null; sleep ${delay}; echo '{answer}'"}


@pytest.fixture
def racing(project: Project) -> Project:
    """Return a project with two such hooks: in different groups, as two users would write them."""
    first = rewriter("FIRST", command="first", description="of the first")
    second = rewriter("SECOND", command="second")
    groups = [{"matcher": "Bash", "hooks": [hook]} for hook in (first, second)]
    settings = project.root / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    return project


@pytest.mark.slow
def test_of_two_replaced_inputs_the_later_declared_wins_100_times_of_100(racing: Project) -> None:
    """Whichever hook ends first; and as a whole: nothing is left of the other's, nor of the model's own."""

    def arguments(delays: tuple[str, str]) -> object:
        first, second = delays
        context = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls", "timeout": 5}}
        fired = racing.fire(context, "--config", ".claude/settings.json", env={"FIRST": first, "SECOND": second})
        assert fired.status == 0, fired.stderr
        return fired.verdict["modified_args"]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(arguments, product(DELAYS, DELAYS)))
    assert found == [{"command": "second"}] * 100
