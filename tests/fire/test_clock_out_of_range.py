"""No clock and no time in a file keeps a guard from running."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.fire.agents import PROGRAMS, Agent, AgentOf
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

GUARD: dict[str, object] = {"command": "echo no >&2; exit 2"}


@rows(
    "hook, until",
    [
        *(("null", until) for until in ("1e300", "1e999", "-1e300", "253402300800", "99999999999999999999")),
        *((hook, "1e300") for hook in ('"other"', '"hook"')),
    ],
)
def test_a_time_that_hookrun_would_not_write_disables_nothing(hook: str, until: str, agent_of: AgentOf) -> None:
    """Neither the hook that it names nor another is kept from running."""
    agent = agent_of("claude")
    project = agent.project
    project.user_hooks(GUARD, {"name": "other", "command": "true"})
    store = project.home / ".local/share/hookrun/trust.json"
    store.parent.mkdir(parents=True, mode=0o700)
    entry = f'{{"name": {hook}, "root": "", "digest": "", "time": 0, "until": {until}}}'
    store.write_text(f'{{"version": 1, "approved": {{}}, "disabled": [{entry}]}}')
    store.chmod(0o600)
    fired = project.fire()
    assert (fired.status, fired.verdict["message"]) == (2, "no")
    assert agent.fire(agent.shell()).reason == "no"


@pytest.mark.sampled
@pytest.mark.only_cold("replaces the clock of the interpreter that is started")
@pytest.mark.parametrize("name", ["claude", "gemini", "copilot"])
def test_a_clock_beyond_what_python_can_tell(project: Project, name: str) -> None:
    """The guard refuses, the project's approvals count, and the audit has a time."""
    clock = PROGRAMS / "in_2262"
    project.user_hooks({"command": "echo 'not in 2262' >&2; exit 2", "matcher": "bash"})
    project.hooks({"name": "theirs", "command": "echo theirs >&2; exit 2", "always": True})
    around = {"PYTHONPATH": f"{clock}:{project.environment()['PYTHONPATH']}"}
    for _ in range(2):  # the second one may read what the first has kept
        fired = project.fire(env=around)
        assert (fired.status, fired.verdict["message"]) == (2, "not in 2262\ntheirs"), fired.stderr
        agent = Agent(name, project)
        assert agent.fire(agent.shell(), env=around).reason == "not in 2262\ntheirs"
    assert {str(record["time"])[:4] for record in project.audit()} == {"2262"}


def test_a_file_of_another_age(project: Project) -> None:
    """A config file with times before 1970 or far in the future is read."""
    for seconds in (-(10**9), 10**10):
        project.hooks(GUARD)
        os.utime(project.root / "coder.json", (seconds, seconds))
        for _ in range(2):
            assert project.fire().status == 2
    assert json.loads(project.audit_path.read_text().splitlines()[-1])["exit"] == 2
