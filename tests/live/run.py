"""The conformance kit's agents, as the tests run them: the pinned programs, with a server or without."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from hookrun.launch.launcher_file import path_in
from hookrun_conformance import place
from hookrun_conformance.driver import Driver, put
from hookrun_conformance.measure import rows_of
from hookrun_conformance.place import PACKAGE
from hookrun_conformance.run import Ran, RunningAgent
from hookrun_conformance.scenarios import BY_NAME, run_together
from tests.live.installed import installation, path
from tests.waiting import limit
from tests.warm import serving

__all__ = ["PACKAGE", "Agent", "Place", "Ran", "held"]

LEAVES_CLAUDES = {"grok": {".grok/config.toml": "\n[compat.claude]\nhooks = false\n"}}
"""Settings by which an agent leaves Claude Code's hooks to hookrun, by their files in the home."""


class Place(place.Place):
    """A place in which the pinned Node is found."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, path())


class Agent(RunningAgent):
    """A pinned agent. Where it is `warm` a server answers the launchers from their installation on."""

    def __init__(self, driver: Driver, place: Place, *, warm: bool = False) -> None:
        super().__init__(driver, place, installation(driver.name), limit())
        self.warm = warm
        self.settings = {}
        self.servers = ExitStack()

    def __exit__(self, *_: object) -> None:
        self.servers.close()
        super().__exit__()

    def installed(self) -> None:
        """Start the server, if there is to be one."""
        if self.warm and Path(path_in(str(self.place.home))).exists():
            self.servers.close()
            self.servers.enter_context(serving(self.place.home))
        else:
            super().installed()

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


def held(scenarios: tuple[str, ...], agent: Agent) -> Ran:
    """Run the kit's scenarios of these names with an agent that has their hooks; each is to have its grade."""
    outcomes = run_together(agent, [BY_NAME[name] for name in scenarios])
    assert [row for row in rows_of(agent.name, outcomes) if not row.is_well] == []
    return next(outcome.ran for outcome in outcomes.values())
