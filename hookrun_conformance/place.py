"""An account for one agent: an empty home and an empty project, in which nothing of the user's is seen."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import hookrun
from hookrun_conformance.driver import put

PACKAGE = Path(hookrun.__file__).resolve().parent
"""The hookrun that is tested by default: the one beside the kit."""


class Installation(NamedTuple):
    """An agent's program, and what it needs.

    `path` is its PATH, `variables` are for it beside those of its driver, `packages` is a directory with the npm
    packages that it would fetch for its plugins.
    """

    program: Path
    path: str
    variables: tuple[tuple[str, str], ...] = ()
    packages: Path | None = None


class Place:
    """An empty home, an empty repository, directories for temporary files and for hookrun's program, side by side."""

    def __init__(self, directory: Path, path: str) -> None:
        self.path = path
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
        """The file in which a hook may record data, one JSON object a line."""
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
            "PATH": f"{self.programs}:{self.path}",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            **more,
        }
