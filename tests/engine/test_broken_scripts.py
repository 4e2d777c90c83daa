"""A script that its shell cannot run exits 2: a refusal by any policy, and the user learns that the hook is broken."""

from __future__ import annotations

import shutil
from itertools import product
from typing import TYPE_CHECKING

import pytest

from tests.fire.agents import Agent

if TYPE_CHECKING:
    from tests.conftest import Project

BROKEN = (
    "if true; then\necho x\n",
    'echo "no end\n',
    "echo checking >&2\nfi\n",
)
SHELLS = [name for name in ("sh", "bash", "dash") if shutil.which(name)]


def declared(project: Project, name: str, text: str, shell: str) -> dict[str, dict[str, object]]:
    """Return declarations of a script with this text, run by the shell: each form in which a hook can be declared."""
    path = project.script(f"{name}.sh", f"#!{shutil.which(shell)}\n{text}")
    return {
        f"{name} as a script": {"command": path},
        f"{name} by its shell": {"command": f"{shell} {path}"},
        f"{name} as args": {"args": [path]},
        f"{name} by its path": {"args": [shell, str(project.root / f"{name}.sh")]},
    }


@pytest.mark.parametrize("on_failure", ["continue", "block"])
@pytest.mark.parametrize("dialect", ["hookrun", "claude"])
def test_a_syntax_error_refuses_and_is_reported(project: Project, dialect: str, on_failure: str) -> None:
    """Action block, no failure kind, and the note `broken_script` in the audit and on stderr."""
    hooks = {
        name: hook
        for number, (text, shell) in enumerate(product(BROKEN, SHELLS))
        for name, hook in declared(project, f"{shell}-{number}", text, shell).items()
    }
    more: dict[str, object] = {"dialect": dialect, "on_failure": on_failure, "always": True}
    project.hooks(*({"name": name, **hook, **more} for name, hook in hooks.items()))
    fired = project.fire()
    found = {name: (fired.record(name)["action"], fired.record(name).get("failure")) for name in hooks}
    assert found == dict.fromkeys(hooks, ("block", None))
    assert [name for name in hooks if not _broken(fired.record(name))] == []
    assert [name for name in hooks if f"hook {name}: broken_script: " not in fired.stderr] == []
    assert fired.status == 2


def test_a_command_line_that_its_shell_cannot_run(project: Project) -> None:
    """A line in the declaration itself is a broken script where the system's shell exits 2 for it, and only there."""
    lines = ["if true; then", "echo 'no end", ". ./nothing", 'set -u; echo "$nothing_of_that"']
    project.hooks(*({"name": line, "command": line, "always": True} for line in lines))
    fired = project.fire()
    exits = {line: fired.record(line)["exit"] for line in lines}
    found = {line: (fired.record(line)["action"] == "block", _broken(fired.record(line))) for line in lines}
    assert found == {line: (status == 2,) * 2 for line, status in exits.items()}
    assert 2 in exits.values()


def test_the_user_of_an_agent_is_notified(project: Project) -> None:
    """The model gets the refusal, the user the note."""
    script = project.home / "guard.sh"
    script.write_text("#!/bin/sh\nif true; then\n")
    script.chmod(0o755)
    project.user_hooks({"command": str(script)})
    agent = Agent("claude", project)
    told = agent.fire(agent.shell())
    assert "yntax error" in str(told.reason)
    assert "broken_script" in told.person


def test_a_refusal_of_a_hook_that_works_is_no_broken_script(project: Project) -> None:
    """A hook's own message, also about syntax in another file, is its reason."""
    lines = [
        "echo 'not on a Friday' >&2; exit 2",
        "echo 'edited.sh: 3: Syntax error: \"fi\" unexpected' >&2; exit 2",
        "echo 'src/app.py: line 3: no tabs here' >&2; exit 2",
        "echo 'why: because' >&2; exit 2",
        "echo no; echo 'sh: 1: Syntax error' >&2; exit 2",
        "exit 2",
    ]
    project.hooks(*({"name": line, "command": line, "always": True} for line in lines))
    fired = project.fire()
    found = {line: (fired.record(line)["action"], _broken(fired.record(line))) for line in lines}
    assert found == dict.fromkeys(lines, ("block", False))


def _broken(record: dict[str, object]) -> bool:
    notes = record.get("notes") or []
    assert isinstance(notes, list)
    return any(str(note).startswith("broken_script") for note in notes)
