"""notify: a real webhook, and the bell of the terminal that an agent runs in, seen from a hook that has none."""

from __future__ import annotations

import json
import os
import pty
import sys
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes.notify import RECIPE
from tests.cli.terminal import until_closed

if TYPE_CHECKING:
    from tests.conftest import Project
    from tests.recipes.account import Account
    from tests.recipes.channels import WebhookServer


@pytest.mark.slow
def test_a_webhook_gets_what_its_style_takes(account: Account, webhook: WebhookServer) -> None:
    """As JSON all that is known, or, in Slack's style, a text and nothing else."""
    account.options(via="webhook", url=webhook.url)
    assert account.call("notify", event="stop", agent="codex", assistant_response="All green.") is None
    account.options(style="slack")
    account.call("notify", event="notification", agent="claude", message="may I?")
    known, text = [json.loads(body) for *_, body in webhook.requests]
    assert (known["event"], known["text"], known["session_id"]) == ("stop", "All green.", "s1")
    assert text == {"text": "claude: notification: may I?"}


@pytest.mark.slow
def test_a_channel_that_is_missing_is_told_once_and_the_others_are_used(
    account: Account, webhook: WebhookServer
) -> None:
    """The user is notified again only in another session."""
    account.options(via="desktop webhook", url=webhook.url)
    account.write("bin/none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(account.work / "bin"))
        answers = [account.call("notify", event="stop", session_id=session) for session in ("s1", "s1", "s2")]
    assert [answer is None for answer in answers] == [False, True, False]
    assert len(webhook.requests) == 3


@pytest.mark.slow
def test_the_bell_rings_in_the_terminal_of_the_agent(project: Project) -> None:
    """A hook leads its own session and has no terminal: that of an ancestor process is found."""
    project.user_hooks({**RECIPE.hooks[0], "env": {"HOOKRUN_OPTION_VIA": "bell"}})
    (project.root / "context.json").write_text('{"session_id": "s1", "message": "may I?"}')
    line = [sys.executable, "-m", "hookrun", "fire", "notification", "--ctx", "context.json"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project.root)
        os.dup2(os.open("answer", os.O_CREAT | os.O_WRONLY), 1)
        os.execve(sys.executable, line, project.environment())
    seen = until_closed(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, seen
    assert b"\a" in seen
    assert "system_message" not in json.loads((project.root / "answer").read_text())


@pytest.mark.slow
def test_without_a_terminal_the_bell_says_so(project: Project) -> None:
    """No ancestor has one."""
    project.user_hooks({**RECIPE.hooks[0], "env": {"HOOKRUN_OPTION_VIA": "bell", "PATH": "/nonexistent"}})
    fired = project.fire({"session_id": "s1", "message": "may I?"}, event="notification")
    assert str(fired.verdict["system_message"]).startswith("notify: Bell is not available: /dev/tty: ")
