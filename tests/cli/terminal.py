"""Run a command at a terminal, as a user would: a pseudo-terminal, and answers typed when the command asks."""

from __future__ import annotations

import os
import select
import subprocess
import termios
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Project

PATIENCE = 60
"""Seconds: a bound for what must happen, never waited for."""


class Session:
    """A finished command at a terminal: its exit status and everything on the screen."""

    def __init__(self, status: int, screen: str) -> None:
        self.status = status
        self.screen = screen


def until_closed(master: int) -> bytes:
    """Return everything written to a terminal until every process has closed it, then close it."""
    screen = b""
    while more := _more(master):
        screen += more
    os.close(master)
    return screen


def _more(master: int) -> bytes:
    """Return new output, empty when the last process has closed the terminal."""
    try:
        return os.read(master, 65536)
    except OSError:
        return b""


def started_at_terminal(
    project: Project, *arguments: str, env: dict[str, str] | None = None, columns: int = 80
) -> tuple[subprocess.Popen[bytes], int]:
    """Start `hookrun` with these arguments at a terminal; return the process and the other end of the terminal."""
    master, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, columns))
    process = subprocess.Popen(
        project.command(*arguments),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=project.root,
        env=project.environment(**{"TERM": "dumb", "COLUMNS": str(columns), **(env or {})}),
        start_new_session=True,
    )
    os.close(terminal)
    return process, master


def at_terminal(
    project: Project,
    *arguments: str,
    answers: tuple[str, ...] = (),
    question: str = "[q]uit: ",
    env: dict[str, str] | None = None,
    meanwhile: Callable[[], object] | None = None,
    columns: int = 80,
) -> Session:
    """Run `hookrun` with these arguments at a terminal; each answer is typed at the next `question`.

    `meanwhile` is what happens between the first question and its answer.
    """
    process, master = started_at_terminal(project, *arguments, env=env, columns=columns)
    left = list(answers)
    screen = b""
    questions = 0
    while True:
        ready, _, _ = select.select([master], [], [], PATIENCE)
        assert ready, screen
        if not (more := _more(master)):
            break
        screen += more
        if left and screen.count(question.encode()) > questions:
            questions += 1
            if questions == 1 and meanwhile is not None:
                meanwhile()
            os.write(master, left.pop(0).encode() + b"\n")
    os.close(master)
    assert not left, screen
    return Session(process.wait(PATIENCE), screen.decode("utf-8", "replace").replace("\r\n", "\n"))
