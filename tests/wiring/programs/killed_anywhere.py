# Runs `hookrun COMMAND codex` again and again, in another home each time, and ends it at its N-th call of the system.

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from hookrun.cli import run

if TYPE_CHECKING:
    from collections.abc import Callable

KILLED = 77
CALLS = ("open", "write", "fsync", "fchmod", "fchown", "replace", "unlink", "mkdir", "rmdir", "close")
ANOTHER_HOME, COMMAND, *OPTIONS, HOMES = sys.argv[1:]


def killed_at(home: str, number: int) -> None:
    os.environ["HOME"] = home
    if COMMAND == "uninstall":
        assert run(["install", "codex", "--trust"]) == 0
    left, opened = [number], os.open

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            if function is opened and not arguments[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return function(*arguments, **more)  # reading changes nothing: the next call finds the same files
            left[0] -= 1
            if left[0] < 0:
                os._exit(KILLED)
            return function(*arguments, **more)

        return call

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    os._exit(run([COMMAND, "codex", *OPTIONS]))


# Everything is imported before the count begins: what is killed is the work, not the start.
os.environ["HOME"] = ANOTHER_HOME
run(["install", "codex", "--trust", "--dry-run"])
status, tries = KILLED, 0
while status == KILLED:
    there = os.path.join(HOMES, str(tries))
    child = os.fork()
    if child == 0:
        killed_at(there, tries)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(tries, status, file=sys.stderr)
    tries += 1
sys.exit(status)
