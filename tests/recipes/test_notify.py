"""notify: a real webhook, and the bell of the terminal that an agent runs in, seen from a hook that has none."""

from __future__ import annotations

import json
import os
import pty
import select
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes.notify import RECIPE
from tests.waiting import limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Project
    from tests.recipes.account import Account


class Server(HTTPServer):
    """Records the posted requests."""

    def __init__(self) -> None:
        self.posted: list[dict[str, object]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class Handler(BaseHTTPRequestHandler):
    """Keeps the body of each request."""

    server: Server

    def do_POST(self) -> None:
        """Take one."""
        self.server.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a webhook that is there while the test runs."""
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_webhook_gets_all_that_is_known(account: Account, server: Server) -> None:
    """As JSON: event, text, level, session."""
    account.options(via="webhook", url=server.url)
    assert account.call("notify", event="stop", agent="codex", assistant_response="All green.") is None
    (posted,) = server.posted
    assert (posted["event"], posted["text"], posted["session_id"]) == ("stop", "All green.", "s1")


@pytest.mark.slow
def test_a_webhook_of_slacks_style_gets_a_text(account: Account, server: Server) -> None:
    """And nothing else."""
    account.options(via="webhook", url=server.url, style="slack")
    account.call("notify", event="notification", agent="claude", message="may I?")
    assert server.posted == [{"text": "claude: notification: may I?"}]


@pytest.mark.slow
def test_a_channel_that_is_missing_is_told_once_and_the_others_are_used(account: Account, server: Server) -> None:
    """The user is notified again only in another session."""
    account.options(via="desktop webhook", url=server.url)
    account.write("bin/none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(account.work / "bin"))
        answers = [account.call("notify", event="stop", session_id=session) for session in ("s1", "s1", "s2")]
    assert [answer is None for answer in answers] == [False, True, False]
    assert len(server.posted) == 3


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
    seen = read_all(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, seen
    assert b"\a" in seen
    assert "system_message" not in json.loads((project.root / "answer").read_text())


@pytest.mark.slow
def test_without_a_terminal_the_bell_says_so(project: Project) -> None:
    """No ancestor has one."""
    project.user_hooks({**RECIPE.hooks[0], "env": {"HOOKRUN_OPTION_VIA": "bell", "PATH": "/nonexistent"}})
    fired = project.fire({"session_id": "s1", "message": "may I?"}, event="notification")
    assert str(fired.verdict["system_message"]).startswith("notify: Bell is not available: /dev/tty: ")


def read_all(terminal: int) -> bytes:
    """Return everything written to a terminal until the other side is closed."""
    seen = b""
    while select.select([terminal], [], [], limit())[0]:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # Linux's way of telling the end
            break
        if not piece:
            break
        seen += piece
    os.close(terminal)
    return seen
