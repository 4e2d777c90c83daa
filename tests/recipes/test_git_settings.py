"""Recipes that read git: the effect of a repository's own configuration on a line, with the real git."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.recipes.account import Account


@pytest.fixture
def repository(account: Account) -> Account:
    """Return an account whose working directory is a repository, on `main`."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(account.work)], check=True)
    return account


def configure(repository: Account, settings: dict[str, str], where: str = ".") -> None:
    """Set values in the repository's git configuration."""
    for name, value in settings.items():
        subprocess.run(["git", "-C", str(repository.work / where), "config", "--add", name, value], check=True)


FORCED = [
    ({"alias.pf": "push --force"}, "git pf"),
    ({"alias.pf": "push --force"}, "git PF origin main"),
    ({"alias.p": "push"}, "git p -f"),
    ({"alias.pf": "p --force", "alias.p": "push"}, "git -c color.ui=never pf origin"),
    ({"alias.pf": "-c a.b=c push -f"}, "git pf"),
    ({"alias.pf": "!git fetch && git push -f"}, "git pf"),
    ({"alias.pf": "!git q", "alias.q": "push -f"}, "bash -c 'git pf'"),
    ({"remote.origin.push": "+refs/heads/*:refs/heads/*"}, "git push"),
    ({"remote.origin.push": "+main"}, "git push origin"),
    (
        {"remote.b.push": "a", "remote.origin.push": "b", "remote.pushDefault": "b", "Remote.b.Push": "+main"},
        "git push",
    ),
    ({"branch.main.remote": "b", "remote.b.mirror": "true"}, "git push"),
    ({"branch.main.pushRemote": "b", "branch.main.remote": "c", "remote.b.mirror": "1"}, "git push"),
    ({"remote.b.mirror": "yes"}, "git push b"),
]


def forces(repository: Account, settings: dict[str, str], line: str) -> bool:
    """Return whether a push is blocked in the repository with these settings alone."""
    config = repository.work / ".git" / "config"
    before = config.read_text()
    configure(repository, settings)
    answered = repository.answer("no_force_push", line)
    config.write_text(before)
    return answered is not None


def test_a_push_that_the_configuration_forces_is_blocked(repository: Account) -> None:
    """By an alias, also of an alias or a shell's line; by a refspec or a mirror of the remote that is pushed to."""
    assert [row for row in FORCED if not forces(repository, *row)] == []
    assert [line for _, line in FORCED if forces(repository, {}, line)] == []


NOT_FORCED = [
    ({"alias.p": "push"}, "git p origin main"),
    ({"alias.pf": "push --force"}, "git push"),
    ({"alias.pf": "push --force"}, "git -c alias.pf=status pf"),
    ({"remote.b.mirror": "true"}, "git push"),
    ({"remote.b.mirror": "true"}, "git push origin main"),
    ({"remote.origin.mirror": "false"}, "git push"),
    ({"remote.origin.push": "+main"}, "git push origin feature"),
    ({"remote.origin.push": "+main"}, "git fetch"),
    ({"alias.a": "b", "alias.b": "a"}, "git a"),
    ({"alias.a": "!echo push -f"}, "git a"),
]


def test_what_the_configuration_does_not_force_passes(repository: Account) -> None:
    """Another remote's mirror, a refspec that the line's own replaces, aliases that lead nowhere."""
    assert [row for row in NOT_FORCED if forces(repository, *row)] == []


def test_the_line_s_own_settings_come_first_and_git_s_own_commands_are_no_aliases(repository: Account) -> None:
    """As in git."""
    configure(repository, {"alias.pf": "status", "alias.push": "status"})
    assert repository.answer("no_force_push", "git -c alias.pf='push -f' pf") is not None
    assert repository.answer("no_force_push", "git push -f") is not None
    assert repository.answer("no_force_push", "git -c alias.push=status push -f") is not None


def test_the_configuration_is_that_of_the_repository_the_line_works_in(repository: Account) -> None:
    """With `cd` and `git -C`, each for itself."""
    subprocess.run(["git", "init", "-q", str(repository.work / "other")], check=True)
    configure(repository, {"alias.pf": "push --force"}, "other")
    assert repository.answer("no_force_push", "git pf") is None
    for line in ("cd other && git pf", "git -C other pf", "git pf; (cd other; git pf)"):
        assert repository.answer("no_force_push", line) is not None


def test_the_account_s_own_aliases_count(repository: Account) -> None:
    """Those of ~/.gitconfig, also where no repository is."""
    (repository.home / ".gitconfig").write_text("[alias]\n\tpf = push --force\n\tempty\n")
    for line in ("git pf", "cd / && git pf", "mkdir new && cd new && git pf"):
        assert repository.answer("no_force_push", line) is not None
    assert repository.answer("no_force_push", "git empty") is None


def test_commits_and_cleaning_by_an_alias_are_seen(repository: Account) -> None:
    """By the recipes that look for them."""
    configure(repository, {"alias.ci": "commit -q", "alias.wipe": "clean -fdx"})
    assert repository.answer("commit_message_check", "git ci -m 'feat: a line'") is None
    assert repository.answer("commit_message_check", "git ci -m 'a line'") is not None
    repository.write("new.txt")
    repository.options(ask="")
    assert repository.answer("block_destructive_commands", "git wipe") is None
    repository.options(git="clean")
    assert repository.answer("block_destructive_commands", "git wipe") is not None


@pytest.mark.parametrize("recipe", ["no_force_push", "block_destructive_commands", "protect_hooks:guard"])
def test_without_git_a_line_is_judged_by_what_it_says(
    repository: Account, monkeypatch: pytest.MonkeyPatch, recipe: str
) -> None:
    """An alias that cannot be looked up may be anything: it is blocked, and git's own commands are not."""
    configure(repository, {"alias.pf": "push --force", "remote.origin.push": "+main"})
    monkeypatch.setenv("PATH", str(repository.work))
    for line in ("git pf", "git -c a.b=c pf origin", "bash -c 'cd /tmp; git pf'"):
        assert "Git cannot be run" in str(repository.answer(recipe, line))
    for line in ("git -c alias.pf=status pf", "git status", "git push origin main", "git --version"):
        assert repository.answer(recipe, line) is None
    assert repository.answer("no_force_push", "git push -f") is not None


CHECKOUT = "git checkout -- settings.json"


LINES_IN_A_TREE = [
    ("protect_hooks:guard", CHECKOUT),
    ("protect_hooks:guard", f"cd .git && {CHECKOUT}"),
    ("protect_hooks:guard", f"cd / && git -C {{work}} {CHECKOUT[4:]}"),
    ("protect_hooks:guard", f"cd /tmp && git --git-dir {{work}}/.git {CHECKOUT[4:]}"),
    ("protect_hooks:guard", f"cd /tmp && GIT_DIR={{work}}/.git {CHECKOUT}"),
    ("protect_files", CHECKOUT),
    ("block_destructive_commands", "git clean -fdx"),
]


def passing_in_a_tree(repository: Account, file: str) -> list[tuple[str, str]]:
    """Return the lines that pass in a work tree that a file of the repository names: none should, each harms it."""
    repository.options(ask="")
    trees = dict.fromkeys(LINES_IN_A_TREE, repository.home / ".claude") | {LINES_IN_A_TREE[-1]: repository.home}
    own = repository.work / ".git" / file
    before = own.read_text() if own.exists() else ""
    passing = []
    for (recipe, line), tree in trees.items():
        for value in (f'"{tree}"', f"../../{tree.relative_to(repository.work.parent)} # from the git directory"):
            own.write_text(f"{before}[CORE]\n\tWorkTree={value}\n")
            if repository.answer(recipe, line.format(work=repository.work)) is None:
                passing.append((line, value))
    own.write_text(before)
    return passing


def test_the_work_tree_that_a_repository_s_own_settings_name_is_where_git_writes(repository: Account) -> None:
    """Those in the git directory, and those of a worktree, which an extension of git's has in a file of their own."""
    assert passing_in_a_tree(repository, "config") == []
    configure(repository, {"core.repositoryFormatVersion": "1", "extensions.worktreeConfig": "true"})
    assert passing_in_a_tree(repository, "config.worktree") == []


def test_settings_that_git_does_not_read_hide_no_work_tree(repository: Account) -> None:
    """Without its extension the second file counts for nothing."""
    tree = repository.home / ".claude"
    configure(repository, {"core.worktree": str(tree)})
    (repository.work / ".git" / "config.worktree").write_text("[core]\n\tworktree = /elsewhere\n")
    git = ["git", "-C", str(repository.work), "rev-parse", "--show-toplevel"]
    assert subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip() == str(tree)
    assert repository.answer("protect_hooks:guard", CHECKOUT) is not None


def test_a_work_tree_that_the_call_names_comes_before_the_configured_one(repository: Account) -> None:
    """As in git."""
    configure(repository, {"core.worktree": f"{repository.home}/.claude"})
    for line in ("git --work-tree=. {}", "GIT_WORK_TREE=. git {}", "git --work-tree . --git-dir .git {}"):
        assert repository.answer("protect_hooks:guard", line.format(CHECKOUT[4:])) is None
    assert repository.answer("protect_hooks:guard", CHECKOUT) is not None


@pytest.mark.parametrize("recipe", ["protect_hooks:guard", "protect_files"])
def test_a_line_that_sets_the_work_tree_may_change_all_in_it(repository: Account, recipe: str) -> None:
    """What follows in the line is not known to write there."""
    line = f"git config core.worktree {repository.home}/.claude && {CHECKOUT}"
    assert repository.answer(recipe, line) is not None
