"""Which real agents are here: the pinned versions, where `tests.live.install` puts them, and why one is missing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from hookrun_conformance.place import Installation

ROOT = Path(__file__).resolve().parents[2]
DIRECTORY = Path(os.environ.get("HOOKRUN_AGENTS", ROOT / ".agents"))
"""Several checkouts may share the installed agents: HOOKRUN_AGENTS names their directory."""


class Pin(NamedTuple):
    """A package at one version, and whether it is an agent or what agents need beside them.

    It is in the npm registry or, if it needs a `python` of this version or a newer one, on PyPI.
    """

    name: str
    package: str
    version: str
    is_agent: bool
    python: str = ""

    @property
    def directory(self) -> Path:
        """Where it is installed, alone."""
        return DIRECTORY / self.name

    @property
    def why_not(self) -> Path:
        """The file with the reason why it could not be installed, if so."""
        return DIRECTORY / f"{self.name}.why-not"

    @property
    def program(self) -> Path:
        """The program that npm links, or the one in a package without links; of a Python environment its script."""
        if self.python:
            return self.directory / "bin" / self.name
        linked = self.directory / "node_modules" / ".bin" / self.name
        return linked if linked.exists() else self.directory / "node_modules" / self.package / "bin" / self.name

    def _found(self) -> str | None:
        """Return the version that is here, if any."""
        if self.python:
            name = self.package.replace("-", "_")
            there = next(self.directory.glob(f"lib/python*/site-packages/{name}-*.dist-info"), None)
            return there.name.removeprefix(f"{name}-").removesuffix(".dist-info") if there else None
        try:
            version = json.loads((self.directory / "node_modules" / self.package / "package.json").read_bytes())
        except OSError:
            return None
        return str(version["version"])

    def absent(self) -> str | None:
        """Return why this very version is not here, or None."""
        found = self._found()
        if self.why_not.exists():
            return self.why_not.read_text().strip()
        if found is None:
            return f"not installed; `python -m tests.live.install {self.name}` does it"
        if found != self.version:
            return f"{found} is installed, {self.version} expected; `python -m tests.live.install {self.name}` does it"
        return None


def _pins() -> Mapping[str, Pin]:
    table = json.loads((Path(__file__).parent / "agents.json").read_bytes())
    return {
        name: Pin(name, pin["package"], pin["version"], kind == "agents", pin.get("python", ""))
        for kind, pins in table.items()
        for name, pin in pins.items()
    }


PINS = _pins()
"""Every pinned package by the name that hookrun, or this room, has for it."""

NEEDS = {"opencode": ("opencode-plugin",), "kilo": ("kilo-plugin",)}
"""The programs that an agent needs besides Node, which they all need."""


def absent(agent: str) -> str | None:
    """Return why an agent cannot be run here, or None."""
    for name in (agent, "node", *NEEDS.get(agent, ())):
        if reason := PINS[name].absent():
            return f"{name}: {reason}" if name != agent else reason
    return None


def path() -> str:
    """Return a PATH with the pinned Node first: some agents do not run on an older one."""
    return os.pathsep.join([str(PINS["node"].program.parent), "/usr/local/bin", "/usr/bin", "/bin"])


def installation(agent: str) -> Installation:
    """Return a pinned agent as the kit runs it. Copilot unpacks itself once, not once for each home."""
    cache = (("XDG_CACHE_HOME", str(DIRECTORY / "cache")),) if agent == "copilot" else ()
    packages = next((PINS[each].directory for each in NEEDS.get(agent, ())), None)
    return Installation(PINS[agent].program, path(), cache, packages)
