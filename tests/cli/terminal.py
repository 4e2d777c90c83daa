"""Run a command at a terminal, as a user would: a pseudo-terminal, and answers typed when the command asks."""

from __future__ import annotations

import os
import select
import subprocess
import termios
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.cli.command import run_here
from tests.waiting import ended, limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Project


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
    master, terminal = _open_terminal(columns)
    process = subprocess.Popen(
        project.command(*arguments),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=project.root,
        env=_environment(project, columns, env),
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
    meanwhile: Callable[[], object] = lambda: None,
    columns: int = 80,
) -> Session:
    """Run `hookrun` with these arguments at a terminal; each answer is typed at the next `question`.

    `meanwhile` is what happens between the first question and its answer. A process of its own is only for `fire`,
    which ends it, and for variables that an interpreter reads when it starts.
    """
    if arguments[0] == "fire" or any(name.startswith("PYTHON") for name in env or ()):
        process, master = started_at_terminal(project, *arguments, env=env, columns=columns)
        screen = _converse(master, answers, question, meanwhile)
        return Session(ended(process), screen)
    master, terminal = _open_terminal(columns)
    with ThreadPoolExecutor(1) as user:
        conversation = user.submit(_converse, master, answers, question, meanwhile)
        try:
            status = run_here(arguments, (terminal,) * 3, _environment(project, columns, env), project.root)
        finally:
            os.close(terminal)
        return Session(status, conversation.result())


def _open_terminal(columns: int) -> tuple[int, int]:
    """Return the user's end of a terminal of this width, and the end of a command."""
    master, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, columns))
    return master, terminal


def _environment(project: Project, columns: int, more: dict[str, str] | None) -> dict[str, str]:
    return project.environment(**{"TERM": "dumb", "COLUMNS": str(columns), **(more or {})})


def _converse(master: int, answers: tuple[str, ...], question: str, meanwhile: Callable[[], object]) -> str:
    """Type each answer at its question until the terminal is closed, and return the screen."""
    left = list(answers)
    screen = b""
    questions = 0
    try:
        while True:
            ready, _, _ = select.select([master], [], [], limit())
            assert ready, screen
            if not (more := _more(master)):
                break
            screen += more
            if left and screen.count(question.encode()) > questions:
                questions += 1
                if questions == 1:
                    meanwhile()
                os.write(master, left.pop(0).encode() + b"\n")
    finally:
        os.close(master)  # which also ends a command that still waits for an answer
    assert not left, screen
    return screen.decode("utf-8", "replace").replace("\r\n", "\n")
