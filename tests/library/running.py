"""Engines with declared hooks that really run, and what they leave behind: processes, threads, descriptors."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from hookrun import Engine
from tests.conftest import ROOT, Project
from tests.process import bench
from tests.process.bench import processes_in, zombies
from tests.waiting import limit, until, until_async

if TYPE_CHECKING:
    from hookrun import Result
    from hookrun.core.model import Hook
    from hookrun.library.engine_state import EngineState

PROGRAMS = Path(__file__).with_name("programs")
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


def until_inside(project: Project, count: int) -> None:
    """Wait until so many hooks have noted that they run."""
    until(lambda: inside(project) >= count, lambda: f"{inside(project)} hooks run, not {count}")


async def until_inside_async(project: Project, count: int) -> None:
    """Wait for it while the event loop runs."""
    await until_async(lambda: inside(project) >= count, lambda: f"{inside(project)} hooks run, not {count}")


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


# --- what only this bench knows by its private name


def state_of(engine: Engine) -> EngineState:
    """Return what an engine holds: its pools, threads and background work."""
    return engine._services


def running(engine: Engine) -> int:
    """Return how many processes of an engine run."""
    return bench.running(state_of(engine).pool)


def queued(engine: Engine) -> int:
    """Return how many hooks of an engine wait for a place."""
    return bench.queued(state_of(engine).pool)


def thread_of_background_hooks(engine: Engine) -> threading.Thread:
    """Return the thread that runs background hooks, once there is one."""
    pool_thread = state_of(engine).background_pool._thread
    assert pool_thread is not None
    return pool_thread._thread


def declare(engine: Engine, hook: Hook) -> None:
    """Have an engine with this hook as if a config file declared it."""
    engine._registry.declare([hook])


def exit_at_once(status: int) -> NoReturn:
    """End a forked child without anything that its parent has to do at its end."""
    os._exit(status)


def end_of_program() -> None:
    """Do what Python does at the end of a program with what waits for it."""
    weakref.finalize._exitfunc()  # type: ignore[attr-defined]


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

        def now() -> tuple[list[str], list[str]]:
            found = Resources()
            return found.threads, found.files

        return until(lambda: now() == (self.threads, self.files), lambda: f"{now()}, not {self.threads, self.files}")


def _what(fd: str) -> str:
    try:
        target = Path(f"/proc/self/fd/{fd}").readlink()
    except OSError:
        return "listing"
    return str(target).partition(":[")[0]


def program_file(project: Project, name: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a Python program of the folder `programs`."""
    return program(project, (PROGRAMS / f"{name}.py").read_text(), *arguments)


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
        stdout, stderr = process.communicate(timeout=limit())
    finally:
        process.kill()
    return stdout, stderr
