"""`hookrun record`: whole calls are kept for a time, and not longer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun.core import audit
from tests.cli.command import hookrun, hookrun_process

if TYPE_CHECKING:
    from tests.conftest import Project

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
CALL: dict[str, object] = {
    "session_id": "s1",
    "tool_name": "bash",
    "tool_args": {"command": f"curl -H 'Authorization: Bearer {SECRET}' host", "description": f"with {SECRET}"},
}


def until(project: Project) -> object:
    """Return until when whole calls are kept, as the user's config says."""
    data = json.loads((project.home / ".config" / "hookrun" / "hooks.json").read_text())
    return data["hookrun"]["audit"].get("full_until")


def test_calls_are_kept_whole_without_credentials(project: Project) -> None:
    """Until it is switched off; then a summary as before, which a replay counts."""
    project.hooks({"command": "true"})
    assert hookrun(project, "record", "on").status == 0
    project.fire(CALL)
    context = project.audit()[-1]["context"]
    assert isinstance(context, dict)
    assert context["tool_args"]["description"] == "with [redacted]"
    assert SECRET not in project.audit_path.read_text()
    assert hookrun(project, "record", "off").status == 0
    project.fire(CALL)
    assert "context" not in project.audit()[-1]
    assert until(project) is None
    replayed = hookrun(project, "replay", "--json").json
    assert (replayed["events"], replayed["without_context"]) == ({"a program": 1}, 1)


def test_it_ends_by_itself(project: Project) -> None:
    """The time is in the config: `audit.details` says what is kept before and after."""
    past, future = "2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"
    assert audit.details_of({"details": "none", "full_until": future}) == audit.FULL
    assert audit.details_of({"details": "none", "full_until": past}) == audit.NONE
    assert audit.details_of({"full_until": past}) == audit.SUMMARY
    project.user_hooks(audit={"full_until": past})
    assert "a summary of each call" in hookrun(project, "record").stdout
    project.user_hooks(audit={"details": "full"})
    assert "whole calls: the setting `audit.details` is full" in hookrun(project, "record").stdout


def test_what_is_kept_is_shown(project: Project) -> None:
    """And nothing is written by a dry run; other settings stay."""
    assert "a summary of each call" in hookrun(project, "record").stdout
    assert '+      "full_until": "' in hookrun(project, "record", "on", "--dry-run").stdout
    assert not (project.home / ".config" / "hookrun" / "hooks.json").exists()
    project.user_hooks(audit={"keep": 3})
    done = hookrun(project, "record", "2h", "--json").json
    assert done["written"]
    assert "whole calls until" in str(done["notes"])
    config = json.loads((project.home / ".config" / "hookrun" / "hooks.json").read_text())
    assert config["hookrun"]["audit"]["keep"] == 3
    assert "whole calls until" in hookrun(project, "record").stdout


def test_a_log_that_is_switched_off_stays_off(project: Project) -> None:
    """That is another decision: the command says so, and writes nothing."""
    project.user_hooks(audit=False)
    before = (project.home / ".config" / "hookrun" / "hooks.json").read_text()
    for words in ((), ("on",)):
        done = hookrun(project, "record", *words)
        assert (done.status, "the setting `audit` is false" in done.stderr) == (1, True)
    assert (project.home / ".config" / "hookrun" / "hooks.json").read_text() == before


def test_wrong_times_and_agents_are_refused(project: Project) -> None:
    """An agent does not decide what is kept of it."""
    assert "is not on, off or a time" in hookrun(project, "record", "soon").stderr
    done = hookrun_process(project, "record", "on", CLAUDECODE="1")
    assert (done.status, "agent" in done.stderr) == (1, True)
    assert not (project.home / ".config" / "hookrun" / "hooks.json").exists()
