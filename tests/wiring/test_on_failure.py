"""Claude Code's `onFailure`: where a guard may be asked, it blocks if hookrun gives no answer, and only there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest

from hookrun.agents import claude, load
from hookrun.config import discovery
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.cli.wiring import ALL, settings_file, tree

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

GUARD: dict[str, object] = {"name": "guard", "command": "exit 2", "on_failure": "block"}
TOOLS = {"PreToolUse", "PreSkillShellCommand"}
GATES = {*TOOLS, "PermissionRequest", "UserPromptSubmit"}
MISFIT = "the entries for PreToolUse, PreSkillShellCommand do not fit your guards"


def _shut(path: Path) -> set[str]:
    """Return the events whose entries have the key; each of these has the one value that Claude Code knows."""
    hooks = json.loads(path.read_text())["hooks"]
    found = {event: group["hooks"][0].get("onFailure") for event, (group,) in hooks.items()}
    assert {*found.values()} <= {None, "block"}
    return {event for event, value in found.items() if value is not None}


def _users(project: Project) -> set[str]:
    return _shut(settings_file(project, "claude"))


def _install(project: Project, *options: str) -> None:
    done = hookrun(project, "install", "claude", *options)
    assert done.status == 0, done.stderr


def _without_the_key(path: Path) -> None:
    """Leave the entries as an earlier hookrun has written them."""
    settings = json.loads(path.read_text())
    for (group,) in settings["hooks"].values():
        group["hooks"][0].pop("onFailure", None)
    path.write_text(json.dumps(settings, indent=2) + "\n")


@pytest.mark.parametrize(
    ("hooks", "events"),
    [
        ((), set()),
        ((GUARD,), TOOLS),
        (({**GUARD, "event": ["permission_request", "user_prompt_submit", "stop"]},), GATES - TOOLS),
        (({**GUARD, "agents": ["codex"]},), set()),
        (({**GUARD, "mode": "advise"},), set()),
        (({**GUARD, "on_failure": "continue"},), set()),
        (({**GUARD, "event": "post_tool_use"},), set()),
    ],
    ids=["no hooks", "before a tool", "other gates", "another agent's", "advises", "lets go on", "at no gate"],
)
def test_where_a_guard_of_the_user_s_may_be_asked(
    project: Project, hooks: tuple[dict[str, object], ...], events: set[str]
) -> None:
    """At its gates and nowhere else; what uninstall leaves are the bytes from before."""
    path = settings_file(project, "claude")
    path.parent.mkdir()
    path.write_text('{\n\n  "hooks": {}\n}')
    project.user_hooks(*hooks)
    _install(project)
    assert _users(project) == events
    assert "already installed" in hookrun(project, "install", "claude").stdout
    assert hookrun(project, "uninstall", "claude").status == 0
    assert path.read_text() == '{\n\n  "hooks": {}\n}'


@pytest.mark.parametrize(
    ("on_error", "hooks", "events"), [("continue", (GUARD,), set()), ("block", (), GATES), ("block", (GUARD,), GATES)]
)
def test_the_user_s_setting_comes_first(
    project: Project, on_error: str, hooks: tuple[dict[str, object], ...], events: set[str]
) -> None:
    """`on_error` decides whether there is a guard or not."""
    project.user_hooks(*hooks, on_error=on_error)
    _install(project)
    assert _users(project) == events


def test_a_guard_of_a_project_counts_once_it_is_approved(project: Project) -> None:
    """Whoever installs, wherever: which project a call comes from is not known without hookrun."""
    project.hooks(GUARD)
    _install(project)
    assert _users(project) == set()
    project.approve()
    _install(project)
    assert _users(project) == TOOLS


def test_what_is_approved_cannot_be_read(project: Project) -> None:
    """Then any guard may be."""
    _install(project)
    store = project.home / ".local" / "share" / "hookrun" / "trust.json"
    store.write_text("{")
    hookrun(project, "install", "claude")
    assert _users(project) == GATES


@pytest.mark.parametrize("agent", [each for each in ALL if each != "claude"])
def test_no_other_agent_has_the_key(project: Project, agent: str) -> None:
    """Their entries are the same with a guard and without."""
    project.user_hooks()
    hookrun(project, "install", agent, "--trust")
    before = settings_file(project, agent).read_bytes()
    project.user_hooks(GUARD)
    hookrun(project, "install", agent, "--trust")
    assert settings_file(project, agent).read_bytes() == before
    assert "shut" not in load(agent).INSTALL


# --- the other scopes


def test_in_a_project_it_follows_what_all_have_agreed_on(project: Project) -> None:
    """With `when_missing: block` no tool runs without hookrun; whose guards are in force does not count there."""
    project.hooks(GUARD)
    project.approve()
    path = settings_file(project, "claude", "project")
    _install(project, "--scope", "project", "--when-missing", "warn")
    assert _shut(path) == set()
    _install(project, "--scope", "project", "--when-missing", "block")
    assert _shut(path) == TOOLS
    assert MISFIT not in hookrun(project, "doctor", "claude").stdout
    _install(project, "--scope", "project", "--when-missing", "warn")
    assert _shut(path) == set()


def test_in_managed_settings_managed_guards_count(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the account that installs are no other user's."""
    path = tmp_path / "managed-settings.json"
    monkeypatch.setitem(cast("dict[str, str]", claude.INSTALL), "managed_hooks", str(path))
    monkeypatch.setattr(discovery, "MANAGED_DIRECTORY", str(tmp_path / "machine"))
    project.user_hooks(GUARD)
    _install(project, "--scope", "managed")
    assert _shut(path) == set()
    config = tmp_path / "machine" / "hooks.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"hooks": [{**GUARD, "event": "user_prompt_submit"}]}))
    _install(project, "--scope", "managed")
    assert _shut(path) == {"UserPromptSubmit"}


# --- entries of an earlier hookrun, and other guards than when it was installed


def test_earlier_entries_are_ours_and_get_the_key(project: Project) -> None:
    """`status` and `doctor` know them; doctor names what they lack in one line, and the command, which adds only it."""
    project.user_hooks(GUARD)
    before = tree(project.home)
    _install(project)
    path = settings_file(project, "claude")
    now = path.read_text()
    _without_the_key(path)
    listed = hookrun(project, "status", "--json").json["agents"]
    assert isinstance(listed, list)
    row = next(each for each in listed if each["agent"] == "claude")
    assert "PreToolUse" in row["wired"]["user"]
    assert row["hand_written"]["user"] == []
    found = hookrun(project, "doctor", "claude").stdout
    assert found.count(MISFIT) == 1, found
    assert "hint: run `hookrun install claude`" in found.partition(MISFIT)[2]
    _install(project)
    assert path.read_text() == now
    assert MISFIT not in hookrun(project, "doctor", "claude").stdout
    _without_the_key(path)
    assert hookrun(project, "uninstall", "claude").status == 0
    assert tree(project.home).keys() == before.keys()


def test_a_key_without_a_guard_is_reported_and_taken_back(project: Project) -> None:
    """As when the user sets `on_error: continue` later."""
    project.user_hooks(GUARD)
    _install(project)
    project.user_hooks(GUARD, on_error="continue")
    found = hookrun(project, "doctor", "claude").stdout
    assert MISFIT in found
    _install(project)
    assert _users(project) == set()
    assert MISFIT not in hookrun(project, "doctor", "claude").stdout


def test_trust_writes_it(project: Project) -> None:
    """With the first approved guard."""
    _install(project)
    hookrun(project, "add", "no-force-push")
    assert _users(project) == set()
    session = at_terminal(project, "trust", answers=("y",))
    assert "claude: updated for your guards at PreToolUse, PreSkillShellCommand" in " ".join(session.screen.split())
    assert _users(project) == TOOLS


def test_add_writes_it_for_your_own(project: Project) -> None:
    """They need no approval."""
    _install(project)
    added = at_terminal(project, "add", "no-force-push", "--user")
    assert "claude: updated for your guards at PreToolUse" in " ".join(added.screen.split())
    assert _users(project) == TOOLS


def test_new_and_test_write_it(project: Project) -> None:
    """A terminal's user approves what `new` makes, and has `test` enforce it."""
    _install(project)
    at_terminal(project, "new", "no-sudo", "--lang", "python")
    assert _users(project) == set()
    script = project.root / "hooks" / "no-sudo.py"
    script.write_text(script.read_text().replace("    # ", "    "))
    tested = at_terminal(project, "test", answers=("y", "y"), question="? [", columns=160)
    assert _users(project) == TOOLS, tested.screen
    project.root.joinpath("hookrun.yaml").unlink()
    at_terminal(project, "trust", answers=("y",), question="go?")
    _install(project)
    assert _users(project) == set()
    at_terminal(project, "new", "protect-env")
    assert _users(project) == TOOLS


def test_disable_takes_it_back_and_enable_writes_it_again(project: Project) -> None:
    """A guard that is off until further notice blocks nothing; one that is off for a time will again."""
    project.user_hooks(GUARD)
    _install(project)
    for options, events in ((("guard", "--for", "1h"), TOOLS), (("--all",), TOOLS), (("guard",), set())):
        disabled = at_terminal(project, "disable", *options)
        assert ("claude: updated for your guards at" in disabled.screen) is (events != TOOLS), disabled.screen
        assert _users(project) == events
    assert "claude: updated" not in at_terminal(project, "enable", "--all").screen
    enabled = at_terminal(project, "enable", "guard")
    assert "claude: updated for your guards at PreToolUse, PreSkillShellCommand" in " ".join(enabled.screen.split())
    assert _users(project) == TOOLS


def test_a_guard_that_is_refused_leaves_nothing_behind(project: Project) -> None:
    """`trust` switches it off for good where the answer is that it may never run."""
    project.hooks(GUARD)
    project.approve()
    _install(project)
    project.hooks({**GUARD, "command": "exit 3"})
    at_terminal(project, "trust", answers=("v",))
    assert _users(project) == set()


def test_install_writes_it_for_what_is_approved_then(project: Project) -> None:
    """It asks about the project's hooks after the installation."""
    project.hooks(GUARD)
    session = at_terminal(project, "install", "claude", answers=("y",))
    assert "approved guard" in session.screen
    assert _users(project) == TOOLS
