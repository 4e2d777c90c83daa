"""The line in a project's settings yields to the user's, and only then: no hook runs twice, none is lost."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrun import agents
from hookrun.wiring.presence import user_wiring_answers
from tests.agents.test_callers import message
from tests.cli.command import hookrun
from tests.cli.wiring import ALL, BEFORE_TOOL, before_tool, launcher, run_line, settings_file, wired_line
from tests.conftest import Project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINES_OF_INSTALL = pytest.mark.only_cold("starts the launcher of the test's own home, which has no server")
ASKS_IN_PROCESS = pytest.mark.only_cold("decides in the test's own process")
IN_LINES = [agent for agent in ALL if agent not in ("opencode", "kilo", "pi")]


def _both_wired(project: Project, agent: str) -> tuple[str, str]:
    """Install an agent in both scopes, as a project and a user do; return the lines, the user's first."""
    project.user_hooks({"name": "count", "command": "echo ran >> $HOOKRUN_CONFIG_DIR/ran"})
    subprocess.run(["git", "init", "--quiet", project.root], check=True)  # by which some lines find the project's root
    assert hookrun(project, "install", agent, "--trust").status == 0
    assert hookrun(project, "install", agent, "--scope", "project", "--trust").status == 0
    line = wired_line(project, agent, BEFORE_TOOL[agent])
    return line, wired_line(project, agent, BEFORE_TOOL[agent], "project")


def _count(project: Project) -> int:
    ran = project.home / ".config" / "hookrun" / "ran"
    return len(ran.read_text().splitlines()) if ran.exists() else 0


@LINES_OF_INSTALL
@pytest.mark.sampled(6)
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
    shutil.rmtree(settings_file(project, agent).parent)
    run_line(project, ours, message)
    assert _count(project) == 2  # alone the project's answers


@ASKS_IN_PROCESS
def test_where_the_persons_cannot_answer_the_projects_does(project: Project) -> None:
    """Settings that cannot be read, another event, a program that is gone: otherwise the hooks would not run at all."""
    _both_wired(project, "claude")
    path, home = settings_file(project, "claude"), str(project.home)
    text, started = path.read_text(), launcher(project, "claude")
    earlier = f'"exec {started} PreToolUse --home {home}"'
    by_shell = text.replace('"args": [],', "").replace(f'"{started}.PreToolUse"', earlier)
    changed = {
        "broken": text[:-3],
        "other event": text.replace('"PreToolUse"', '"PostToolUse"'),
        "program gone": text.replace("/.local/", "/gone/.local/"),
        "foreign": text.replace("hookrun/claude", "hookrun/other"),
        "a text": by_shell.replace('"command": "exec /', '"command": "echo /'),
        "piped away": by_shell.replace(f"--home {home}", f"--home {home} > /dev/null"),
        "of a project": by_shell.replace(" --home", " --scope project --home"),
        "arguments": text.replace('"args": []', '"args": ["--scope", "project"]'),
        "no list": text.replace('"args": []', '"args": null'),
        "narrowed": text.replace('"hooks": [', '"matcher": "Write", "hooks": ['),
    }
    assert text not in changed.values()
    answered = {}
    for trouble, written in {"": text, "by a shell": by_shell, **changed}.items():
        path.write_text(written)
        answered[trouble] = user_wiring_answers(agents.load("claude"), "PreToolUse", home)
    assert answered == {"": True, "by a shell": True, **dict.fromkeys(changed, False)}


def _replace_by_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@LINES_OF_INSTALL
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "spoil"), [("claude.PreToolUse", _replace_by_a_directory), ("launcher.conf", os.unlink)]
)
def test_where_the_persons_launcher_does_not_start_the_projects_answers(
    project: Project, name: str, spoil: Callable[[Path], None]
) -> None:
    """The settings are as they were."""
    _, ours = _both_wired(project, "claude")
    spoil(launcher(project, name))
    run_line(project, ours, before_tool(project, "claude"))
    assert _count(project) == 1


@ASKS_IN_PROCESS
def test_where_codex_would_not_run_the_persons_the_projects_answers(project: Project) -> None:
    """Codex skips untrusted hooks: such a line does not count."""
    _both_wired(project, "codex")
    config = project.home / ".codex" / "config.toml"
    text, codex = config.read_text(), agents.load("codex")
    answered = []
    for written in (text, "", text.replace("trusted_hash", "enabled = false\ntrusted_hash")):
        config.write_text(written)
        answered.append(user_wiring_answers(codex, "PreToolUse", str(project.home)))
    assert answered == [True, False, False]


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


def _groks_message(project: Project) -> dict[str, object]:
    """Return what Grok Build sends through Claude's settings."""
    return {**message("grok", "run_terminal_command", command="echo hi"), "cwd": str(project.root)}


PAIRS: dict[str, tuple[Callable[[Project], dict[str, object]], list[tuple[str, str]]]] = {
    "grok": (_groks_message, [("claude", "user"), ("claude", "project"), ("grok", "user"), ("grok", "project")]),
    "copilot": (_copilots_message, [("claude", "project"), ("copilot", "user"), ("copilot", "project")]),
}
"""An agent that reads Claude's settings -> its message, and all settings in which it runs hooks."""


@LINES_OF_INSTALL
@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("agent", "connected"),
    [
        (agent, connected)
        for agent, (_, places) in PAIRS.items()
        for size in range(1, len(places) + 1)
        for connected in itertools.combinations(places, size)
    ],
)
def test_an_agent_that_reads_another_ones_settings_is_judged_once(
    project: Project, agent: str, connected: tuple[tuple[str, str], ...]
) -> None:
    """Wherever the two are connected, in the project, in the account or in both: one answer, and the hook runs once."""
    project.user_hooks({"name": "count", "command": "echo ran >> $HOOKRUN_CONFIG_DIR/ran; exit 2"})
    for name, scope in connected:
        assert hookrun(project, "install", name, "--scope", scope).status == 0
    lines = [wired_line(project, name, "PreToolUse", scope) for name, scope in connected]
    sent = PAIRS[agent][0](project)
    answers = [run_line(project, line, sent).stdout for line in lines]
    assert ([b"deny" in answer for answer in answers].count(True), _count(project)) == (1, 1)
    assert [answer for answer in answers if b"deny" not in answer] == [b""] * (len(lines) - 1)


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
