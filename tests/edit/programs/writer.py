import os
import sys
from collections.abc import Callable

from hookrun.edit import file_change as files

left = iter(range(int(sys.argv[2])))


def counted(function: Callable[..., object]) -> Callable[..., object]:
    def call(*arguments: object, **more: object) -> object:
        if next(left, None) is None:
            os._exit(77)
        return function(*arguments, **more)

    return call


for name in ("open", "write", "fsync", "fchmod", "fchown", "replace", "unlink", "mkdir", "close"):
    setattr(os, name, counted(getattr(os, name)))
now = files.existing(sys.argv[1])
files.apply(files.FileChange(sys.argv[1], now, b'{"new": 1}\n' * 500))
