"""How real agents react when the launcher that their settings name, or the program it starts, is missing.

Nothing is refused for that, except by Claude Code where a guard may be asked, and it is shown where the agent shows
anything. Claude Code and Codex themselves show a command that does not exist or gives no answer, so that their lines
are that command alone.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hookrun_conformance.driver import put
from hookrun_conformance.model import say
from tests.live.run import PACKAGE, Agent

DONE = say("all-is-done")
GUARD = {"name": "guard", "event": ["session_start", "pre_tool_use"], "command": "cat > /dev/null; exit 2"}
QUIET = {"name": "quiet", "event": ["session_start", "post_tool_use"], "command": "cat >> $HOME/seen.jsonl"}

SHOWN = {
    "claude": ("printed", "A hook gave no usable answer, so it didn't check this action."),
    "codex": ("printed", "hook: PreToolUse Failed"),
    "gemini": ("printed", "hookrun is no longer at"),
    "copilot": ("heard", "hookrun is no longer at"),
    "cline": ("heard", "hookrun is no longer at"),
    "opencode": ("printed", "/hookrun/opencode no longer exists"),
}
"""Where it is shown without a terminal, and the text. Qwen shows no message of a hook before a tool there."""

WITHOUT_ITS_FILE = pytest.mark.may_be_cold({"no-launcher-file", "off"})
"""A run that finds no launcher.conf of the account's writes it anew, without the test's socket."""


def launchers(agent: Agent) -> Path:
    """Return the directory of the launchers."""
    return agent.place.home / ".local" / "share" / "hookrun"


def test_a_launcher_that_was_removed_stops_nothing(agent: Agent) -> None:
    """With all that is beside it: the tool runs, and the user or the model gets to know."""
    put(agent.place.hooks, {"hooks": [GUARD]})
    agent.install()
    shutil.rmtree(launchers(agent))
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), DONE)
    assert ran.files == {"made.txt": "hi\n"}, ran
    where, text = SHOWN.get(agent.name, ("printed", ""))
    assert text in getattr(ran, where), ran


@pytest.mark.may_be_cold({"no-launcher-file", "off"})
def test_without_its_launcher_claude_code_blocks_where_a_guard_may_be_asked(claude: Agent) -> None:
    """The forced push does not run, and the user and the model get the reason."""
    put(claude.place.hooks, {"hooks": [{"recipe": "no-force-push"}]})
    claude.install()
    shutil.rmtree(launchers(claude))
    assert_blocked(claude, "such file or directory")


@pytest.mark.parametrize("ends", ["kill -9 $$", "exec sleep 30", "exit 1"])
@pytest.mark.may_be_cold({"no-launcher-file", "off"})
def test_claude_code_blocks_if_its_launcher_gives_no_answer(claude: Agent, ends: str) -> None:
    """It is killed, too slow or broken."""
    put(claude.place.hooks, {"hooks": [{"recipe": "no-force-push"}]})
    claude.install()
    launchers(claude).joinpath("claude").unlink()
    put(launchers(claude) / "claude", f"#!/bin/sh\n{ends}\n", 0o755)
    settings = claude.place.home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace('"timeout": 600', '"timeout": 1'))
    assert_blocked(claude, "claude.PreToolUse]")


def assert_blocked(claude: Agent, cause: str) -> None:
    """Have the model ask for a forced push, which must not run."""
    ran = claude.run(claude.driver.shell("git push --force; echo hi > made.txt"), DONE, waits=5)
    assert ran.files == {}, ran
    for text in (ran.printed, ran.heard):
        assert "blocking because onFailure is" in text, ran
        assert cause in text, ran


@pytest.mark.parametrize("what", ["launcher.conf", "gone"])
@WITHOUT_ITS_FILE
def test_without_a_file_beside_it_hooks_run_all_the_same(claude: Agent, what: str) -> None:
    """The launcher starts hookrun by what install wrote into the script beside it."""
    put(claude.place.hooks, {"hooks": [GUARD]})
    claude.install()
    (launchers(claude) / what).unlink()
    assert claude.run(claude.driver.shell("echo hi > made.txt"), DONE).files == {}


@WITHOUT_ITS_FILE
def test_another_account_s_file_is_not_read(claude: Agent) -> None:
    """A launcher.conf with another mode names nothing that is run."""
    put(claude.place.hooks, {"hooks": [GUARD]})
    claude.install()
    conf = launchers(claude) / "launcher.conf"
    conf.write_text(conf.read_text().replace("\nexec /", "\nexec /no/"))
    conf.chmod(0o644)
    assert claude.run(claude.driver.shell("echo hi > made.txt"), DONE).files == {}


def test_an_earlier_line_is_replaced(agent: Agent) -> None:
    """A line with the paths of the program, where there was no launcher: after install each hook runs once, by one."""
    put(agent.place.hooks, {"hooks": [QUIET]})
    share = launchers(agent).parent
    share.parent.mkdir(exist_ok=True)
    shutil.rmtree(share, ignore_errors=True)
    share.write_text("in the way")
    agent.install()
    share.unlink()
    agent.install()
    assert launchers(agent).joinpath(agent.name).exists()
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), DONE)
    assert [each["event"] for each in ran.seen].count("post_tool_use") == 1, ran


def test_a_project_s_line_starts_the_user_s_launcher(claude: Agent) -> None:
    """Where the account has one; the script in the settings is the same for everybody."""
    put(claude.place.hooks, {"hooks": [QUIET]})
    claude.install("--scope", "project")
    line = (claude.place.project / ".claude" / "settings.json").read_text()
    assert str(claude.place.home) not in line
    assert str(PACKAGE) not in line
    ran = claude.run(claude.driver.shell("echo hi > made.txt"), DONE)
    assert [each["event"] for each in ran.seen].count("post_tool_use") == 1, ran


def test_lines_are_short(agent: Agent) -> None:
    """Where the agent shows a missing command itself, nothing but the launcher and the event."""
    put(agent.place.hooks, {"hooks": [QUIET]})
    agent.install()
    text = subprocess.run(
        ["grep", "-rhF", "--", str(launchers(agent) / agent.name), agent.place.home], capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert "__main__.py" not in text
    assert "matcher" not in text
    if agent.name in ("claude", "codex"):
        assert "test -x" not in text
