"""What runs a command: processes of the agents' names above it, who opened its terminal, and every place of a user.

The trees are real: `sh`, and `script`, which opens a terminal, copied under the names of other programs. They are cut
off from this process and its environment, so that it makes no difference what runs the tests.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hookrun.agents import AGENTS, MARKERS_OF_OTHERS, load
from tests.conftest import Project
from tests.rows import rows
from tests.waiting import until

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/stat") or shutil.which("script") is None or shutil.which("setsid") is None,
    reason="it needs /proc, and script(1) and setsid(1) of util-linux",
)
DECISION = "disable", "--all", "--for", "1m"


class Tree:
    """A project, and processes above a decision about its hooks, by the names of their programs."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.directory = project.root.parent / "programs"
        self.result = project.root.parent / "result"
        self.store = project.home / ".local/share/hookrun/trust.json"
        self.directory.mkdir()

    def program(self, name: str, like: str) -> str:
        """Return the path of a copy of a program with another name, or in another folder."""
        path = self.directory / name
        if not path.exists():  # one that runs cannot be written
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(shutil.which(like) or like, path)
        return str(path)

    def shell(self, name: str, line: str) -> str:
        """Return the line of a process of this name that waits for a line."""
        return f"{shlex.quote(self.program(name, 'sh'))} -c {shlex.quote(f'{line}; true')}"

    def terminal(self, name: str, line: str) -> str:
        """Return the line of a process of this name that opens a terminal for a line."""
        return f"{shlex.quote(self.program(name, 'script'))} -qec {shlex.quote(f'{line}; true')} /dev/null"

    @property
    def decision(self) -> str:
        """The line of a decision that only the user may make, with its output and then its status in files."""
        return self.line(*DECISION)

    def line(self, *words: str) -> str:
        """Return the line of a command, whose result it keeps."""
        kept = {name: shlex.quote(f"{self.result}.{name}") for name in ("new", "said")}
        return (
            f"{shlex.join(self.project.command(*words))} > {kept['said']}; "
            f"echo $? > {kept['new']}; mv {kept['new']} {shlex.quote(str(self.result))}"
        )

    def run(self, line: str, **variables: str) -> str:
        """Run a line cut off from this process; return "" if the decision was made, else why it was not."""
        environment = {"HOME": str(self.project.home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        environment |= {"NO_COLOR": "1", **variables}
        screen = self.result.with_suffix(".screen")
        for each in (self.result, self.store):
            each.unlink(missing_ok=True)
        with open(screen, "wb") as output:
            subprocess.run(
                ["sh", "-c", 'setsid sh -c "$0" & exit', f"exec {line}"],
                cwd=self.project.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=True,
            )
        until(self.result.exists, lambda: screen.read_text(errors="replace"))
        said = " ".join(screen.read_text(errors="replace").split())
        assert self.store.exists() == (self.result.read_text().strip() == "0"), said
        return "" if self.store.exists() else said


ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(project: Project) -> Tree:
    """A project without hooks."""
    return Tree(project)


# --- an agent above


@rows(
    "agent, title",
    [*((name, load(name).DISPLAY_NAME) for name in AGENTS), *((name, name) for name in MARKERS_OF_OTHERS)],
)
def test_below_an_agents_program_nothing_is_decided(tree: Tree, agent: str, title: str) -> None:
    """At a terminal of its own and without a variable of it, in the user's own terminal."""
    said = tree.run(tree.terminal("sshd", tree.shell(agent, tree.terminal("script", tree.decision))))
    assert f"cannot disable hooks: it runs below {title} (`{agent}`, process " in said
    assert "hint: run it yourself, in a terminal" in said


@rows(
    "title, path",
    [
        ("Qwen Code", "node_modules/@qwen-code/qwen-code/cli.js"),
        ("Gemini CLI", "node_modules/@google/gemini-cli/bundle/gemini.js"),
        ("Gemini CLI", "node_modules/.bin/gemini"),
        ("Claude Code", "node_modules/@anthropic-ai/claude-agent-sdk/cli.js"),
        ("Copilot CLI", "lib/node_modules/@github/copilot/index.js"),
    ],
)
def test_an_agent_that_an_interpreter_runs(tree: Tree, title: str, path: str) -> None:
    """By its script, behind the interpreter's options."""
    script = tree.directory / path
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f"{tree.decision}; true\n")
    said = tree.run(tree.terminal("sshd", f"{shlex.quote(tree.program('node', 'sh'))} -u {shlex.quote(str(script))}"))
    assert f"it runs below {title} (`{script.name}`, process " in said


def test_a_program_that_only_works_on_an_agents_files_is_none(tree: Tree) -> None:
    """Its name as an argument, or as a folder of the project."""
    (tree.directory / "claude").mkdir()
    (tree.directory / "claude" / "build").write_text(f"{tree.decision}; true\n")
    line = f"{shlex.quote(tree.program('node', 'sh'))} {shlex.quote(str(tree.directory / 'claude/build'))} claude"
    assert tree.run(tree.terminal("sshd", line)) == ""


# --- an agent's variable


@rows("name", sorted({*(each for agent in AGENTS for each in load(agent).ENV_MARKERS), "HOOKRUN_CHAIN"}))
def test_an_agents_variable_is_named(tree: Tree, name: str) -> None:
    """Where no process of an agent is left."""
    said = tree.run(tree.terminal("sshd", tree.decision), **{name: "1;"})
    assert f"cannot disable hooks: {name} is set, so an agent or a hook runs this command" in said


# --- the terminal's other end, where the chain is cut


def test_a_terminal_that_a_script_opened_after_its_starter_ended(tree: Tree) -> None:
    """`setsid script` with an empty environment: the message names the program."""
    said = tree.run(tree.terminal("script", tree.decision))
    assert "no login, ssh, tmux, container or editor has opened its terminal, but `script`, process " in said


def test_a_terminal_that_a_line_of_python_opened(tree: Tree) -> None:
    """The module pty."""
    program = f"import pty; pty.spawn(['sh', '-c', {tree.decision!r}])"
    said = tree.run(shlex.join([sys.executable, "-c", program]))
    assert "has opened its terminal, but `" in said


def test_a_terminal_that_an_agent_holds(tree: Tree) -> None:
    """The command is no descendant of the agent: only the terminal leads to it."""
    folder, result = map(shlex.quote, (str(tree.result.parent), str(tree.result)))
    wait = f"while [ -d {folder} ] && ! [ -e {result} ]; do sleep 0.05; done"  # which the test may be first to remove
    cut = f"setsid --fork sh -c {shlex.quote(tree.decision)} <$(tty) >$(tty) 2>&1"
    said = tree.run(tree.terminal("sshd", tree.shell("codex", tree.terminal("script", f"{cut}; {wait}"))))
    assert "cannot disable hooks: Codex CLI (`codex`, process " in said
    assert ") has opened its terminal" in said


@rows("before", ["setsid", "nohup"])
def test_without_a_terminal_after_the_starter_ended(tree: Tree, before: str) -> None:
    """A digest given in words needs no terminal, but a starter."""
    tree.project.hooks({"name": "guard", "event": "stop", "command": "true"})
    printed = subprocess.run(
        tree.project.command("trust", "--digest"),
        cwd=tree.project.root,
        env=tree.project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    line = tree.line("trust", "--yes", printed.stdout.split()[0])
    said = tree.run(f"{before} sh -c {shlex.quote(line)}")
    assert "cannot approve hooks: its starter has ended (`" in said


# --- the places of a user


@rows(
    "name",
    ["sshd", "login", "tmux", "screen", "mosh-server", "code", "emacs", "java", "gnome-terminal-server", "a-new-one"],
)
def test_a_place_of_the_user_is_one(tree: Tree, name: str) -> None:
    """Each as a process that the system has started, also one that hookrun does not know."""
    assert tree.run(tree.terminal(name, tree.shell("sh", tree.decision))) == ""


def test_a_terminal_of_the_user_within_another(tree: Tree) -> None:
    """`script` in a session, which leads to it."""
    assert tree.run(tree.terminal("sshd", tree.shell("bash", tree.terminal("script", tree.decision)))) == ""


def test_sudo(tree: Tree) -> None:
    """With a terminal of its own."""
    assert tree.run(tree.terminal("sshd", tree.shell("bash", tree.terminal("sudo", tree.decision)))) == ""


def test_an_editors_server_in_a_script(tree: Tree) -> None:
    """Its Node opens the terminal, after the connection has started it and ended."""
    node = tree.terminal(".vscode-server/bin/node", tree.decision)
    assert tree.run(node) == ""


@pytest.mark.skipif(shutil.which("tmux") is None, reason="it needs tmux")
def test_the_users_tmux(tree: Tree) -> None:
    """Its server is a child of init."""
    socket = shlex.quote(str(tree.directory / "socket"))
    try:
        start = f"tmux -S {socket} -f /dev/null new-session -d {shlex.quote(tree.decision)}"
        assert tree.run(f"sh -c {shlex.quote(start)}", TERM="screen") == ""
    finally:
        subprocess.run(["tmux", "-S", str(tree.directory / "socket"), "kill-server"], check=False, capture_output=True)


NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", *(["--map-root-user"] if os.geteuid() else [])]


def _can_have_a_namespace() -> bool:
    return (
        shutil.which("nsenter") is not None
        and shutil.which("unshare") is not None
        and subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not _can_have_a_namespace(), reason="it needs unshare(1), nsenter(1) and the right to a namespace")
@rows("first", ["sleep", "node"])
def test_a_command_in_a_container(tree: Tree, first: str) -> None:
    """As by `docker exec`: without a parent in the container, at a terminal that is held outside of it."""
    container = subprocess.Popen([*NAMESPACE, tree.program(first, "sleep"), "1000"], stderr=subprocess.DEVNULL)
    try:
        children = Path(f"/proc/{container.pid}/task/{container.pid}/children")
        inside = until(lambda: children.read_text().split(), "the namespace has no process")[0]
        until(lambda: first in Path(f"/proc/{inside}/cmdline").read_text(), "the program has not begun")
        enter = ["nsenter", "-t", inside, "-p", "-m", *(["-U", "--preserve-credentials"] if os.geteuid() else [])]
        line = f"{shlex.join(enter)} --wd={shlex.quote(str(tree.project.root))} sh -c {shlex.quote(tree.decision)}"
        assert tree.run(tree.terminal("script", line)) == ""
    finally:
        container.kill()
        container.wait()
