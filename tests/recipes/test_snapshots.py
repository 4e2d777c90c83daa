"""Snapshots of uncommitted work, in real repositories: what they keep, what they leave alone, and what comes back."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.recipes import work_snapshots as snapshots
from hookrun.recipes.work_snapshots import Snapshot, SnapshotError, bring_back, changes, take
from tests.recipes.test_concerns import add
from tests.recipes.test_git_losses import CHANGES, clean, dirty, git
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Project
    from tests.recipes.account import Account

__all__ = ["clean", "dirty"]  # fixtures

GUARD, BEFORE = "block_destructive_commands", "snapshot_before"


def state(work: Path) -> dict[str, object]:
    """Return what a snapshot must leave alone: index, HEAD, settings, other refs, the files and their times."""
    files = {
        str(path.relative_to(work)): (os.lstat(path).st_mtime_ns, os.lstat(path).st_mode)
        for path in sorted(work.rglob("*"))
        if ".git" not in path.parts
    }
    own = {name: (work / ".git" / name).read_bytes() for name in ("index", "HEAD", "config")}
    refs = [line for line in git(work, "for-each-ref").splitlines() if snapshots.REFS not in line]
    return {"files": files, "refs": refs, "stash": git(work, "stash", "list"), **own}


def taken(work: Path, before: str = "a test") -> Snapshot:
    """Take a snapshot, which has something to keep."""
    made = take(str(work), before)
    assert made is not None
    return made


def restore(work: Path, made: Snapshot) -> Snapshot | None:
    """Bring all of a snapshot back, and see that the index of this work tree is as before."""
    before = index_of(work)
    found = changes(made, str(work))
    assert [each.path for each in found if each.problem] == []
    earlier = bring_back(str(work), made, found)
    assert index_of(work) == before
    return earlier


def index_of(work: Path) -> bytes | None:
    """Return a work tree's index, None without one."""
    path = work / git(work, "rev-parse", "--git-path", "index").strip()
    return path.read_bytes() if path.exists() else None


@contextmanager
def nearly_full() -> Iterator[None]:
    """Let no file grow beyond 4 KiB, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def discard(work: Path) -> None:
    """Lose all that is not committed."""
    git(work, "reset", "-q", "--hard")
    git(work, "clean", "-fdq")


NAMES = [
    "plain",
    "with space",
    'quote"d',
    "back\\slash",
    "new\nline",
    "-dash",
    "über",
    os.fsdecode(b"\xff\xfe"),
    "a/b/c d",
]


def test_everything_comes_back_byte_by_byte(clean: Account) -> None:
    """Odd names, binary content, line ends, modes and links; and nothing else is touched."""
    work = clean.work
    git(work, "config", "core.autocrlf", "true")
    for number, name in enumerate(NAMES):
        clean.write(name, f"{number}\r\n\0\n", 0o755 if number % 2 else 0o644)
    (work / "link").symlink_to("nowhere")
    clean.write("a.txt", "changed\r\nmixed\n")
    contents = {name: ((work / name).read_bytes(), os.stat(work / name).st_mode) for name in [*NAMES, "a.txt"]}
    before = state(work)
    made = taken(work)
    assert state(work) == before
    assert (made.files, made.left_out) == (len(NAMES) + 2, [])
    discard(work)
    assert not (work / "plain").exists()
    head = state(work)
    restore(work, made)
    after = state(work)
    assert {name: after[name] for name in after if name != "files"} == {
        name: head[name] for name in head if name != "files"
    }
    assert {name: ((work / name).read_bytes(), os.stat(work / name).st_mode) for name in contents} == contents
    assert os.readlink(work / "link") == "nowhere"


def test_nothing_is_kept_twice_or_for_nothing(clean: Account) -> None:
    """A clean tree has no snapshot, the same content one."""
    assert take(str(clean.work), "x") is None
    clean.write("new.txt")
    first = taken(clean.work)
    assert taken(clean.work).id == first.id
    clean.write("new.txt", "other\n")
    assert taken(clean.work).id != first.id


def test_an_undo_can_be_undone(dirty: Account) -> None:
    """What was there before it is a snapshot, unchanged files included; a removed tree comes back from the commit."""
    made = taken(dirty.work)
    discard(dirty.work)
    git(dirty.work, "rm", "-rq", "src")
    earlier = restore(dirty.work, made)
    assert earlier is not None
    assert (dirty.work / "a.txt").read_text() == "changed\n"
    assert (dirty.work / "src/b.txt").exists()
    restore(dirty.work, earlier)
    assert (dirty.work / "a.txt").read_text() == "x\n"
    assert (dirty.work / "new.txt").exists()


def test_deleted_files_stay_deleted(dirty: Account) -> None:
    """If they were when the snapshot was taken."""
    (dirty.work / "src/b.txt").unlink()
    made = taken(dirty.work)
    restore(dirty.work, made)
    assert not (dirty.work / "src/b.txt").exists()


def test_paths_limit_what_comes_back(dirty: Account) -> None:
    """A directory has what is in it."""
    dirty.write("src/new.txt")
    made = taken(dirty.work)
    discard(dirty.work)
    assert [each.path for each in changes(made, str(dirty.work), ("src",))] == ["src/new.txt"]


def test_a_snapshot_that_lacks_a_file_is_not_the_same(dirty: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if both have the same content: the first has all."""
    whole = taken(dirty.work)
    dirty.write("large.bin", "x" * 100)
    monkeypatch.setattr(snapshots, "MAX_FILE", 50)
    assert (taken(dirty.work).left_out, taken(dirty.work).id == whole.id) == (["large.bin"], False)


def test_what_is_too_large_is_left_out(dirty: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named, and never overwritten; as is a repository within this one, and staged content that is nowhere else."""
    dirty.write("large.bin", "x" * 100)
    git(dirty.work, "init", "-q", "inner")
    dirty.write("staged.txt", "later\n")
    whole = taken(dirty.work, "with the large one")
    monkeypatch.setattr(snapshots, "MAX_FILE", 50)
    made = taken(dirty.work)
    assert made.id != whole.id
    assert sorted(made.left_out) == ["inner/", "large.bin", "staged.txt as it is staged"]
    monkeypatch.setattr(snapshots, "MAX_FILES", 1)
    assert "new.txt" in taken(dirty.work).left_out


def test_what_is_in_the_way_is_not_overwritten(dirty: Account) -> None:
    """A directory, a file instead of a directory, and a link that leads elsewhere."""
    dirty.write("deep/x.txt")
    dirty.write("far/y.txt")
    made = taken(dirty.work)
    discard(dirty.work)
    elsewhere = dirty.home / "elsewhere"
    elsewhere.mkdir()
    dirty.write("deep", "a file\n")
    (dirty.work / "far").symlink_to(elsewhere)
    dirty.write("new.txt/z")
    problems = {each.path: bool(each.problem) for each in changes(made, str(dirty.work))}
    assert problems == {
        "a.txt": False, "deep/x.txt": True, "far/y.txt": True, "new.txt": True, "staged.txt": False,
    }  # fmt: skip


@pytest.mark.parametrize("folder", [".git", ".GIT", ".."])
def test_a_forged_snapshot_writes_nothing_into_git(clean: Account, folder: str) -> None:
    """A repository can come with refs and trees that git itself would not make."""
    clean.write("new.txt")
    made = taken(clean.work)
    about = git(clean.work, "show", "-s", "--format=%b", made.commit)
    tree = git(clean.work, "rev-parse", "HEAD:a.txt").strip()
    for kind, name in (("100755 blob", "pre-commit"), ("040000 tree", "hooks"), ("040000 tree", folder)):
        entry = f"{kind} {tree}\t{name}\n"
        call = subprocess.run(
            ["git", "mktree"], cwd=clean.work, input=entry, capture_output=True, text=True, check=True
        )
        tree = call.stdout.strip()
    commit = git(clean.work, "commit-tree", tree, "-m", f"x\n\n{about}").strip()
    git(clean.work, "update-ref", f"{snapshots.REFS}ffffffffffff", commit)
    forged = snapshots.snapshots(str(clean.work))[0]
    found = [(each.path, bool(each.problem)) for each in changes(forged, str(clean.work))]
    assert found == [(f"{folder}/hooks/pre-commit", True)]


def test_old_snapshots_go(clean: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """By number and by age."""
    monkeypatch.setattr(snapshots, "MAX_KEPT", 2)
    for number in range(4):
        clean.write("new.txt", f"{number}\n")
        taken(clean.work)
    assert len(snapshots.snapshots(str(clean.work))) == 2
    monkeypatch.setattr(snapshots, "MAX_AGE", -10)
    clean.write("new.txt", "last\n")
    made = taken(clean.work)
    assert [each.id for each in snapshots.snapshots(str(clean.work))] == [made.id]


def test_a_repository_without_a_commit(account: Account) -> None:
    """All its files are kept."""
    git(account.work, "init", "-q")
    account.write("a.txt")
    account.write("b.txt")
    git(account.work, "add", "a.txt")
    made = taken(account.work)
    (account.work / "a.txt").unlink()
    (account.work / "b.txt").unlink()
    restore(account.work, made)
    assert (account.work / "a.txt").exists()
    assert (account.work / "b.txt").exists()


def test_submodules_and_worktrees(clean: Account) -> None:
    """A submodule is left alone; each work tree has its own snapshots, its submodules theirs."""
    source = clean.home / "source"
    source.mkdir()
    git(source, "init", "-q")
    git(source, "commit", "-qm", "x", "--allow-empty")
    git(clean.work, "submodule", "--quiet", "add", str(source), "sub")
    git(clean.work, "commit", "-qm", "Add it")
    other = clean.work / "other"
    git(clean.work, "worktree", "add", "-q", str(other), "main")
    (clean.work / ".git/info/exclude").write_text("other\n")
    clean.write("sub/inner.txt")
    assert take(str(clean.work), "x") is None
    inside = taken(clean.work / "sub")
    assert inside.root == str(clean.work / "sub")
    (other / "a.txt").write_text("theirs\n")
    clean.write("a.txt", "ours\n")
    here, there = taken(clean.work), taken(other)
    assert (here.root, there.root) == (str(clean.work), str(other))
    git(other, "checkout", "-q", ".")
    restore(other, there)
    assert (other / "a.txt").read_text() == "theirs\n"


def test_a_sparse_checkout(dirty: Account) -> None:
    """Files that are not checked out are not missing."""
    git(dirty.work, "sparse-checkout", "set", "--no-cone", "/*", "!/src/")
    made = taken(dirty.work)
    discard(dirty.work)
    restore(dirty.work, made)
    assert not (dirty.work / "src").exists()
    assert (dirty.work / "new.txt").exists()


def test_a_locked_index_does_not_matter(dirty: Account) -> None:
    """It is only read."""
    lock = dirty.work / ".git/index.lock"
    lock.write_text("")
    made = taken(dirty.work)
    (dirty.work / "new.txt").unlink()
    restore(dirty.work, made)
    assert (dirty.work / "new.txt").exists()
    assert lock.exists()


def test_no_program_of_the_repository_runs(dirty: Account) -> None:
    """Neither filters, as those of LFS, nor hooks, nor its monitor of files."""
    trace = dirty.home / "ran"
    for name in ("core.fsmonitor", "filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process"):
        git(dirty.work, "config", name, f"touch {trace}")
    for hook in ("reference-transaction", "post-checkout", "post-index-change"):
        dirty.write(f".git/hooks/{hook}", f"#!/bin/sh\ntouch {trace}\n", 0o755)
    dirty.write(".gitattributes", "* filter=lfs\n")
    made = taken(dirty.work)
    (dirty.work / "new.txt").write_text("other\n")
    restore(dirty.work, made)
    assert (dirty.work / "new.txt").read_text() == "x\n"
    assert not trace.exists()


def test_a_full_disk_is_an_error_and_leaves_nothing(dirty: Account) -> None:
    """No snapshot, no pieces of one; what is there is as before."""
    dirty.write("large.bin", "".join(map(str, range(100_000))))
    before, objects = state(dirty.work), sorted((dirty.work / ".git").rglob("*"))
    with nearly_full(), pytest.raises(SnapshotError, match="git failed"):
        take(str(dirty.work), "x")
    assert state(dirty.work) == before
    assert sorted((dirty.work / ".git").rglob("*")) == objects


def test_a_disk_that_is_full_when_work_comes_back_is_an_error(clean: Account) -> None:
    """The file is named; index, HEAD and the files that are there stay, and no piece of it is left."""
    large = clean.write("large.bin", "".join(map(str, range(100_000))))
    made, text = taken(clean.work), large.read_bytes()
    large.unlink()
    before = state(clean.work)
    with nearly_full(), pytest.raises(SnapshotError, match=r"cannot write .*large\.bin: File too large"):
        bring_back(str(clean.work), made, changes(made, str(clean.work)))
    assert state(clean.work) == before
    restore(clean.work, made)
    assert large.read_bytes() == text


def test_what_cannot_be_kept_first_is_not_written_over(clean: Account) -> None:
    """A file that would be replaced stays if the disk has no room for its snapshot."""
    large = clean.write("large.bin", "".join(map(str, range(100_000))))
    made = taken(clean.work)
    large.write_text("".join(map(str, range(100_000, 0, -1))))
    before, text = state(clean.work), large.read_bytes()
    with nearly_full(), pytest.raises(SnapshotError, match="git failed"):
        bring_back(str(clean.work), made, changes(made, str(clean.work)))
    assert (state(clean.work), large.read_bytes()) == (before, text)


@pytest.mark.slow
def test_fifty_thousand_files(account: Account) -> None:
    """Only what has changed is read."""
    git(account.work, "init", "-q")
    for number in range(50_000):
        path = account.work / str(number // 500) / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number}\n")
    git(account.work, "add", "-A")
    git(account.work, "commit", "-qm", "Many")
    account.write("7/3600.txt", "changed\n")
    account.write("new.txt")
    made = taken(account.work)
    assert made.files == 2
    discard(account.work)
    restore(account.work, made)
    assert (account.work / "7/3600.txt").read_text() == "changed\n"


def ask(account: Account, line: str, agent: str, event: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the answers of the recipe and then of the guard, which gets what the first passes on."""
    context = {"agent": agent, "agent_event": event, "tool_name": "bash", "tool_args": {"command": line}}
    first = account.call(BEFORE, **context)
    metadata = (first or {}).get("modified_context", {})
    return first, account.call(GUARD, metadata=metadata, **context)


CLAUDE, GEMINI = ("claude", "PreToolUse"), ("gemini", "BeforeTool")


def action(answer: dict[str, Any] | None) -> str:
    """Return an answer's action."""
    return "continue" if answer is None else str(answer["action"])


@rows(
    "rest, decides",
    [
        ("", True),
        (" && rm -rf build/x", True),
        (" && git add .gitignore", True),
        (" && D=build && rm -rf $D", True),
        (" && git add $FILES", True),
        (" && rm -rf $D", False),
        (" && rm -rf src/$D", False),
        (" && rm -rf $(where)", False),
        (" && rm -rf .git/refs/hookrun", False),
        (" && cd .git && rm -rf refs", False),
        (" && mv .gi? /tmp/x", False),
        (" && > .git/packed-refs", False),
        (" && git update-ref -d refs/hookrun/x", False),
        (" && git gc --prune=now", False),
        (" && bash -c 'rm -rf .g\"i\"t/refs'", False),
    ],
)
def test_a_snapshot_that_the_line_may_remove_decides_nothing(dirty: Account, rest: str, decides: bool) -> None:
    """The user is asked then."""
    dirty.write("a.txt", "changed again\n")
    first, _ = ask(dirty, "git checkout ." + rest, *GEMINI)
    assert first is not None
    assert ("modified_context" in first) is decides


def test_a_snapshot_is_named_and_decides_where_nobody_can_be_asked(dirty: Account) -> None:
    """Claude Code asks and names it, Gemini CLI cannot ask: the call continues."""
    first, second = ask(dirty, "git reset --hard", *CLAUDE)
    made = snapshots.snapshots(str(dirty.work))[0]
    undo = f"`hookrun undo {made.id}` brings it back"
    assert first is not None
    assert second is not None
    assert undo in first["system_message"]
    assert (second["action"], undo in second["message"]) == ("ask", True)
    first, second = ask(dirty, "git reset --hard", *GEMINI)
    assert (action(first), action(second)) == ("continue", "continue")


def test_each_loss_of_changes_has_a_snapshot(dirty: Account) -> None:
    """With `instead` none of these lines is asked about, by any agent."""
    dirty.options(snapshot="instead")
    lines = [line for line in CHANGES if action(ask(dirty, line, *CLAUDE)[1]) != "continue"]
    assert lines == []
    assert len(snapshots.snapshots(str(dirty.work))) == 1


NOT_KEPT = [
    "git stash drop",
    "git stash pop; git checkout .",
    "git branch -D lonely",
    "git reflog expire --expire=now --all",
    "git clean -fdx",
    "git submodule update --force",
    "git --work-tree=../other checkout -f",
    "git checkout . && git stash clear",
    "git clean -fd -e '!*.log'",
    "git clean -fd --exclude='!*.log'",
    "git -c core.excludesFile=/dev/null clean -fd",
    "git config core.excludesFile /dev/null && git clean -fd",
    "rm .gitignore && git clean -fd",
    "echo > .gitignore; git clean -fd",
    "git switch main && git clean -fd",
    "git ls-files -o | xargs rm",
    "git ls-files -oi --exclude-standard | xargs rm",
    "git status --porcelain --ignored | cut -c4- | xargs rm -rf",
]
KEPT = [
    "git clean -fd",
    "git fetch && git clean -ffd",
    "git ls-files -o --exclude-standard | xargs rm",
    "git reset --hard && git clean -fd",
    "git checkout . && git clean -fd .",
]


def test_what_no_snapshot_keeps_is_asked_about(dirty: Account) -> None:
    """Whatever the option says."""
    dirty.options(snapshot="instead")
    dirty.write(".gitignore", "*.log\n")
    dirty.write("x.log")
    git(dirty.work, "add", ".gitignore")
    git(dirty.work, "commit", "-qm", "Ignore", ".gitignore")
    assert [line for line in NOT_KEPT if action(ask(dirty, line, *GEMINI)[1]) != "ask"] == []
    assert [line for line in KEPT if action(ask(dirty, line, *GEMINI)[1]) != "continue"] == []
    dirty.write(".gitignore", "*.log\n*.tmp\n")  # an ignored `x.tmp` is one no more after these
    assert [line for line in KEPT[3:] if action(ask(dirty, line, *GEMINI)[1]) != "ask"] == []


def test_a_snapshot_counts_only_while_it_has_all_the_work(dirty: Account) -> None:
    """Not one of an earlier call, nor if a hook has changed files since, nor one that left a file out."""
    made = taken(dirty.work)
    metadata = {"snapshots": {str(dirty.work): made.id}, "snapshot_decides": True}
    context = {"tool_name": "bash", "tool_args": {"command": "git clean -fd"}, "metadata": metadata}
    assert action(dirty.call(GUARD, **context)) == "continue"
    dirty.write("later.txt")
    assert action(dirty.call(GUARD, **context)) == "ask"
    git(dirty.work, "init", "-q", "inner")
    metadata["snapshots"] = {str(dirty.work): taken(dirty.work).id}
    assert action(dirty.call(GUARD, **context)) == "ask"


def test_without_a_whole_snapshot_the_answer_is_as_ever(dirty: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is too large, git fails, or the snapshot that is named is none."""
    dirty.options(snapshot="instead")
    with monkeypatch.context() as patch:
        patch.setattr(snapshots, "MAX_FILE", 1)
        assert action(ask(dirty, "git reset --hard", *CLAUDE)[1]) == "ask"
    with monkeypatch.context() as patch:
        patch.setattr(snapshots, "MAX_SECONDS", 0)
        first, second = ask(dirty, "git reset --hard", *CLAUDE)
        assert first is not None
        assert "no snapshot was made" in first["system_message"]
        assert action(second) == "ask"
    forged = {"snapshots": {str(dirty.work): "6a0b1c2d3f4e"}, "snapshot_decides": True}
    context = {"tool_name": "bash", "tool_args": {"command": "git reset --hard"}, "metadata": forged}
    assert action(dirty.call(GUARD, **context)) == "ask"


def test_a_block_stays_a_block(dirty: Account) -> None:
    """What the option `git` blocks is not asked about, nor is a protected tree."""
    dirty.options(snapshot="instead", git="reset")
    assert [action(ask(dirty, line, *CLAUDE)[1]) for line in ("git reset --hard", "rm -rf .")] == ["block", "block"]


def test_a_removed_tree_is_kept_first(dirty: Account) -> None:
    """The line is allowed, and the work in the tree comes back with what was committed."""
    dirty.write("src/b.txt", "changed\n")
    first, second = ask(dirty, "rm -rf src", *CLAUDE)
    assert first is not None
    assert second is None
    subprocess.run(["rm", "-rf", "src"], cwd=dirty.work, check=True)
    restore(dirty.work, snapshots.snapshots(str(dirty.work))[0])
    assert (dirty.work / "src/b.txt").read_text() == "changed\n"


def test_harmless_lines_take_no_snapshot(dirty: Account) -> None:
    """Nor does a tree elsewhere."""
    for line in ("git status", "git stash", "rm -rf /tmp/x", "ls -R", "git commit -m 'git reset --hard'"):
        assert ask(dirty, line, *CLAUDE)[0] is None


@rows(
    "agent, tool, key, decision",
    [
        (GEMINI, "run_shell_command", "decision", None),
        (CLAUDE, "Bash", "permissionDecision", "ask"),
    ],
)
def test_the_guard_sees_the_snapshot_in_a_real_chain(
    project: Project, agent: tuple[str, str], tool: str, key: str, decision: str | None
) -> None:
    """Both recipes are configured; the agent's own message comes in, and its own answer goes out."""
    name, event = agent
    root = project.root
    (root / "a.txt").write_text("x\n")
    if not (project.home / ".config").exists():
        git(root, "init", "-q")
        git(root, "add", "a.txt")
        git(root, "commit", "-qm", "Begin")
        add(project, "block-destructive-commands", "snapshot-before")
    (root / "a.txt").write_text(f"work with {name}\n")
    message = {
        "hook_event_name": event, "session_id": "s1", "cwd": str(root), "tool_name": tool,
        "tool_input": {"command": "git checkout ."},
    }  # fmt: skip
    fired = project.fire(message, "--agent", name, "--home", str(project.home), event=event)
    answer = json.loads(fired.stdout) if fired.stdout.strip() else {}
    made = snapshots.snapshots(str(root))[0]
    assert answer.get("hookSpecificOutput", answer).get(key) == decision
    assert f"hookrun undo {made.id}" in fired.stdout.decode()


def test_what_a_script_discards_is_kept(dirty: Account) -> None:
    """The cheap test sees that the line runs it."""
    dirty.write("again", "#!/bin/sh\ngit checkout .\n", 0o755)
    answer = dirty.answer(BEFORE, "./again")
    assert answer is not None
    assert answer["modified_context"]["snapshots"]
