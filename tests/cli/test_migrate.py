"""`hookrun migrate`: what hookrun's format can express is converted, the rest stays, changes are reported."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun import Engine
from hookrun.config.claude_migrate import globs
from tests.cli.command import hookrun
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project


def settings(project: Project, **groups: object) -> None:
    """Write the project's Claude Code settings: groups by their event."""
    path = project.root / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"permissions": {}, "hooks": groups}, indent=2))


def group(matcher: str | None = None, **fields: object) -> dict[str, object]:
    """Return a group with one handler."""
    handler = {"type": "command", "command": "echo no >&2; exit 2", **fields}
    return {**({} if matcher is None else {"matcher": matcher}), "hooks": [handler]}


@rows(
    "matcher, expected",
    [
        ("Bash", ["bash"]),
        ("Edit|Write, Task", ["edit", "write", "task"]),
        ("mcp__db__query", ["mcp__db__query"]),
        ("mcp__db__.*", ["mcp__db__*"]),
        ("^(Edit|Write)$", ["edit", "write"]),
        ("Edit|mcp__.*", ["edit", "*Edit*", "mcp__*"]),
        ("^Bash$", ["bash", "Bash"]),
        ("^mcp__(db|web)__.*", ["mcp__db__*", "mcp__web__*"]),
        (".*Fetch$", ["web_fetch", "*Fetch"]),
        (".*", []),
        ("(?!Bash)", []),
        (r"Bash\b", []),
        *((never, []) for never in ("bash", "Edit|bash", "read.*", "^bash$")),
    ],
)
def test_matchers_become_globs(matcher: str, expected: list[str]) -> None:
    """On hookrun's names of tools, and on agents' own; one that never matches there, as `bash`, does not begin to."""
    assert globs(matcher, "PreToolUse") == expected


def test_shown_and_not_written(project: Project) -> None:
    """With --dry-run it is a diff, and the lines to remove are named."""
    settings(project, PreToolUse=[group("Bash", timeout=5)])
    done = hookrun(project, "migrate", "--dry-run")
    assert done.status == 0
    assert '+      "matcher": "bash",' in done.stdout
    assert "Claude Code also runs the hook at line " in done.stderr
    assert not (project.root / "coder.json").exists()


@pytest.mark.slow
def test_what_is_written_does_the_same(project: Project) -> None:
    """The hook is in hookrun's form and answers in Claude's dialect; a hook with a rule is included unchanged."""
    settings(project, PreToolUse=[group("Bash", timeout=5), group("Edit", **{"if": "Edit(*.py)"})])
    before = (project.root / ".claude" / "settings.json").read_text()
    assert hookrun(project, "migrate").status == 0
    declared = json.loads((project.root / "coder.json").read_text())
    assert declared["hooks"] == [
        {
            "name": "echo",
            "event": "pre_tool_use",
            "matcher": "bash",
            "command": "echo no >&2; exit 2",
            "timeout": 5,
            "parallel": True,
            "dialect": "claude",
        }
    ]
    assert declared["hookrun"] == {"include": ["claude-hooks.json"]}
    included = json.loads((project.root / "claude-hooks.json").read_text())
    assert included == {"hooks": {"PreToolUse": [group("Edit", **{"if": "Edit(*.py)"})]}}
    assert hookrun(project, "validate").status == 0
    assert project.fire().verdict["message"] == "no"
    edit = {"tool_name": "edit", "tool_args": {"file_path": "a.py"}}
    assert project.fire(edit).action == "block"
    assert project.fire({"tool_name": "edit", "tool_args": {"file_path": "a.js"}}).action == "continue"
    assert (project.root / ".claude" / "settings.json").read_text() == before


def test_variables_of_the_settings_go_with_the_hooks(project: Project) -> None:
    """Hooks in hookrun's form declare them; for those in Claude's form the included file does."""
    settings(project, PreToolUse=[group("Bash"), group("Edit", **{"if": "Edit(*.py)"})])
    path = project.root / ".claude" / "settings.json"
    env = {"MODE": "strict", "HOOKRUN_SKIP": "x"}
    path.write_text(json.dumps({**json.loads(path.read_text()), "env": env}))
    assert hookrun(project, "migrate").status == 0
    assert hookrun(project, "validate").status == 0
    hooks = hookrun(project, "list", "--json").json["hooks"]
    assert isinstance(hooks, list)
    assert [hook["env"] for hook in hooks] == [{"MODE": "strict"}] * 2


HOOKIFY = Path(__file__).parent / "programs" / "hookify.py"
"""A hook as the plugin hookify has them: it finds its modules by the plugin's root, and without it lets all pass."""


def plugin(project: Project, *groups: dict[str, object]) -> Path:
    """Write a plugin like hookify beside the project; return the file with its hooks."""
    root = project.home / "plugins" / "hookify"
    for name, text in (
        ("core/rules.py", "REASON = 'not here'\n"),
        ("hooks/pre.py", HOOKIFY.read_text()),
        (".claude-plugin/plugin.json", '{"name": "hookify"}'),
        ("hooks/hooks.json", json.dumps({"description": "x", "hooks": {"PreToolUse": list(groups)}})),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root / "hooks" / "hooks.json"


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "python3 ${CLAUDE_PLUGIN_ROOT}/hooks/pre.py"},
        {"command": "python3 $CLAUDE_PLUGIN_ROOT/hooks/pre.py"},
        {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/hooks/pre.py"]},
        {"command": "python3 ${CLAUDE_PLUGIN_ROOT}/hooks/pre.py", "if": "Bash(ls *)"},
    ],
    ids=["braces", "none", "args", "kept in claude's form"],
)
def test_hooks_of_a_plugin_keep_its_root(project: Project, fields: dict[str, object]) -> None:
    """They block as in Claude Code, from the project that they are written into; the plugin is unchanged."""
    path = plugin(project, group("Bash", **fields))
    before = sorted(each for each in path.parents[1].rglob("*") if "__pycache__" not in each.parts)
    (project.root / "sub").mkdir()
    done = hookrun(project, "migrate", str(path), cwd=project.root / "sub")
    assert done.status == 0, done.stderr
    assert project.fire().verdict["message"] == "not here"
    assert sorted(each for each in path.parents[1].rglob("*") if "__pycache__" not in each.parts) == before


@pytest.mark.parametrize("name", [".claude-plugin/plugin.json", "another.json"])
def test_hooks_of_a_plugin_are_not_written_into_it(project: Project, name: str) -> None:
    """Neither from within it nor from a directory of it, whether it has a manifest or not."""
    path = plugin(project, group("Bash"))
    manifest = path.parents[1] / ".claude-plugin" / "plugin.json"
    manifest.rename(path.parents[1] / name)
    for directory in (path.parent, path.parents[1]):
        done = hookrun(project, "migrate", str(path), cwd=directory)
        assert (done.status, done.stdout) == (1, "")
        assert "a plugin's hooks are not written into the plugin" in done.stderr
    assert not list(path.parents[1].rglob("coder.json"))


def test_what_is_kept_and_left_is_told(project: Project) -> None:
    """Each with its line and the reason."""
    settings(
        project,
        PreToolUse=[
            group("(?!Bash)", command="true"),
            group(type="prompt", prompt="x"),
            group("Bash"),
            group("Bash|Edit"),
        ],
        SessionStart=[group("startup")],
        PostToolBatch=[group()],
    )
    done = hookrun(project, "migrate", "--dry-run", "--json")
    rest = done.json["rest"]
    assert isinstance(rest, dict)
    assert {event: [each.get("matcher") for each in groups] for event, groups in rest.items()} == {
        "PreToolUse": ["(?!Bash)", "Bash", "Bash|Edit"],
        "SessionStart": ["startup"],
    }
    notes = str(done.json["notes"])
    for reason in (
        "no glob is equivalent",
        "only Claude Code can run",
        "runs once",
        "not about a tool",
        "only Claude Code has the event",
    ):
        assert reason in notes


def test_a_file_that_is_there_is_added_to(project: Project) -> None:
    """Every other character is unchanged, and nothing is added twice."""
    settings(project, PreToolUse=[group("Bash")])
    path = project.root / "coder.json"
    path.write_text(
        '{ "theirs": [1,  2],\n  "hooks": [\n    {"name": "echo", "event": "stop", "command": "true"}\n  ] }\n'
    )
    assert hookrun(project, "migrate").status == 0
    text = path.read_text()
    assert text.startswith(
        '{ "theirs": [1,  2],\n  "hooks": [\n    {"name": "echo", "event": "stop", "command": "true"},'
    )
    assert [hook["name"] for hook in json.loads(text)["hooks"]] == ["echo", "echo-2"]
    assert hookrun(project, "migrate").stdout == "no hooks to convert\n"
    assert path.read_text() == text


def test_a_persons_settings_become_their_declarations(project: Project) -> None:
    """In the home directory's own file."""
    path = project.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": {"Stop": [group()]}}))
    assert hookrun(project, "migrate", str(path)).status == 0
    declared = json.loads((project.home / ".config" / "hookrun" / "hooks.json").read_text())
    assert [hook["event"] for hook in declared["hooks"]] == ["stop"]


@rows(
    "name, text, message",
    [
        (".claude/settings.json", "{}", "no hooks in Claude Code's format"),
        (".claude/settings.json", '{"hooks": []}', "`hooks` must be an object of events"),
        ("hookrun.yaml", "x-a: &a []\nhooks: *a\n", "cannot be edited in place"),
        ("coder.json", "{", "fix it first"),
        ("coder.json", '{"hooks": {}}', "`hooks` is not a list"),
    ],
)
def test_what_cannot_be_done_is_said(project: Project, name: str, text: str, message: str) -> None:
    """In at most three lines, with status 1."""
    settings(project, Stop=[group()])
    project.script(name, text)
    done = hookrun(project, "migrate")
    (project.root / name).unlink()
    assert (done.status, done.stdout) == (1, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) <= 3


def test_hooks_are_added_to_yaml(project: Project) -> None:
    """To the file that is there, which keeps its comments."""
    settings(project, Stop=[group()])
    project.script("hookrun.yaml", "# ours\nhooks:\n  - {name: one, event: stop, command: 'true'}\n", 0o644)
    assert hookrun(project, "migrate").status == 0
    assert (project.root / "hookrun.yaml").read_text().startswith("# ours\nhooks:\n  - {name: one")
    assert [hook["event"] for hook in project.config()["hooks"]] == ["stop", "stop"]
    assert not (project.root / "coder.json").exists()


def test_settings_that_were_included_are_not_any_more(project: Project) -> None:
    """Their hooks would run twice, once from either file; what else is included stays."""
    settings(project, PreToolUse=[group("Bash"), group("Edit", **{"if": "Edit(*.py)"})])
    (project.root / "other.json").write_text('{"hooks": []}')
    path = project.root / "coder.json"
    path.write_text(json.dumps({"hookrun": {"include": ["other.json", "./.claude/settings.json"]}}))
    done = hookrun(project, "migrate")
    assert f"{project.root}/.claude/settings.json is no longer included" in done.stderr
    assert json.loads(path.read_text())["hookrun"] == {"include": ["other.json", "claude-hooks.json"]}
    hooks = project.fire().verdict["hooks"]
    assert isinstance(hooks, list)
    assert len(hooks) == 1


def test_include_claude_is_removed_with_the_settings_that_are_moved(project: Project) -> None:
    """Their hooks would run twice."""
    settings(project, Stop=[group()])
    path = project.root / "coder.json"
    path.write_text('{"hookrun": {"include_claude": true, "audit": false}}')
    done = hookrun(project, "migrate")
    assert (done.status, "`include_claude` is removed" in done.stderr) == (0, True)
    assert json.loads(path.read_text())["hookrun"] == {"audit": False}


def test_include_claude_that_takes_in_more_is_for_the_person_to_change(project: Project) -> None:
    """Nothing is written: those hooks would be lost, or these run twice."""
    settings(project, Stop=[group()])
    local = project.root / ".claude" / "settings.local.json"
    local.write_text(json.dumps({"hooks": {"Stop": [group()]}}))
    path = project.root / "coder.json"
    path.write_text('{"hookrun": {"include_claude": true}}')
    done = hookrun(project, "migrate")
    assert done.status == 1
    assert f"include_claude includes {project.root}/.claude/settings.json, and {local}" in done.stderr
    assert path.read_text() == '{"hookrun": {"include_claude": true}}'
    local.write_text("{}")
    assert hookrun(project, "migrate", "--dry-run").status == 0


def test_a_persons_include_claude_is_theirs_to_change(project: Project) -> None:
    """It takes in every project's settings as well."""
    path = project.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": {"Stop": [group()]}}))
    project.user_hooks(include_claude=True)
    done = hookrun(project, "migrate", str(path))
    assert (done.status, "and the settings of every project" in done.stderr) == (1, True)


def test_hooks_that_are_switched_off_are_not_moved(project: Project) -> None:
    """Declared elsewhere, nothing would keep them from running."""
    settings(project, Stop=[group()])
    path = project.root / ".claude" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "disableAllHooks": True}))
    done = hookrun(project, "migrate")
    assert (done.status, done.stdout) == (1, "")
    assert "`disableAllHooks` is true\nhint: remove it first" in done.stderr
    assert not (project.root / "coder.json").exists()


LEFTHOOK = """
pre-commit:
  parallel: true
  commands:
    format: {glob: "*.{py,pyi}", run: "./check {staged_files}", stage_fixed: true}
    all: {run: ./check}
    skipped: {run: ./check, skip: merge}
pre-push:
  jobs:
    - {name: tests, run: "echo no tests >&2; false"}
commit-msg:
  commands:
    lint: {run: "commitlint {1}"}
"""


@pytest.mark.slow
def test_lefthook_s_commands_run_before_a_turn_ends_and_before_a_push(project: Project) -> None:
    """On the files that have changed and match; a failure is the next instruction, or blocks the push."""
    subprocess.run(["git", "init", "--quiet", project.root], check=True)
    commit = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x")
    subprocess.run(["git", "-C", project.root, *commit], check=True)
    (project.root / "check").write_text('#!/bin/sh\necho "$@" >> checked\n! grep -l bad "$@" < /dev/null >&2\n')
    (project.root / "check").chmod(0o755)
    (project.root / "lefthook.yml").write_text(LEFTHOOK)
    done = hookrun(project, "migrate", "lefthook.yml")
    for text in ("skipped: not converted: hookrun has no equivalent of `skip`", "no event for commit-msg"):
        assert text in done.stderr
    hooks = json.loads((project.root / "coder.json").read_text())["hooks"]
    names = [(each["name"], each["event"]) for each in hooks]
    assert names == [("format", "stop"), ("all", "stop"), ("tests", "pre_tool_use")]
    (project.root / "sub").mkdir()
    with Engine.load(project.root, home=project.home, trust_project=True) as engine:
        (project.root / "a b.py").write_text("good")
        (project.root / "c.txt").write_text("bad")
        assert engine.fire_sync("stop").action == "continue"
        assert "a b.py" in (project.root / "checked").read_text().splitlines()
        (project.root / "sub" / "d.pyi").write_text("bad")
        result = engine.fire_sync("stop")
        assert (result.action, result.message) == ("block", "sub/d.pyi")
        for command, action in (("git push", "block"), ("git pull", "continue")):
            result = engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": command})
            assert result.action == action
    assert hookrun(project, "migrate", "lefthook.yml").stdout == "no hooks to convert\n"


@rows(
    "name, text, command",
    [
        (".pre-commit-config.yaml", "repos: [{repo: local}]", "xargs -0 -r pre-commit run --files; } >&2 || exit 2"),
        (".husky/pre-commit", "npm test", "{ sh -e .husky/pre-commit; } >&2 || exit 2"),
    ],
)
def test_pre_commit_and_husky_are_called(project: Project, name: str, text: str, command: str) -> None:
    """They stay as they are: git calls them at commits, hookrun before a turn ends."""
    (project.root / ".husky").mkdir(exist_ok=True)
    (project.root / name).write_text(text)
    done = hookrun(project, "migrate", name)
    assert "leave the file as it is" in done.stderr
    (hook,) = json.loads((project.root / "coder.json").read_text())["hooks"]
    assert hook["event"] == "stop"
    assert hook["command"].endswith(command)
    (project.root / "coder.json").unlink()


def test_a_hook_of_husky_that_no_agent_has_is_named(project: Project) -> None:
    """Nothing is written."""
    (project.root / ".husky").mkdir()
    (project.root / ".husky" / "commit-msg").write_text("commitlint")
    done = hookrun(project, "migrate", ".husky/commit-msg")
    assert (done.status, done.stdout) == (0, "no hooks to convert\n")
    assert "agents have no event for commit-msg" in done.stderr
