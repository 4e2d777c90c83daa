"""The line in a project's settings yields to the user's, and only then: no hook runs twice, none is lost."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.cli.wiring import ALL, BEFORE_TOOL, before_tool, launcher, launcher_conf, run_line, settings_file, wired_line
from tests.conftest import Project

if TYPE_CHECKING:
    from pathlib import Path

LINES_OF_INSTALL = pytest.mark.only_cold("starts the launcher of the test's own home, which has no server")
IN_LINES = [agent for agent in ALL if agent != "opencode"]


def _both_wired(project: Project, agent: str) -> tuple[str, str]:
    """Install an agent in both scopes, as a project and a user do; return the lines, the user's first."""
    project.user_hooks({"name": "count", "command": "echo ran >> $HOOKRUN_CONFIG_DIR/ran"})
    assert hookrun(project, "install", agent, "--trust").status == 0
    assert hookrun(project, "install", agent, "--scope", "project", "--trust").status == 0
    line = wired_line(project, agent, BEFORE_TOOL[agent])
    return line, wired_line(project, agent, BEFORE_TOOL[agent], "project")


def _count(project: Project) -> int:
    ran = project.home / ".config" / "hookrun" / "ran"
    return len(ran.read_text().splitlines()) if ran.exists() else 0


@LINES_OF_INSTALL
@pytest.mark.sampled(3)
@pytest.mark.parametrize("agent", IN_LINES)
def test_a_hook_runs_once_where_both_are_wired(project: Project, agent: str) -> None:
    """The user's line answers; the project's prints nothing, runs nothing, and records that it yielded."""
    user, ours = _both_wired(project, agent)
    message = before_tool(project, agent)
    done = run_line(project, ours, message)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert _count(project) == 0
    assert ["the user's settings of" in str(record["left_to"]) for record in project.audit()] == [True]
    run_line(project, user, message)
    assert _count(project) == 1


@LINES_OF_INSTALL
@pytest.mark.sampled(3)
@pytest.mark.parametrize("agent", IN_LINES)
def test_alone_the_projects_answers(project: Project, agent: str) -> None:
    """Without the user's line the project's runs the hooks."""
    _, ours = _both_wired(project, agent)
    shutil.rmtree(settings_file(project, agent).parent)
    run_line(project, ours, before_tool(project, agent))
    assert _count(project) == 1


@LINES_OF_INSTALL
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "trouble",
    [
        "broken",
        "other event",
        "program gone",
        "foreign",
        "a text",
        "piped away",
        "of a project",
        "narrowed",
        "arguments",
        "no list",
        "directory",
        "conf",
    ],
)
def test_where_the_persons_cannot_answer_the_projects_does(project: Project, trouble: str) -> None:
    """Settings that cannot be read, another event, a program that is gone: otherwise the hooks would not run at all."""
    _, ours = _both_wired(project, "claude")
    path = settings_file(project, "claude")
    text, started = path.read_text(), launcher(project, "claude")
    earlier = f'"exec {started} PreToolUse --home {project.home}"'
    by_shell = text.replace('"args": [],', "").replace(f'"{started}.PreToolUse"', earlier)
    changed = {
        "broken": text[:-3],
        "other event": text.replace('"PreToolUse"', '"PostToolUse"'),
        "program gone": text.replace("/.local/", "/gone/.local/"),
        "foreign": text.replace("hookrun/claude", "hookrun/other"),
        "a text": by_shell.replace('"command": "exec /', '"command": "echo /'),
        "piped away": by_shell.replace(f"--home {project.home}", f"--home {project.home} > /dev/null"),
        "of a project": by_shell.replace(" --home", " --scope project --home"),
        "arguments": text.replace('"args": []', '"args": ["--scope", "project"]'),
        "no list": text.replace('"args": []', '"args": null'),
        "narrowed": text.replace('"hooks": [', '"matcher": "Write", "hooks": ['),
        "directory": text + "\n",
        "conf": text + "\n",
    }
    assert changed[trouble] != text
    if trouble == "directory":
        launcher(project, "claude.PreToolUse").unlink()
        launcher(project, "claude.PreToolUse").mkdir()
    if trouble == "conf":
        launcher_conf(project).unlink()
    path.write_text(changed[trouble])
    run_line(project, ours, before_tool(project, "claude"))
    assert _count(project) == 1


@LINES_OF_INSTALL
@pytest.mark.parametrize("change", ["no trust", "switched off"])
def test_where_codex_would_not_run_the_persons_the_projects_answers(project: Project, change: str) -> None:
    """Codex skips untrusted hooks: such a line does not count."""
    _, ours = _both_wired(project, "codex")
    config = project.home / ".codex" / "config.toml"
    text = config.read_text() if config.exists() else ""
    config.write_text("" if change == "no trust" else text.replace("trusted_hash", "enabled = false\ntrusted_hash"))
    run_line(project, ours, before_tool(project, "codex"))
    assert _count(project) == 1


def _copilots_message(project: Project) -> dict[str, object]:
    """Return what Copilot sends through Claude's settings: like Claude's, with a timestamp and without a transcript."""
    return {**before_tool(project, "copilot"), "timestamp": "2026-11-20T15:58:02.545Z"}


@LINES_OF_INSTALL
def test_copilot_is_not_answered_twice(project: Project) -> None:
    """Through a project's Claude line, Copilot is left to its own line; only without one it is answered."""
    project.user_hooks({"name": "count", "command": "echo ran >> $HOOKRUN_CONFIG_DIR/ran; exit 2"})
    assert hookrun(project, "install", "claude", "--scope", "project").status == 0
    line = wired_line(project, "claude", "PreToolUse", "project")
    answered = run_line(project, line, _copilots_message(project))
    assert json.loads(answered.stdout)["permissionDecision"] == "deny"
    assert _count(project) == 1
    assert hookrun(project, "install", "copilot").status == 0
    left = run_line(project, line, _copilots_message(project))
    assert (left.returncode, left.stdout, _count(project)) == (0, b"", 1)
    own = run_line(project, wired_line(project, "copilot", "PreToolUse"), _copilots_message(project))
    assert json.loads(own.stdout)["permissionDecision"] == "deny"
    assert _count(project) == 2


@LINES_OF_INSTALL
def test_the_environment_does_not_say_where_the_persons_wiring_is(project: Project) -> None:
    """A project that sets its own directory as Claude's does not disable the hooks."""
    _, ours = _both_wired(project, "claude")
    fake = project.root / "fake"
    shutil.move(settings_file(project, "claude").parent, fake)
    run_line(project, ours, before_tool(project, "claude"), CLAUDE_CONFIG_DIR=str(fake))
    assert _count(project) == 1


def test_a_probe_sees_nothing_but_what_its_directory_declares(project: Project, tmp_path: Path) -> None:
    """With `--probe` neither the project's hooks nor the user's run; the record is in that directory too."""
    refuses: dict[str, object] = {"event": "pre_tool_use", "command": f"echo ran >> {project.home}/ran; exit 2"}
    project.hooks({**refuses, "name": "projects"})
    project.user_hooks({**refuses, "name": "persons"})
    probe = Project(tmp_path / "probe")
    probe.user_hooks({"name": "probes", "command": "true"})
    options = ("--probe", str(probe.home), "--home", str(project.home))
    line = " ".join(project.command("fire", "--agent", "claude", *options))
    done = run_line(project, line, before_tool(project, "claude"))
    assert (done.returncode, done.stdout) == (0, b"")
    assert not (project.home / "ran").exists()
    assert project.audit() == []
    assert [record["hook"] for record in probe.audit() if record["kind"] == "hook"] == ["probes"]
