"""Who runs the hooks that are measured: hookrun, or another hook runner that commands install and fire."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from hookrun import __version__
from hookrun.agents import load
from hookrun_conformance import HERE
from hookrun_conformance.declared import declare
from hookrun_conformance.run import RunningAgent
from hookrun_conformance.scenarios import hooks_measured, hooks_of

INSTALLING = 120.0  # seconds
WITHOUT = re.compile(r"^without ([\w-]+): (.+)$", re.MULTILINE)
"""A line in which the command that installs a runner says what that has no means for."""


class CannotInstallError(Exception):
    """The hook runner could not be connected to the agent; its text says why."""


class Runner(Protocol):
    """A hook runner. `is_hookrun` is whether it reads hookrun's own configs."""

    @property
    def name(self) -> str:
        """Its name and version in the report."""

    @property
    def is_hookrun(self) -> bool:
        """Whether scenarios about hookrun's own configs concern it."""

    def connect(self, agent: RunningAgent, session: str) -> Mapping[str, str]:
        """Declare a session's hooks and connect the agent. Raises CannotInstallError.

        Return the hooks that the runner has no means for, and why.
        """


class Hookrun:
    """The hookrun that is beside the kit."""

    name = f"hookrun {__version__}"
    is_hookrun = True

    def connect(self, agent: RunningAgent, session: str) -> Mapping[str, str]:
        """Install it as a user does who accepts the defaults."""
        try:
            agent.declare(*hooks_of(session))
        except AssertionError as error:
            raise CannotInstallError(str(error).strip()) from error
        return {}


class Commands(NamedTuple):
    """Another hook runner: a shell command that installs it for the agent, and one that an agent runs at each event.

    In both `{agent}`, `{home}`, `{project}`, `{kit}` and `{hooks}` stand for their values, quoted; `{hooks}` is the
    file of README.md beside this one. In `fire`, which the kit writes into the agent's own settings, `{event}` is the
    agent's name of the event, too. Either may be "".
    """

    name: str
    install: str
    fire: str

    @property
    def is_hookrun(self) -> bool:
        """It does not read hookrun's configs."""
        return False

    def connect(self, agent: RunningAgent, session: str) -> Mapping[str, str]:
        """Write the hooks, run the one command and put the other one into the agent's settings."""
        place, driver = agent.place, agent.driver
        hooks = declare(place.home / "hooks", agent.name, driver.before_a_tool, hooks_measured(session))
        paths = {"home": place.home, "project": place.project, "kit": HERE, "hooks": hooks}
        values = {"agent": agent.name, **{name: str(path) for name, path in paths.items()}}
        printed = self._install(filled(self.install, values), agent) if self.install else ""
        if self.fire:
            commands = {each: filled(self.fire, {**values, "event": each}) for each in _events(agent)}
            driver.wire(place.home, commands)
        return dict(WITHOUT.findall(printed))

    def _install(self, command: str, agent: RunningAgent) -> str:
        """Run the command that installs the runner. Return what it printed."""
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=agent.place.project,
                env=agent.place.environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=INSTALLING,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CannotInstallError(f"`{command}` took more than {INSTALLING:.0f} s") from error
        if done.returncode:
            raise CannotInstallError(f"`{command}` exited with {done.returncode}: {done.stderr.strip()}")
        return done.stdout


def filled(command: str, values: dict[str, str]) -> str:
    """Return a shell command with its placeholders replaced; other braces stay."""
    for name, value in values.items():
        command = command.replace(f"{{{name}}}", shlex.quote(value))
    return command


def _events(agent: RunningAgent) -> list[str]:
    """Return the agent's names of the events of the scenarios, that before a tool first."""
    module = load(agent.name)
    wanted = ("session_start", "user_prompt_submit", "post_tool_use", "stop")
    found = {ours: native for native, ours in reversed(module.EVENTS.items())}
    return [agent.driver.before_a_tool, *(found[each] for each in wanted if each in found)]
