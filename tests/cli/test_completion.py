"""Completions on Tab, which run or expand nothing of a project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun

if TYPE_CHECKING:
    from tests.conftest import Project

BIN = Path(sys.prefix) / "bin"
SHELLS = ("bash", "zsh", "fish")

BASH = """
eval "$(hookrun completion bash)"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_hookrun_completion hookrun
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(project: Project, *words: str) -> list[str]:
    """Return what bash itself offers after these words, the last of which is not whole."""
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH, "bash", *words],
        capture_output=True,
        text=True,
        cwd=project.root,
        env=project.environment(PATH=f"{BIN}:/usr/local/bin:/usr/bin:/bin"),
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def completed(project: Project, shell: str, *words: str) -> str:
    """Return what hookrun answers to the completion script of a shell."""
    where = words[-1] if shell == "fish" else str(len(words) - 1)
    env = {"_HOOKRUN_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": where}
    done = subprocess.run(
        project.command(), capture_output=True, text=True, cwd=project.root, env=project.environment(**env), check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ex",), ["explain", "export"]),
        (("explain", "pre_t"), ["pre_tool_use", "pre_tool_execution"]),
        (("explain", "Befo"), ["BeforeAgent", "BeforeTool", "BeforeToolExecution", "BeforeRequest", "BeforeInference",
                               "BeforeModel"]),
        (("list", "--event", "mine"), ["mine_too"]),
        (("explain", "stop", "--ho"), ["--hook"]),
        (("explain", "stop", "--hook", ""), ["guard", "tests"]),
        (("disable", "g"), ["guard"]),
        (("install", "claude", "c"), ["claude", "codex", "copilot", "cline"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("fire", "--a"), ["--agent"]),
        (("fire", "--agent", "ge"), ["gemini"]),
        (("fire", "sto"), ["stop"]),
        (("help", "ev"), ["events"]),
        (("config", "sh"), ["show"]),
        (("remove", "g"), ["guard"]),
        (("try", "ls", "--hook", "g"), ["guard"]),
        (("init", "--agent", "ge"), ["gemini"]),
        (("init", "--recipe", "no-f"), ["no-force-push"]),
    ],
)  # fmt: skip
@pytest.mark.sampled(6)
def test_what_bash_offers(project: Project, words: tuple[str, ...], expected: list[str]) -> None:
    """Commands, options, events by any name, this project's own events and hooks, agents."""
    project.hooks(
        {"name": "guard", "command": "true"}, {"name": "tests", "event": "stop", "command": "true"}, events=["mine_too"]
    )
    assert offered(project, "hookrun", *words) == expected


@pytest.mark.slow
def test_recipes_that_are_declared_are_offered_to_be_updated(project: Project) -> None:
    """Not those that are not, and no other hook."""
    project.hooks({"name": "guard", "command": "true"})
    assert hookrun(project, "add", "no-force-push").status == 0
    assert offered(project, "hookrun", "update", "") == ["no-force-push"]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_its_script_and_its_answer(project: Project, shell: str) -> None:
    """Each script asks through the variable that hookrun listens to, and each gets the hook's name."""
    project.hooks({"name": "guard", "command": "true"})
    script = hookrun(project, "completion", shell)
    assert (script.status, script.stderr) == (0, "")
    assert f"_HOOKRUN_COMPLETE={shell}_complete" in script.stdout
    assert hookrun(project, "completion", SHELL=f"/usr/bin/{shell}").stdout == script.stdout
    assert "guard" in completed(project, shell, "hookrun", "disable", "gu")


def test_what_a_stranger_called_a_hook_is_never_put_into_a_command_line(project: Project) -> None:
    """A name that is more than one word to a shell is not offered; nothing is run or expanded."""
    names = ["$(touch ran)", "`touch ran`", "; touch ran", "*", "a b", "-rf", "a,b", "good"]
    hooks: list[dict[str, object]] = [{"name": name, "command": "touch ran"} for name in names]
    project.hooks(*hooks)
    assert offered(project, "hookrun", "disable", "") == ["good"]
    assert not (project.root / "ran").exists()


@pytest.mark.slow
def test_trouble_is_silent(project: Project) -> None:
    """A config that cannot be read offers no completions and prints nothing while the user types."""
    (project.root / "coder.json").write_text("{")
    assert offered(project, "hookrun", "disable", "g") == []
    assert offered(project, "hookrun", "nonsense", "g") == []
