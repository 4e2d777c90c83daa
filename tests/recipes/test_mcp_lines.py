"""Lines of shell in the arguments of MCP servers' tools, which guards judge as the agent's own, and harmless twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookrun.recipes.shell_recipe import line_directory, line_of, reads_only
from tests.recipes.test_git_losses import clean, git
from tests.rows import rows

if TYPE_CHECKING:
    from tests.recipes.account import Account

__all__ = ["clean"]  # a fixture

START = "mcp__desktop-commander__start_process"
READ, WRITE = "mcp__filesystem__read_text_file", "mcp__filesystem__write_file"


def answer(account: Account, guard: str, tool: str, args: dict[str, Any]) -> str:
    """Return what a guard says to a call, "continue" for nothing."""
    found = account.call(guard, event="pre_tool_use", agent="claude", tool_name=tool, tool_args=args)
    return "continue" if found is None else str(found["action"])


@pytest.mark.parametrize(
    ("guard", "harmful", "harmless"),
    [
        ("block_destructive_commands", "rm -rf ~", "rm -rf build"),
        ("no_force_push", "git push -f origin main", "git push origin fix"),
        ("no_verify", "git commit --no-verify -m x", "git commit -m x"),
        ("protect_branches", "git switch main && git commit -m x", "git switch -c fix && git commit -m x"),
        ("protect_files", "cat .env", "cat .env.example"),
        ("protect_hooks:guard", "echo x > coder.json", "cat coder.json"),
        ("protect_cloud", "terraform destroy -auto-approve", "terraform plan"),
        ("protect_data", "npx prisma migrate reset --force", "npx prisma generate"),
    ],
)
def test_each_guard_reads_the_line(clean: Account, guard: str, harmful: str, harmless: str) -> None:
    """In each argument that tools have for it; a server may take the words one by one."""
    wrong = {}
    for name in ("command", "cmd", "script", "commandLine"):
        wrong[name] = answer(clean, guard, START, {name: harmful}) == "continue"
        wrong[f"{name}, harmless"] = answer(clean, guard, START, {name: harmless}) != "continue"
        wrong[f"{name}, another"] = answer(clean, guard, START, {"text": harmful, name: harmless}) != "continue"
    assert [each for each, is_wrong in wrong.items() if is_wrong] == []


def test_words_one_by_one(clean: Account) -> None:
    """The program and its arguments, quoted as they are."""
    words = {"command": "rm", "args": ["-rf", "/"]}
    assert answer(clean, "block_destructive_commands", "mcp__shell__run", words) == "block"
    quoted = {"command": "grep", "args": ["-rn", "x; rm -rf /", "docs"]}
    assert answer(clean, "block_destructive_commands", "mcp__shell__run", quoted) == "continue"
    assert answer(clean, "block_destructive_commands", "mcp__shell__run", {"command": ["rm", "-rf", "/"]}) == "block"


@rows(
    "tool, args, line",
    [
        (START, {"command": "ls"}, "ls"),
        (START, {"command": "ls", "timeout_ms": 5}, "ls"),
        (START, {"command": "cd a", "script": "ls"}, "cd a\nls"),
        ("mcp__shell__run", {"command": "rm", "args": ["-r", "a b"]}, "'rm' '-r' 'a b'"),
        ("mcp__shell__run", {"args": ["-r"]}, None),
        ("mcp__notes__add", {"text": "rm -rf /"}, None),
        ("mcp__notes__add", {"command": 3}, None),
        ("bash", {"command": "ls", "script": "rm -rf /"}, "ls"),
        ("Bash", {"script": "ls"}, None),
    ],
)
def test_the_line_of_a_call(tool: str, args: dict[str, Any], line: str | None) -> None:
    """Other tools have it in `command` only: their other arguments are the agent's."""
    assert line_of({"tool_name": tool, "tool_args": args}) == line


@rows(
    "tool, where, directory",
    [
        (START, {"cwd": "/srv/app"}, "/srv/app"),
        (START, {"cwd": "app"}, "/work/app"),
        ("mcp__shell__run", {"working_directory": "/srv/app"}, "/srv/app"),
        ("mcp__shell__run", {"workdir": "~/app"}, "/home/me/app"),
        ("mcp__shell__run", {"cwd": 3}, "/work"),
        ("mcp__shell__run", {}, "/work"),
        ("bash", {"cwd": "/srv/app"}, "/work"),
    ],
)
def test_the_directory_of_a_line(nobody: Account, tool: str, where: dict[str, Any], directory: str) -> None:
    """A server's tool may name it; for other tools the agent has."""
    del nobody  # its home
    given = {"tool_name": tool, "working_dir": "/work", "tool_args": {"command": "ls", **where}}
    assert line_directory(given) == directory


def test_a_line_is_judged_where_it_runs(clean: Account) -> None:
    """By the branch that is checked out there, with aliases, too."""
    git(clean.work, "config", "alias.p", "!git push -f")
    git(clean.work, "worktree", "add", "-q", "../main", "main")
    pushes = ["git push -f", "git p", "git -C . push -f"]
    on_main = [answer(clean, "no_force_push", START, {"command": line, "cwd": "../main"}) for line in pushes]
    on_feature = [answer(clean, "no_force_push", START, {"command": line}) for line in pushes]
    assert (on_main, on_feature) == (["block"] * 3, ["continue"] * 3)


@rows(
    "tool, reads",
    [
        (READ, True),
        ("mcp__github__get_file_contents", True),
        (WRITE, False),
        ("mcp__filesystem__edit_file", False),
        ("mcp__github__create_or_update_file", False),
        ("mcp__create__list", True),
        ("mcp__filesystem__put_file", False),
        ("mcp__filesystem__move_file", False),
        ("mcp__editor__apply", False),
        ("mcp__code__find_references", True),
        ("read", True),
        ("bash", False),
    ],
)
def test_what_only_reads(tool: str, reads: bool) -> None:
    """The tool's name must say so, not its server's; in doubt it writes."""
    assert reads_only({"tool_name": tool}) is reads


@rows(
    "guard, tool, path, action",
    [
        ("protect_files", READ, ".env", "block"),
        ("protect_files", READ, "package-lock.json", "continue"),
        ("protect_files", WRITE, "package-lock.json", "block"),
        ("protect_files", READ, "src/app.ts", "continue"),
        ("protect_hooks:guard", WRITE, "coder.json", "block"),
        ("protect_hooks:guard", READ, "coder.json", "continue"),
        ("protect_branches", WRITE, "src/app.ts", "continue"),
    ],
)
def test_files_of_other_tools(clean: Account, guard: str, tool: str, path: str, action: str) -> None:
    """By the argument `path`; a server's file need not be in this repository, so its branch says nothing."""
    assert answer(clean, guard, tool, {"path": path}) == action


@rows(
    "guard, tool, args, action",
    [
        ("protect_hooks:guard", "mcp__fs__move_file", {"source": "a.json", "destination": "coder.json"}, "block"),
        ("protect_hooks:guard", "mcp__fs__move_file", {"source": "a.json", "destination": "b.json"}, "continue"),
        ("protect_hooks:guard", "mcp__fs__put", {"filename": "coder.json", "text": "{}"}, "block"),
        ("protect_files", "mcp__fs__read_multiple_files", {"paths": ["src/app.ts", ".env"]}, "block"),
        ("protect_files", "mcp__fs__read_multiple_files", {"paths": ["src/app.ts", "README.md"]}, "continue"),
        ("protect_files", "mcp__fs__search_files", {"path": ".", "glob": ".env"}, "block"),
        ("protect_files", "mcp__fs__search_files", {"path": ".", "glob": "*.ts"}, "continue"),
        ("protect_files", "mcp__notes__add", {"text": ".env"}, "continue"),
    ],
)
def test_files_by_other_arguments(clean: Account, guard: str, tool: str, args: dict[str, Any], action: str) -> None:
    """Servers name files in many ways: what an argument is called decides."""
    assert answer(clean, guard, tool, args) == action
