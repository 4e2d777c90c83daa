"""`hookrun init` and `hookrun new`: what they write, what they ask, what they approve, and what they leave alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.cli.wiring import before_tool, run_line, tree, wired_line

if TYPE_CHECKING:
    from tests.conftest import Project

ASKED = "]: "
HOOK: dict[str, object] = {"name": "one", "event": "stop", "command": "exit 0"}


def states(project: Project) -> dict[str, str]:
    """Return the state of every hook of the project."""
    listed = hookrun(project, "trust", "--json").stdout
    return {each["name"]: each["state"] for each in json.loads(listed)}


def test_four_commands_lead_from_nothing_to_a_hook_that_claude_obeys(project: Project) -> None:
    """At a terminal: declared, tested, wired, proven; then Claude Code is refused, and nobody had to approve it."""
    (project.root / ".git").rmdir()
    screens = [
        at_terminal(project, *command)
        for command in (
            ("init", "--lang", "sh", "--yes"),
            ("test",),
            ("install", "claude"),
            ("doctor", "claude", "--prove"),
        )
    ]
    assert [each.status for each in screens] == [0, 0, 0, 0], [each.screen for each in screens]
    for each, text in zip(screens, ("approved protect-env", "5 passed", "wired", "the probe refused"), strict=True):
        assert text in each.screen
    line = wired_line(project, "claude", "PreToolUse")
    message = {**before_tool(project, "claude"), "tool_name": "Write"}
    refused = run_line(project, line, {**message, "tool_input": {"file_path": "config/.env", "content": "A=1"}})
    said = json.loads(refused.stdout)["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert "holds secrets" in said["permissionDecisionReason"]
    passed = run_line(project, line, {**message, "tool_input": {"file_path": ".env.example", "content": "A="}})
    assert (passed.returncode, passed.stdout) == (0, b"")


def test_without_a_terminal_nothing_is_approved(project: Project) -> None:
    """The hook is there, agents do not run it, and what is said names the command that changes that."""
    done = hookrun(project, "init")
    assert (done.status, done.stderr) == (0, "")
    assert (
        "wrote hooks/protect-env.sh, hooks/protect-env.hooktest.yaml, hookrun.schema.json, coder.json\n" in done.stdout
    )
    assert "hookrun trust" in done.stdout
    assert states(project) == {"protect-env": "new"}
    assert hookrun(project, "test").status == 0


def test_an_agent_approves_nothing(project: Project) -> None:
    """An agent that runs init in a terminal of its own gets a hook, and no approval."""
    session = at_terminal(project, "init", "--yes", env={"CLAUDECODE": "1"})
    assert session.status == 0
    told = "nothing was approved: cannot approve hooks: CLAUDECODE is set, so an agent or a hook runs this command"
    assert told in " ".join(session.screen.split())
    assert states(project) == {"protect-env": "new"}


def test_init_asks_for_what_no_flag_says(project: Project) -> None:
    """Language, event, tools, name; a wrong answer is asked for again, a plain return takes what is proposed."""
    answers = ("python", "post_tol_use", "PostToolUse", "write", "")
    session = at_terminal(project, "init", answers=answers, question=ASKED)
    assert session.status == 0, session.screen
    assert "did you mean post_tool_use?" in session.screen
    (entry,) = json.loads((project.root / "coder.json").read_text())["hooks"]
    assert (entry["name"], entry["event"], entry["matcher"]) == ("no-conflict-markers", "post_tool_use", "write")
    assert (project.root / "hooks" / "no-conflict-markers.py").stat().st_mode & 0o111
    session = at_terminal(project, "init", "--lang", "sh", "--event", "stop", answers=("",), question=ASKED)
    assert (session.status, states(project)["finish-the-job"]) == (0, "approved")


def test_what_is_there_is_never_overwritten(project: Project) -> None:
    """A script or cases of that name, or a hook: the command names it and writes nothing at all."""
    project.script("hooks/protect-env.sh", "mine")
    before = tree(project.root)
    for arguments in (("init",), ("new", "protect-env", "--lang", "sh")):
        done = hookrun(project, *arguments)
        assert (done.status, done.stdout) == (1, "")
        assert f"{project.root}/hooks/protect-env.sh: found a file, expected none" in done.stderr
    project.script("hooks/other.hooktest.yaml", "mine")
    assert "other.hooktest.yaml: found a file" in hookrun(project, "new", "other", "--lang", "sh").stderr
    (project.root / "hooks" / "other.hooktest.yaml").unlink()
    assert tree(project.root) == before
    project.hooks({**HOOK, "name": "taken"})
    before = tree(project.root)
    done = hookrun(project, "new", "taken", "--lang", "sh")
    assert 'found a hook "taken" already' in done.stderr
    (project.root / "hooks" / "protect-env.sh").unlink()
    (project.root / "hooks").rmdir()
    (project.root / "hooks").write_text("a file")
    before = tree(project.root)
    done = hookrun(project, "init")
    assert (done.status, tree(project.root)) == (1, before)
    assert "Traceback" not in done.stderr


def test_what_is_declared_stays_as_it_is(project: Project) -> None:
    """A hook is added to the file, which keeps its own way of being written; a second init takes another name."""
    text = '{ "hooks" : [\n\n   {"name": "one",   "event": "stop", "command": "exit 0"}\n ], "theirs": {} }'
    path = project.root / "coder.json"
    path.write_text(text)
    assert hookrun(project, "init").status == 0
    head, tail = text.split("}\n ]")
    assert path.read_text().startswith(head)
    assert path.read_text().endswith("\n ]" + tail)
    assert hookrun(project, "init", "--lang", "python").status == 0
    assert list(states(project)) == ["one", "protect-env", "protect-env-2"]
    assert hookrun(project, "validate").status == 0


def test_a_dry_run_shows_everything_and_writes_nothing(project: Project) -> None:
    """Each file as a diff."""
    before = tree(project.root)
    done = hookrun(project, "init", "--lang", "node", "--yaml", "--dry-run")
    assert done.status == 0
    for text in ("+++ ", "hooks/protect-env.mjs", "+#!/usr/bin/env node", "protect-env.hooktest.yaml", "+hooks:"):
        assert text in done.stdout
    assert tree(project.root) == before


def test_new_takes_events_tools_and_conditions(project: Project) -> None:
    """Any name of an event is understood; a condition is declared, and the cases hold."""
    condition = "tool_args.command=*git push*"
    done = hookrun(
        project, "new", "ask", "--lang", "sh", "--event", "PreToolUse", "--matcher", "bash", "--when", condition
    )
    assert done.status == 0, done.stderr
    (entry,) = json.loads((project.root / "coder.json").read_text())["hooks"]
    assert (entry["event"], entry["when"]) == ("pre_tool_use", {"tool_args.command": "*git push*"})
    assert "hooks/ask.sh is a stub: it fails, as do its tests, until you write the check" in done.stdout
    tested = hookrun(project, "test")
    assert (tested.status, "2 tests: 1 passed, 1 failed" in tested.stdout) == (1, True), tested.stdout
    done = hookrun(project, "new", "ends", "--lang", "sh", "--event", "stop", "--matcher", "bash", "--yaml")
    assert (done.status, "leave --yaml out" in done.stderr) == (1, True)
    assert hookrun(project, "new", "ends", "--lang", "sh", "--event", "stop").status == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("new", "x", "--lang", "sh", "--event", "pre_tol"), "did you mean pre_tool_use?"),
        (("new", "../x", "--lang", "sh"), "expected letters, digits"),
        (("new", "x", "--lang", "sh", "--when", "nothing"), '"nothing" is not PATH=GLOB'),
        (("new", "x", "--lang", "perl"), '"perl" is not one of'),
        (("new", "x"), "missing option `--lang`"),
    ],
)
def test_wrong_usage_is_one_line(project: Project, arguments: tuple[str, ...], said: str) -> None:
    """What was found, what was expected; status 1, and nothing written."""
    done = hookrun(project, *arguments)
    assert (done.status, done.stdout, done.stderr.count("\n") <= 2) == (1, "", True)
    assert said in done.stderr
    assert not (project.root / "coder.json").exists()


def test_what_a_stranger_has_a_part_in_is_asked_about(project: Project) -> None:
    """A project's defaults change what a new hook comes to: it is shown, and not approved for having been written."""
    project.hooks(HOOK, defaults={"env": {"BASH_ENV": "./theirs.sh"}})
    session = at_terminal(project, "new", "mine", "--lang", "sh", answers=("n",))
    assert "BASH_ENV" in session.screen
    assert states(project) == {"one": "new", "mine": "new"}
    project.hooks(HOOK)
    assert at_terminal(project, "new", "ours", "--lang", "sh").status == 0
    assert states(project) == {"one": "new", "ours": "approved"}


def test_a_hook_that_has_to_be_built_is_approved_when_it_is(project: Project) -> None:
    """There is no program yet that could be approved: what comes next says how it is built."""
    session = at_terminal(project, "new", "fast", "--lang", "go")
    assert session.status == 0
    assert "go build -o hooks/fast hooks/fast.go" in session.screen
    assert "hookrun trust" in session.screen
    assert states(project) == {"fast": "new"}
    assert "fast failed (missing)" in project.fire().stderr


def test_from_below_the_root_what_is_run_next_is_said(project: Project) -> None:
    """The hook goes to the root of the repository."""
    below = project.root / "src"
    below.mkdir()
    project.root, root = below, project.root
    done = hookrun(project, "init")
    assert "cd .. " in done.stdout
    assert (root / "hooks" / "protect-env.sh").exists()


@pytest.mark.parametrize("words", [("new", "x", "--lang", "sh"), ("init", "--yes")])
def test_a_matcher_on_an_event_without_a_tool_is_refused(project: Project, words: tuple[str, ...]) -> None:
    """Such a hook never runs: nothing is written."""
    done = hookrun(project, *words, "--event", "Stop", "--matcher", "bash")
    assert (done.status, done.stdout) == (1, "")
    assert '--matcher "bash" never matches: stop has no tool' in done.stderr
    assert [path.name for path in project.root.iterdir()] == [".git"]
