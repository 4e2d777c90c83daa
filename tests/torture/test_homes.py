"""Whose home: HOME and the account's differ, or there is no account. Commands say what the project's line does."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT, Project
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable

GUARD: dict[str, object] = {
    "name": "guard",
    "command": "echo refused >&2; exit 2",
    "matcher": "bash",
    "on_failure": "block",
}
WITH_ACCOUNT = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"']
WITHOUT_ACCOUNT = ["unshare", "--user", "--map-user=12345", "--map-group=12345"]


def _can(*command: str) -> bool:
    return shutil.which("unshare") is not None and (
        subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0
    )


class Account:
    """A project with the committed line of Claude Code, run by an account with `home` in the password database."""

    def __init__(self, project: Project, home: Path, inside: list[str]) -> None:
        self.project = project
        self.home = home
        self.inside = inside
        project.hooks(GUARD)
        subprocess.run(["git", "init", "--quiet"], cwd=project.root, check=True)
        program = home / ".local" / "bin" / "hookrun"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", str(MAIN)])} "$@"\n')
        program.chmod(0o755)
        self.hookrun("install", "claude", "--scope", "project")

    def run(self, *command: str, home: Path | None = None, message: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command as this account, with a HOME, by default the test's."""
        environment = {"HOME": str(home or self.project.home), "PATH": "/usr/bin:/bin", "NO_COLOR": "1", "CI": "1"}
        return subprocess.run(
            [*self.inside, *command],
            cwd=self.project.root,
            env=environment,
            input=message,
            capture_output=True,
            text=True,
            check=False,
        )

    def hookrun(self, *arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of hookrun."""
        return self.run(sys.executable, "-I", str(MAIN), *arguments, home=home)

    def approve(self, home: Path | None = None) -> str:
        """Approve the guard as a user does who names its digest; return what is said on stderr."""
        printed = self.hookrun("trust", "--digest", home=home).stdout
        done = self.hookrun("trust", "--yes", printed.split()[0], home=home)
        assert "approved guard" in done.stdout, done.stderr
        return done.stderr

    def line(self, home: Path | None = None) -> str:
        """Return the reason with which the committed line refuses a call, "" if it does not."""
        settings = json.loads((self.project.root / ".claude" / "settings.json").read_bytes())
        line = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
        call = {
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "session_id": "s",
        }
        done = self.run("/bin/sh", "-c", line, home=home, message=json.dumps({**call, "cwd": str(self.project.root)}))
        answer = json.loads(done.stdout) if done.stdout else {}
        return str(answer.get("hookSpecificOutput", {}).get("permissionDecisionReason", ""))


MAIN = ROOT / "hookrun" / "__main__.py"


@pytest.fixture
def elsewhere(project: Project, tmp_path: Path) -> Account:
    """An account whose home is not HOME, as in a container, or with `sudo -E`."""
    entries = tmp_path / "passwd"
    home = tmp_path / "account"
    entries.write_text(f"root:x:0:0::{home}:/bin/sh\n")
    if not _can(*WITH_ACCOUNT, str(entries)):
        pytest.skip("it needs unshare(1) and the right to a mount namespace")
    return Account(project, home, [*WITH_ACCOUNT, str(entries)])


@pytest.fixture
def nameless(project: Project) -> Account:
    """An account without an entry, as with `docker run --user 12345`."""
    if not _can(*WITHOUT_ACCOUNT):
        pytest.skip("it needs unshare(1) with --map-user, and the right to a user namespace")
    return Account(project, project.home, WITHOUT_ACCOUNT)


@pytest.mark.only_cold("its homes differ")
def test_what_is_approved_is_what_the_line_reads(elsewhere: Account) -> None:
    """Before and after; both homes are named, and `trust` writes into the account's."""
    assert "`guard` is not approved" in elsewhere.line() or "hookrun trust" in elsewhere.line()
    said = " ".join(elsewhere.approve().split())
    named = f"HOME is {elsewhere.project.home}, but the lines in this project's settings read {elsewhere.home}"
    assert named in said
    assert elsewhere.line().startswith("refused")
    assert (elsewhere.home / ".local/share/hookrun/trust.json").exists()
    assert not (elsewhere.project.home / ".local/share/hookrun/trust.json").exists()
    assert [each["state"] for each in json.loads(elsewhere.hookrun("trust", "--json").stdout)] == ["approved"]
    shown = json.loads(elsewhere.hookrun("log", "--json").stdout.splitlines()[0])
    assert shown["agent"] == "claude"  # and the log is the one that the line writes


@pytest.mark.only_cold("its homes differ")
def test_where_lines_of_both_homes_run_the_other_approval_is_named(elsewhere: Account) -> None:
    """The user's own lines read HOME, the project's the account's: the command that is proposed works."""
    elsewhere.hookrun("install", "claude", "--from-here", home=elsewhere.project.home)
    said = elsewhere.approve()
    (hint,) = [line for line in said.splitlines() if line.startswith("hint: approve hooks there, too")]
    assert f"`HOME={elsewhere.home} hookrun trust`" in hint
    assert not elsewhere.line().startswith("refused")
    elsewhere.approve(home=elsewhere.home)
    assert elsewhere.line().startswith("refused")


@pytest.mark.only_cold("its homes differ")
@pytest.mark.skipif(os.geteuid() != 0, reason="it needs root to give a file to another account")
def test_the_lines_of_another_account_do_not_count(elsewhere: Account) -> None:
    """`sudo -E` where the user's own lines are installed: their home is another account's."""
    elsewhere.hookrun("install", "claude", "--from-here", home=elsewhere.project.home)
    os.chown(elsewhere.project.home / ".local/share/hookrun/launcher.conf", 12345, 12345)
    assert "so this command uses that" in elsewhere.approve()
    assert elsewhere.line().startswith("refused")


@pytest.mark.only_cold("there is no account")
def test_without_an_account_home_is_the_one(nameless: Account) -> None:
    """The committed line finds hookrun there, and its approvals."""
    assert "hookrun trust" in nameless.line()
    assert "the account's home" not in nameless.approve()
    assert nameless.line().startswith("refused")


def in_project(account: Account) -> Path:
    """Return a home in the project, with a program that must not run."""
    return _copied(account, account.project.root / "home")


def in_repository(account: Account) -> Path:
    """Return a home in another repository."""
    other = account.project.root.parent / "other"
    (other / ".git").mkdir(parents=True)
    return _copied(account, other / "home")


def _copied(account: Account, home: Path) -> Path:
    shutil.copytree(account.project.home, home)
    (home / ".local/bin/hookrun").write_text("#!/bin/sh\ntouch ran\n")
    return home


def of_another(account: Account) -> Path:
    """Return a directory of another account."""
    other = account.project.root.parent / "another"
    other.mkdir()
    if os.geteuid() != 0:
        return Path("/")
    os.chown(other, 12345, 12345)  # outside of the namespace
    return other


def gone(account: Account) -> Path:
    """Return a path of nothing."""
    return account.project.root.parent / "gone"


@pytest.mark.only_cold("there is no account")
@rows("home_of", [in_project, in_repository, of_another, gone])
def test_a_home_that_a_project_could_have_set_is_none(nameless: Account, home_of: Callable[[Account], Path]) -> None:
    """Nothing of it is started or believed, and a line that starts hookrun refuses the call with the cause."""
    home = home_of(nameless)
    nameless.line(home)
    assert not (nameless.project.root / "ran").exists()
    call = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}})
    fire = "fire", "--agent", "claude", "--scope", "project", "PreToolUse"
    done = nameless.run(sys.executable, "-I", str(MAIN), *fire, home=home, message=call)
    assert '"permissionDecision":"deny"' in done.stdout
    assert "there is no account 12345, and HOME is not its own directory outside of the project" in done.stdout
