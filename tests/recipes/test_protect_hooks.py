"""The recipe protect-hooks: which calls of an agent it blocks, which it allows, and what it does not catch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.recipes.protect_hooks import DECLARATION, enforcing_layers
from tests.cli.command import hookrun

if TYPE_CHECKING:
    from tests.conftest import Fired, Project


@pytest.fixture
def guarded(project: Project) -> Project:
    """Return a project with a guard, in an account that has declared the recipe."""
    project.user_hooks(DECLARATION)
    project.script("hooks/guard.sh", "#!/bin/sh\nexit 0\n")
    project.hooks({"name": "guard", "matcher": "fetch", "command": "./hooks/guard.sh --rules rules.txt"})
    return project


def call(project: Project, tool: str, **args: object) -> Fired:
    """Fire the event that an agent sends before it calls a tool."""
    context = {"session_id": "s", "tool_name": tool, "tool_args": args, "working_dir": str(project.root)}
    return project.fire(context)


@pytest.mark.parametrize("tool", ["write", "edit", "delete"])
@pytest.mark.parametrize(
    "path",
    [
        "coder.json", "sub/coder.json", "coder.local.json", "hookrun.yaml", "./hooks/../hooks/guard.sh",
        ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/any.py", ".codex/config.toml",
        ".gemini/settings.json", ".qwen/settings.json", ".github/hooks/hookrun.json", ".cline/hooks/PreToolUse",
        ".clinerules/hooks/PreToolUse", ".opencode/plugin/hookrun.js", "opencode.json", ".cursor/hooks.json",
        "~/.config/hookrun/hooks.json", "~/.local/share/hookrun/trust.json", "~/.cache/hookrun/any.json",
        "~/.claude/settings.json", "~/.local/state/hookrun/audit.jsonl", "/etc/hookrun/hooks.json",
    ],
)  # fmt: skip
@pytest.mark.sampled(8)
def test_a_file_that_guards_the_agent_is_not_edited(guarded: Project, tool: str, path: str) -> None:
    """Declarations, hook scripts, agent settings and hookrun's own files: blocked, with what to do instead."""
    fired = call(guarded, tool, file_path=path)
    assert fired.action == "block"
    assert "Ask the user" in str(fired.verdict["message"])


@pytest.mark.slow
def test_a_link_to_a_guard_is_the_guard(guarded: Project) -> None:
    """A file that is a link to a hook's script is the script, under whatever name and through whatever directory."""
    (guarded.root / "notes.txt").symlink_to("hooks/guard.sh")
    (guarded.root / "tools").symlink_to("hooks")
    assert call(guarded, "write", file_path="notes.txt").action == "block"
    assert call(guarded, "write", file_path=str(guarded.root / "tools" / "guard.sh")).action == "block"
    (guarded.root / "far").symlink_to("/usr/share")
    assert call(guarded, "write", file_path="far/../notes.txt").action == "block", "some agents shorten paths first"
    assert call(guarded, "write", file_path=f"/{guarded.root}/coder.json").action == "block", "// is / on our systems"


@pytest.mark.parametrize(
    "command",
    [
        "hookrun trust", "hookrun trust --yes sha256:00", "/usr/local/bin/hookrun pause", "python3 -m hookrun deny g",
        "HOME=/tmp hookrun deny guard", "cd /tmp && hookrun uninstall claude", "sudo -u me hookrun untrust",
        "bash -c 'hookrun pause --for 2h'", "script -qc 'hookrun trust' /dev/null", "echo y | hookrun trust",
        "timeout 5 hookrun enable x", "true\nhookrun pause", "x=$(hookrun pause)", "hookrun 'trust'",
        "echo '{}' > coder.json", "echo '{}' >> ./coder.json", "cat x >| coder.json", "tee coder.json < x",
        "rm hooks/guard.sh", "rm -rf ~/.local/share/hookrun/trust.json", "mv x coder.json", "cp x hooks/guard.sh",
        "sed -i s/2/0/ hooks/guard.sh", "perl -pi -e s/2/0/ hooks/guard.sh", "chmod -x hooks/guard.sh",
        "git checkout HEAD~3 -- hooks/guard.sh", "ln -sf /bin/true hooks/guard.sh", "dd if=x of=coder.json",
        "hookrun recipes remove protect-hooks --user", "hookrun recipes update --user --replace",
        "hookrun add secret-scan --user", "python3 -m hookrun recipes remove guard", "hookrun new guard --lang python",
        "rm -rf ~/.config/hookrun", "mv ~/.config/hookrun /tmp/x", "rm -rf ~/.local/share/hookrun/",
        "rm -rf ~/.claude", "rm -rf ~/.config/*", "sudo rm -r ~", "rm -rf hooks", "mv hooks old", "find hooks -delete",
        "find ~/.config/hookrun -exec rm {} +", "curl -o ~/.config/hookrun/hooks.json u", "curl -sSLo coder.json u",
        "curl --output=coder.json u", "curl -O http://x/coder.json", "sudo wget -qO coder.json u",
        "wget --output-document coder.json u", "sort -o coder.json x",
        "git -C hooks rm guard.sh", "git -C hooks checkout HEAD~3 -- guard.sh", "cd / && git -C ROOT rm coder.json",
        "git --work-tree=hooks rm guard.sh", "GIT_WORK_TREE=hooks git checkout HEAD~3 -- guard.sh",
        "cd / && git --git-dir=ROOT/.git --work-tree=ROOT rm coder.json", "cd hooks; git --work-tree .. rm guard.sh",
        "git --work-tree=$DIR rm coder.json", "git --git-dir=x --work-tree=$HOME clean -fdx",
        "sudo rm hooks/guard.sh", "sh -c 'echo > coder.json'", "truncate -s0 .claude/settings.json",
    ],
)  # fmt: skip
@pytest.mark.sampled(8)
def test_a_command_that_plainly_changes_what_guards_the_agent_is_not_run(guarded: Project, command: str) -> None:
    """Hookrun's commands for users, redirections, and programs that change the files they are given: blocked."""
    assert call(guarded, "bash", command=command.replace("ROOT", str(guarded.root))).action == "block"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("rm -rf account/.config", "block"),
        ("rm -rf account/.config/*", "block"),
        ("mv account/.claude old", "block"),
        ("rm account", "continue"),
        ("echo > notes", "block"),
        ("echo > no*s", "block"),
        ("cp x tools", "continue"),
        ("cp guard.sh tools", "block"),
        ("cd tools; rm guard.sh", "block"),
        ("cd deep/link && rm ../guard.sh", "block"),
        ("rm deep/link/../guard.sh", "block"),
        ("rm ROOT/deep/link/../guard.sh", "block"),
        ("rm /ROOT/hooks/guard.sh", "block"),
        ("rm -rf /ROOT/deep/link/..", "block"),
    ],
)
def test_a_command_is_followed_through_links(guarded: Project, command: str, action: str) -> None:
    """In the path or at its end, by pattern, and with `..` behind one."""
    (guarded.root / "hooks" / "inside").mkdir()
    (guarded.root / "deep").mkdir()
    for name, target in {
        "account": str(guarded.home),
        "notes": "hooks/guard.sh",
        "tools": "hooks",
        "deep/link": "../hooks/inside",
    }.items():
        (guarded.root / name).symlink_to(target)
    assert call(guarded, "bash", command=command.replace("ROOT", str(guarded.root))).action == action


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write", {"file_path": "src/main.py"}),
        ("edit", {"file_path": "rules.txt"}),
        ("read", {"file_path": "coder.json"}),
        ("bash", {"command": "cat coder.json"}),
        ("bash", {"command": "hookrun list && hookrun validate"}),
        ("bash", {"command": "git commit -m 'hookrun trust asks once'"}),
        ("bash", {"command": "grep -rn 'hookrun pause' docs > /dev/null 2>&1"}),
        ("bash", {"command": "./hooks/guard.sh < context.json > out.txt"}),
        ("bash", {"command": "git add coder.json"}),
        ("bash", {"command": "rm build/coder.txt; sed -n 1,5p coder.json"}),
        ("bash", {"command": "echo 'never closed"}),
        ("bash", {"command": "hookrun add secret-scan --dry-run; hookrun recipes show secret-scan"}),
        ("bash", {"command": "rm -rf build .cursor; mv a ~/.config; mv x ."}),
        ("bash", {"command": "cd build && rm -rf *"}),
        ("bash", {"command": "cat > notes <<'A'\nrm -rf /\nA\necho 'never; rm -rf ~/.config'"}),
        ("bash", {"command": "curl -o /tmp/x http://a/coder.json; wget -O- http://a/coder.json"}),
        ("bash", {"command": "find . -name '*.pyc' -delete; find . -name x -exec rm {} +"}),
    ],
)
def test_what_changes_nothing_of_it_passes(guarded: Project, tool: str, args: dict[str, object]) -> None:
    """Reading, running and naming are no changes."""
    fired = call(guarded, tool, **args)
    assert (fired.action, fired.stderr) == ("continue", "")


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c \"open('coder.json', 'w')\"",
        "echo > $FILE",
        "patch -p1 < fix.diff",
        "make install-hooks",
    ],
)
def test_what_is_not_plain_is_not_caught(guarded: Project, command: str) -> None:
    """Documented as not caught: other programs, names that only the shell knows."""
    assert call(guarded, "bash", command=command).action == "continue"


@pytest.mark.slow
def test_its_cases_hold_where_it_is_added(project: Project) -> None:
    """`hookrun add` writes examples that `hookrun test` runs; `recipes test` runs all that the recipe ships."""
    assert hookrun(project, "add", "protect-hooks").status == 0
    done = hookrun(project, "test")
    assert done.status == 0, done.stdout
    assert "3 tests: 3 passed" in done.stdout
    done = hookrun(project, "recipes", "test", "protect-hooks")
    assert done.status == 0, done.stdout
    assert "34 tests: 34 passed" in done.stdout


def test_doctor_can_tell_which_layers_enforce_the_recipe(project: Project) -> None:
    """None without a declaration or with one that only advises; a project's does not count for other projects."""

    def layers() -> set[str]:
        found = find(str(project.root), str(project.home), managed=str(project.home / "none"))
        return enforcing_layers(load_config(found).declarations.hooks)

    assert layers() == set()
    project.user_hooks({**DECLARATION, "mode": "advise"})
    assert layers() == set()
    project.hooks(DECLARATION)
    assert layers() == {"project"}
    project.user_hooks(DECLARATION)
    assert layers() == {"user", "project"}
