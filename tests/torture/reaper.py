"""Runs a command as the reaper of all that it leaves behind, and reports what that is: REPORT COMMAND..."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def children() -> list[int]:
    """Return the living children of this process, which adopts what a command leaves behind."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                fields = (path / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid() and fields[0] not in ("Z", "X"):
                found.append(int(path.name))
    return found


def command_line(pid: int) -> str:
    """Return the command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()


def main() -> int:
    """Run the command, write the report, kill what is left, and end as the command did."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    status = subprocess.run(sys.argv[2:], check=False).returncode
    left = children()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    Path(sys.argv[1]).write_text(json.dumps({"left": [command_line(pid) for pid in left], "peak_kilobytes": peak}))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
