"""Run the command line behind it, and write down its forks."""

import os
import runpy
import sys

path = os.path.abspath("forks")


def count() -> None:
    """Write one character down for a fork."""
    with open(path, "a") as file:
        file.write("x")


os.register_at_fork(before=count)
sys.argv[:] = sys.argv[3:]
runpy.run_module("hookrun", run_name="__main__", alter_sys=True)
