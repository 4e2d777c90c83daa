import os
import sys
from typing import Any

import hookrun.__main__
from hookrun.process import orphans

what = sys.argv[1]
listed, spawn = os.listdir, os.posix_spawn


def no_pidfd(_pid: int) -> int:
    raise OSError(24, "Too many open files")


def unlisted(path: str = ".") -> list[str]:
    if path in ("/dev/fd", "/proc/self/fd"):
        raise FileNotFoundError(2, "No such file or directory", path)
    return listed(path)


def without_session(*arguments: Any, setsid: bool = False, **options: Any) -> int:
    if setsid:
        raise NotImplementedError
    return spawn(*arguments, **options)


if what in {"pidfd", "/proc"}:
    del os.pidfd_open
if what == "a pidfd to spare":
    vars(os)["pidfd_open"] = no_pidfd
if what == "/proc":
    orphans._processes = list
if what == "a list of descriptors":
    vars(os)["listdir"] = unlisted
if what == "a session from posix_spawn":
    os.posix_spawn = without_session
sys.argv = ["hookrun", "fire", "pre_tool_use", *sys.argv[2:]]
hookrun.__main__.main()
