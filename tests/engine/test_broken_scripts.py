"""A script that its shell cannot run exits 2: a refusal by any policy, and the user learns that the hook is broken."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.fire.agents import Agent

if TYPE_CHECKING:
    from tests.conftest import Project

BROKEN = {
    "no fi": "if true; then\necho x\n",
    "an open quote": 'echo "no end\n',
    "fi alone": "echo checking >&2\nfi\n",
}
SHELLS = [name for name in ("sh", "bash", "dash") if shutil.which(name)]


def declared(project: Project, shell: str, form: str, text: str) -> dict[str, object]:
    """Return a declaration of a script with this text, run by the shell."""
    path = project.script("guard.sh", f"#!{shutil.which(shell)}\n{text}")
    forms: dict[str, dict[str, object]] = {
        "script": {"command": path},
        "shell": {"command": f"{shell} {path}"},
        "args": {"args": [path]},
        "absolute": {"args": [shell, str(project.root / "guard.sh")]},
    }
    return forms[form]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("on_failure", ["continue", "block"])
@pytest.mark.parametrize("dialect", ["hookrun", "claude"])
@pytest.mark.parametrize("form", ["script", "shell", "args", "absolute"])
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_syntax_error_refuses_and_is_reported(  # noqa: PLR0917  # pytest gives them by name
    project: Project, text: str, shell: str, form: str, dialect: str, on_failure: str
) -> None:
    """Action block, no failure kind, and the note `broken_script` in the audit and on stderr."""
    project.hooks({**declared(project, shell, form, text), "dialect": dialect, "on_failure": on_failure})
    fired = project.fire()
    assert (fired.status, fired.action, fired.hook("hook")["failure"]) == (2, "block", None)
    assert _broken(fired.record("hook"))
    assert "failure" not in fired.record("hook")
    assert "hook hook: broken_script: " in fired.stderr


@pytest.mark.parametrize("line", ["if true; then", "echo 'no end", ". ./nothing", 'set -u; echo "$nothing_of_that"'])
def test_a_command_line_that_its_shell_cannot_run(project: Project, line: str) -> None:
    """A line in the declaration itself, where the system's shell exits 2 for it."""
    project.hooks({"command": line})
    fired = project.fire()
    if fired.record("hook")["exit"] != 2:
        pytest.skip("this shell has another exit status for it")
    assert (fired.action, _broken(fired.record("hook"))) == ("block", True)


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


@pytest.mark.parametrize(
    "line",
    [
        "echo 'not on a Friday' >&2; exit 2",
        "echo 'edited.sh: 3: Syntax error: \"fi\" unexpected' >&2; exit 2",
        "echo 'src/app.py: line 3: no tabs here' >&2; exit 2",
        "echo 'why: because' >&2; exit 2",
        "echo no; echo 'sh: 1: Syntax error' >&2; exit 2",
        "exit 2",
    ],
)
def test_a_refusal_of_a_hook_that_works_is_no_broken_script(project: Project, line: str) -> None:
    """A hook's own message, also about syntax in another file, is its reason."""
    project.hooks({"command": line})
    fired = project.fire()
    assert (fired.action, _broken(fired.record("hook"))) == ("block", False)


def _broken(record: dict[str, object]) -> bool:
    notes = record.get("notes") or []
    assert isinstance(notes, list)
    return any(str(note).startswith("broken_script") for note in notes)
