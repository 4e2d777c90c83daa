"""`--scope managed`: hooks that do not hang on a user's settings."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from hookrun.agents import load
from hookrun.config import discovery
from tests.cli.command import hookrun
from tests.cli.wiring import BEFORE_TOOL, before_tool, settings_file, tree

if TYPE_CHECKING:
    from tests.conftest import Project

ABLE = ("claude", "codex", "gemini", "qwen")
UNABLE = ("copilot", "cline", "opencode")
NONE = "/usr/bin:/bin"
"""A PATH without agents."""

WITH_MANAGED_FILE = Path(__file__).parent / "programs" / "with_managed_file.py"


@pytest.fixture(autouse=True)
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the administrator's files of agents and of hookrun below a directory of the test's."""
    root = tmp_path / "system"
    for agent in ABLE:
        spec = cast("dict[str, str]", load(agent).INSTALL)
        monkeypatch.setitem(spec, "managed_hooks", f"{root}{spec['managed_hooks']}")
    monkeypatch.setattr(discovery, "MANAGED_DIRECTORY", str(root / "etc" / "hookrun"))
    config = root / "etc" / "hookrun" / "hooks.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"hooks": [{"name": "guard", "event": "pre_tool_use", "args": ["/bin/false"]}]}))
    return root


def _settings(agent: str) -> Path:
    return Path(load(agent).INSTALL["managed_hooks"])


def _command(agent: str) -> list[str]:
    (group,) = json.loads(_settings(agent).read_text())["hooks"][BEFORE_TOOL[agent]]
    line = group["hooks"][0]["command"]  # with an answer behind it, in case hookrun is removed
    return shlex.split(line[line.index("exec ") : line.index(";")])


@pytest.mark.parametrize("agent", ABLE)
def test_it_is_wired_where_the_agent_reads_managed_settings(project: Project, system: Path, agent: str) -> None:
    """Without a home or a launcher, as it is for every user; the file's other entries stay to the byte."""
    path = _settings(agent)
    path.parent.mkdir(parents=True)
    path.write_text('{\n\n  "hooks": {}\n}')
    before = tree(system, project.home)
    dry = hookrun(project, "install", agent, "--scope", "managed", "--dry-run")
    assert (dry.status, f"+++ {path}" in dry.stdout, tree(system, project.home)) == (0, True, before)
    done = hookrun(project, "install", agent, "--scope", "managed")
    assert done.status == 0, done.stderr
    line = _command(agent)
    assert line[line.index("fire") :][:4] == ["fire", "--agent", agent, BEFORE_TOOL[agent]]
    assert line[-2:] == ["--scope", "managed"]
    assert "--home" not in line
    assert tree(project.home) == {key: each for key, each in before.items() if key.startswith(str(project.home))}
    again = hookrun(project, "install", agent, "--scope", "managed")
    assert "already installed" in again.stdout
    assert hookrun(project, "uninstall", agent, "--scope", "managed").status == 0
    assert tree(system, project.home) == before


@pytest.mark.parametrize("agent", UNABLE)
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_an_agent_without_managed_hooks_says_so(project: Project, agent: str, command: str) -> None:
    """It is an error, and nothing is written."""
    done = hookrun(project, command, agent, "--scope", "managed")
    assert done.status == 1
    assert "reads no hooks of an administrator: there is no managed scope" in done.stderr
    assert hookrun(project, "doctor", agent).status == 1


def _fire(project: Project, command: list[str]) -> str:
    arguments = command[command.index("fire") :]
    done = subprocess.run(
        [sys.executable, str(WITH_MANAGED_FILE), str(_settings("claude")), *arguments, "--home", str(project.home)],
        input=json.dumps(before_tool(project, "claude")).encode(),
        capture_output=True,
        cwd=project.root,
        env=project.environment(),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_emptied_settings_of_the_user_switch_nothing_off(project: Project) -> None:
    """With both, each hook runs once: by the managed entry, whatever the user's settings hold."""
    project.user_hooks({"name": "mine", "command": "echo refused >&2; exit 2"})
    hookrun(project, "install", "claude")
    event = BEFORE_TOOL["claude"]
    users = ["fire", "--agent", "claude", event]
    assert "refused" in _fire(project, users)
    hookrun(project, "install", "claude", "--scope", "managed")
    assert _fire(project, users) == ""
    assert "the managed settings of Claude Code already fire PreToolUse" in json.dumps(project.audit())
    assert "refused" in _fire(project, _command("claude"))
    settings_file(project, "claude").write_text("{}")
    assert "refused" in _fire(project, _command("claude"))
    settings = _settings("claude")
    settings.write_text(settings.read_text().replace("hookrun/__main__.py", "gone/__main__.py"))
    assert "refused" in _fire(project, users)


@pytest.mark.parametrize("agent", ABLE)
def test_managed_hooks_without_managed_wiring_are_reported(project: Project, agent: str) -> None:
    """`status` and `doctor` say so, and name the command; not any more once it was run."""
    hookrun(project, "install", agent, "--trust")
    remedy = f"run `hookrun install {agent} --scope managed`"
    said = "the managed hooks are not connected in managed settings: guard"
    assert f"{said}: {remedy}" in hookrun(project, "status", PATH=NONE).stdout
    found = hookrun(project, "doctor", agent).stdout
    assert said in found
    assert remedy in found
    assert hookrun(project, "install", agent, "--scope", "managed").status == 0
    assert said not in hookrun(project, "status", PATH=NONE).stdout
    checked = hookrun(project, "doctor", agent, "--prove")
    assert said not in checked.stdout
    assert checked.status == 0, checked.stdout


def test_without_a_managed_scope_it_is_reported_too(project: Project) -> None:
    """There is nothing to run, and that is said."""
    hookrun(project, "install", "opencode")
    assert (
        "settings: guard: OpenCode reads no hooks of an administrator" in hookrun(project, "status", PATH=NONE).stdout
    )


@pytest.mark.parametrize(("agent", "stopped"), [("claude", False), ("qwen", True)])
def test_a_user_who_switches_hooks_off(project: Project, agent: str, *, stopped: bool) -> None:
    """Claude Code runs managed hooks all the same; other agents do not, unless the administrator sets the switch."""
    hookrun(project, "install", agent, "--scope", "managed")
    path = settings_file(project, agent)
    path.parent.mkdir(parents=True)
    path.write_text('{"disableAllHooks": true}')
    assert ("does not run hooks" in hookrun(project, "status", PATH=NONE).stdout) is stopped
