"""`--scope managed`: hooks that do not hang on a user's settings."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from hookrun.agents import load
from hookrun.config import discovery
from tests.cli.command import hookrun
from tests.cli.wiring import BEFORE_TOOL, before_tool, settings_file, tree
from tests.conftest import copy_package

if TYPE_CHECKING:
    from tests.conftest import Project

ABLE = ("claude", "codex", "gemini", "qwen")
UNABLE = ("copilot", "cline", "opencode", "kilo", "pi", "vibe", "grok")
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
    return shlex.split(group["hooks"][0]["command"])


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


GUARD: dict[str, object] = {
    "name": "guard",
    "event": "pre_tool_use",
    "command": "echo not this >&2; exit 2",
    "on_failure": "block",
}
# What there is instead of hookrun, or what it does.
BROKEN: dict[str, str | None] = {
    "killed": "import os\nos.kill(os.getpid(), 9)\n",
    "terminated": "import os\nos.kill(os.getpid(), 15)\n",
    "half an answer": "import os\nprint('{', flush=True)\nos._exit(1)\n",
    "no program": "import os\nos._exit(126)\n",
    "no Python": None,
    "removed": None,
}
# What the machine's config may hold.
MACHINES = (
    json.dumps({"hooks": [GUARD]}),
    json.dumps({"hooks": [GUARD]})[:-9],
    json.dumps({"include": ["guards.json"]}),
    json.dumps({"hooks": [{"recipe": "no-force-push"}]}),
    '{"hooks": [',
)


class Machine:
    """A machine with a guard in its config, on which an agent's managed line starts a hookrun that can be broken."""

    def __init__(self, project: Project, system: Path, agent: str) -> None:
        self.project = project
        self.package = copy_package(project.temporary / "it's" / "hookrun")
        self.python = project.temporary / "python"
        self.python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        self.python.chmod(0o755)
        self.config = system / "etc" / "hookrun" / "hooks.json"
        self.message = before_tool(project, agent)
        project.user_hooks(GUARD)  # another process has the real machine's config
        self.config.write_text(json.dumps({"hooks": [GUARD]}))
        assert hookrun(project, "install", agent, "--scope", "managed").status == 0
        self.words = _command(agent)
        at = self.words.index("fire") - 3
        self.words[at : at + 3] = str(self.python), "-I", str(self.package / "__main__.py")

    def run(self) -> subprocess.CompletedProcess[bytes]:
        """Run the line as the agent does."""
        return subprocess.run(
            ["/bin/sh", "-c", shlex.join([*self.words, "--home", str(self.project.home)])],
            input=json.dumps(self.message).encode(),
            capture_output=True,
            cwd=self.project.root,
            env=self.project.environment(),
            check=False,
        )

    def break_it(self, cause: str) -> None:
        """Leave hookrun so that it gives no answer."""
        source = BROKEN[cause]
        if source is not None:
            (self.package / "fire" / "invocation.py").write_text(source)
        elif cause == "removed":
            shutil.rmtree(self.package)
        else:
            self.python.unlink()


REFUSED = (
    b"gave no answer, so the call was not run; if trying again does not help, hookrun must be installed again; "
    b"managed hooks stay on: whoever manages this machine"
)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ABLE)
def test_a_managed_line_refuses_by_itself(project: Project, system: Path, agent: str) -> None:
    """Where the hookrun that it starts gives no answer, and the machine's config may have a guard."""
    machine = Machine(project, system, agent)
    asked = machine.run()
    assert (asked.returncode, b"not this" in asked.stdout) == (0, True), asked
    for cause in BROKEN:
        machine.break_it(cause)
        done = machine.run()
        assert (done.returncode, b"deny" in done.stdout, REFUSED in done.stdout) == (0, True, True), (cause, done)
        json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(("cause", "status", "warned"), [("killed", 137, False), ("removed", 0, True)])
def test_a_managed_line_refuses_where_the_machine_has_a_config(
    project: Project, system: Path, cause: str, status: int, *, warned: bool
) -> None:
    """What it declares is not read: it counts as having a guard. Without one the user is notified."""
    machine = Machine(project, system, "claude")
    machine.break_it(cause)
    for text in MACHINES:
        machine.config.write_text(text)
        done = machine.run()
        assert (REFUSED in done.stdout, done.returncode) == (True, 0)
    machine.config.unlink()
    done = machine.run()
    assert (REFUSED in done.stdout, done.returncode) == (False, status)
    assert (b"hookrun is no longer at" in done.stdout) == warned


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
