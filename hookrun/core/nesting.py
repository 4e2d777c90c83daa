"""Detect whether this process runs inside a hook, by its environment and ancestors."""

from __future__ import annotations

import os

# The variable with a marker for each enclosing hook: a process's nesting depth and hook.
NESTING = b"HOOKRUN_CHAIN"

# Hooks may start agents that run hooks, up to this depth.
MAX_NESTING = 3


class CallerProcess:
    """The process of this run: `pid` is 0 for this one, else that of the process it replaces."""

    pid = 0


def nesting_depth() -> int:
    """Return how many hooks enclose this process, by its environment."""
    return os.environb.get(NESTING, b"").count(b";")


def runs_inside_hook() -> bool:
    """Return whether an ancestor of this process started inside a hook.

    Our own variable may be forged: a project can set the environment of an agent's children, but not the agent's own.
    Without /proc (macOS) the variable is believed.
    """
    mark = NESTING + b"="
    try:
        number = parent_of(CallerProcess.pid) if CallerProcess.pid else os.getppid()
        while number > 1:
            with open(f"/proc/{number}/environ", "rb") as file:
                environment = file.read()
            if any(each.startswith(mark) and b";" in each for each in environment.split(b"\0")):
                return True
            number = parent_of(number)
    except OSError:
        return not os.path.exists("/proc/self/environ")
    return False


def parent_of(process: int) -> int:
    """Return a process's parent's id. Raises OSError, also without /proc."""
    with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
        return int(file.read().rpartition(b")")[2].split()[1])  # behind the program's name and the state (proc(5))
