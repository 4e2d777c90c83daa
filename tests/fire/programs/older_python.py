import os
import posix
import sys
from importlib.machinery import SourceFileLoader


def preadv(*_: object) -> int:
    raise NotImplementedError("preadv2: flags unavailable on this platform")


lacks = sys.argv.pop(1)
for module in (posix, os):
    if lacks == "preadv2":
        module.preadv = preadv  # type: ignore[attr-defined]
    else:
        vars(module).pop(lacks, None)
__file__ = sys.argv[0] = sys.argv.pop(1)
SourceFileLoader("__main__", __file__).exec_module(sys.modules["__main__"])
