"""Run a real agent once, in a separate home, and report what really happened."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from hookrun.launch.launcher_file import path_in, read, update_socket
from tests.live.driver import Driver, put
from tests.live.installed import PINS, ROOT, path
from tests.live.model import Json, ScriptedModel, Turn
from tests.waiting import limit
from tests.warm import serving

PACKAGE = ROOT / "hookrun"

LEAVES_CLAUDES = {"grok": {".grok/config.toml": "\n[compat.claude]\nhooks = false\n"}}
"""Settings by which an agent leaves Claude Code's hooks to hookrun, by their files in the home."""


class Place:
    """An empty home, an empty repository, directories for temporary files and for hookrun's program, side by side."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.project = directory / "project"
        self.temporary = directory / "temporary"
        self.programs = directory / "bin"
        for made in (self.home, self.project, self.temporary):
            made.mkdir()
        # What a project's line finds: it takes this home for the account's. Only `fire` has an option for it.
        main = shlex.join([sys.executable, "-I", str(PACKAGE / "__main__.py")])
        fire = f'[ "$1" != fire ] || set -- "$@" --home {shlex.quote(str(self.home))}'
        put(self.programs / "hookrun", f'#!/bin/sh\n{fire}\nexec {main} "$@"\n', 0o755)
        subprocess.run(["git", "init", "--quiet"], cwd=self.project, check=True)

    @property
    def hooks(self) -> Path:
        """The user's own declarations: they need no approval."""
        return self.home / ".config" / "hookrun" / "hooks.json"

    @property
    def seen(self) -> Path:
        """The file in which a test's hook may record data, one JSON object a line."""
        return self.home / "seen.jsonl"

    @property
    def audit(self) -> Path:
        """The path of hookrun's audit."""
        return self.home / ".local" / "state" / "hookrun" / "audit.jsonl"

    def environment(self, **more: str) -> dict[str, str]:
        """Return an environment in which nothing of the account's own is seen.

        Codex keeps its helpers in no home below the directory for temporary files: that is why it is beside.
        """
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PATH": f"{self.programs}:{path()}",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            **more,
        }


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
        """Return everything that helps to see why a test failed."""
        told = [f"exit {self.status}, files {self.files}, {len(self.model.requests)} requests"]
        told += [f"stdout: {self.stdout[-2000:]}", f"stderr: {self.stderr[-2000:]}"]
        told += [f"results: {self.model.results()}", f"audit: {self.audit}"]
        return "\n".join(told)


def _lines(file: Path) -> list[Json]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines() if line.strip()]


class Agent:
    """A real agent that is settled in its place, and its model. A context manager: the model lives as long.

    Where it is `warm` a server answers the launchers from their installation on.
    """

    def __init__(self, driver: Driver, place: Place, *, warm: bool = False) -> None:
        self.driver = driver
        self.warm = warm
        self.servers = ExitStack()
        self.place = place
        self.model = ScriptedModel()
        driver.settle(place.home, self.model.url)

    def __enter__(self) -> Self:
        self.model.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.servers.close()
        self.model.__exit__()

    @property
    def name(self) -> str:
        """Its name, as in hookrun."""
        return self.driver.name

    def declare(self, *hooks: Mapping[str, object]) -> None:
        """Declare the user's own hooks, and install hookrun for their events."""
        put(self.place.hooks, {"hooks": list(hooks)})
        self.install()

    def install(self, *options: str, name: str | None = None, package: Path = PACKAGE, cwd: Path | None = None) -> None:
        """Install hookrun as a user does who accepts the defaults: this copy or another, in the project or not."""
        agent = name or self.name
        trust = ("--trust",) if agent == "codex" else ()
        self.hookrun("install", agent, *trust, *options, package=package, cwd=cwd)
        conf = path_in(str(self.place.home))
        if self.warm and Path(conf).exists():
            self.servers.close()
            self.servers.enter_context(serving(self.place.home))
        elif found := read(conf):
            update_socket(conf, found.command, None)  # no run starts a server, which would outlive the test

    def include_claude(self, *options: str) -> None:
        """Declare the project's hooks for Claude Code, approve them as a user does, and install hookrun for them.

        Settings keep an agent from running such hooks itself, too, where it has one for that.
        """
        for name, text in LEAVES_CLAUDES.get(self.name, {}).items():
            with (self.place.home / name).open("a") as settings:
                settings.write(text)
        put(self.place.project / "coder.json", {"hookrun": {"include": [".claude/settings.json"]}})
        # Before there is a line: where a project has one, it would be the account's home.
        digests = [line.split()[0] for line in self.hookrun("trust", "--digest", status=1).splitlines()]
        self.hookrun("trust", "--yes", *digests)
        self.install(*options)

    def hookrun(self, *arguments: str, package: Path = PACKAGE, cwd: Path | None = None, status: int = 0) -> str:
        """Run a hookrun command that must end with this status. Return its output."""
        done = subprocess.run(
            [sys.executable, "-I", package / "__main__.py", *arguments],
            cwd=cwd or self.place.project,
            env=self.place.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def run(self, *turns: Turn, prompt: str = "do it", allowed: bool = True, waits: float = 0) -> Ran:
        """Run it on one prompt with these turns of its model. Processes that it leaves running are ended with it.

        If its tools are not `allowed` it has to ask the user, and there is none. `waits` is how many seconds of its run
        are spent in waiting by design: they are added to the limit.
        """
        self.model.begin(turns)
        process = subprocess.Popen(
            [PINS[self.name].program, *self.driver.arguments(prompt), *(self.driver.allowing() if allowed else ())],
            cwd=self.place.project,
            env=self.place.environment(**self.driver.environment(self.model.url)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            stdout, stderr = process.communicate(timeout=limit() + waits)  # idle: one to five seconds
        finally:
            _end(process)
        return Ran(self.place, self.model, process.returncode, stdout, stderr)


def _end(process: subprocess.Popen[str]) -> None:
    """End all that is left of the agent's process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
