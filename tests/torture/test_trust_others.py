"""Who else could interfere: other accounts, and a project that changes its user's hooks and settings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hookrun.trust.store import Owners
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.conftest import Project
from tests.torture.strangers import RAN, WAYS, Stranger, declare_script, is_untrusted

pytestmark = pytest.mark.sampled(3)


@pytest.fixture(params=WAYS)
def stranger(request: pytest.FixtureRequest, project: Project) -> Stranger:
    """Return a project and an agent that works in it."""
    return Stranger(project, request.param)


# --- who could write it


def of_a_group(path: Path) -> int:
    """Give a file to a group that others are in, and return its mode if that can write it."""
    others = 54321 if os.geteuid() == 0 else next((each for each in os.getgroups() if each != os.getgid()), None)
    if others is None:
        pytest.skip("this account has one group only: that may be its own, and then it may write")
    os.chown(path, -1, others)
    return path.stat().st_mode | 0o020


def of_everybody(path: Path) -> int:
    """Return the mode of a file if everybody can write it."""
    return path.stat().st_mode | 0o002


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", ["hooks/guard.sh", "hooks", "."])
@pytest.mark.parametrize("mode_of", [of_everybody, of_a_group])
def test_a_world_writable_script_or_directory(stranger: Stranger, what: str, mode_of: Callable[[Path], int]) -> None:
    """A file that others can write cannot be approved: its content at run time is unknown."""
    declare_script(stranger)
    path = stranger.project.root / what
    stranger.approve()
    assert not is_untrusted(stranger)
    path.chmod(mode_of(path))
    assert is_untrusted(stranger)
    assert "can write" in stranger.fire().details["guard"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root asks by the next test")
def test_a_file_is_asked_about_as_another_account_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root gives files away."""
    script, me = tmp_path / "script", os.geteuid()
    script.touch()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert "belongs to account " in str(Owners().resolve_and_check(str(script))[1])
    assert Owners([me]).resolve_and_check(str(script))[1] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_owned_by_someone_else(stranger: Stranger) -> None:
    """A script of another account is refused, until the user's settings trust this account."""
    script = declare_script(stranger)
    stranger.approve()
    os.chown(script, 54321, -1)
    assert is_untrusted(stranger)
    assert "belongs to account " in stranger.fire().details["guard"]
    stranger.project.user_hooks(trusted_owners=["54321"])
    stranger.approve()
    assert not is_untrusted(stranger)


# --- declarations of a project that concern others


def test_a_project_hook_that_tries_to_switch_off_or_precede_a_users(stranger: Stranger) -> None:
    """Same name, mode off, priority 0, an allow: the user's guard runs first and refuses all the same."""
    project = stranger.project
    project.user_hooks({"name": "guard", "priority": 900, "command": "cat >/dev/null; echo no >&2; exit 2"})
    project.hooks(
        {"name": "first", "priority": 0, "command": f'echo \'{{"action": "allow"}}\'; {RAN}'},
        {"name": "guard", "mode": "off", "priority": 0, "command": "true"},
    )
    stranger.approve()
    answer = stranger.fire()
    assert answer.blocked
    assert answer.failures == {"guard": None}
    assert not (project.root / "ran").exists()


def test_a_project_that_tries_to_set_what_is_the_users(stranger: Stranger) -> None:
    """Settings about trust in a project's file are an error, and have no effect."""
    project = stranger.project
    project.hooks({"name": "guard", "command": RAN})
    settings: dict[str, object] = {
        "trusted": stranger.digests(),
        "trusted_owners": ["nobody"],
        "project_env_policy": "inherit",
        "on_error": "continue",
        "audit": False,
    }
    project.hooks({"name": "guard", "command": RAN}, **settings)
    assert is_untrusted(stranger)
    lines = hookrun(project, "validate").stdout.splitlines()
    refused = [line for line in lines if "cannot be set in a project file" in line]
    assert [name for name in settings if not any(f"`{name}`" in line for line in refused)] == [], lines


def test_a_users_hook_cannot_be_disabled_by_the_name_a_project_gives_its_own(stranger: Stranger) -> None:
    """What is decided about a project's hook is not about a user's of the same name."""
    project = stranger.project
    project.user_hooks({"name": "guard", "command": "cat >/dev/null; echo no >&2; exit 2"})
    project.hooks({"name": "guard", "command": "true"})
    assert at_terminal(project, "disable", "guard").status == 0
    assert stranger.fire().blocked


def test_credentials_are_not_handed_to_a_projects_hooks(stranger: Stranger) -> None:
    """A project that declares `inherit` gets no credentials, unless the user allows its hooks to have them."""
    project = stranger.project
    project.hooks({"name": "guard", "env_policy": "inherit", "command": "echo ${SHOP_TOKEN:-none} $PLAIN > seen"})
    stranger.approve()
    stranger.fire(env={"SHOP_TOKEN": "secret", "PLAIN": "plain"})
    assert (project.root / "seen").read_text() == "none plain\n"
    project.user_hooks(project_env_policy="inherit")
    stranger.fire(env={"SHOP_TOKEN": "secret", "PLAIN": "plain"})
    assert (project.root / "seen").read_text() == "secret plain\n"
    project.user_hooks(project_env_policy="clean")
    stranger.fire(env={"SHOP_TOKEN": "secret", "PLAIN": "plain"})
    assert (project.root / "seen").read_text() == "none\n"


# --- what follows


@pytest.mark.parametrize("on_failure", ["block", "continue"])
def test_an_untrusted_guard_means_what_its_on_failure_says(stranger: Stranger, on_failure: str) -> None:
    """`block` refuses, `continue` does not; both are reported, and are in the audit each time."""
    stranger.project.hooks({"name": "guard", "command": RAN, "on_failure": on_failure})
    first = stranger.fire()
    assert first.blocked == (on_failure == "block")
    assert "hookrun trust" in first.output
    assert stranger.fire().failures == first.failures == {"guard": "untrusted"}


def test_a_person_who_fires_in_their_own_project_is_not_asked(project: Project) -> None:
    """`hookrun fire` without an agent runs what is declared, as make does: also with --config."""
    project.hooks({"command": "cat >/dev/null; echo no >&2; exit 2"})
    assert project.fire().status == 2
    shutil.copy(project.root / "coder.json", project.root / "other.json")
    assert project.fire(None, "--config", "other.json").status == 2
