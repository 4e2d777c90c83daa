"""Run a real agent once, in a separate home, and report what really happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from hookrun.launch.launcher_file import path_in, read, update_socket
from hookrun.launch.server_socket import end_server, servers
from hookrun_conformance.driver import Driver, furnish, put
from hookrun_conformance.model import Json, ScriptedModel, Turn
from hookrun_conformance.place import PACKAGE, Installation, Place


class Ran:
    """The result of one run of an agent."""

    def __init__(self, place: Place, model: ScriptedModel, status: int, stdout: str, stderr: str) -> None:
        self.place = place
        self.model = model
        self.status = status
        self.stdout = stdout
        self.stderr = stderr

    @property
    def files(self) -> dict[str, str]:
        """The files in the project, by name, with their text."""
        return {found.name: found.read_text() for found in sorted(self.place.project.iterdir()) if found.is_file()}

    @property
    def printed(self) -> str:
        """Everything that the user could read."""
        return self.stdout + self.stderr

    @property
    def heard(self) -> str:
        """Everything that was sent to the model, one request after the other."""
        return "\n".join(self.model.heard(index) for index in range(len(self.model.requests)))

    @property
    def seen(self) -> list[Json]:
        """The hooks' records in the place's `seen`."""
        return _lines(self.place.seen)

    @property
    def audit(self) -> list[Json]:
        """Every record of hookrun's audit."""
        return _lines(self.place.audit)

    @property
    def degraded(self) -> set[str]:
        """What fell back or was dropped, by the names of hookrun's published table."""
        return {str(name) for record in self.audit for name in record.get("degraded", ())}

    def __repr__(self) -> str:
        """Return everything that helps to see why a scenario failed."""
        told = [f"exit {self.status}, files {self.files}, {len(self.model.requests)} requests"]
        told += [f"stdout: {self.stdout[-2000:]}", f"stderr: {self.stderr[-2000:]}"]
        told += [f"results: {self.model.results()}", f"audit: {self.audit}"]
        return "\n".join(told)


def _lines(file: Path) -> list[Json]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines() if line.strip()]


class RunningAgent:
    """A real agent that is settled in its place, and its model. A context manager: the model lives as long.

    A run of it may take `limit` seconds.
    """

    def __init__(self, driver: Driver, place: Place, installation: Installation, limit: float = 60.0) -> None:
        self.driver = driver
        self.place = place
        self.installation = installation
        self.limit = limit
        self.settings: Json = {"warm": "off"}  # a server would outlive the account
        self.model = ScriptedModel()
        driver.settle(place.home, self.model.url)
        settings = getattr(driver, "directory", None)
        if installation.packages is not None and settings is not None:
            furnish(place.home / settings, installation.packages)

    def __enter__(self) -> Self:
        self.model.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for path, pid in servers(str(self.place.home)):  # a run may have started one, which would outlive the account
            end_server(path, pid)
        self.model.__exit__()

    @property
    def name(self) -> str:
        """Its name, as in hookrun."""
        return self.driver.name

    def declare(self, *hooks: Mapping[str, object]) -> None:
        """Declare the user's own hooks, and install hookrun for their events."""
        put(self.place.hooks, {"hookrun": self.settings, "hooks": list(hooks)})
        self.install()

    def install(self, *options: str, name: str | None = None, package: Path = PACKAGE, cwd: Path | None = None) -> None:
        """Install hookrun as a user does who accepts the defaults: this copy or another, in the project or not."""
        agent = name or self.name
        trust = ("--trust",) if agent == "codex" else ()
        self.hookrun("install", agent, *trust, *options, package=package, cwd=cwd)
        self.installed()

    def installed(self) -> None:
        """Have launchers look for no server: each run is a cold one."""
        conf = path_in(str(self.place.home))
        if found := read(conf):
            update_socket(conf, found.command, None)

    def hookrun(self, *arguments: str, package: Path = PACKAGE, cwd: Path | None = None, status: int = 0) -> str:
        """Run a hookrun command that must end with this status, else raise AssertionError. Return its output."""
        done = subprocess.run(
            [sys.executable, "-I", package / "__main__.py", *arguments],
            cwd=cwd or self.place.project,
            env=self.place.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != status:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout

    def run(self, *turns: Turn, prompt: str = "do it", allowed: bool = True, waits: float = 0) -> Ran:
        """Run it on one prompt with these turns of its model. Processes that it leaves running are ended with it.

        If its tools are not `allowed` it has to ask the user, and there is none. `waits` is how many seconds of its run
        are spent in waiting by design: they are added to the limit.
        """
        self.model.begin(turns)
        process = subprocess.Popen(
            [self.installation.program, *self.driver.arguments(prompt), *(self.driver.allowing() if allowed else ())],
            cwd=self.place.project,
            env=self.place.environment(**self.driver.environment(self.model.url), **dict(self.installation.variables)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            stdout, stderr = process.communicate(timeout=self.limit + waits)  # idle: one to five seconds
        finally:
            _end(process)
        return Ran(self.place, self.model, process.returncode, stdout, stderr)


def _end(process: subprocess.Popen[str]) -> None:
    """End all that is left of the agent's process group, and of those of all that an agent that still runs started."""
    groups = _groups_below(process.pid) if process.poll() is None else set()
    for group in {process.pid, *groups}:
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses for one that has ended
            os.killpg(group, signal.SIGKILL)
    process.wait()


def _groups_below(pid: int) -> set[int]:
    """Return the process groups of a process's descendants: some launchers start what they launch in a session."""
    command = ["ps", "-A", "-o", "pid=,ppid=,pgid="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [[int(number) for number in line.split()] for line in listed.splitlines()]
    below = {pid}
    while more := {child for child, parent, _ in rows if parent in below} - below:
        below |= more
    return {group for each, _, group in rows if each in below}
