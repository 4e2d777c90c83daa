"""The recipe protect-hooks: which calls of an agent it blocks, which it allows, and what it does not catch."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.recipes import protect_hooks
from hookrun.recipes.protect_hooks import RECIPE, enforcing_layers

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project


DECLARATION = {**RECIPE.hooks[0]}


@pytest.fixture
def guarded(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project with a guard, in an account that has declared the recipe; this process is that account's."""
    project.user_hooks(DECLARATION)
    project.script("hooks/guard.sh", "#!/bin/sh\nexit 0\n")
    project.hooks({"name": "guard", "matcher": "fetch", "command": "./hooks/guard.sh --rules rules.txt"})
    monkeypatch.setenv("HOME", str(project.home))
    monkeypatch.setenv("HOOKRUN_PROJECT_DIR", str(project.root))
    return project


def call(root: Path, tool: str, **args: object) -> dict[str, object] | None:
    """Return the recipe's answer to a call of a tool in a project, None where it allows."""
    context = {"event": "pre_tool_use", "session_id": "s", "tool_name": tool, "tool_args": args}
    return protect_hooks.guard({**context, "working_dir": str(root)})


def blocks(root: Path, tool: str, **args: object) -> bool:
    """Return whether the recipe blocks a call."""
    answer = call(root, tool, **args)
    return answer is not None and answer["action"] == "block"


def test_the_recipe_blocks_and_allows_as_a_hook_of_the_user(guarded: Project) -> None:
    """As an agent gets it: what it may do instead, or nothing."""
    context = {"session_id": "s", "tool_name": "bash", "working_dir": str(guarded.root)}
    blocked = guarded.fire({**context, "tool_args": {"command": "rm hooks/guard.sh"}})
    assert (blocked.action, "Ask the user" in str(blocked.verdict["message"])) == ("block", True)
    allowed = guarded.fire({**context, "tool_args": {"command": "cat hooks/guard.sh"}})
    assert (allowed.action, allowed.stderr) == ("continue", "")


FILES = (
        "coder.json", "sub/coder.json", "coder.local.json", "hookrun.yaml", "./hooks/../hooks/guard.sh",
        ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/any.py", ".codex/config.toml",
        ".gemini/settings.json", ".qwen/settings.json", ".github/hooks/hookrun.json", ".cline/hooks/PreToolUse",
        ".clinerules/hooks/PreToolUse", ".opencode/plugin/hookrun.js", "opencode.json", ".cursor/hooks.json",
        ".factory/settings.json", "~/.kimi-code/config.toml", "~/.hermes/config.yaml", ".openhands/hooks.json",
        "~/.config/hookrun/hooks.json", "~/.local/share/hookrun/trust.json", "~/.cache/hookrun/any.json",
        "~/.claude/settings.json", "~/.local/state/hookrun/audit.jsonl", "/etc/hookrun/hooks.json",
)  # fmt: skip


@pytest.mark.parametrize("tool", ["write", "edit", "delete"])
def test_a_file_that_guards_the_agent_is_not_edited(guarded: Project, tool: str) -> None:
    """Declarations, hook scripts, agent settings and hookrun's own files: blocked, with what to do instead."""
    answers = {path: call(guarded.root, tool, file_path=path) or {"action": "continue"} for path in FILES}
    assert {path: answer for path, answer in answers.items() if answer["action"] != "block"} == {}
    assert {path: answer for path, answer in answers.items() if "Ask the user" not in str(answer["message"])} == {}


def test_a_file_that_a_hook_would_load_as_a_standard_module_is_not_written(guarded: Project) -> None:
    """No hook names it, as it does not exist yet: Python looks beside the script first."""
    guarded.script("hooks/check.py", "import json\n")
    guarded.hooks({"name": "check", "command": "python3 hooks/check.py"})
    for path in ("hooks/json.py", "hooks/re.py", "hooks/json/__init__.py"):
        assert blocks(guarded.root, "write", file_path=path), path
        assert blocks(guarded.root, "bash", command=f"cp x {path}"), path
    assert not blocks(guarded.root, "write", file_path="hooks/other.py")


def test_a_link_to_a_guard_is_the_guard(guarded: Project) -> None:
    """A file that is a link to a hook's script is the script, under whatever name and through whatever directory."""
    (guarded.root / "notes.txt").symlink_to("hooks/guard.sh")
    (guarded.root / "tools").symlink_to("hooks")
    assert blocks(guarded.root, "write", file_path="notes.txt")
    assert blocks(guarded.root, "write", file_path=str(guarded.root / "tools" / "guard.sh"))
    (guarded.root / "far").symlink_to("/usr/share")
    assert blocks(guarded.root, "write", file_path="far/../notes.txt"), "some agents shorten paths first"
    assert blocks(guarded.root, "write", file_path=f"/{guarded.root}/coder.json"), "// is / on our systems"


CHANGES = (
        "hookrun trust", "hookrun trust --yes sha256:00", "/usr/local/bin/hookrun pause", "python3 -m hookrun deny g",
        "HOME=/tmp hookrun deny guard", "cd /tmp && hookrun uninstall claude", "sudo -u me hookrun untrust",
        "bash -c 'hookrun pause --for 2h'", "echo y | hookrun trust", "hookrun allow 3f2a91",
        "timeout 5 hookrun enable x", "true\nhookrun pause", "x=$(hookrun pause)", "hookrun 'trust'",
        "echo '{}' > coder.json", "echo '{}' >> ./coder.json", "cat x >| coder.json", "tee coder.json < x",
        "rm hooks/guard.sh", "rm -rf ~/.local/share/hookrun/trust.json", "mv x coder.json", "cp x hooks/guard.sh",
        "sed -i s/2/0/ hooks/guard.sh", "perl -pi -e s/2/0/ hooks/guard.sh", "chmod -x hooks/guard.sh",
        "git checkout HEAD~3 -- hooks/guard.sh", "ln -sf /bin/true hooks/guard.sh", "dd if=x of=coder.json",
        "hookrun recipes update --user --replace", "python3 -c \"open('coder.json', 'w')\"",
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
        "rm -f ~/.config/hookrun/*.json", "rm ~/.config/hookrun/h*", "rm -rf ~/.config/h*", "rm -rf h*",
        "rm ~/.config/*/hooks.json", "cd ~/.config && rm -rf hook?un", "find ~/.config/hookrun -name '*.json' -delete",
        "find ~ -name hooks.json -delete", "mount --bind /x ~/.config/hookrun", "sudo mount -t tmpfs t ~/.config",
        "mount -o bind /dev/null coder.json", "umount ~/.config/hookrun", "pkill -f hookrun", "killall hookrun-client",
        "kill $(pgrep -f hookrun)", "pgrep hookrun | xargs kill -9", "pip uninstall -y hookrun",
        "python3 -m pip uninstall hookrun", "uv tool uninstall hookrun", "pipx uninstall hookrun",
        "brew remove hookrun", "rm ~/.local/bin/hookrun", "rm $(which hookrun)",
)  # fmt: skip


def test_what_git_would_take_away_of_them_stays(guarded: Project) -> None:
    """`git stash` and `git reset --hard` are allowed unless one of these files would change."""
    (guarded.root / ".git").rmdir()
    config = ("-c", "user.name=a", "-c", "user.email=a@b.c")

    def git(*words: str) -> None:
        subprocess.run(["git", *config, *words], cwd=guarded.root, check=True, capture_output=True)

    guarded.script("src/a.py", "1\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "1")
    taking = ["git stash", "git stash push -m x", "git reset --hard", "cd hooks && git stash -u", "git stash save x"]
    guarded.script("src/a.py", "2\n")
    assert [line for line in taking if blocks(guarded.root, "bash", command=line)] == []
    guarded.script("hooks/guard.sh", "#!/bin/sh\nexit 2\n")
    assert [line for line in taking if not blocks(guarded.root, "bash", command=line)] == []
    harmless = ["git stash list", "git reset", "git reset --soft HEAD", "git stash show"]
    assert [line for line in harmless if blocks(guarded.root, "bash", command=line)] == []
    git("commit", "-qam", "2")
    assert blocks(guarded.root, "bash", command="git reset --hard HEAD~1")
    assert not blocks(guarded.root, "bash", command="git reset --hard HEAD")
    guarded.script("coder.local.json", "{}")
    assert blocks(guarded.root, "bash", command="git stash --include-untracked")
    assert not blocks(guarded.root, "bash", command="git stash")


def test_what_only_looks_like_it_is_allowed(guarded: Project) -> None:
    """Other files, other programs, other mounts."""
    lines = (
        "rm -f *.pyc", "rm -rf build/*", "find . -name '*.pyc' -delete", "mount", "mount --bind a /mnt", "kill 1234",
        "pgrep hookrun", "pkill node", "pip uninstall flask", "pip install hookrun", "apt remove nano", "rm ~/Down*",
        "ps aux | grep hookrun", "git rm src/hookrun.py", "find ~/src -name '*.json' -delete",
    )  # fmt: skip
    assert [line for line in lines if blocks(guarded.root, "bash", command=line)] == []


def test_a_command_that_plainly_changes_what_guards_the_agent_is_not_run(guarded: Project) -> None:
    """Hookrun's commands for users, redirections, and programs that change the files they are given: blocked."""
    lines = [line.replace("ROOT", str(guarded.root)) for line in CHANGES]
    assert [line for line in lines if not blocks(guarded.root, "bash", command=line)] == []


def test_a_command_is_followed_through_links(guarded: Project) -> None:
    """In the path or at its end, by pattern, and with `..` behind one."""
    root = guarded.root
    blocked = {
        "rm -rf account/.config": True,
        "rm -rf account/.config/*": True,
        "mv account/.claude old": True,
        "rm account": False,
        "echo > notes": True,
        "echo > no*s": True,
        "cp x tools": False,
        "cp guard.sh tools": True,
        "cd tools; rm guard.sh": True,
        "cd deep/link && rm ../guard.sh": True,
        "rm deep/link/../guard.sh": True,
        f"rm {root}/deep/link/../guard.sh": True,
        f"rm /{root}/hooks/guard.sh": True,
        f"rm -rf /{root}/deep/link/..": True,
    }
    (root / "hooks" / "inside").mkdir()
    (root / "deep").mkdir()
    for name, target in {
        "account": str(guarded.home),
        "notes": "hooks/guard.sh",
        "tools": "hooks",
        "deep/link": "../hooks/inside",
    }.items():
        (root / name).symlink_to(target)
    assert {line: blocks(root, "bash", command=line) for line in blocked} == blocked


PASSES = (
    "cat coder.json",
    "hookrun list && hookrun validate",
    "git commit -m 'hookrun trust asks once'",
    "grep -rn 'hookrun pause' docs > /dev/null 2>&1",
    "./hooks/guard.sh < context.json > out.txt",
    "git add coder.json",
    "rm build/coder.txt; sed -n 1,5p coder.json",
    "echo 'never closed",
    "hookrun add secret-scan --dry-run; hookrun recipes show secret-scan",
    "rm -rf build .cursor; mv a ~/.config; mv x .",
    "cat > notes <<'A'\nrm -rf /\nA\necho 'never; rm -rf ~/.config'",
    "curl -o /tmp/x http://a/coder.json; wget -O- http://a/coder.json",
    "find . -name '*.pyc' -delete; find . -name x -exec rm {} +",
    # documented as not caught: other programs, names that only the shell knows
    "python3 -c \"open(name, 'w')\"",
    "echo > $FILE",
    "make install-hooks",
)


def test_what_changes_nothing_of_it_or_is_not_plain_passes(guarded: Project) -> None:
    """Reading, running and naming are no changes."""
    assert {line: answer for line in PASSES if (answer := call(guarded.root, "bash", command=line)) is not None} == {}
    for tool, path in (("write", "src/main.py"), ("edit", "rules.txt"), ("read", "coder.json")):
        assert call(guarded.root, tool, file_path=path) is None, (tool, path)


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
