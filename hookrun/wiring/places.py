"""Where an agent's files are: the person's home or the project, and which of them hookrun writes to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.config.find import NoHomeError, account_home
from hookrun.wiring.targets import Plugin, Script, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.agents.types import InstallSpec
    from hookrun.wiring.targets import Target

SCOPES = ("user", "project")
EVENT = "{event}"


@dataclass(frozen=True, slots=True)
class Spot:
    """Whose home and which project it is about; `variables` is the environment that may name agents' directories."""

    home: str
    project: str
    variables: Mapping[str, str]

    @property
    def named_home(self) -> str | None:
        """The home as the wired command has to name it; None where it is the account's, which a fire takes itself."""
        try:
            return None if self.home == account_home() else self.home
        except NoHomeError:
            return self.home


def directory(wiring: InstallSpec, spot: Spot) -> str:
    """Return an agent's directory: where its variable says, else in the home."""
    named = spot.variables.get(wiring.get("variable", ""), "")
    return named.rstrip("/") if os.path.isabs(named) else os.path.join(spot.home, wiring["directory"])


def path(wiring: InstallSpec, scope: str, spot: Spot) -> str:
    """Return the file with hooks of a scope, with `{event}` in it where there are several."""
    if scope == "user":
        return os.path.join(directory(wiring, spot), wiring["user"])
    return os.path.join(spot.project, wiring["project"])


def targets(agent: str, wiring: InstallSpec, scope: str, spot: Spot, events: Iterable[str]) -> list[Target]:
    """Return the files that are written for these events, or that may have been."""
    where = path(wiring, scope, spot)
    if wiring["form"] == "script":
        return [Script(agent, where.replace(EVENT, event), event) for event in events]
    if wiring["form"] == "plugin":
        return [Plugin(agent, where, wiring)]
    return [Settings(agent, where, wiring)]


def written_as(each: str, wiring: InstallSpec, spot: Spot) -> str:
    """Return the path that a wiring means: `~/` is the home, `{directory}/` the agent's, else it is from the root."""
    if each.startswith("~/"):
        return os.path.join(spot.home, each[2:])
    return os.path.join(spot.project, each.replace("{directory}", directory(wiring, spot)))
