"""Fail one system call after the other of a launcher's run while a guard refuses: no answer may allow the call.

    python -m tests.torture.inject_faults [--way cold|warm] [--calls N] [--every N] [--errors NAME,...]

Prints each answer that allows the call as a line of JSON, and how many there were. Exits with 1 if there is one, and
with 75 if this cannot be done here: it needs strace, and a C compiler or the compiled client.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from hookrun.launch.client import compiled_client
from tests.conftest import LAUNCHED, Project
from tests.fire.agents import Agent
from tests.warm import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

ERRORS = ("EMFILE", "ENOMEM", "EIO", "ENOSPC", "EACCES")
CALLS = 200
CANNOT = 75
SOURCE = Path(compiled_client.__code__.co_filename).with_name("client.c")
# What cannot fail.
SPARED = frozenset({"exit", "exit_group", "rt_sigreturn"})
CALL = re.compile(r"[a-z_0-9]+\(")
# The first call of the launcher's `main`.
MAIN = re.compile(r"fcntl\(0, F_GETFD")
# It has no stream that it could lose: its own calls fail, too.
GUARD: dict[str, object] = {"name": "guard", "matcher": "bash", "command": "exit 2", "on_failure": "block"}


class Launched:
    """An account whose launcher of Claude Code asks a guard that refuses, cold or warm."""

    def __init__(self, directory: Path, way: str) -> None:
        self.project = Project(directory)
        self.way = way
        self.project.user_hooks(GUARD, warm="off" if way == "cold" else "auto")
        os.utime(self.project.home / ".config/hookrun/hooks.json", (1e9, 1e9))  # so that it is cached
        command = [sys.executable, *LAUNCHED, "install", "claude", "--trust"]
        subprocess.run(command, cwd=self.project.root, env=self._environment(), check=True, capture_output=True)
        self.launcher = self.project.home / ".local/share/hookrun/claude"
        static = ["cc", "-O2", "-static", "-o", str(self.launcher), str(SOURCE)]  # as in wheels
        if shutil.which("cc") is not None:
            self.launcher.unlink()
            subprocess.run(static, check=True)

    def _environment(self) -> dict[str, str]:
        return {**self.project.environment(), "CI": "1"}  # no run starts a server

    def fire(self, *strace: str) -> subprocess.CompletedProcess[bytes]:
        """Run the launcher below strace with these options."""
        return subprocess.run(
            ["strace", "-qq", *strace, str(self.launcher), "PreToolUse", "--home", str(self.project.home)],
            input=json.dumps(Agent("claude", self.project).shell("ls")).encode(),
            cwd=self.project.root,
            env=self._environment(),
            capture_output=True,
            check=False,
        )

    def calls(self, count: int) -> Iterator[tuple[str, int]]:
        """Yield name and number of each of the first system calls of each process: the second `read`, ...

        Those of the launcher's C library are left out, before its `main`: it ends without a word, and cannot do more.
        """
        seen: dict[tuple[str, int], None] = {}
        before_main = set[tuple[str, int]]()
        with tempfile.TemporaryDirectory() as directory:
            self.fire("-ff", "-o", f"{directory}/trace")
            for path in sorted(Path(directory).iterdir()):
                lines = [line for line in path.read_text().splitlines() if CALL.match(line)]
                names = [line.partition("(")[0] for line in lines]
                numbered = [(name, names[: at + 1].count(name)) for at, name in enumerate(names[:count])]
                seen |= dict.fromkeys(numbered)
                if str(self.launcher) in lines[0]:
                    before_main.update(numbered[: next(at for at, line in enumerate(lines) if MAIN.match(line))])
        yield from (call for call in seen if call[0] not in SPARED and call not in before_main)


def allows(done: subprocess.CompletedProcess[bytes]) -> bool:
    """Return whether Claude Code would run the tool."""
    return done.returncode != 2 and not (done.returncode == 0 and b'"permissionDecision":"deny"' in done.stdout)


def why_impossible() -> str | None:
    """Return why no system call can be made to fail here, or None."""
    if shutil.which("strace") is None:
        return "there is no strace"
    if compiled_client() is None:
        return "there is no compiled client"
    probe = ["strace", "-qq", "-o", "/dev/null", "-e", "inject=getppid:error=EIO:when=1", "true"]
    done = subprocess.run(probe, capture_output=True, check=False)
    return f"strace cannot inject errors: {done.stderr.decode()[:200]}" if done.returncode else None


def inject(way: str, calls: int = CALLS, every: int = 1, errors: tuple[str, ...] = ERRORS) -> tuple[int, list[str]]:
    """Return how many runs there were, and what each that allows the call was."""
    allowed, count = [], 0
    with tempfile.TemporaryDirectory(prefix="hr-") as directory:
        account = Launched(Path(directory), way)
        with serving(account.project.home) if way == "warm" else nullcontext():
            whole = account.fire("-o", "/dev/null")
            assert not allows(whole), whole
            rows = [(name, number, error) for name, number in account.calls(calls) for error in errors]
            for name, number, error in rows[::every]:
                count += 1
                done = account.fire("-f", "-o", "/dev/null", "-e", f"inject={name}:error={error}:when={number}")
                if allows(done):
                    row = {"way": way, "call": name, "number": number, "error": error, "exit": done.returncode}
                    text = {"stdout": done.stdout.decode()[:300], "stderr": done.stderr.decode()[:300]}
                    allowed.append(json.dumps({**row, **text}))
    return count, allowed


def main() -> int:
    """Inject, print and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=("cold", "warm"), action="append")
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--errors", type=lambda text: tuple(text.split(",")), default=ERRORS)
    options = parser.parse_args()
    reason = why_impossible()
    if reason is not None:
        sys.stdout.write(f"{reason}\n")
        return CANNOT
    bad = 0
    for way in options.way or ("cold", "warm"):
        count, allowed = inject(way, options.calls, options.every, options.errors)
        sys.stdout.write(
            "".join(f"{line}\n" for line in [*allowed, f"{way}: {len(allowed)} of {count} allow the call"])
        )
        bad += len(allowed)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
