"""An approved guard stays in force until the user lets it go, whatever its project's config says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.conftest import Project
from tests.torture.strangers import Stranger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GUARD: dict[str, object] = {
    "name": "guard",
    "event": "pre_tool_use",
    "matcher": "bash",
    "command": "./hooks/guard.sh",
    "on_failure": "block",
}
OTHER: dict[str, object] = {"name": "other", "event": "stop", "command": "true"}
SCRIPT = "#!/bin/sh\ncase $(cat) in *push*) echo no push >&2; exit 2;; esac\n"
PUSH = "git push"


@pytest.fixture
def guarded(project: Project) -> Stranger:
    """Return an agent in a project with an approved guard, which has judged a call."""
    project.script("hooks/guard.sh", SCRIPT)
    project.hooks(GUARD, OTHER)
    project.approve()
    stranger = Stranger(project, "agent")
    assert stranger.fire(command=PUSH, session="before").blocked
    return stranger


def declare(root: Path, *hooks: dict[str, object]) -> None:
    """Write the project's config."""
    (root / "coder.json").write_text(json.dumps({"hooks": list(hooks)}))


def _moved(root: Path) -> None:
    (root / "coder.json").rename(root / "coder.txt")


def _linked(root: Path) -> None:
    (root / "coder.json").unlink()
    (root / "empty.json").write_text('{"hooks": []}')
    (root / "coder.json").symlink_to("empty.json")


def _fifo(root: Path) -> None:
    (root / "coder.json").unlink()
    os.mkfifo(root / "coder.json")


def _directory(root: Path) -> None:
    (root / "coder.json").unlink()
    (root / "coder.json").mkdir()


def _without(root: Path, *fields: str, **more: object) -> None:
    declare(root, {name: value for name, value in GUARD.items() if name not in fields} | more, OTHER)


WEAKENED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no hooks": (declare, "removed"),
    "without it": (lambda root: declare(root, OTHER), "removed"),
    "deleted": (lambda root: (root / "coder.json").unlink(), "removed"),
    "moved": (_moved, "removed"),
    "another program's": (lambda root: (root / "coder.json").write_text("{}"), "removed"),
    "renamed": (lambda root: _without(root, "on_failure", name="other-name"), "removed"),
    "another event": (lambda root: _without(root, event="stop"), "events `pre_tool_use` -> `stop`"),
    "another matcher": (lambda root: _without(root, matcher="zzz"), "matcher `bash` -> `zzz`"),
    "a condition": (lambda root: _without(root, when={"tool_args.command": "zzz"}), "when `none` -> "),
    "an exception": (lambda root: _without(root, unless={"tool_name": "bash"}), "unless `none` -> "),
    "off": (lambda root: _without(root, mode="off"), "mode `enforce` -> `off`"),
    "advice": (lambda root: _without(root, mode="advise"), "mode `enforce` -> `advise`"),
    "other agents": (lambda root: _without(root, agents=["codex"]), "agents `none` -> `codex`"),
    "no block": (lambda root: _without(root, "on_failure"), "on_failure `block` -> `continue`"),
    "invalid": (lambda root: _without(root, timeout="never"), "error `none` -> "),
    "a link": (_linked, "removed"),
    "a FIFO": (_fifo, "not a regular file"),
    "a directory": (_directory, "is a directory"),
    "20 MB": (lambda root: (root / "coder.json").write_text(" " * (20 << 20)), "coder.json"),
}


@pytest.mark.parametrize("way", WEAKENED)
def test_a_guard_that_the_config_lost_judges_as_before(guarded: Stranger, way: str) -> None:
    """What it refused is refused by it, what it allowed is allowed, and each session's user is notified once."""
    weaken, notice = WEAKENED[way]
    weaken(guarded.project.root)
    refused = guarded.fire(command=PUSH)
    assert refused.blocked, refused.output
    assert "no push" in refused.output
    assert notice in refused.output
    assert refused.failures["guard"] is None
    assert not guarded.fire(command="ls").blocked


def test_the_user_is_notified_once_a_session(guarded: Stranger) -> None:
    """At its first call, whatever that is."""
    declare(guarded.project.root)
    said = [
        "guard stays in force" in guarded.fire(command=each, session=session).output
        for session, each in (("s1", "ls"), ("s1", PUSH), ("s2", PUSH), ("s2", "ls"))
    ]
    assert said == [True, False, True, False]


def test_a_lost_guard_whose_script_was_changed_shuts_its_gate(guarded: Stranger) -> None:
    """It is refused as unapproved, not run."""
    declare(guarded.project.root)
    guarded.project.script("hooks/guard.sh", "#!/bin/sh\ntouch ran\n")
    answer = guarded.fire()
    assert answer.blocked
    assert answer.failures["guard"] == "untrusted"
    assert not (guarded.project.root / "ran").exists()


def test_what_the_user_has_switched_off_stays_off(guarded: Stranger) -> None:
    """A lost guard that is disabled does not come back."""
    at_terminal(guarded.project, "disable", "guard")
    declare(guarded.project.root)
    assert not guarded.fire(command=PUSH).blocked


def test_an_approval_beside_a_damaged_record_loses_no_guard(guarded: Stranger) -> None:
    """What is approved now is on record again, not the new hook alone."""
    [record] = (guarded.project.home / ".local/share/hookrun/guards").rglob("guards.json")
    record.write_text("[{")
    declare(guarded.project.root, GUARD, OTHER, {**GUARD, "name": "second"})
    listed = hookrun(guarded.project, "trust", "--digest").stdout.splitlines()
    hookrun(guarded.project, "trust", "--yes", next(line.split()[0] for line in listed if line.endswith("second")))
    assert {each["hook"]["name"] for each in json.loads(record.read_text())} == {"guard", "second"}


def test_half_a_place_where_a_session_began_is_none(guarded: Stranger) -> None:
    """A disk that was full for a moment leads no call to another project."""
    [place] = (guarded.project.home / ".local/state/hookrun").rglob("began/*")
    whole = place.read_bytes()
    place.write_bytes(whole[:-3])
    assert guarded.fire(command=PUSH, session="before").blocked
    assert place.read_bytes() == whole


def test_a_damaged_record_shuts_the_gate(guarded: Stranger) -> None:
    """Which guards there were is not known."""
    [record] = (guarded.project.home / ".local/share/hookrun/guards").rglob("guards.json")
    record.write_text("{")
    declare(guarded.project.root)
    answer = guarded.fire()
    assert answer.blocked
    assert "approved guards cannot be read" in answer.output


LOST = {
    "guard: removed": ((OTHER,), "go? [y/N]: "),
    "guard: narrowed: matcher `bash` -> `zzz`": ((OTHER, {**GUARD, "matcher": "zzz"}), "[q]uit: "),
}


@pytest.mark.parametrize("title", LOST)
def test_trust_shows_what_is_lost_and_lets_it_go_on_yes(guarded: Stranger, title: str) -> None:
    """With the difference; a no keeps it."""
    hooks, question = LOST[title]
    project = guarded.project
    declare(project.root, *hooks)
    shown = at_terminal(project, "trust", answers=("n",), question=question).screen
    assert title in shown
    assert '"matcher": "bash"' in shown
    assert guarded.fire(command=PUSH).blocked
    assert hookrun(project, "trust").status == 1
    at_terminal(project, "trust", answers=("y",), question=question)
    assert not guarded.fire(command=PUSH).blocked
    assert hookrun(project, "trust").status == 0


def test_an_older_approval_does_not_narrow_a_guard(guarded: Stranger) -> None:
    """The last approved declaration counts, though the one before is approved, too."""
    project = guarded.project
    declare(project.root, {**GUARD, "matcher": "bash|write"})
    project.approve()
    declare(project.root, {**GUARD, "matcher": "zzz"})
    project.approve()
    declare(project.root, {**GUARD, "matcher": "bash|write"})
    project.approve()
    declare(project.root, {**GUARD, "matcher": "zzz"})
    assert guarded.fire(command=PUSH).blocked


def test_a_removal_at_the_users_terminal_needs_no_review(guarded: Stranger) -> None:
    """`hookrun remove` confirms by itself there, and only there."""
    project = guarded.project
    done = hookrun(project, "remove", "guard")
    assert "hookrun trust" in done.stdout
    assert guarded.fire(command=PUSH).blocked
    project.hooks(GUARD, OTHER)
    assert at_terminal(project, "remove", "guard").status == 0
    assert not guarded.fire(command=PUSH).blocked
    assert hookrun(project, "trust").status == 0


def test_status_and_log_list_guards_that_are_no_longer_configured(guarded: Stranger) -> None:
    """With the change, and the command that reviews them."""
    project = guarded.project
    declare(project.root)
    note = "approved guard guard is not configured (removed), but in force; review: `hookrun trust"
    assert note in " ".join(hookrun(project, "status").stdout.split())
    assert "\nhooks      1: 1 kept as approved\n" in hookrun(project, "status").stdout
    shown = hookrun(project, "status", "--json").json
    assert (shown["missing_guards"], shown["hooks"]) == (["guard"], {"kept as approved": 1})
    done = hookrun(project, "log")
    assert note in " ".join((done.stdout + done.stderr).split())


# --- git


def git(root: Path, *words: str, when: str = "2020-01-01T00:00:00Z") -> None:
    """Run git as a committer, at a time."""
    who = {f"GIT_{each}_{what}": "a@b.c" for each in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    times = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *words], cwd=root, env={**os.environ, **who, **times}, check=True, capture_output=True)


@pytest.fixture
def committed(project: Project) -> Stranger:
    """Return an agent in a repository whose branch `main` has an approved guard, and `old`, its parent, has none."""
    root = project.root
    (root / ".git").rmdir()
    git(root, "init", "-q", "-b", "old")
    project.script("hooks/guard.sh", SCRIPT)
    git(root, "add", "hooks")
    git(root, "commit", "-qm", "1")
    git(root, "checkout", "-qb", "main")
    project.hooks(GUARD)
    git(root, "add", "coder.json")
    git(root, "commit", "-qm", "2")
    project.approve()
    stranger = Stranger(project, "agent")
    assert stranger.fire(command=PUSH, session="before").blocked
    return stranger


def test_a_switch_to_an_older_branch_is_no_change(committed: Stranger) -> None:
    """HEAD's config counts, with one notice a session; back on the branch with the guard it is in force."""
    root = committed.project.root
    git(root, "checkout", "-q", "old")
    answer = committed.fire(command=PUSH)
    assert not answer.blocked
    assert "guard is not in force: removed in commit" in answer.output
    assert "(removed), and not in force" in hookrun(committed.project, "status").stdout
    assert hookrun(committed.project, "status", "--json").json["hooks"] == {}
    assert "not in force" not in committed.fire(command=PUSH).output
    git(root, "checkout", "-q", "main")
    assert committed.fire(command=PUSH).blocked


def test_a_later_commit_is_a_change_like_any_other(committed: Stranger) -> None:
    """An agent can commit; once the commit is in a branch of the remote, it counts."""
    root = committed.project.root
    git(root, "rm", "-q", "coder.json")
    git(root, "commit", "-qm", "3", when="2099-01-01T00:00:00Z")
    assert committed.fire(command=PUSH).blocked
    git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(root, "commit", "-qm", "4", "--allow-empty", when="2099-01-01T00:00:00Z")
    assert not committed.fire(command=PUSH, session="s2").blocked


def _staged(root: Path) -> None:
    git(root, "rm", "-q", "--cached", "coder.json")
    declare(root)


@pytest.mark.parametrize("lose", [lambda root: git(root, "rm", "-q", "coder.json"), _staged], ids=["deleted", "staged"])
def test_what_is_not_committed_does_not_count(committed: Stranger, lose: Callable[[Path], None]) -> None:
    """Neither a file deleted nor one staged."""
    lose(committed.project.root)
    assert committed.fire(command=PUSH).blocked


def test_the_commit_of_the_approval_does_not_count(committed: Stranger) -> None:
    """A config that goes back to what HEAD had when the guard was approved was not switched."""
    project = committed.project
    project.hooks({**GUARD, "matcher": "bash|write"}, OTHER)
    project.approve()
    git(project.root, "checkout", "coder.json")
    assert "narrowed" in committed.fire(command=PUSH).output


def test_a_config_that_no_branch_has_does_not_vanish_with_head(committed: Stranger) -> None:
    """A file that was never committed is missing in every commit."""
    project = committed.project
    (project.root / "coder.json").unlink()
    git(project.root, "checkout", "-q", "old")
    git(project.root, "branch", "-qD", "main")
    project.hooks(GUARD)
    project.approve()
    git(project.root, "commit", "-qm", "3", "--allow-empty")
    (project.root / "coder.json").unlink()
    assert committed.fire(command=PUSH).blocked


def test_asking_git_runs_nothing_that_the_repository_names(committed: Stranger, tmp_path: Path) -> None:
    """Its settings are the project's, and not approved."""
    ran = tmp_path / "ran"
    for name in ("core.fsmonitor", "core.pager", "gpg.program", "core.sshCommand", "diff.external"):
        git(committed.project.root, "config", name, f"touch {ran}; false")
    git(committed.project.root, "config", "log.showSignature", "true")
    (committed.project.root / "coder.json").unlink()
    assert committed.fire(command=PUSH).blocked
    assert not ran.exists()


# --- places


PLACES: dict[str, Callable[[Path], object]] = {
    "repository": lambda inner: git(inner, "init", "-q"),
    "empty file": lambda inner: (inner / ".git").write_text(""),
    "worktree": lambda inner: (inner / ".git").write_text(f"gitdir: {inner.parent}/.git/worktrees/sub\n"),
    "config": declare,
    "no repository": lambda inner: (inner.parent / ".git").rmdir(),
    "elsewhere": lambda inner: inner.rename(inner.parent.parent / "elsewhere"),
}


@pytest.mark.parametrize("way", PLACES)
def test_no_place_takes_a_call_out_of_its_sessions_project(guarded: Stranger, way: str) -> None:
    """A nested repository, a config further in, a directory elsewhere: the project's guards judge the call."""
    inner = guarded.project.root / "sub"
    inner.mkdir()
    guarded.fire(session="s9")
    PLACES[way](inner)
    place = inner if inner.exists() else guarded.project.root.parent / "elsewhere"
    answer = guarded.fire(command=PUSH, cwd=place, session="s9")
    assert answer.blocked, answer.output
    assert "no push" in answer.output
    assert not guarded.fire(command="ls", cwd=place, session="s9").blocked


def test_what_is_not_known_of_its_project_refuses_a_session_elsewhere(guarded: Stranger) -> None:
    """Its record is damaged, and its config gone: from within it is refused, too."""
    guarded.fire(session="s9")
    elsewhere = guarded.project.root.parent / "elsewhere"
    elsewhere.mkdir()
    [record] = (guarded.project.home / ".local/share/hookrun/guards").rglob("guards.json")
    record.write_text("{")
    (guarded.project.root / "coder.json").unlink()
    assert guarded.fire(command=PUSH, session="s9").blocked
    assert guarded.fire(command=PUSH, cwd=elsewhere, session="s9").blocked


def test_the_guards_of_the_place_are_asked_as_well(guarded: Stranger) -> None:
    """Where the agent names its project, and makes the call in another one."""
    project = guarded.project
    inner = project.root.parent / "elsewhere"
    (inner / ".git").mkdir(parents=True)
    declare(inner, {**GUARD, "name": "inner", "command": "echo inner >&2; exit 2"})
    project.approve(inner)
    answer = guarded.fire(cwd=inner, env={"CLAUDE_PROJECT_DIR": str(project.root)})
    assert answer.blocked
    assert "inner" in answer.output


def test_a_config_further_in_hides_no_guard_of_a_later_session(guarded: Stranger) -> None:
    """Unless the user has approved its hooks: then it is a project of its own."""
    project = guarded.project
    inner = project.root / "sub"
    inner.mkdir()
    declare(inner, OTHER)
    answer = guarded.fire(command=PUSH, cwd=inner, session="s9")
    assert answer.blocked
    assert "do not replace those of" in answer.output
    project.approve(inner)
    assert not guarded.fire(command=PUSH, cwd=inner, session="s10").blocked


def test_a_link_leads_past_no_guard(guarded: Stranger) -> None:
    """To its project, at the call or at the approval: the record is the same."""
    project = guarded.project
    link = project.root.parent / "link"
    link.symlink_to(project.root)
    declare(project.root)
    answer = guarded.fire(command=PUSH, cwd=link, session="s9")
    assert answer.blocked
    assert "no push" in answer.output
    declare(project.root, GUARD)
    shutil.rmtree(project.home / ".local/share/hookrun/guards")
    printed = hookrun(project, "trust", "--digest", str(link)).stdout
    hookrun(project, "trust", "--yes", printed.split()[0], str(link))
    declare(project.root)
    assert guarded.fire(command=PUSH, session="s10").blocked


# --- the user's own


def test_guards_that_the_users_own_config_lost_are_named_once(project: Project) -> None:
    """At the first call of the next session."""
    stranger = Stranger(project, "agent")
    project.user_hooks({**GUARD, "command": "true"})
    stranger.fire()
    project.user_hooks({**OTHER})
    assert "guard guard is no longer in the user's own config" in stranger.fire(session="s2").output
    assert "no longer" not in stranger.fire(session="s2").output
    assert "no longer" not in stranger.fire(session="s3").output
    (project.home / ".config/hookrun/hooks.json").unlink()
    assert "no longer" not in stranger.fire(session="s4").output


def test_a_record_of_another_version_judges_as_before(project: Project) -> None:
    """What it says of the same handler, declared before, had another form."""
    project.script("hooks/guard.sh", SCRIPT)
    handler = {"type": "command", "command": "$CLAUDE_PROJECT_DIR/hooks/guard.sh", "onFailure": "block"}
    groups = [{"matcher": matcher, "hooks": [handler]} for matcher in ("Write", "Bash")]
    (project.root / "coder.json").write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    project.approve()
    stranger = Stranger(project, "agent")
    assert stranger.fire(command=PUSH, session="before").blocked
    [record] = (project.home / ".local/share/hookrun/guards").rglob("guards.json")
    first, second = json.loads(record.read_text())
    assert second["hook"]["claude"].pop("twins")
    second["hook"]["claude"]["twins"] = ["Write"]
    record.write_text(json.dumps([first, second]))
    declare(project.root, OTHER)
    assert stranger.fire(command=PUSH, session="s9").blocked
    assert not stranger.fire(command="ls", session="s9").blocked
