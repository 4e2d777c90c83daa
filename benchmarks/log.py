"""What reading a large audit costs: `hookrun log` and `hookrun why` on a generated one.

    python benchmarks/log.py [--megabytes 1000] [--json FILE]

Each command is a process of its own, whose time and peak memory are measured. What finds the newest runs must not
depend on the size of the audit. Exits 1 when a bar fails, 2 when a command does not do what it claims.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

HOOKS = 2
MOST_MEMORY, MOST_SECONDS = 64, 2.0
"""Megabytes that every command may take, and seconds of those that read the newest runs only."""

CASES = (
    ("newest run", ("log", "-n", "1", "--all-projects"), True),
    ("newest hundred", ("log", "-n", "100", "--all-projects"), True),
    ("why, last run", ("why", "--all-projects"), True),
    ("since an hour ago", ("log", "--since", "1h", "--all-projects"), True),
    ("a filter that matches nothing", ("log", "--hook", "none", "--all-projects"), False),
)
"""A name, the arguments, and whether the newest runs are enough."""


def main() -> int:
    """Generate, measure, print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=1000, metavar="N", help="size of the audit; default 1000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements to this file")
    options = parser.parse_args()
    failed, results = False, []
    with tempfile.TemporaryDirectory(prefix="hookrun-benchmark-") as home:
        audit = Path(home) / ".local/state/hookrun/audit.jsonl"
        audit.parent.mkdir(parents=True)
        write_audit(audit, options.megabytes * 1_000_000)
        print(f"{'case':<32}{'seconds':>9}{'peak MB':>9}  bar")
        for name, arguments, newest in CASES:
            status, seconds, megabytes = measure(home, arguments)
            if status:
                print(f"log.py: hookrun {' '.join(arguments)}: exit status {status}", file=sys.stderr)
                return 2
            passed = megabytes <= MOST_MEMORY and (not newest or seconds <= MOST_SECONDS)
            failed = failed or not passed
            results.append({"case": name, "seconds": seconds, "megabytes": megabytes, "passed": passed})
            print(f"{name:<32}{seconds:>9.2f}{megabytes:>9.1f}  {'PASS' if passed else 'FAIL'}")
    if options.json is not None:
        options.json.write_text(json.dumps({"megabytes": options.megabytes, "cases": results}, indent=2) + "\n")
    return 1 if failed else 0


def write_audit(path: Path, size: int) -> None:
    """Write an audit of at least `size` bytes: runs of two hooks each."""
    written = number = 0
    with path.open("wb") as file:
        while written < size:
            about = {
                "v": 1, "time": "2026-01-02T03:04:05.678Z", "request_id": f"{number:016x}", "agent": "claude",
                "event": "pre_tool_use", "session_id": f"s{number // 1000}", "tool": "bash",
            }  # fmt: skip
            hook = {"kind": "hook", "layer": "project", "source": "/p/coder.json:3", "ms": 12.3, "action": "continue"}
            records = [{**about, **hook, "hook": f"guard-{index}"} for index in range(HOOKS)]
            fire = {"kind": "fire", "action": "continue", "hooks": HOOKS, "ms": 40.1, "project": "/p", "command": "ls"}
            written += file.write(b"".join(json.dumps(each).encode() + b"\n" for each in (*records, {**about, **fire})))
            number += 1


def measure(home: str, arguments: tuple[str, ...]) -> tuple[int, float, float]:
    """Return the exit status of a command, its seconds and the megabytes of its peak memory."""
    environment = {**os.environ, "HOME": home}
    begun = perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "hookrun", *arguments], env=environment, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, perf_counter() - begun, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


if __name__ == "__main__":
    sys.exit(main())
