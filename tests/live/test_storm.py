"""A hundred calls, four at a time, while all that hookrun stands on is broken: no forbidden call runs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Self

import pytest

from hookrun_conformance.driver import put
from hookrun_conformance.drivers import DRIVERS
from hookrun_conformance.model import Turn, say
from tests.conftest import copy_package
from tests.live.conftest import needs
from tests.live.run import Agent, Place, Ran
from tests.waiting import limit, vary
from tests.warm import serving

TURNS, AT_ONCE = 25, 4
CALLS = range(TURNS * AT_ONCE)
FORBIDDEN = CALLS[::3]

MOMENT = 0.2  # seconds that a fault and a call last, and that lie between two faults: they meet in many ways
LONGER = 2.5  # seconds that the package is away: longer than a launcher waits for it

GUARD = """\
#!/bin/sh
# Record the call, and refuse a forbidden one, with nothing but the shell.
IFS= read -r context
printf '%s\\n' "$context" >> "$HOME/seen.jsonl"
case $context in *'> forbidden-'*) echo '{"action": "block", "message": "reason-of-guard"}' ;; esac
"""

REASON = re.compile("hookrun|reason-of-guard")


class Saboteur:
    """Breaks one thing after the other, each whole again before the next, from the model's first request on.

    A context manager, which stops it.
    """

    def __init__(self, agent: Agent, package: Path) -> None:
        self.home = agent.place.home
        self.hooks = agent.place.hooks
        self.package = package
        self.model = agent.model
        self.whole = self.hooks.read_text()
        self.state = self.home / ".local/state/hookrun"
        acts = [self.kill, self.half, self.freeze, self.rewrite, self.upgrade, self.terminate, self.remove]
        acts += [self.fill] if os.path.ismount(self.state) else []
        self.acts: dict[str, Callable[[], None]] = {act.__name__: act for act in acts}
        self.done: Counter[str] = Counter()
        self.errors: list[BaseException] = []
        self.stopped = Event()
        self.thread = Thread(target=self._run)
        self.servers = ExitStack()
        self.server = self.servers.enter_context(serving(self.home))

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.thread.join()
        self.servers.close()
        if self.errors:
            raise self.errors[0]

    def _run(self) -> None:
        try:
            # A prompt that meets a package in replacement is refused, and there would be no calls.
            while not self.model.requests and not self.stopped.wait(MOMENT / 10):
                pass
            for name, act in cycle(self.acts.items()):
                act()
                self.done[name] += 1
                vary(MOMENT)
                if self.server.poll() is not None:
                    self.servers.close()
                    self.server = self.servers.enter_context(serving(self.home))
                if self.stopped.is_set():
                    return
        except BaseException as error:  # raised where the storm ends
            self.errors.append(error)

    def kill(self) -> None:
        """Kill the server, whatever it has in hand."""
        self.server.kill()
        self.server.wait(limit())

    def terminate(self) -> None:
        """Ask the server to end."""
        self.server.terminate()
        self.server.wait(limit())

    def freeze(self) -> None:
        """Stop the server for a moment."""
        self.server.send_signal(signal.SIGSTOP)
        vary(MOMENT)
        self.server.send_signal(signal.SIGCONT)

    def half(self) -> None:
        """Leave the config half written for a moment."""
        self.hooks.write_text(self.whole[: len(self.whole) // 2])
        vary(MOMENT)
        self.hooks.write_text(self.whole)

    def rewrite(self) -> None:
        """Save the config again and again with what it holds, as an editor does and as a careless program does."""
        beside = self.hooks.with_suffix(".new")
        for _ in range(10):
            self.hooks.write_text(self.whole)
            beside.write_text(self.whole + "\n")
            beside.replace(self.hooks)
            vary(MOMENT / 10)

    def fill(self) -> None:
        """Leave no room for a moment where hookrun keeps its log."""
        filler = self.state / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                vary(MOMENT)
        filler.unlink()

    def upgrade(self) -> None:
        """Replace the package file by file, as an installer does."""
        for file in (*self.package.rglob("*.py"), *self.package.rglob("hookrun-*")):
            file.unlink()
        copy_package(self.package)

    def remove(self) -> None:
        """Take the package away for longer than is waited for it."""
        away = self.package.with_name("away")
        self.package.rename(away)
        vary(LONGER)
        away.rename(self.package)


@contextmanager
def small_disk(directory: Path) -> Iterator[None]:
    """Mount a file system of a megabyte where this account may; else the disk is never full."""
    directory.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "none", str(directory)]
    mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    if not mounted:
        warnings.warn("this account mounts no file system: the disk is not filled in the storm", stacklevel=2)
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", directory], check=True)


def at_once(agent: Agent, calls: range) -> Turn:
    """Return the turn that asks for these calls at the same time."""
    names = {call: f"{'forbidden' if call in FORBIDDEN else 'allowed'}-{call}" for call in calls}
    turns = (agent.driver.shell(f"sleep {MOMENT}; echo {call} >> {name}") for call, name in names.items())
    return Turn("", tuple(call for turn in turns for call in turn.calls))


@pytest.mark.no_second_try
@pytest.mark.parametrize("name", ["claude", "codex", "opencode", "gemini"])
def test_no_forbidden_call_runs_in_a_storm(name: str, request: pytest.FixtureRequest) -> None:
    """Each call that ran was judged exactly once and allowed; each that did not run was refused with a reason."""
    needs(request, name)
    with TemporaryDirectory(prefix="hs-", dir="/tmp") as directory:  # a socket's path has room for a hundred bytes
        place = Place(Path(directory))
        package = copy_package(place.home / "package" / "hookrun")
        with small_disk(place.home / ".local/state/hookrun"), Agent(DRIVERS[name], place) as agent:
            guard = place.home / "guard.sh"
            put(guard, GUARD, 0o755)
            hook = {"name": "guard", "event": "pre_tool_use", "command": str(guard), "on_failure": "block"}
            put(place.hooks, {"hooks": [hook]})
            agent.install(package=package)
            calls = [at_once(agent, CALLS[first : first + AT_ONCE]) for first in CALLS[::AT_ONCE]]
            with Saboteur(agent, package) as saboteur:
                # A call that meets a package in replacement waits for it, up to two seconds.
                ran = agent.run(*calls, say("all-is-done"), waits=len(CALLS) * LONGER)
            check(ran, saboteur)


def check(ran: Ran, saboteur: Saboteur) -> None:
    """Hold the files that the calls left, the guard's own record and what the model received against each other."""
    commands = [str(each["tool_args"]["command"]) for each in ran.seen]
    judged = Counter(int(command.rpartition("-")[2]) for command in commands)
    executed = {int(name.rpartition("-")[2]): text for name, text in ran.files.items()}
    results = ran.model.results()
    assert len(results) == len(CALLS), ran
    assert saboteur.done.keys() == saboteur.acts.keys(), saboteur.done
    assert not executed.keys() & set(FORBIDDEN), executed.keys() & set(FORBIDDEN)
    assert all(text == f"{call}\n" for call, text in executed.items()), executed
    assert set(judged.values()) == {1}, ran
    assert executed.keys() <= judged.keys(), executed.keys() - judged.keys()
    without = [each for each in results if not REASON.search(each)]
    assert len(without) <= len(executed), without[:5]  # some that ran have a notice beside their output
