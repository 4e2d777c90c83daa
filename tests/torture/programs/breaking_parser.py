# Appended to `shell/syntax_tree.py`: lines in which the native parser breaks. A hang holds the interpreter.

import collections
import itertools
import os
import signal

read = globals()["parse"]


def parse(data: bytes) -> object:
    if b"crashes" in data:
        os.kill(os.getpid(), signal.SIGSEGV)
    if b"leaves" in data:
        os._exit(0)
    if b"hangs" in data:
        collections.deque(itertools.repeat(0), maxlen=0)
    return read(data)
