"""The dialog of `hookrun trust`, at a real terminal; and what the model and the user see of unapproved hooks."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import catalog
from tests.cli.command import hookrun, states
from tests.cli.terminal import at_terminal
from tests.fire.agents import AGENTS, Agent, Told

if TYPE_CHECKING:
    from tests.conftest import Project

GUARD = "#!/bin/sh\ncat >/dev/null\nexit 0\n"


@pytest.fixture
def declared(project: Project) -> Project:
    """Return a project with five hooks, one of which is approved."""
    project.hooks({"name": "old", "command": "true"})
    project.approve()
    script = project.script("hooks/guard.sh", GUARD)
    hooks: list[dict[str, object]] = [{"name": f"new{n}", "event": "stop", "command": "true"} for n in range(3)]
    project.hooks({"name": "old", "command": "true"}, {"name": "guard", "command": script}, *hooks)
    return project


def test_the_question_names_the_hook_and_its_number(declared: Project) -> None:
    """After a summary. Only `y` approves, Return does not; `a` approves those that follow, not what was left out."""
    screen = at_terminal(declared, "trust", answers=("", "y", "q")).screen
    assert screen.startswith(f"5 hooks in {declared.root}: 1 approved, 4 new\n  old    approved\n  guard  new\n")
    assert "approve guard (1 of 4)? [y]es, [n]o, [a]ll, [s]how, [d]iff, ne[v]er, [q]uit: " in screen
    assert "approve new1 (3 of 4)?" in screen
    assert states(declared) == {"old": "approved", "guard": "new", "new0": "approved", "new1": "new", "new2": "new"}
    screen = at_terminal(declared, "trust", answers=("n", "a", "y"), question="? [y").screen
    assert "\nnew2: new " in screen.partition("approve these 1?")[0]
    assert "  approved new1\n  approved new2\n" in screen
    assert states(declared)["guard"] == "new"
    assert states(declared)["new2"] == "approved"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("answer", ["x", "ja", "yn", "deny", "1"])
def test_an_unknown_answer_asks_again(declared: Project, answer: str) -> None:
    """It decides nothing, and the answers are explained."""
    session = at_terminal(declared, "trust", answers=(answer, "q"))
    assert session.screen.count("approve guard (1 of 4)?") == 2
    assert "a  approve it; then show all that follow" in session.screen
    assert set(states(declared).values()) == {"approved", "new"}


def test_show_and_diff_decide_nothing(declared: Project) -> None:
    """`show` has the whole hook, `diff` what changed since the last approval, and the question comes again."""
    session = at_terminal(declared, "trust", answers=("s", "d", "y", "q"))
    assert session.screen.count("approve guard (1 of 4)?") == 3
    assert '"command": "./hooks/guard.sh"' in session.screen
    assert "no changes: it was never approved here" in session.screen
    declared.script("hooks/guard.sh", GUARD + "# more\n")
    session = at_terminal(declared, "trust", answers=("s", "d", "q"))
    assert session.screen.count("+# more") == 2
    assert session.screen.count("\n    cat >/dev/null\n") == 1


def test_the_diff_is_of_the_declaration_as_it_is_written(project: Project) -> None:
    """The fields of a declaration: `event`, `matcher` and `command`, none of our own."""
    hook: dict[str, object] = {"name": "guard", "matcher": "bash|write", "command": "true", "timeout": 5}
    project.hooks(hook)
    at_terminal(project, "trust", answers=("y",))
    project.hooks({**hook, "event": "stop", "matcher": "bash", "command": "false"})
    screen = at_terminal(project, "trust", answers=("q",)).screen
    for line in (
        '-  "event": "pre_tool_use"',
        '+  "event": "stop"',
        '-  "matcher": "bash|write"',
        '+  "command": "false"',
    ):
        assert line in screen
    assert '"target"' not in screen
    assert '"events"' not in screen


def test_the_diff_of_claude_code_s_form_has_its_fields(project: Project) -> None:
    """Its event by Claude Code's name, its matcher and its `if`."""

    def declare(matcher: str) -> None:
        handler = {"type": "command", "command": "true"}
        settings = {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [handler]}]}}
        (project.root / "coder.json").write_text(json.dumps(settings))

    declare("Bash")
    at_terminal(project, "trust", answers=("y",))
    declare("Bash|Write")
    screen = at_terminal(project, "trust", answers=("q",)).screen
    assert '-  "matcher": "Bash"' in screen
    assert '+  "matcher": "Bash|Write"' in screen
    assert '"claude"' not in screen


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", catalog.names())
def test_a_recipe_that_ships_with_hookrun_is_shown_in_three_fields(project: Project, name: str) -> None:
    """Its description from hookrun itself, and when it runs with which options; `show` has the rest."""
    hookrun(project, "add", name)
    count = len(states(project))
    screen = at_terminal(project, "trust", answers=("s", *["n"] * count), columns=240).screen
    assert f"recipe {name}, which ships with hookrun: {catalog.find(name).summary}" in " ".join(screen.split())
    before = screen.partition("? [y]es")[0].partition("\n\n")[2]
    assert [line[:14].strip() for line in before.splitlines()[1:4]] == ["recipe", "event", "on failure"]
    assert before.count("\n") == 4
    assert "digest" not in before.replace(name, "")
    assert "sha256:" in screen


def test_the_options_of_a_recipe_are_shown(project: Project) -> None:
    """One may be a command that is run."""
    hookrun(project, "add", "run-tests-at-stop", "--option", "command=make evil")
    screen = at_terminal(project, "trust", answers=("q",)).screen
    assert 'HOOKRUN_OPTION_COMMAND "make evil"' in screen


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "more",
    [
        {"cwd": "project"},
        {"env": {"PYTHONPATH": "."}},
        {"interpreter": "./python"},
        {"python": "guards:check"},
        {"python": "hookrun.recipes.evil:check"},
    ],
)
def test_a_project_cannot_label_its_own_code_as_a_recipe(project: Project, more: dict[str, object]) -> None:
    """What counts is what runs: the mark in `metadata`, the name and the description are the project's words."""
    recipe = dict(catalog.find("no-force-push").hooks[0])
    mark = {"recipe": "no-force-push", "version": "1"}
    project.hooks({**recipe, "metadata": mark})
    assert "ships with hookrun" in at_terminal(project, "trust", answers=("q",)).screen
    project.hooks({**recipe, "metadata": mark, **more})
    assert "ships with hookrun" not in at_terminal(project, "trust", answers=("q",)).screen


# --- messages for the model and the user


def fire(project: Project, name: str) -> Told:
    """Send an agent's message before a shell command, with nothing approved for it."""
    agent = Agent(name, project)
    command = project.command("fire", "--agent", name, "--home", str(project.home))
    message = json.dumps(agent.shell()).encode()
    environment = project.environment()
    done = subprocess.run(command, input=message, capture_output=True, cwd=project.root, env=environment, check=False)
    return Told(agent, done)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", AGENTS)
def test_one_unapproved_hook_that_blocks_tells_the_model_to_ask_the_user(project: Project, name: str) -> None:
    """Each call is refused with the names of all hooks that are not approved, those behind the refusal too."""
    project.hooks(
        {"name": "first", "command": "true"},
        {"name": "guard", "command": "true", "on_failure": "block"},
        {"name": "behind", "command": "true"},
        {"name": "elsewhere", "event": "stop", "command": "true"},
    )
    for _ in range(2):
        reason = fire(project, name).reason or ""
        assert "first, guard, behind" in reason
        assert "elsewhere" not in reason
        assert f"Ask the user to run `hookrun trust {project.root}`" in reason
    project.approve()
    assert fire(project, name).reason is None


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_the_user_is_told_of_unapproved_hooks_too(project: Project, name: str) -> None:
    """Once in a session (Gemini CLI shows each refusal); a hook that is new meanwhile is reported again."""
    project.hooks({"name": "guard", "command": "true", "on_failure": "block"})
    assert "guard" in fire(project, name).person
    assert ("guard" in fire(project, name).person) is (name == "gemini")
    project.hooks(
        {"name": "guard", "command": "true", "on_failure": "block"},
        {"name": "more", "command": "true", "priority": 1},
    )
    assert "more, guard did not run: not approved" in fire(project, name).person
