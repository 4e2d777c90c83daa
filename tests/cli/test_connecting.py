"""A hook is never "ready" and not called: its events are connected by the command that adds it, or reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun.agents import AGENTS, load
from hookrun.agents.base import native_event
from hookrun.wiring import plan
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.cli.wiring import ALL, before_tool, launcher_conf, run_line, settings_file, tree, wired_line

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

NONE = "/usr/bin:/bin"
"""A PATH without agents."""

OFTEN = {
    "claude": ("assistant_response", "MessageDisplay"),
    "codex": ("before_inference", "PreModelRequest"),
    "gemini": ("before_inference", "BeforeModel"),
    "opencode": ("assistant_response", "experimental.text.complete"),
    "kilo": ("assistant_response", "experimental.text.complete"),
}
"""Agent -> an event that is connected only for a hook, by hookrun's name and the agent's."""


def _events(project: Project, agent: str) -> list[str]:
    listed = hookrun(project, "status", "--json", PATH=NONE).json["agents"]
    assert isinstance(listed, list)
    return next(list(each["wired"].get("user", [])) for each in listed if each["agent"] == agent)


def _without(path: Path, *events: str) -> None:
    """Take events out of settings, as if an earlier hookrun had connected the rest."""
    settings = json.loads(path.read_text())
    settings["hooks"] = {event: groups for event, groups in settings["hooks"].items() if event not in events}
    path.write_text(json.dumps(settings, indent=1) + "\n\n")


# --- the table of events


@pytest.mark.parametrize("agent", AGENTS)
def test_what_waits_for_a_later_event_finds_one_that_is_connected_first(agent: str) -> None:
    """Wherever an answer keeps text for later, an event that shows it is connected from the first installation on."""
    module = load(agent)
    first = plan.events_to_connect(module, [])
    assert set(module.INSTALL.get("on_demand", {})) < set(module.EVENTS)
    assert native_event(module, "pre_tool_use") in first
    able = {word for event in first if event in module.RESPONSE_FORMATS for word in _able(agent, event)}
    waiting = {
        word.removesuffix(" later")
        for event in module.RESPONSE_FORMATS
        for word in _able(agent, event)
        if word.endswith(" later")
    }
    assert waiting <= able


def _able(agent: str, event: str) -> frozenset[str]:
    return load(agent).RESPONSE_FORMATS[event].capabilities


def test_a_message_that_waits_is_shown_though_no_hook_has_that_event(project: Project) -> None:
    """Qwen Code shows text for the user at the end of a turn only: a guard that crashed is reported there."""
    project.hooks({"name": "guard", "command": "exit 7"})
    project.approve()
    assert hookrun(project, "install", "qwen").status == 0
    call = before_tool(project, "qwen")
    run_line(project, wired_line(project, "qwen", "PreToolUse"), call)
    end = {**call, "hook_event_name": "Stop"}
    assert "guard" in run_line(project, wired_line(project, "qwen", "Stop"), end).stdout.decode()


# --- the commands that connect


@pytest.mark.parametrize("agent", OFTEN)
def test_new_connects_its_event(project: Project, agent: str) -> None:
    """And says so."""
    hookrun(project, "install", agent, "--trust")
    event, native = OFTEN[agent]
    before = _events(project, agent)
    assert native not in before
    done = hookrun(project, "new", "watch", "--event", event)
    assert done.status == 0, done.stderr
    assert f"{agent}: connected for {native} too, in ~" in done.stdout
    assert sorted(_events(project, agent)) == sorted([*before, native])


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_the_bytes_that_are_there_stay(project: Project, agent: str) -> None:
    """In settings something is added, and nothing replaced."""
    hookrun(project, "install", agent, "--trust")
    text = settings_file(project, agent).read_text()
    assert hookrun(project, "new", "watch", "--event", OFTEN[agent][0]).status == 0
    kept = iter(settings_file(project, agent).read_text())
    assert all(character in kept for character in text)


def test_add_connects_what_an_earlier_installation_lacks(project: Project) -> None:
    """An entry of another form stays: a changed command would void Codex's trust."""
    hookrun(project, "install", "codex", "--trust")
    path, config = settings_file(project, "codex"), project.home / ".codex" / "config.toml"
    _without(path, "Stop")
    path.write_text(path.read_text().replace('"timeout": 600', '"timeout": 599', 1))
    earlier, trusted = path.read_text(), config.read_text()
    dry = hookrun(project, "add", "run-tests-at-stop", "--dry-run")
    assert "+++ " + str(path) in dry.stdout
    assert path.read_text() == earlier
    done = hookrun(project, "add", "run-tests-at-stop")
    assert done.status == 0
    assert "codex: connected for Stop too, in ~/.codex/hooks.json" in done.stdout
    assert "codex: silently skips hooks that are not trusted" in done.stderr
    assert '"timeout": 599' in path.read_text()
    assert config.read_text() == trusted
    assert "Stop" in _events(project, "codex")


def test_trust_connects_what_an_approved_hook_needs(project: Project) -> None:
    """A hook may come with a commit of another developer."""
    hookrun(project, "install", "claude")
    project.hooks({"name": "watch", "event": "assistant_response", "command": "true"})
    session = at_terminal(project, "trust", answers=("y",))
    assert "claude: connected for MessageDisplay too" in " ".join(session.screen.split())
    assert "MessageDisplay" in _events(project, "claude")


def test_in_a_project_its_own_settings_are_added_to(project: Project) -> None:
    """They are the ones that this project's users have in common."""
    hookrun(project, "install", "claude", "--scope", "project")
    done = hookrun(project, "new", "watch", "--event", "assistant_response")
    assert "connected for MessageDisplay too, in .claude/settings.json" in done.stdout
    assert wired_line(project, "claude", "MessageDisplay", "project").endswith("/.hookrun/run claude MessageDisplay")


def test_another_hookrun_is_not_replaced(project: Project) -> None:
    """Which one agents start is the user's choice: the command to connect it is named instead."""
    hookrun(project, "install", "claude")
    conf, before = launcher_conf(project), tree(project.home)
    conf.write_text(conf.read_text().replace("/hookrun/__main__.py", "/other/hookrun/__main__.py"))
    done = hookrun(project, "new", "watch", "--event", "assistant_response")
    assert done.status == 0
    assert "claude: not connected for MessageDisplay: another hookrun is installed there\nhint: run" in done.stderr
    assert tree(project.home) == before


def test_settings_that_cannot_be_changed_are_reported(project: Project) -> None:
    """The hook is added all the same."""
    hookrun(project, "install", "cline")
    path = settings_file(project, "cline").with_name("PostToolUse")
    path.write_text("#!/bin/sh\n")
    done = hookrun(project, "new", "watch", "--event", "post_tool_use")
    assert done.status == 0
    assert "cline: not connected for PostToolUse: " in done.stderr
    assert path.read_text() == "#!/bin/sh\n"


@pytest.mark.parametrize("agent", ALL)
def test_other_commands_change_no_settings(project: Project, agent: str) -> None:
    """Also where events are missing; agents without hookrun are left alone by every command but install."""
    hookrun(project, "add", "no-force-push")
    hookrun(project, "new", "watch", "--event", "assistant_response")
    assert not settings_file(project, agent).exists()
    hookrun(project, "install", agent, "--trust")
    project.hooks({"name": "watch", "event": ["assistant_response", "before_inference"], "command": "true"})
    project.approve()
    before = tree(project.home)
    for command in (
        ("list",),
        ("status",),
        ("agents",),
        ("doctor", agent),
        ("validate",),
        ("update",),
        ("explain", "stop"),
        ("trust", "--digest"),
        ("remove", "watch"),
    ):
        hookrun(project, *command, PATH=NONE)
    assert tree(project.home) == before


# --- the commands that report


def _state(project: Project, path: str = NONE) -> str:
    row = next(line for line in hookrun(project, "list", PATH=path).stdout.splitlines() if line.startswith("watch "))
    return " ".join(row.split()[3:-1])


def test_a_hook_that_is_not_called_is_not_ready(project: Project) -> None:
    """`list`, `status` and `doctor` name the events, and the command that connects them."""
    hookrun(project, "install", "claude")
    project.hooks({"name": "watch", "event": "stop", "command": "true"})
    project.approve()
    assert _state(project) == "ready"
    _without(settings_file(project, "claude"), "Stop", "Notification")
    assert _state(project) == "not connected"
    remedy = "not connected: run `hookrun install claude` (for Stop)"
    assert remedy in hookrun(project, "list", PATH=NONE).stdout
    assert '"not_connected": [ "claude" ]' in " ".join(hookrun(project, "list", "--json", PATH=NONE).stdout.split())
    status = hookrun(project, "status", PATH=NONE).stdout
    assert "hooks      1: 1 not connected" in status
    assert remedy in status
    found = hookrun(project, "doctor", "claude").stdout
    assert "not connected for Stop, for which there are hooks" in found
    assert "not connected for Notification\n" in found
    hookrun(project, "install", "claude")
    assert _state(project) == "ready"
    assert "not connected" not in hookrun(project, "doctor", "claude").stdout


def test_an_agent_that_is_here_without_hookrun_calls_no_hook(project: Project) -> None:
    """Without any agent on the machine, hooks are for programs, and ready."""
    project.hooks({"name": "watch", "event": "stop", "command": "true"})
    project.approve()
    assert _state(project) == "ready"
    program = project.home.parent / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = f"{program.parent}:{NONE}"
    assert _state(project, path) == "not connected"
    assert "not connected: run `hookrun install claude`" in hookrun(project, "list", PATH=path).stdout
    hookrun(project, "install", "qwen")
    assert _state(project, path) == "ready"


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_after_an_uninstall_no_hook_is_ready(project: Project, agent: str) -> None:
    """Of the only agent, which need not be on PATH: the installation is on record."""
    project.hooks({"name": "watch", "event": "stop", "command": "true"})
    project.approve()
    hookrun(project, "install", agent, "--trust")
    assert _state(project) == "ready"
    assert hookrun(project, "uninstall", agent).status == 0
    assert _state(project) == "not connected"
    status = hookrun(project, "status", PATH=NONE).stdout
    assert "hooks      1: 1 not connected" in status
    assert f"not connected: run `hookrun install {agent}` (for Stop)" in status
    hookrun(project, "install", "qwen")
    assert hookrun(project, "uninstall", "qwen").status == 0
    hookrun(project, "install", agent, "--trust")
    assert _state(project) == "ready"


def test_a_paused_or_unapproved_hook_is_called_that(project: Project) -> None:
    """What the user decides comes before what an agent lacks."""
    hookrun(project, "install", "claude")
    _without(settings_file(project, "claude"), "Stop")
    project.hooks({"name": "watch", "event": "stop", "command": "true"})
    assert _state(project) == "not approved"
