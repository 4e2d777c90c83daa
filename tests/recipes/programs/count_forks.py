import os
import runpy
import sys

path = os.path.abspath("forks")


def count() -> None:
    with open(path, "a") as file:
        file.write("x")


os.register_at_fork(before=count)
sys.argv[:] = sys.argv[3:]
runpy.run_module("hookrun", run_name="__main__", alter_sys=True)
