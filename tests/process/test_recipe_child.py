"""The one child in which a cold run calls its recipes, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.process.recipe_child import ChildError, RecipeChild
from tests.process.test_processes import alive
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROGRAM = Path(__file__).with_name("programs") / "recipe_parent.py"


def answer(target: str, stdin: bytes, variables: Mapping[bytes, bytes]) -> str | None:
    """Do what a target says, in the child."""
    actions = {"pid": os.getpid, "exit": lambda: os._exit(0), "fail": lambda: sys.exit(3), "pgid": os.getpgrp}
    return stdin.decode() + str(actions[target]()) + variables.get(b"A", b"").decode()


@pytest.fixture
def child() -> Iterator[RecipeChild]:
    """A child with time, ended with the test."""
    made = RecipeChild(answer)
    made.begin(float("inf"))
    yield made
    made.close()


def ask(child: RecipeChild, target: str) -> str | None:
    """Return what the child answers without a context."""
    return child.ask(target, b"", {})


def test_one_child_answers_every_call(child: RecipeChild) -> None:
    """In a session of its own, with each call's context and variables."""
    pid = ask(child, "pid")
    assert (ask(child, "pid"), ask(child, "pgid")) == (pid, pid)
    assert pid != str(os.getpid())
    assert child.ask("pid", b"<", {b"A": b">"}) == f"<{pid}>"


def test_an_error_is_told_and_ends_nothing(child: RecipeChild) -> None:
    """A function that is unknown, or that exits, leaves the next call to the same process."""
    pid = ask(child, "pid")
    for target in ("unknown", "fail"):
        with pytest.raises(ChildError):
            ask(child, target)
    assert ask(child, "pid") == pid


def test_a_child_that_is_gone_is_replaced(child: RecipeChild) -> None:
    """However it ended, with status 0 too, it gave no answer."""
    pid = ask(child, "pid")
    with pytest.raises(ChildError):
        ask(child, "exit")
    assert ask(child, "pid") != pid


def test_it_ends_with_the_run(child: RecipeChild) -> None:
    """No process is left, not even one to be waited for."""
    pid = int(str(ask(child, "pid")))
    child.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_ends_when_its_run_is_killed() -> None:
    """It sees the end of its requests."""
    with subprocess.Popen([sys.executable, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        until(lambda: not alive(pid), "the child ends")
