"""Run a command under a restriction that util-linux has no program for: `landlock` or `seccomp`, as sandboxes use.

Under `landlock` it can make no FIFO; the `seccomp` filter allows every system call. Exits with 1 where that is refused.
"""

from __future__ import annotations

import ctypes
import os
import sys

LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
ACCESS_FS_MAKE_FIFO = 1 << 10
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
RETURN, ALLOW = 0x06, 0x7FFF0000
LIBC = ctypes.CDLL(None, use_errno=True)


class Filter(ctypes.Structure):
    """A program of one instruction (struct sock_fprog)."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def landlock() -> bool:
    """Enter a Landlock domain; return whether that was allowed."""
    handled = ctypes.c_uint64(ACCESS_FS_MAKE_FIFO)
    ruleset = LIBC.syscall(LANDLOCK_CREATE_RULESET, ctypes.byref(handled), ctypes.sizeof(handled), 0)
    return bool(ruleset >= 0 and LIBC.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0)


def seccomp() -> bool:
    """Install the filter; return whether that was allowed."""
    instruction = RETURN.to_bytes(2, sys.byteorder) + bytes(2) + ALLOW.to_bytes(4, sys.byteorder)
    return bool(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Filter(1, instruction)), 0, 0) == 0)


if __name__ == "__main__":
    if not {"landlock": landlock, "seccomp": seccomp}[sys.argv[1]]():
        sys.exit(1)
    os.execvp(sys.argv[2], sys.argv[2:])
