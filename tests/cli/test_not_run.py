"""Hooks here that hookrun does not run are named, with the next command, and `init` includes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.config.not_run import not_run
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.fire.agents import call
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

HANDLER = {"type": "command", "command": "echo no >&2; exit 2"}
GROUPS = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [HANDLER, {**HANDLER, "command": "true"}]}]}}
OURS = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "hookrun fire --agent codex PreToolUse"}]}]}}
TWO = "hooks:\n  Stop:\n    - hooks:\n        - {type: command, command: x}\n        - {type: prompt}\n"
SUBAGENT = "a subagent of Claude Code"
WARNING = "warning: hookrun does not run .codex/hooks.json (2 hooks of Codex CLI)\nhint: `hookrun init` includes"


def write(project: Project, name: str, data: object) -> None:
    """Write a file, JSON unless it is a string."""
    path = project.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))


def found(project: Project) -> list[str]:
    """Return what is not run, as users read it."""
    return [str(each) for each in not_run(load_config(find(str(project.root), str(project.home))))]


VIEWS = [("list",), ("status",), ("validate",), ("explain", "pre_tool_use"), ("doctor", "claude")]


@rows("words", VIEWS)
def test_every_view_of_the_hooks_names_them(project: Project, words: tuple[str, ...]) -> None:
    """Whether there are other hooks or none; `status --json` has them."""
    write(project, ".codex/hooks.json", GROUPS)
    project.hooks()
    assert WARNING in hookrun(project, *words).stderr
    project.hooks({"event": "stop", "command": "true"})
    assert WARNING in hookrun(project, *words).stderr
    there = {"name": ".codex/hooks.json", "title": "Codex CLI", "hooks": 2, "includable": True}
    assert hookrun(project, "status", "--json").json["not_run"] == [there]
    project.hooks(include=[".codex/hooks.json"])
    assert "hookrun does not run" not in hookrun(project, *words).stderr


@rows("words", VIEWS)
def test_every_view_names_those_in_frontmatter(project: Project, words: tuple[str, ...]) -> None:
    """Even if Claude Code's other hooks are included; they cannot be, so there is no hint."""
    write(project, ".claude/settings.json", GROUPS)
    write(project, ".claude/agents/look.md", f"---\nname: look\n{TWO}---\nLook.\n")
    write(project, ".claude/skills/show/SKILL.md", f"---\nname: show\n{TWO}---\nShow.\n")
    project.hooks(include_claude=True)
    shown = hookrun(project, *words).stderr
    names = (f".claude/agents/look.md (2 hooks of {SUBAGENT})", ".claude/skills/show/SKILL.md (2 hooks of a skill of")
    assert all(name in " ".join(shown.split()) for name in ("hookrun does not run", *names)), shown
    assert "`hookrun init` includes" not in shown


def test_hooks_that_a_config_has_now_are_run(project: Project) -> None:
    """After `migrate`: to include them would run them twice. What was added since is not run."""
    write(project, ".claude/settings.json", {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [HANDLER]}]}})
    assert hookrun(project, "migrate").status == 0
    assert found(project) == []
    write(project, ".claude/settings.json", GROUPS)
    assert found(project) == [".claude/settings.json (1 hook of Claude Code)"]


@rows(
    "name, data, expected",
    [
        (".claude/settings.json", GROUPS, ["2 hooks of Claude Code"]),
        (".gemini/settings.json", {"hooks": {"BeforeTool": [{"hooks": [HANDLER]}]}}, ["1 hook of Gemini CLI"]),
        (".gemini/settings.json", {"theme": "dark"}, []),
        (".github/hooks/a.json", {"hooks": {"preToolUse": [{"bash": "true"}]}}, ["1 hook of Copilot CLI"]),
        (".cursor/hooks.json", {"hooks": {"stop": [{"command": "x"}]}}, ["1 hook of Cursor"]),
        (".factory/settings.json", GROUPS, ["1 hook of Droid"]),
        (".codex/hooks.json", OURS, []),
        (".codex/config.toml", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'x'\n", ["1 hook of Codex CLI"]),
        (".opencode/plugin/guard.ts", "export default {}", ["1 hook of OpenCode"]),
        (".opencode/plugin/hookrun.ts", "// hookrun", []),
        (".clinerules/hooks/PreToolUse", "#!/bin/sh", ["1 hook of Cline CLI"]),
        (".claude/agents/a.md", f"---\ntools:\n- Read\n{TWO}---\n", ["2 hooks of a subagent of Claude Code"]),
        (
            ".claude/agents/more/a.md",
            '---\nhooks: {Stop: [{hooks: [{type: x}, {"type": y}]}]}\n---\n',
            [f"2 hooks of {SUBAGENT}"],
        ),
        (
            ".claude/agents/a.md",
            "---\r\nhooks:\r\n  Stop:\r\n    - type: command\r\n---\r\n",
            [f"1 hook of {SUBAGENT}"],
        ),
        (".claude/agents/a.md", "---\nhooks:\n  Stop: [\n---\n", [f"1 hook of {SUBAGENT}"]),
        (".claude/agents/a.md", "---\nname: a\n---\nhooks:\n", []),
        (".claude/skills/a/SKILL.md", f"---\n{TWO}---\n", ["2 hooks of a skill of Claude Code"]),
        (".claude/skills/a/notes.md", f"---\n{TWO}---\n", []),
        (".claude/commands/a/b.md", f"---\n{TWO}---\n", ["2 hooks of a command of Claude Code"]),
    ],
)
def test_what_is_not_run(project: Project, name: str, data: object, expected: list[str]) -> None:
    """Files of every agent but hookrun's own entries, and the frontmatter of subagents, skills and commands."""
    write(project, name, data)
    assert found(project) == [f"{name} ({each})" for each in expected]
    (project.root / name).unlink()


def test_a_plugin_that_is_passed_over_is_named(project: Project) -> None:
    """It is enabled, and no marketplace of that name is known."""
    write(project, ".claude/settings.json", {"enabledPlugins": {"guard@nowhere": True}})
    project.hooks(include_claude=True)
    assert found(project) == ["guard@nowhere (a plugin of Claude Code)"]


def test_why_a_plugin_is_passed_over_is_a_warning_of_validate(project: Project) -> None:
    """No marketplace, not in it, no copy: each with its place in the settings, and counted."""
    market = project.home / "market"
    write(project, str(market / ".claude-plugin" / "marketplace.json"), {"plugins": [{"name": "b", "source": "./b"}]})
    known = {"here": {"source": {"source": "directory"}, "installLocation": str(market)}}
    write(project, str(project.home / ".claude" / "plugins" / "known_marketplaces.json"), known)
    write(project, ".claude/settings.json", {"enabledPlugins": dict.fromkeys(("a@nowhere", "a@here", "b@here"), True)})
    project.hooks(include_claude=True)
    project.approve()
    done = hookrun(project, "validate")
    for name, why in (
        ("a@nowhere", "its marketplace is not known"),
        ("a@here", "market/.claude-plugin/marketplace.json does not list it"),
        ("b@here", "there is no copy of it"),
    ):
        text = f'the plugin "{name}" is enabled, and its hooks do not run: '
        assert [each.endswith(why) for each in done.stdout.splitlines() if text in each] == [True]
    assert "0 errors, 3 warnings" in done.stdout
    assert "a@nowhere" not in done.stderr
    assert hookrun(project, "validate", "--strict").status == 1


@rows("name", ["hooks/hooks.json", "more/of-mine.json"])
def test_hooks_of_a_plugin_have_its_name_and_root(project: Project, name: str) -> None:
    """Whatever file of it names them; hookrun's own form, and the project's own settings, are none of it."""
    handler = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}"/check.sh'}
    write(project, f"kit/{name}", {"hooks": {"PreToolUse": [{"hooks": [handler]}]}})
    write(project, "kit/ours.json", {"hooks": [{"name": "ours", "event": "stop", "command": "true"}]})
    write(project, "kit/.claude-plugin/plugin.json", {"name": "kit"})
    project.script("kit/check.sh", "#!/bin/sh\ntouch $CLAUDE_PLUGIN_ROOT/ran\n")
    project.hooks(include=[f"kit/{name}", "kit/ours.json"])
    project.approve()
    listed = json.loads(hookrun(project, "list", "--json").stdout)["hooks"]
    assert sorted(each["name"] for each in listed) == ["kit:check", "ours"]
    assert "kit:check" in hookrun(project, "status", "--json").stdout + hookrun(project, "list").stdout
    ran = project.root / "kit" / "ran"
    ran.unlink(missing_ok=True)
    call(project, "fire", "pre_tool_use", stdin={"tool_name": "bash", "tool_args": {"command": "ls"}})
    assert ran.exists()
    (project.root / "kit" / name).unlink()


def test_init_offers_to_include_them_first(project: Project) -> None:
    """Enter accepts; then they run, once approved."""
    write(project, ".codex/hooks.json", GROUPS)
    session = at_terminal(project, "init", "--no-install", answers=("", "", "", "y", "y"), question=": ")
    assert session.status == 0, session.screen
    assert session.screen.index("Hooks of agents here") < session.screen.index("Hooks to add")
    assert "Include .codex/hooks.json, then write" in " ".join(session.screen.split())
    declared = project.config()
    assert declared["hookrun"]["include"] == [".codex/hooks.json"]
    assert found(project) == []


def test_init_includes_named_files_without_a_terminal(project: Project) -> None:
    """A file that hookrun cannot run, or that has no hooks of an agent, is an error."""
    write(project, ".codex/hooks.json", GROUPS)
    write(project, ".opencode/plugin/a.ts", "x")
    write(project, "a.json", {"hooks": []})
    words = ("init", "--no-install", "--recipe", "no-verify", "--include")
    for name, message in (
        (".opencode/plugin/a.ts", "cannot run hooks in this file of OpenCode"),
        ("a.json", "no hooks"),
    ):
        done = hookrun(project, *words, name)
        assert (done.status, message in done.stderr) == (1, True)
    assert not (project.root / "hookrun.yaml").exists()
    assert hookrun(project, *words, ".codex/hooks.json").status == 0
    assert hookrun(project, *words, ".codex/hooks.json").status == 0
    assert project.config()["hookrun"] == {"include": [".codex/hooks.json"]}
