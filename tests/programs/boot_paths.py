# Compares the light `os.path` with the real one.

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

boot: "Any" = type(sys)("hookrun.boot")
sys.modules["hookrun.boot"] = boot
with open(sys.argv[1] + "/boot.py") as source:
    exec(compile(source.read(), "boot.py", "exec"), boot.__dict__)  # noqa: S102  # as start.py does
boot._install_light_os()
import os  # noqa: E402  # the light one
from os.path import exists, join  # noqa: E402  # the light ones

light = os.path
others = [
    "/usr/bin", "/", "//", "/a/", "/a//b", "/a/./b", "/a/../b", "/a/.b",
    "/a/..b/", "a", "a/b", ".", "..", "./a", "/gone", "/proc/self/exe",
]  # fmt: skip
paths = ["", *others, *map(str.encode, others), 0, 99, "/\0", "/" + 5000 * "a", "/proc/self/cwd", "/etc/passwd"]

FUNCTIONS = [
    "abspath", "dirname", "exists", "isabs", "isdir",
    "islink", "normpath", "lexists", "basename", "isfile",
]  # fmt: skip


def outcome(function: "Any", *arguments: object) -> "Any":
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), str(error)


def answers(path: "Any") -> "Any":
    for name in FUNCTIONS:
        for each in paths:
            yield outcome(getattr(path, name), each)
    for one in paths:
        for more in ([], ["b"], ["/b"], [""], ["b", "c"], [b"b"], [1]):
            yield outcome(path.join, one, *more)


seen = [*answers(light)]
import posixpath  # noqa: E402  # the real one

assert light is not posixpath
assert "posixpath" in sys.modules
assert len(seen) > 500
for number, (one, other) in enumerate(zip(seen, answers(posixpath), strict=True)):
    assert one == other, (number, one, other)
assert exists("/")
assert join("/a", "b") == "/a/b"
