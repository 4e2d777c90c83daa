"""What reading a million records costs beside a loop that only parses them, and how much of the log recent runs need.

    python benchmarks/log_scale.py [--records 1000000] [--json FILE]

Each command is a process of its own. Compared are seconds of CPU in user mode, less those of `hookrun log --help`, with
a loop of `orjson.loads` over the lines of the same files, less those of importing it: the least of five rounds, in each
of which all of them take turns.
Exits 1 when a bar fails or a command does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson

FILES, HOOKS, TIMES = 6, 2, 5
# Times the bare loop, megabytes of memory, bytes read of the log.
MOST_TIMES, MOST_MEMORY, MOST_READ = 2.0, 64, 1_000_000

BARE = """
import glob, orjson, sys
for path in glob.glob(sys.argv[1] + "/.local/state/hookrun/audit.jsonl*"):
    with open(path, "rb") as file:
        for line in file:
            orjson.loads(line)
"""
WHOLE = (
    ("stats",),
    ("log", "--hook", "none"),
    ("log", "--action", "ask"),
    ("log", "--tool", "web*", "--event", "pre_tool_use"),
    ("log", "--session", "none"),
    ("log", "--since", "2026-01-01", "--failures"),
)
RECENT = (("log", "-n", "20"), ("why", "{id}"))
READ = """
import os, sys
from unittest import mock
from hookrun.cli import run
total = 0
pread = os.pread
def counted(file, size, offset):
    global total
    data = pread(file, size, offset)
    total += len(data)
    return data
with mock.patch("os.pread", counted):
    status = run(sys.argv[1:])
print(total, file=sys.stderr)
sys.exit(status)
"""


def main() -> int:
    """Generate, measure, print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=1_000_000, metavar="N", help="records; default 1,000,000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements to this file")
    options = parser.parse_args()
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="hookrun-benchmark-") as home:
        last = write_log(Path(home) / ".local/state/hookrun", options.records)
        hookrun = [sys.executable, "-m", "hookrun"]
        commands = [
            [sys.executable, "-c", BARE, home],
            [sys.executable, "-c", "import orjson"],
            [*hookrun, "log", "--help"],
            *([*hookrun, *words, *(["--all-projects"] if words[0] == "log" else [])] for words in WHOLE),
        ]
        rounds = [[measure(home, each) for each in commands] for _ in range(TIMES)]
        (parsing, _), (importing, _), (start, _), *found = (
            (min(seconds for seconds, _ in each), max(memory for _, memory in each))
            for each in zip(*rounds, strict=True)
        )
        bare = parsing - importing
        print(f"{options.records} records; parsing them alone: {bare:.2f} s\n{'command':<52}{'times':>7}{'MB':>7}  bar")
        for words, (seconds, memory) in zip(WHOLE, found, strict=True):
            ratio = (seconds - start) / bare
            passed = ratio <= MOST_TIMES and memory <= MOST_MEMORY
            results.append({"command": " ".join(words), "times": ratio, "megabytes": memory, "passed": passed})
            print(f"{' '.join(words):<52}{ratio:>7.2f}{memory:>7.1f}  {'PASS' if passed else 'FAIL'}")
        for words in RECENT:
            arguments = [each.format(id=last) for each in words]
            read = bytes_read(home, [*arguments, *(["--all-projects"] if arguments[0] == "log" else [])])
            results.append({"command": " ".join(words), "bytes": read, "passed": read < MOST_READ})
            print(f"{' '.join(words):<52}{read:>8} bytes read  {'PASS' if read < MOST_READ else 'FAIL'}")
    if options.json is not None:
        options.json.write_text(json.dumps({"records": options.records, "cases": results}, indent=2) + "\n")
    return 0 if all(each["passed"] for each in results) else 1


def write_log(directory: Path, records: int) -> str:
    """Write a log of so many records in rotated files; return the id of the last run but five."""
    directory.mkdir(parents=True)
    runs = records // (HOOKS + 1)
    number = 0
    for place in range(FILES - 1, -1, -1):
        with (directory / (f"audit.jsonl.{place}" if place else "audit.jsonl")).open("wb") as file:
            while number < runs * (FILES - place) // FILES:
                moment = time.strftime("%Y-%m-%dT%H:%M:%S.123Z", time.gmtime(1_767_225_600 + number))
                about = {
                    "v": 1, "kind": "hook", "time": moment, "request_id": f"{number:016x}", "agent": "claude",
                    "event": "pre_tool_use", "session_id": f"5e551011-{number // 300:08x}", "tool": "bash",
                    "action": "continue" if number % 10 else "block",
                }  # fmt: skip
                source = {"layer": "project", "source": "/home/ada/app/coder.json:3", "ms": 3 + number % 977 / 10}
                sizes = {"exit": 0, "bytes_in": 512, "bytes_out": 40, "bytes_err": 0}
                for index in range(HOOKS):
                    file.write(orjson.dumps({**about, "hook": f"guard-{index}", **source, **sizes}) + b"\n")
                call = {"command": "git status && python -m pytest -q tests", "project": "/home/ada/app"}
                end = {"kind": "fire", "hooks": HOOKS, "declared": 4, "ms": 40.1, "own_ms": 3.1, "warm": True}
                file.write(orjson.dumps({**about, **end, **call}) + b"\n")
                number += 1
    return f"{number - 5:016x}"


def measure(home: str, command: list[str]) -> tuple[float, float]:
    """Return a command's seconds of CPU in user mode, and the megabytes of its peak memory."""
    process = subprocess.Popen(command, env={**os.environ, "HOME": home}, cwd=home, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"log_scale.py: {command[-3:]}: exit status {process.returncode}")
    return usage.ru_utime, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def bytes_read(home: str, arguments: list[str]) -> int:
    """Return the bytes that a command reads of the log, all by `os.pread`."""
    done = subprocess.run(
        [sys.executable, "-c", READ, *arguments],
        env={**os.environ, "HOME": home},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"log_scale.py: {arguments}: {done.stderr}")
    return int(done.stderr.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
