"""Lines that fire hookrun and that install did not write: they count, are shown, and are neither edited nor started."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from hookrun.wiring.wired_command import (
    FireFlags,
    HookrunProgram,
    fallback_commands,
    this_program,
)
from tests.cli.command import hookrun
from tests.cli.wiring import (
    ALL,
    BEFORE_TOOL,
    before_tool,
    launcher,
    launcher_conf,
    run_line,
    settings_file,
    wired_line,
)
from tests.rows import rows
from tests.wiring.texts import launcher_line, shell_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Project

ATTACKS = (
    "touch PWNED; hookrun fire --agent AGENT",
    "hookrun fire --agent AGENT; touch PWNED",
    "hookrun fire --agent AGENT $(touch PWNED)",
    "HOOKRUN=0 hookrun fire --agent AGENT",
)
TEXTS = (
    "# hookrun fire --agent AGENT",
    "true # hookrun fire --agent AGENT",
    "echo hookrun fire --agent AGENT",
    "touch PWNED # hookrun fire --agent AGENT",
)
OF_A_PROJECT = FireFlags("claude", "PreToolUse", scope="project")
TWICE = ("twice", "problem")
IN_LINES = [agent for agent in ALL if agent not in ("opencode", "kilo", "pi")]


@pytest.fixture(autouse=True)
def _declared(project: Project) -> None:
    project.hooks({"name": "a", "command": "true"})
    project.approve()


def _write(project: Project, agent: str, line: str, scope: str) -> Path:
    """Write a line for the event before a tool into an agent's settings, as a user or a project would."""
    path, event = settings_file(project, agent, scope), BEFORE_TOOL[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    line = line.replace("AGENT", agent).replace("PWNED", str(project.root / "PWNED"))
    if agent == "cline":
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    elif agent == "vibe":
        path.write_text(f'[[hooks]]\nname = "mine"\ntype = "{event}"\ncommand = {json.dumps(line)}\n')
    elif agent == "copilot":
        path.write_text(json.dumps({"version": 1, "hooks": {event: [{"type": "command", "bash": line}]}}))
    else:
        path.write_text(json.dumps({"hooks": {event: [{"hooks": [{"type": "command", "command": line}]}]}}))
    return path


def _findings(project: Project, agent: str) -> list[dict[str, str]]:
    report = hookrun(project, "doctor", agent, "--prove", "--json").json["agents"]
    assert isinstance(report, list)
    return list(report[0]["findings"])


@rows("line", [*ATTACKS, *TEXTS])
@rows("scope", ["user", "project"])
def test_the_proof_starts_nothing_of_such_a_line(project: Project, scope: str, line: str) -> None:
    """`doctor --prove` in a clone runs nothing from a project's settings."""
    _write(project, "claude", line, scope)
    findings = _findings(project, "claude")
    assert not (project.root / "PWNED").exists()
    assert not [each for each in findings if each["check"] == "proof" and each["level"] == "ok"]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("line", ATTACKS)
@pytest.mark.parametrize(
    ("agent", "status", "says"),
    [
        *((each, 0, "by a handwritten line, so each hook runs twice") for each in IN_LINES if each != "cline"),
        ("cline", 1, "been changed since"),
    ],
)
def test_it_is_shown_counted_and_left(project: Project, agent: str, line: str, status: int, says: str) -> None:
    """`doctor` and `status` name it; `install` adds its own line beside it where possible, and says so."""
    path = _write(project, agent, line, "user")
    before = path.read_text()
    (shown,) = [each for each in _findings(project, agent) if "handwritten" in each["found"]]
    assert shown["found"].startswith(f"{path}:1: {BEFORE_TOOL[agent]} runs hookrun by a handwritten line: ")
    assert "(user, by hand)" in hookrun(project, "status").stdout
    done = hookrun(project, "install", agent, "--trust")
    assert (done.status, says in done.stderr, path.read_text() == before) == (status, True, status == 1)
    twice = [each["found"] for each in _findings(project, agent) if (each["check"], each["level"]) == TWICE]
    assert twice == [f"{path}: {BEFORE_TOOL[agent]} is installed 2 times"] * (1 - status)
    out = hookrun(project, "uninstall", agent)
    assert "hookrun still runs there" in out.stderr
    assert path.read_text() == before


@rows("agent", IN_LINES)
def test_a_text_keeps_nobody_from_installing(project: Project, agent: str) -> None:
    """A comment in a project's settings installs nothing: the user's line is installed; without one doctor says so."""
    for line in TEXTS:
        _write(project, agent, line, "project")
        found = [each["found"] for each in _findings(project, agent) if each["check"] == "wired"]
        assert (line, found) == (line, ["hookrun is not in its settings"])
        done = hookrun(project, "install", agent, "--trust")
        assert (line, done.status, done.stderr) == (line, 0, "")
        assert (line, hookrun(project, "uninstall", agent).status) == (line, 0)


def through_python(evil: str) -> tuple[str, str]:
    """Return a line that starts a program as Python, and why it is not started."""
    program = HookrunProgram(evil, this_program().main)
    return shell_line(program, OF_A_PROJECT, fallback_commands()), "which is not this hookrun"


def through_a_launcher(evil: str) -> tuple[str, str]:
    """Return a line that starts a program as a launcher, and why it is not started."""
    return launcher_line(evil, OF_A_PROJECT, None), f"{evil} is not the launcher of this account"


@pytest.mark.parametrize(
    ("name", "through"), [("evil", through_python), (".local/share/hookrun/claude", through_a_launcher)]
)
def test_the_proof_starts_no_program_that_a_project_names(
    project: Project, name: str, through: Callable[[str], tuple[str, str]]
) -> None:
    """A line of the right form may name any program: of a project's, only this very hookrun is started."""
    assert hookrun(project, "install", "claude").status == 0
    project.script(name, f"#!/bin/sh\ntouch {project.root}/PWNED\n")
    shutil.copy(launcher_conf(project), (project.root / name).parent)
    line, why = through(str(project.root / name))
    _write(project, "claude", line, "project")
    not_tried = [each["cause"] for each in _findings(project, "claude") if each["found"].startswith("not tried")]
    assert any(why in cause for cause in not_tried)
    assert not (project.root / "PWNED").exists()


@pytest.mark.parametrize(
    "line",
    ["if true; then LAUNCHER PreToolUse; fi", "LAUNCHER.PreToolUse --cold x", "~/.local/share/hookrun/claude Stop"],
)
def test_a_launcher_that_a_line_by_hand_names_stays(project: Project, line: str) -> None:
    """The line needs it to run hooks; once the line is removed, uninstall removes the launcher, and says so."""
    assert hookrun(project, "install", "claude").status == 0
    kept, path = launcher(project, "claude"), settings_file(project, "claude")
    settings = json.loads(path.read_bytes())
    handler = {"type": "command", "command": line.replace("LAUNCHER", str(kept))}
    settings["hooks"]["PreToolUse"].append({"hooks": [handler]})
    path.write_text(json.dumps(settings, indent=2))
    planned = hookrun(project, "uninstall", "claude", "--dry-run")
    done = hookrun(project, "uninstall", "claude")
    (number,) = [at for at, text in enumerate(path.read_text().splitlines(), 1) if "/hookrun/claude" in text]
    for each in (planned, done):
        assert f".claude/settings.json:{number} still names .local" in (each.stdout + each.stderr).replace("~/", "")
    assert kept.with_name("claude.PreToolUse").exists()
    assert launcher_conf(project).exists()

    path.write_text("{}")
    files = [str(kept), *(str(kept.with_name(name)) for name in ("gone", "disconnect", "launcher.conf"))]
    assert hookrun(project, "uninstall", "claude", "--dry-run", "--json").json["removed"] == files
    done = hookrun(project, "uninstall", "claude", "--json")
    assert done.json["removed"] == files
    assert "removed the leftover" in str(done.json["notes"])
    assert not kept.exists()
    path.write_text(json.dumps(settings))
    assert "still names" not in hookrun(project, "uninstall", "claude").stderr, "what is not there does not stay"
    assert "claude: not installed, nothing changed" in hookrun(project, "uninstall", "claude").stdout


def test_a_text_about_an_agent_does_not_silence_hookrun_for_it(project: Project) -> None:
    """Events that Copilot sends through Claude's settings are answered, unless its own handler really runs hookrun."""
    project.user_hooks({"name": "guard", "command": "exit 2"})
    assert hookrun(project, "install", "claude", "--scope", "project").status == 0
    line = wired_line(project, "claude", "PreToolUse", "project")
    path = _write(project, "copilot", "echo hookrun fire --agent AGENT", "project")
    message = {**before_tool(project, "copilot"), "timestamp": "2026-11-20T15:58:02.545Z"}
    assert b"deny" in run_line(project, line, message).stdout
    path.write_text(path.read_text().replace("echo ", ""))
    assert run_line(project, line, message).stdout == b""


def test_a_handler_without_a_shell_is_shown_with_its_arguments(project: Project) -> None:
    """Its first word alone does not show what it runs."""
    path = _write(project, "claude", "hookrun", "user")
    handler = {"type": "command", "command": "hookrun", "args": ["fire", "--agent", "claude"]}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [handler]}]}}))
    assert 'by a handwritten line: "hookrun fire --agent claude"' in hookrun(project, "doctor", "claude").stdout
