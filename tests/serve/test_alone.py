"""What launchers answer alone is what hookrun would: launcher.conf has its rule, for each agent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.launch.client import compiled_client
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.conftest import Project, copy_package
from tests.fire.agents import AGENTS, Agent, Json, Told, run
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(compiled_client() is None, reason="there is no compiled client")

GUARD: dict[str, Any] = {"name": "guard", "matcher": "bash", "command": "true", "on_failure": "block"}


class Launched:
    """An account with launchers, of a hookrun that can be broken or removed."""

    def __init__(self, directory: Path, *agents: str) -> None:
        self.project = Project(directory)
        self.package = copy_package(directory / "lib" / "hookrun")
        main = str(self.package / "__main__.py")
        done = subprocess.run(
            [sys.executable, "-I", main, "install", *agents, "--all-events", "--trust"],
            cwd=self.project.root,
            env=self.project.environment(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        self.user_hooks()

    def user_hooks(self, *hooks: dict[str, Any], **settings: object) -> None:
        """Configure these hooks, for good: what has just been written is not cached."""
        self.project.user_hooks(*hooks, warm="off", **settings)
        self.age()

    def age(self) -> None:
        """Make the config files old enough to be cached, and have them be seen."""
        for path in (self.project.home / ".config/hookrun/hooks.json", self.project.root / "coder.json"):
            if path.exists():
                os.utime(path, (1e9, 1e9))

    def fire(self, agent: Agent, message: Json, *options: str) -> Told:
        """Run an agent's launcher as its settings say."""
        launcher = self.project.home / ".local/share/hookrun" / agent.name
        words = [str(launcher), agent.events["pre"], "--home", str(self.project.home), *options]
        return Told(agent, run(self.project, words, stdin=message))

    def break_it(self) -> None:
        """Leave hookrun so that no run gives an answer."""
        (self.package / "fire" / "invocation.py").write_text("import os\nos.kill(os.getpid(), 9)\n")


@pytest.fixture
def launched(tmp_path: Path) -> Callable[..., Launched]:
    """Return a function that returns such an account."""
    return lambda *agents: Launched(Path(tempfile.mkdtemp(dir=tmp_path)), *agents)


def why(told: Told) -> str:
    """Return the reason of a refusal that was written without a call; one of Cline's ends its run."""
    return str(told.json["errorMessage"] if told.agent.name == "cline" else told.reason)


def refused(told: Told) -> bool:
    """Return whether the tool does not run."""
    return told.status in {0, 2} and told.reason is not None


CONFIGS: dict[str, tuple[list[dict[str, Any]], dict[str, object]]] = {
    "no hook": ([], {}),
    "a guard": ([GUARD], {}),
    "a guard of any tool": ([{**GUARD, "matcher": None}], {}),
    "no guard": ([{**GUARD, "on_failure": "continue"}], {}),
    "one of another event": ([{**GUARD, "event": "post_tool_use"}], {}),
    "one that advises": ([{**GUARD, "mode": "advise"}], {}),
    "one that is off": ([{**GUARD, "mode": "off"}], {}),
    "one for another agent": ([{**GUARD, "agents": ["cline"]}], {}),
    "one for this agent": ([{**GUARD, "agents": ["claude"]}], {}),
    "a guard, and errors let calls continue": ([GUARD], {"on_error": "continue"}),
    "errors block": ([], {"on_error": "block"}),
}
"""Hooks and settings of the user's."""


@pytest.mark.slow
@rows("name", CONFIGS)
def test_a_launcher_decides_as_hookrun_does(name: str, launched: Callable[..., Launched]) -> None:
    """Where an error in hookrun keeps it from judging the call, and where no run gives an answer."""
    account, hooks = launched("claude"), CONFIGS[name]
    agent = Agent("claude", account.project)
    account.user_hooks(
        *({key: each for key, each in hook.items() if each is not None} for hook in hooks[0]), **hooks[1]
    )
    with (account.package / "fire" / "agent.py").open("a") as file:
        file.write("\n\nAgentFire._fire = lambda self: 1 / 0\n")
    judged = refused(account.fire(agent, agent.shell("ls")))
    account.break_it()
    assert refused(account.fire(agent, agent.shell("ls"))) == judged


@pytest.mark.slow
@rows("name", AGENTS)
def test_each_agent_is_refused_in_its_own_form(name: str, launched: Callable[..., Launched]) -> None:
    """By a broken hookrun, of which the log says it after the next run, and by a removed one; it has the ways out."""
    account = launched(name)
    agent = Agent(name, account.project)
    account.user_hooks(GUARD)
    assert account.fire(agent, agent.shell("ls")).reason is None
    disconnect = f"`{account.project.home}/.local/share/hookrun/disconnect`"
    kept = (account.package / "fire" / "invocation.py").read_text()
    account.break_it()
    reason = why(account.fire(agent, agent.shell("ls")))
    assert "hookrun ended before it answered, so the call was not run; try again" in reason
    assert "`hookrun disable --all --for 10m`" in reason
    assert disconnect in reason
    (account.package / "fire" / "invocation.py").write_text(kept)
    before = len(account.project.audit())
    assert account.fire(agent, agent.shell("ls")).reason is None
    [record] = [each for each in account.project.audit()[before:] if "launcher" in str(each.get("error"))]
    assert (record["agent"], record["event"], record["action"]) == (name, "pre_tool_use", "block")
    shutil.rmtree(account.package)
    os.utime(account.package.parent, (0, 0))
    reason = why(account.fire(agent, agent.shell("ls")))
    assert "hookrun is no longer installed, so the call was not run" in reason
    assert "install it again" in reason
    assert disconnect in reason
    patches = name == "codex"  # its patches are a `command`, too
    assert refused(account.fire(agent, agent.write("a.txt"))) == patches  # no guard is about this tool


def test_a_guard_of_a_project_counts_below_it(launched: Callable[..., Launched]) -> None:
    """Once it is approved, and only there."""
    account = launched("claude")
    project, agent = account.project, Agent("claude", account.project)
    project.hooks(GUARD)
    account.age()
    conf = project.home / ".local/share/hookrun/launcher.conf"
    assert account.fire(agent, agent.shell("ls")).reason is not None  # not approved, so it fails, and blocks
    assert "\nguard " not in conf.read_text()
    project.approve()
    assert f" {project.root}\n" in conf.read_text()
    assert account.fire(agent, agent.shell("ls")).reason is None
    account.break_it()
    assert account.fire(agent, agent.shell("ls")).reason is not None


@pytest.mark.parametrize(("lost", "tool"), [([], True), (["guards"], False)])
def test_a_guard_of_a_project_counts_that_was_not_there(
    launched: Callable[..., Launched], lost: list[str], *, tool: bool
) -> None:
    """As its approval says: a drive that is mounted later. Without the record of guards, at any tool."""
    account = launched("claude")
    project, agent = account.project, Agent("claude", account.project)
    project.hooks(GUARD)
    account.age()
    project.approve()
    for name in lost:
        shutil.rmtree(project.home / ".local/share/hookrun" / name)
    away = project.root.with_name("away")
    project.root.rename(away)
    project.user_hooks({"name": "other", "command": "true"}, warm="off")
    words = [str(project.home / ".local/share/hookrun/claude"), "PreToolUse", "--home", str(project.home)]
    message = {**agent.shell("ls"), "cwd": str(project.home)}
    for _ in range(2):
        done = subprocess.run(
            words, input=json.dumps(message).encode(), capture_output=True, cwd=project.home, check=False
        )
        assert (done.returncode, done.stdout) == (0, b"")
    conf = (project.home / ".local/share/hookrun/launcher.conf").read_text()
    assert f" {project.root}\n" in conf
    assert ('"bash"' in conf) is tool
    away.rename(project.root)
    account.break_it()
    assert account.fire(agent, agent.shell("ls")).reason is not None


def test_disabling_for_a_time_opens_the_gate_and_ends_by_itself(launched: Callable[..., Launched]) -> None:
    """The launcher knows its end."""
    account = launched("claude")
    agent = Agent("claude", account.project)
    account.user_hooks(GUARD)
    assert account.fire(agent, agent.shell("ls")).reason is None
    account.break_it()
    assert account.fire(agent, agent.shell("ls")).reason is not None
    disabled = at_terminal(account.project, "disable", "--all", "--for", "10m")
    assert disabled.status == 0, disabled.screen
    assert not refused(account.fire(agent, agent.shell("ls")))
    conf = account.project.home / ".local/share/hookrun/launcher.conf"
    lines = [line for line in conf.read_text().splitlines() if line.startswith("guard claude PreToolUse ")]
    [until] = {line.split()[3] for line in lines}
    store = json.loads((account.project.home / ".local/share/hookrun/trust.json").read_text())
    assert int(until) == int(store["disabled"][0]["until"])


def test_an_install_knows_the_guards_that_are_there(project: Project) -> None:
    """It need not be run first."""
    project.user_hooks(GUARD)
    assert hookrun(project, "install", "claude", "--trust").status == 0
    conf = (project.home / ".local/share/hookrun/launcher.conf").read_text()
    assert "guard claude PreToolUse 0 " in conf
    assert hookrun(project, "install", "claude", "--trust").status == 0
    assert (project.home / ".local/share/hookrun/launcher.conf").read_text() == conf
