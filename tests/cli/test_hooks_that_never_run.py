"""Reasons why an agent runs no hooks, whatever they are: an administrator, missing events, a new version."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from hookrun.agents import AGENTS, claude, load
from hookrun.agents.base import native_event
from hookrun.agents.grades import measured
from tests.cli.command import hookrun
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project


def findings(project: Project, agent: str, check: str, path: str | None = None) -> list[dict[str, str]]:
    """Return what `hookrun doctor` finds by one check about one agent."""
    env = {"PATH": f"{path}:{os.environ['PATH']}"} if path is not None else {}
    report = hookrun(project, "doctor", agent, "--json", cwd=None, **env).json["agents"][0]  # type: ignore[index]  # a list
    return [each for each in report["findings"] if each["check"] == check]


OTHER = {"allowManagedHooksOnly": False, "strictPluginOnlyCustomization": ["skills"], "model": "big"}


@rows(
    "name, settings",
    [
        ("managed-settings.json", {"allowManagedHooksOnly": True}),
        ("managed-settings.json", {"strictPluginOnlyCustomization": True}),
        ("managed-settings.json", {"strictPluginOnlyCustomization": ["skills", "hooks"]}),
        ("managed-settings.d/10-hooks.json", {"allowManagedHooksOnly": True}),
    ],
)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_an_administrator_allows_managed_hooks_only(
    project: Project, monkeypatch: pytest.MonkeyPatch, *, name: str, scope: str, settings: object
) -> None:
    """Hookrun's are in other settings: doctor names file and setting. Other values, or the user's own, do nothing."""
    directory = project.home / "claude-code"
    monkeypatch.setitem(claude.INSTALL, "managed", tuple(f"{directory}/{end}" for end in ENDS))
    project.hooks({"command": "true"})
    hookrun(project, "install", "claude", "--scope", scope)
    own = project.home / ".claude" / "settings.json"
    own.parent.mkdir(exist_ok=True)
    installed = json.loads(own.read_text()) if own.exists() else {}
    own.write_text(json.dumps({"allowManagedHooksOnly": True, **installed}))
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(OTHER))
    assert findings(project, "claude", "switched off") == []
    path.write_text(json.dumps(settings))
    (found,) = findings(project, "claude", "switched off")
    assert found["level"] == "problem"
    assert found["found"].startswith(f"{path}: {next(iter(json.loads(path.read_text())))} is ")
    assert hookrun(project, "doctor", "claude").status == 1
    path.unlink()


ENDS = ("managed-settings.json", "managed-settings.d/*.json")
"""How the paths of the administrator's settings end."""


def test_the_administrators_settings_are_where_claude_code_reads_them() -> None:
    """As in the layer of managed hooks."""
    assert {path for path in claude.INSTALL["managed"] if path.startswith("/etc/")} == {
        f"/etc/claude-code/{end}" for end in ENDS
    }


@pytest.mark.parametrize(
    ("agent", "event"),
    [
        ("cline", "user_prompt_submit"),
        ("cline", "session_end"),
        ("cline", "pre_compact"),
        ("opencode", "session_end"),
    ],
)
def test_an_event_that_never_comes(project: Project, agent: str, event: str) -> None:
    """Install, explain and doctor report it before anyone misses the hook."""
    title = load(agent).DISPLAY_NAME
    project.hooks({"event": event, "command": "true"})
    installed = hookrun(project, "install", agent)
    assert installed.status == 0
    assert f"{agent}: never sends {event}; hooks for that do not run there" in installed.stdout
    explained = hookrun(project, "explain", event, "--agent", agent)
    assert f"{title} never sends this event (seen up to " in explained.stdout.partition("\n")[0]
    (found,) = findings(project, agent, "declared")
    assert found["found"] == f"there are hooks for {event}, which {title} never sends"


@pytest.mark.slow
def test_an_event_that_comes_is_not_said_to_be_missing(project: Project) -> None:
    """Only the events of a hook are looked at, and those that an agent sends are no finding."""
    project.hooks({"event": ["pre_tool_use", "stop", "session_start"], "command": "true"})
    for agent in AGENTS:
        assert "never sends" not in hookrun(project, "install", agent).stdout
        assert [each for each in findings(project, agent, "declared") if "never sends" in each["found"]] == []


def test_every_event_that_never_comes_is_one_of_the_agent() -> None:
    """By the agent's own name, and beside others that do come."""
    for agent in map(load, AGENTS):
        unsent = agent.INSTALL.get("unsent", ())
        assert set(unsent) <= set(agent.EVENTS)
        assert native_event(agent, "pre_tool_use") not in unsent


@pytest.mark.parametrize("agent", AGENTS)
def test_a_version_newer_than_the_newest_measured_one(project: Project, agent: str) -> None:
    """Doctor names both; the measured version itself is no finding, and neither is an older one."""
    newest = measured(load(agent))["version"]
    first, *rest = newest.split(".")
    directory = project.root.parent / "bin"
    directory.mkdir()
    program = directory / load(agent).INSTALL["program"]
    project.hooks({"command": "true"})
    for version, is_newer in (
        (newest, False),
        (".".join((first, *rest[:-1], str(int(rest[-1]) + 1))), True),
        (f"{int(first) + 10}.0.0-beta.1", True),
        ("0.0.1", False),
    ):
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
        found = findings(project, agent, "version", str(directory))
        assert len(found) == is_newer, version
        if found:
            assert found[0]["found"] == f"version {version} is newer than {newest}, the newest measured version"
            assert found[0]["remedy"] == f"run `hookrun doctor {agent} --measure`"
            assert found[0]["level"] == "note"
