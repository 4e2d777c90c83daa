"""Engines with declared hooks that really run, and what they leave behind: processes, threads, descriptors."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun import Engine
from tests.conftest import ROOT, Project
from tests.process.bench import ENOUGH, SOON, processes_in, zombies

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun import Result

linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc here")
STARTED = "mkdir in.$$; "
"""Begins a shell line so that `inside` sees that it runs."""
STUBBORN = "trap '' TERM; while :; do sleep 1; done"
FAR = "setsid sh -c 'mkdir in.$$; trap \"\" TERM; sleep 60' & "
"""A grandchild in a separate session, which ignores TERM."""
QUICK_ECHO = """IFS= read -r line; n=${line#*\\"n\\":}; n=${n%%[!0-9]*}
printf '{"action": "modify", "args_patch": {"seen": %s}}' "$n" """
"""A hook that prints the number of its fire."""


def load(project: Project, *hooks: dict[str, object], **options: Any) -> Engine:
    """Return an engine with these hooks, declared in the user layer."""
    project.user_hooks(*({"name": f"hook{n}", **hook} for n, hook in enumerate(hooks)))
    return Engine.load(project.root, home=project.home, **options)


def fields(number: int = 0) -> dict[str, Any]:
    """Return the fields of a context that holds the number."""
    return {"session_id": "s1", "tool_name": "bash", "tool_args": {"n": number}}


def seen(result: Result) -> object:
    """Return the number that the hooks of a fire saw."""
    return (result.args_patch or {}).get("seen") or (result.modified_args or {}).get("seen")


def kinds(result: Result) -> list[str | None]:
    """Return how each hook failed, None for one that did not."""
    return [run.failure.kind if run.failure else None for run in result.runs]


def inside(project: Project) -> int:
    """Return how many hooks have noted that they run."""
    return len(list(project.root.glob("in.*")))


def left(project: Project) -> tuple[list[str], list[int]]:
    """Return the command lines of the hooks that still run, and our unreaped children."""
    found = []
    for pid in processes_in(project.root):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found, zombies()


NOTHING: tuple[list[str], list[int]] = ([], [])


def end_all(project: Project) -> None:
    """Kill processes that a failed test has left."""
    for pid in processes_in(project.root):
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            continue


async def become(what: Callable[[], bool]) -> None:
    """Wait until the condition is true. For effects in another process that no event reports."""
    give_up = time.monotonic() + ENOUGH
    while not what():
        assert time.monotonic() < give_up, "it did not come to be so"
        await asyncio.sleep(0.005)


class Resources:
    """This process's descriptors and threads. An engine that is not closed keeps its audit open: one file."""

    def __init__(self) -> None:
        gc.collect()
        self.files = sorted(map(_what, os.listdir("/proc/self/fd")))
        audits = [file for file in self.files if file.endswith("/audit.jsonl")]
        for each in set(audits):
            self.files.remove(each)
        self.threads = sorted(thread.name for thread in threading.enumerate())

    def same(self) -> bool:
        """Return whether the counts are the same again; a thread that is just ending gets some time."""
        give_up = time.monotonic() + SOON
        while (now := Resources()).threads != self.threads or now.files != self.files:
            if time.monotonic() > give_up:
                assert now.threads == self.threads
                assert now.files == self.files
            time.sleep(0.01)
        return True


def _what(fd: str) -> str:
    try:
        target = Path(f"/proc/self/fd/{fd}").readlink()
    except OSError:
        return "listing"
    return str(target).partition(":[")[0]


def program(project: Project, script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a Python program that has hookrun; its working directory is not the project's."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, str(project.root), str(project.home), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def output(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for a program; return its stdout and stderr."""
    try:
        stdout, stderr = process.communicate(timeout=ENOUGH)
    finally:
        process.kill()
    return stdout, stderr
