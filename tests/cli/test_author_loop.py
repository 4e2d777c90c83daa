"""The loop of a hook's author: create it, try it, test it, and approve what changed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
import yaml

from hookrun.core.files import atomic_write
from tests.cli.command import hookrun, states
from tests.cli.terminal import at_terminal
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

NEEDS_APPROVAL = "runs here; agents need your approval: `hookrun trust`"
CASES = """\
config: ../coder.json
cases:
  - {name: runs, event: pre_tool_use, tool: bash, args: {command: ls}, expect: {fired: true}}
"""


def write_check(project: Project, name: str) -> None:
    """Take the block of a stub in Python out of its comment."""
    path = project.root / "hooks" / f"{name}.py"
    path.write_text(path.read_text().replace("    # ", "    "))


def test_from_a_stub_to_a_guard(project: Project) -> None:
    """Approved as created, it advises; once its tests pass, `test` shows the change, and enforces and approves it."""
    created = at_terminal(project, "new", "no-sudo", "--lang", "python")
    assert "approved no-sudo" in created.screen
    assert len((project.root / "hooks/no-sudo.py").read_text().splitlines()) <= 18
    sudo = {"tool_name": "bash", "tool_args": {"command": "sudo ls"}}
    assert states(project) == {"no-sudo": "approved"}
    assert "no-sudo  pre_tool_use  bash     advise" in hookrun(project, "list").stdout
    failing = at_terminal(project, "test")
    assert (failing.status, "FAIL" in failing.screen, "Enforce" in failing.screen) == (1, True, False)
    write_check(project, "no-sudo")
    assert "would block" in str(project.fire(sudo).verdict["system_message"])
    passing = at_terminal(project, "test", answers=("y", "y"), question="? [", columns=160)
    assert passing.status == 0, passing.screen
    assert NEEDS_APPROVAL not in passing.screen  # it asks for that at once
    assert "Enforce no-sudo from now on, in place of `mode: advise`?" in " ".join(passing.screen.split())
    shown = passing.screen.index('+    if "sudo" in command:')
    assert shown < passing.screen.index("approve no-sudo (1 of 1)?") < passing.screen.index("approved no-sudo\n")
    (entry,) = yaml.safe_load((project.root / "hookrun.yaml").read_text())["hooks"]
    assert entry["mode"] == "enforce"
    assert states(project) == {"no-sudo": "approved"}
    assert project.fire(sudo).action == "block"
    assert NEEDS_APPROVAL not in hookrun(project, "test").stderr


def test_what_only_advises_on_purpose_stays_so(project: Project) -> None:
    """Declined, or approved before: nothing is written, and nothing is asked again."""
    at_terminal(project, "new", "no-sudo", "--lang", "python")
    write_check(project, "no-sudo")
    before = (project.root / "hookrun.yaml").read_text()
    at_terminal(project, "test", answers=("n", "y"), question="? [", columns=160)
    assert (project.root / "hookrun.yaml").read_text() == before
    assert states(project) == {"no-sudo": "approved"}
    assert "Enforce" not in at_terminal(project, "test").screen


def test_an_agent_approves_nothing_by_testing(project: Project) -> None:
    """At a terminal that it opened `test` asks nothing; the sentence names the command for the user."""
    project.hooks({"name": "guard", "command": "true"})
    project.script("hooks/guard.hooktest.yaml", CASES)
    for env in {"CLAUDECODE": "1"}, {"AI_AGENT": "1"}:
        session = at_terminal(project, "test", env=env)
        assert (session.status, "approve guard" in session.screen) == (0, False), session.screen
        assert NEEDS_APPROVAL in " ".join(session.screen.split())
    assert hookrun(project, "test").status == 0
    assert states(project) == {"guard": "new"}


def test_every_command_says_the_same_of_a_hook_that_is_not_approved(project: Project) -> None:
    """It runs here, and agents need an approval: one sentence of `try`, `fire`, `explain` and `test`."""
    project.hooks({"name": "guard", "command": "touch ran"})
    project.script("hooks/guard.hooktest.yaml", CASES)
    sentence = f"guard {NEEDS_APPROVAL}"
    assert sentence in hookrun(project, "explain", "pre_tool_use", "--tool", "bash").stdout
    assert sentence in hookrun(project, "test").stderr
    (project.root / "ran").unlink(missing_ok=True)
    assert sentence in hookrun(project, "try", "ls").stderr
    assert (project.root / "ran").exists()
    (project.root / "context.json").write_text('{"tool_name": "bash"}')
    fired = at_terminal(project, "fire", "pre_tool_use", "--ctx", "context.json")
    assert sentence in " ".join(fired.screen.split())
    project.approve()
    for words in ("explain", "pre_tool_use"), ("test",), ("try", "ls"):
        done = hookrun(project, *words)
        assert NEEDS_APPROVAL not in done.stdout + done.stderr
    assert NEEDS_APPROVAL not in at_terminal(project, "fire", "pre_tool_use", "--ctx", "context.json").screen


def test_as_an_agent_only_what_is_approved_runs(project: Project) -> None:
    """`try --agent` shows what the agent gets: a hook without an approval does not run."""
    project.hooks({"name": "guard", "command": "touch ran", "on_failure": "block"})
    done = hookrun(project, "try", "ls", "--agent", "claude", "--json").json
    assert (done["not_approved"], "deny" in str(done["told"])) == (["guard"], True)
    assert not (project.root / "ran").exists()


# --- names of files


@rows("words", [("new", "mine", "--lang", "sh"), ("add", "no-force-push"), ("init", "--no-install", "--yes")])
def test_a_new_config_is_hookrun_yaml(project: Project, words: tuple[str, ...]) -> None:
    """Where coder.json is there, it is kept."""
    assert hookrun(project, *words).status in (0, 1)
    assert yaml.safe_load((project.root / "hookrun.yaml").read_text())["hooks"]
    (project.root / "hookrun.yaml").unlink()
    for path in project.root.glob("hooks/*"):
        path.unlink()
    (project.root / "coder.json").write_text('{"theirs": 1}\n')
    assert hookrun(project, *words).status in (0, 1)
    assert json.loads((project.root / "coder.json").read_text()).keys() == {"theirs", "hooks"}
    assert not (project.root / "hookrun.yaml").exists()
    for path in project.root / "coder.json", *project.root.glob("hooks/*"):
        path.unlink()


@rows(
    "line",
    ["list", "status", "doctor", "explain stop", "try ls", "trust", "test", "log", "new x --lang sh", "validate",
     "add no-force-push"],
)  # fmt: skip
def test_a_file_with_a_mistaken_name_is_pointed_out(project: Project, line: str) -> None:
    """By every command, with the right name; once it has that, or another file includes it, nothing is said."""
    for name, right in (".hookrun.yaml", "hookrun.yaml"), ("hookrun.json", "coder.json"):
        path = project.root / name
        path.write_text('{"hooks": []}')
        done = hookrun(project, *line.split())
        shown = done.stdout + done.stderr
        assert f'{name}:1:1: hookrun does not read a file named "{name}"\nhint: rename it to {right}' in shown
        path.unlink()
    (project.root / "hookrun.json").write_text('{"hooks": []}')
    project.hooks(include=["hookrun.json"])
    done = hookrun(project, *line.split())
    assert "does not read" not in done.stdout + done.stderr
    for path in *project.root.glob("*.json"), *project.root.glob("*.yaml"), *project.root.glob("hooks/*"):
        path.unlink()


# --- what is never cut, and names that nothing has


def test_a_narrow_list_never_cuts_the_state(project: Project) -> None:
    """The other columns give way."""
    project.hooks({"name": "a-guard-with-a-long-name", "matcher": "write|edit|delete|bash", "command": "true"})
    screen = at_terminal(project, "list", columns=40).screen
    assert "  not approved  " in screen
    assert all(len(line) <= 40 for line in screen.splitlines()[:2])


def test_a_hook_that_is_not_here_is_an_error_in_the_log(project: Project) -> None:
    """As in `list`; a name that is here, a glob and all projects' runs are not."""
    project.hooks({"name": "guard", "command": "true"})
    done = hookrun(project, "log", "--hook", "gard")
    assert (done.status, done.stderr) == (1, 'error: no hook named "gard" here\nhint: did you mean "guard"?\n')
    for words in ("guard",), ("g*",), ("gard", "--all-projects"):
        assert hookrun(project, "log", "--hook", *words).status == 0


def test_no_message_names_a_temporary_file(project: Project) -> None:
    """The file that could not be written is named, not the one beside it that would have replaced it."""
    project.hooks({"name": "guard", "command": "true"})
    store = project.home / ".local/share/hookrun/trust.json"
    store.mkdir(parents=True)
    for path in store, project.root / "no" / "such.json":
        with pytest.raises(OSError, match=re.escape(str(path))) as raised:
            atomic_write(str(path), b"{}")
        assert ".hookrun-" not in str(raised.value)
    assert ".hookrun-" not in hookrun(project, "disable", "guard").stderr
