"""Run the `hookrun` command in a project: in this process, or in a separate one where that makes a difference."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from unittest import mock

from hookrun.cli import commands, run
from hookrun.core.state import home_directory
from hookrun.trust import ancestry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.conftest import Project

HANDLED = (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD)
"""Signals whose handlers a command may replace."""


class Done:
    """The exit status and output of a command."""

    def __init__(self, status: int, stdout: bytes, stderr: bytes) -> None:
        self.status = status
        self.stdout = stdout.decode()
        self.stderr = stderr.decode()

    @property
    def json(self) -> dict[str, object]:
        """The JSON object on stdout."""
        data = json.loads(self.stdout)
        assert isinstance(data, dict)
        return data


def hookrun(project: Project, *arguments: str, cwd: Path | None = None, **env: str) -> Done:
    """Run `hookrun` with these arguments, by default in the project's directory, without starting an interpreter.

    Environment, working directory and standard streams (as file descriptors, too) are those of a separate process and
    are restored afterwards. Use `hookrun_process` for `fire`, signals, streams that fail, and variables that an
    interpreter reads when it starts.
    """
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr, open(os.devnull, "rb") as stdin:
        streams = (stdin.fileno(), stdout.fileno(), stderr.fileno())
        status = run_here(arguments, streams, project.environment(**env), cwd or project.root)
        stdout.seek(0)
        stderr.seek(0)
        return Done(status, stdout.read(), stderr.read())


def run_here(arguments: Sequence[str], streams: Sequence[int], environment: dict[str, str], directory: Path) -> int:
    """Run `hookrun` in this process, as `hookrun` above does, with these descriptors as streams. Return its status."""
    assert arguments[:1] != ("fire",), "hookrun fire ends its process: use hookrun_process"
    with (
        _process_state(),
        _a_user_runs_it(),
        _environment(environment, directory),
        _standard_streams(*streams),
    ):
        try:
            return run(arguments)
        except SystemExit as end:  # click ends a completion so
            return end.code if isinstance(end.code, int) else 1


def hookrun_process(project: Project, *arguments: str, stdout: int = subprocess.PIPE, **env: str) -> Done:
    """Run `hookrun` with these arguments in the project's directory, as a separate process."""
    done = subprocess.run(
        project.command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=project.root,
        env=project.environment(**env),
        check=False,
    )
    return Done(done.returncode, done.stdout or b"", done.stderr)


def states(project: Project) -> dict[str, str]:
    """Return the decision about each hook of a project."""
    return {each["name"]: each["state"] for each in json.loads(hookrun(project, "trust", "--json").stdout)}


@contextmanager
def _a_user_runs_it() -> Iterator[None]:
    """Let this process seem to be the user's, and HOME the account's home, whoever has started the tests.

    The real ones: tests/trust/test_ancestry.py, tests/torture/test_homes.py.
    """
    place = ancestry.Ancestor(os.getpid(), 1, "", "", "", "sshd", "")
    with (
        mock.patch.object(ancestry, "lineage", return_value=[place]),
        mock.patch.object(commands, "line_home", home_directory),
    ):
        yield


@contextmanager
def _process_state() -> Iterator[None]:
    """Restore process state that a command may change because its process ends with it."""
    umask = os.umask(0)
    os.umask(umask)
    thresholds, path = gc.get_threshold(), list(sys.path)
    handlers = {number: signal.getsignal(number) for number in HANDLED}
    try:
        yield
    finally:
        os.umask(umask)
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        sys.path[:] = path
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def _environment(environment: dict[str, str], directory: Path) -> Iterator[None]:
    """Replace the environment variables and the working directory."""
    before = dict(os.environ)
    came_from = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.chdir(directory)
        _set_environment(environment)
        yield
    finally:
        _set_environment(before)
        os.fchdir(came_from)
        os.close(came_from)


def _set_environment(variables: dict[str, str]) -> None:
    zone = os.environ.get("TZ")
    os.environ.clear()
    os.environ.update(variables)
    if zone != os.environ.get("TZ"):
        time.tzset()


@contextmanager
def _standard_streams(*descriptors: int) -> Iterator[None]:
    """Replace the standard streams, for Python and for the processes that a command starts."""
    names = ("stdin", "stdout", "stderr")
    with ExitStack() as stack:
        for number, (name, descriptor) in enumerate(zip(names, descriptors, strict=True)):
            before = getattr(sys, name)
            if number:
                before.flush()
            copy = os.dup(number)
            stack.callback(os.close, copy)
            stack.callback(os.dup2, copy, number)
            stack.callback(setattr, sys, name, before)
            os.dup2(descriptor, number)
            mode, errors = ("w", "backslashreplace") if number == 2 else ("w" if number else "r", "strict")
            # a descriptor of its own, or `input` would use readline where a debugger has loaded that
            stream = stack.enter_context(open(os.dup(number), mode, encoding="utf-8", errors=errors))
            setattr(sys, name, stream)
        yield
