"""`hookrun init` and `hookrun new`: their files, questions and approvals, and the files they do not touch."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import catalog
from hookrun.scaffold.configured_recipes import kinds, suggest, template_language
from tests.cli.command import hookrun, states
from tests.cli.terminal import at_terminal
from tests.cli.wiring import before_tool, run_line, settings_file, tree, wired_line
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

PROMPT = "]: "
HOOK: dict[str, object] = {"name": "one", "event": "stop", "command": "exit 0"}
GUARDS = [str(hook["name"]) for name in catalog.of_level("standard") for hook in catalog.find(name).hooks]
"""The recipes that a plain repository gets by default."""


def agents_on_path(project: Project, *names: str) -> str:
    """Put programs of these names on PATH, and return it; no other agent is on it."""
    directory = project.root.parent / "bin"
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / name).write_text("#!/bin/sh\necho 2.1.0\n")
        (directory / name).chmod(0o755)
    return f"{directory}:/usr/bin:/bin"


# --- hookrun init


def test_three_answers_lead_from_nothing_to_a_guarded_agent(project: Project) -> None:
    """Enter three times: hooks written, tested, approved and installed; then Claude Code is refused `rm -rf /`."""
    (project.root / ".git").rmdir()
    path = agents_on_path(project, "claude")
    session = at_terminal(project, "init", answers=("", "", ""), question=PROMPT, env={"PATH": path})
    assert session.status == 0, session.screen
    assert f"Write {len(catalog.of_level('standard'))} hooks to hookrun.yaml" in session.screen  # as many as are chosen
    for text in (
        "approved block-destructive-commands",
        "tests: ",
        "claude: installed for 16 events",
        "hookrun try",
    ):
        assert text in session.screen
    assert set(states(project).values()) == {"approved"}
    tried = hookrun(project, "try", "rm -rf /usr", "--agent", "claude")
    assert "result: blocked by block-destructive-commands" in tried.stdout
    line = wired_line(project, "claude", "PreToolUse")
    message = {**before_tool(project, "claude"), "tool_name": "Bash"}
    refused = run_line(project, line, {**message, "tool_input": {"command": "rm -rf /"}})
    assert json.loads(refused.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    passed = run_line(project, line, {**message, "tool_input": {"command": "ls"}})
    assert (passed.returncode, passed.stdout) == (0, b"")
    before = tree(project.root, project.home / ".claude")
    again = at_terminal(project, "init", "--yes", env={"PATH": path})
    assert (again.status, "claude: already installed" in again.screen) == (0, True)
    assert tree(project.root, project.home / ".claude") == before


@pytest.mark.slow
def test_answers_choose_hooks_and_agents(project: Project) -> None:
    """By number or name; a wrong one is asked for again; Codex's trust is part of the choice."""
    (project.root / "pyproject.toml").touch()
    path = agents_on_path(project, "claude", "codex")
    answers = ("1,77", "1-1 no-force-push", "codex", "y")
    session = at_terminal(project, "init", answers=answers, question=PROMPT, env={"PATH": path})
    assert session.status == 0, session.screen
    assert "a Python project" in session.screen
    assert 'error: "77" is not in the list\nhint: give numbers such as `1,3` or `1-3`' in session.screen
    assert states(project) == {"block-destructive-commands": "approved", "no-force-push": "approved"}
    assert "codex: hooks marked as trusted" in session.screen
    assert not settings_file(project, "claude").exists()


@rows(
    "answers, status, says",
    [(("", "", "n"), 1, ""), (("none", "none"), 0, "Nothing to add and no agent to connect.\n")],
)
def test_a_no_changes_nothing(project: Project, answers: tuple[str, ...], status: int, says: str) -> None:
    """The last question is whether to go ahead; without hooks and agents there is none, and no warning either."""
    before = tree(project.root, project.home)
    path = agents_on_path(project, "claude")
    session = at_terminal(project, "init", answers=answers, question=PROMPT, env={"PATH": path})
    assert session.status == status, session.screen
    assert session.screen.endswith(says)
    assert tree(project.root, project.home) == before


def test_the_last_question_lists_the_agents(project: Project) -> None:
    """With commas and one `and`, wrapped at words; the end of input there ends the line before the error."""
    path = agents_on_path(project, "claude", "codex", "gemini")
    session = at_terminal(project, "init", answers=("", "", "\x04"), question=PROMPT, env={"PATH": path})
    assert "connect Claude Code, Codex CLI and Gemini CLI?" in " ".join(session.screen.split())
    assert max(map(len, session.screen.splitlines()[1:])) <= 80
    assert "Agents to connect" in session.screen
    assert session.status != 0
    assert "\nerror: aborted" in session.screen


def test_an_agent_that_could_not_be_connected_is_a_next_step(project: Project) -> None:
    """The other steps do not hide it."""
    settings = settings_file(project, "claude")
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("{")
    done = hookrun(project, "init", "--agent", "claude")
    assert done.status == 1
    assert "hookrun install claude" in done.stdout.partition("next:")[2]


def test_the_home_directory_is_asked_about(project: Project) -> None:
    """It is no project: at a terminal a no changes nothing; without one `--yes` says that it is meant."""
    home = str(project.root)
    before = tree(project.root)
    session = at_terminal(project, "init", answers=("n",), question="[y/N]", env={"HOME": home})
    assert (session.status, "your home directory, not a project. Set it up" in session.screen) == (1, True)
    done = hookrun(project, "init", "--no-install", HOME=home)
    assert done.stderr.startswith("error: this is your home directory, not a project\nhint: `cd` to a project, or")
    assert (done.status, tree(project.root)) == (1, before)
    assert hookrun(project, "init", "--no-install", "--recipe", "no-verify", "--yes", HOME=home).status == 0
    assert (project.root / "hookrun.yaml").exists()


@pytest.mark.slow
def test_without_a_terminal_it_takes_the_defaults(project: Project) -> None:
    """Recipes and agents, but no approval: the last lines name the command for that."""
    path = agents_on_path(project, "claude")
    done = hookrun(project, "init", PATH=path)
    assert done.status == 0, done.stderr
    assert states(project) == dict.fromkeys(sorted(GUARDS), "new") == dict(sorted(states(project).items()))
    assert "claude: installed for" in done.stdout
    assert "not approved yet, so agents do not run them" in done.stderr
    assert "note: until then, these block every matching call: protect-hooks, block-destructive-commands" in done.stderr
    assert "hookrun trust" in done.stdout
    assert hookrun(project, "test").status == 0
    before = tree(project.root, project.home / ".claude")
    assert hookrun(project, "init", "--yes", PATH=path).status == 0
    assert tree(project.root, project.home / ".claude") == before


def test_options_answer_the_questions(project: Project) -> None:
    """`--recipe`, `--agent` and `--no-install`; `--json` prints one object."""
    done = hookrun(project, "init", "--recipe", "no-force-push", "--agent", "gemini", "--json", PATH="/usr/bin:/bin")
    assert done.status == 0, done.stderr
    assert [each["name"] for each in done.json["hooks"]] == ["no-force-push"]  # type: ignore[attr-defined]
    assert done.json["not_approved"] == ["no-force-push"]
    assert f"{settings_file(project, 'gemini')}" in str(done.json["written"])
    without = hookrun(project, "init", "--recipe", "protect-files", "--no-install", "--json")
    assert without.status == 0
    assert not settings_file(project, "claude").exists()
    for arguments, error in (
        (("--agent", "gemini", "--no-install"), "not both"),
        (("--recipe", "protect-file"), "protect-files"),
        (("--agent", "gemin"), "gemini"),
    ):
        wrong = hookrun(project, "init", *arguments)
        assert (wrong.status, error in wrong.stderr) == (1, True)


@pytest.mark.slow
def test_without_an_agent_it_says_so(project: Project) -> None:
    """The hooks are written all the same."""
    done = hookrun(project, "init", PATH="/usr/bin:/bin")
    assert (done.status, "no coding agent found on PATH" in done.stderr) == (0, True)
    assert sorted(states(project)) == sorted(GUARDS)


@pytest.mark.slow
def test_a_project_with_hooks_keeps_them(project: Project) -> None:
    """Nothing is added by default; what is not approved yet is reviewed."""
    project.hooks(HOOK)
    before = tree(project.root)
    done = hookrun(project, "init", "--yes", "--agent", "claude")
    assert tree(project.root) == before
    assert (done.status, "agents do not run them: one" in done.stderr) == (0, True)
    session = at_terminal(project, "init", "--yes", "--agent", "claude", answers=("y",))
    assert (session.status, states(project)) == (0, {"one": "approved"})


@pytest.mark.parametrize(
    ("files", "kind", "language", "selected"),
    [
        ({}, [], "sh", ()),
        ({"pyproject.toml": "[tool.ruff]", "uv.lock": ""}, ["Python"], "python", ("package-manager", "format-on-edit")),
        ({"package.json": "{}", "pnpm-lock.yaml": ""}, ["Node"], "node", ("package-manager",)),
        ({"go.mod": ""}, ["Go"], "go", ("format-on-edit",)),
        ({"Cargo.toml": ""}, ["Rust"], "sh", ("format-on-edit",)),
        ({"package.json": "", "setup.py": ""}, ["Python", "Node"], "python", ()),
    ],
)
def test_what_a_project_is_decides_what_is_offered(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    files: dict[str, str],
    kind: list[str],
    language: str,
    selected: tuple[str, ...],
) -> None:
    """Manifests, lock files and formatters that the project uses and that are installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("ruff", "gofmt", "rustfmt"):
        (programs / name).touch(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.defpath}")
    root = tmp_path / "root"
    root.mkdir()
    for name, text in files.items():
        (root / name).write_text(text)
    assert (kinds(str(root)), template_language(str(root))) == (kind, language)
    chosen = {name for name, is_selected in suggest(str(root)).items() if is_selected}
    assert chosen == {*catalog.of_level("standard"), *selected}


@pytest.mark.slow
def test_an_agent_approves_nothing(project: Project) -> None:
    """An agent that runs init in its own terminal gets hooks, and no approval."""
    recipe = ("--recipe", "no-verify")
    session = at_terminal(project, "init", "--yes", *recipe, "--agent", "codex", env={"CLAUDECODE": "1"})
    assert session.status == 1  # Codex does not trust the hooks yet
    assert "nothing was approved: " in session.screen
    assert "CLAUDECODE" in session.screen
    assert states(project) == {"no-verify": "new"}


def test_what_is_there_is_never_overwritten(project: Project) -> None:
    """A script or cases of that name, or a hook: the command names it and writes nothing at all."""
    project.script("hooks/protect-env.sh", "mine")
    before = tree(project.root)
    done = hookrun(project, "new", "protect-env", "--lang", "sh")
    assert (done.status, done.stdout) == (1, "")
    assert "hooks/protect-env.sh exists" in done.stderr
    project.script("hooks/other.hooktest.yaml", "mine")
    assert "other.hooktest.yaml exists" in hookrun(project, "new", "other", "--lang", "sh").stderr
    (project.root / "hooks" / "other.hooktest.yaml").unlink()
    assert tree(project.root) == before
    project.hooks({**HOOK, "name": "taken"})
    before = tree(project.root)
    done = hookrun(project, "new", "taken", "--lang", "sh")
    assert 'already has a hook "taken"' in done.stderr
    (project.root / "hooks" / "protect-env.sh").unlink()
    (project.root / "hooks").rmdir()
    (project.root / "hooks").write_text("a file")
    before = tree(project.root)
    done = hookrun(project, "new", "protect-env", "--lang", "sh")
    assert (done.status, tree(project.root)) == (1, before)
    assert "Traceback" not in done.stderr


def test_what_is_declared_stays_as_it_is(project: Project) -> None:
    """A hook is added to the file, which keeps its own way of being written."""
    text = '{ "hooks" : [\n\n   {"name": "one",   "event": "stop", "command": "exit 0"}\n ], "theirs": {} }'
    path = project.root / "coder.json"
    path.write_text(text)
    assert hookrun(project, "new", "protect-env", "--lang", "sh").status == 0
    head, tail = text.split("}\n ]")
    assert path.read_text().startswith(head)
    assert path.read_text().endswith("\n ]" + tail)
    assert list(states(project)) == ["one", "protect-env"]
    assert hookrun(project, "validate").status == 0


@rows(
    "arguments, texts",
    [
        (
            ("new", "protect-env", "--lang", "sh"),
            ("+++ ", "hooks/protect-env.sh", "+#!/bin/sh", "protect-env.hooktest.yaml"),
        ),
        (("init", "--agent", "claude"), ("hookrun.yaml", "PreToolUse")),
    ],
)
def test_a_dry_run_shows_everything_and_writes_nothing(
    project: Project, arguments: tuple[str, ...], texts: tuple[str, ...]
) -> None:
    """Each file as a diff, the agents' settings too, though hooks are not written yet."""
    before = tree(project.root, project.home)
    done = hookrun(project, *arguments, "--dry-run")
    assert (done.status, done.stderr) == (0, "")
    for text in texts:
        assert text in done.stdout
    assert tree(project.root, project.home) == before


def test_new_takes_events_and_tools(project: Project) -> None:
    """Any name of an event is understood, and the cases fail until the hook is written."""
    done = hookrun(project, "new", "ask", "--lang", "sh", "--event", "PreToolUse", "--matcher", "bash")
    assert done.status == 0, done.stderr
    (entry,) = project.config()["hooks"]
    assert (entry["event"], entry["matcher"]) == ("pre_tool_use", "bash")
    assert (
        "hooks/ask.sh blocks nothing yet: write its check; once its tests pass, `hookrun test` enforces it"
        in done.stdout
    )
    tested = hookrun(project, "test")
    assert (tested.status, "2 tests: 1 passed, 1 failed" in tested.stdout) == (1, True), tested.stdout
    done = hookrun(project, "new", "ends", "--lang", "sh", "--event", "stop", "--matcher", "bash")
    assert (done.status, "never matches: stop has no tool" in done.stderr) == (1, True)
    assert hookrun(project, "new", "ends", "--lang", "sh", "--event", "stop").status == 0


@pytest.mark.slow
def test_what_a_stranger_has_a_part_in_is_asked_about(project: Project) -> None:
    """A project's defaults change the effect of a new hook: it is shown, and writing it does not approve it."""
    project.hooks(HOOK, defaults={"env": {"BASH_ENV": "./theirs.sh"}})
    session = at_terminal(project, "new", "mine", "--lang", "sh", answers=("n",))
    assert "BASH_ENV" in session.screen
    assert states(project) == {"one": "new", "mine": "new"}
    project.hooks(HOOK)
    assert at_terminal(project, "new", "ours", "--lang", "sh").status == 0
    assert states(project) == {"one": "new", "ours": "approved"}


def test_a_hook_that_has_to_be_built_is_approved_when_it_is(project: Project) -> None:
    """There is no program to approve yet: the next step explains how to build it."""
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
    done = hookrun(project, "new", "protect-env", "--lang", "sh")
    assert "next: cd .." in done.stdout
    assert (root / "hooks" / "protect-env.sh").exists()


def test_a_matcher_on_an_event_without_a_tool_is_refused(project: Project) -> None:
    """Such a hook never runs: nothing is written."""
    done = hookrun(project, "new", "x", "--lang", "sh", "--event", "Stop", "--matcher", "bash")
    assert (done.status, done.stdout) == (1, "")
    assert 'matcher "bash" never matches: stop has no tool' in done.stderr
    assert [path.name for path in project.root.iterdir()] == [".git"]


def test_the_files_written_are_wrapped_at_words(project: Project) -> None:
    """On a terminal a long list of files has several lines, each indented."""
    plain = at_terminal(project, "new", "another-hook-with-a-long-name", "--lang", "sh")
    assert plain.status == 0
    wrote = plain.screen.partition("approved")[0]
    assert wrote.count("\n") > 1
    assert max(map(len, wrote.splitlines())) <= 80
