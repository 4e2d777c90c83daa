"""Runs the real command in a project, as a process."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.conftest import Project


class Done:
    """What a command came to."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        """Keep status and texts."""
        self.status = done.returncode
        self.stdout = done.stdout.decode()
        self.stderr = done.stderr.decode()

    @property
    def json(self) -> dict[str, object]:
        """The JSON object on stdout."""
        data = json.loads(self.stdout)
        assert isinstance(data, dict)
        return data


def hookrun(project: Project, *arguments: str, stdout: int = subprocess.PIPE, **env: str) -> Done:
    """Run `hookrun` with these arguments in the project's directory."""
    done = subprocess.run(
        project.command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=project.root,
        env=project.environment(**env),
        check=False,
    )
    return Done(subprocess.CompletedProcess(done.args, done.returncode, done.stdout or b"", done.stderr))
