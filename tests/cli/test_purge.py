"""`hookrun uninstall --purge`: removes all of the account, after a question; nothing while an agent would miss it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun.wiring.ledger import Ledger, LedgerEntry
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.cli.wiring import ALL, settings_file, tree
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

OWN = (".local/share/hookrun", ".local/state/hookrun", ".cache/hookrun")


@pytest.fixture(autouse=True)
def _connected(project: Project) -> None:
    """Connect two agents of an account with an approval, a log, a cache and hooks of its own."""
    project.user_hooks({"name": "mine", "command": "true"})
    project.hooks({"name": "guard", "command": "true"})
    project.approve()
    settings_file(project, "claude").parent.mkdir()
    settings_file(project, "claude").write_text('{"theme": "dark"}')
    assert hookrun(project, "install", "claude", "gemini").status == 0
    assert project.fire().status == 0


def left(project: Project) -> list[Path]:
    """Return which of the account's directories there are."""
    return [project.home / each for each in OWN if (project.home / each).exists()]


@pytest.mark.slow
def test_it_removes_all_of_the_account_after_a_question(project: Project) -> None:
    """Entries, launchers, approvals, log and cache; the user's own hooks and the repository stay."""
    before = tree(project.root)
    refused = at_terminal(project, "uninstall", "--purge", answers=("n",), question="[y/N]: ")
    assert (refused.status, len(left(project))) == (0, 3)
    session = at_terminal(project, "uninstall", "--purge", answers=("y",), question="[y/N]: ")
    assert session.status == 0
    for shown in ("Claude Code", "Gemini CLI", *(f"removes ~/{each}" for each in OWN), "keeps ~/.config/hookrun"):
        assert shown in session.screen
    assert left(project) == []
    assert settings_file(project, "claude").read_text() == '{"theme": "dark"}'
    assert not settings_file(project, "gemini").exists()
    assert (project.home / ".config/hookrun/hooks.json").exists()
    assert tree(project.root) == before
    assert "nothing to remove" in hookrun(project, "uninstall", "--purge", "--yes").stdout


def test_every_agent_is_disconnected_without_a_question(project: Project) -> None:
    """`--yes` asks nothing, `--json` names what is removed."""
    assert hookrun(project, "install", *ALL, "--trust").status == 0
    done = hookrun(project, "uninstall", "--purge", "--yes", "--json")
    assert done.status == 0, done.stdout
    removed = json.loads(done.stdout)["removed"]
    assert {str(project.home / each) for each in OWN} <= {*removed}
    assert [agent for agent in ALL if agent != "claude" and settings_file(project, agent).exists()] == []
    assert left(project) == []


def test_a_dry_run_shows_it_and_removes_nothing(project: Project) -> None:
    """The diff of the settings, and the directories."""
    before = tree(project.home)
    done = hookrun(project, "uninstall", "--purge", "--dry-run")
    assert (done.status, done.stderr) == (0, "")
    assert "removes ~/.local/state/hookrun: the log" in done.stdout
    assert "-  " in done.stdout
    assert tree(project.home) == before


@rows(
    "arguments, error",
    [
        (("--purge",), "asks at a terminal"),
        (("--purge", "--yes", "claude"), "takes no AGENT"),
        (("--purge", "--yes", "--scope", "project"), "takes no AGENT"),
        (("--yes",), "only for --purge"),
    ],
)
def test_a_purge_is_asked_for_as_a_whole(project: Project, arguments: tuple[str, ...], error: str) -> None:
    """By a user who is asked, or says `--yes`."""
    done = hookrun(project, "uninstall", *arguments)
    assert done.status == 1
    assert error in done.stderr
    assert len(left(project)) == 3


def test_an_agent_cannot_purge(project: Project) -> None:
    """It would remove the user's approvals."""
    done = hookrun(project, "uninstall", "--purge", "--yes", CODEX_THREAD_ID="1")
    assert done.status == 1
    assert "CODEX_THREAD_ID is set" in done.stderr
    assert len(left(project)) == 3
    assert "hookrun" in settings_file(project, "claude").read_text()


def test_settings_that_still_start_it_keep_the_launchers(project: Project) -> None:
    """Those of another directory of the agent, or that cannot be read: without launchers no guard would run."""
    ledger = Ledger(str(project.home))
    with ledger.locked():
        ledger.keep("/elsewhere/settings.json", LedgerEntry("claude", ["user"], "", None), None)
    done = hookrun(project, "uninstall", "--purge", "--yes")
    assert done.status == 1
    assert "nothing else was removed: /elsewhere/settings.json may still start hookrun" in done.stderr
    assert len(left(project)) == 3


def test_a_directory_that_cannot_be_removed_is_named(project: Project, tmp_path: Path) -> None:
    """With the reason: what a link leads to is not removed. The others are."""
    cache, elsewhere = project.home / ".cache/hookrun", tmp_path / "elsewhere"
    if cache.exists():
        cache.rename(elsewhere)
    elsewhere.mkdir(exist_ok=True)
    cache.symlink_to(elsewhere)
    done = hookrun(project, "uninstall", "--purge", "--yes")
    assert done.status == 1
    assert ".cache/hookrun cannot be removed: Cannot call rmtree on a symbolic link" in done.stderr
    assert elsewhere.exists()
    assert left(project) == [cache]
