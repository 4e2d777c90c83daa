"""What git says of a repository: read only, bounded, and without running what the repository's settings name."""

from __future__ import annotations

import os
import subprocess

from hookrun.recipes.shell_recipe import project_directory

SECONDS = 5.0
"""For one command."""
QUIET = (
    "--no-optional-locks",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false",
    "-c", "core.quotePath=false",
    "-c", "color.ui=false",
)  # fmt: skip
"""A repository's settings can name programs: none of them is run. What it says is for us, not for a terminal."""
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
LARGEST_HEAD = 4096
"""Bytes of a repository's HEAD."""


def run(directory: str, *arguments: str) -> str | None:
    """Return what a git command prints, None where it fails: no repository, no git, or too slow."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *QUIET, *arguments],  # noqa: S607  # whichever git the person has
            cwd=directory,
            env={**environment, **ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


class Configuration:
    """What git's configuration says of aliases, remotes and branches: asked at first need, once in a directory."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[str, list[tuple[str, str]]] = {}

    def __call__(self, directory: str | None) -> dict[str, str]:
        """Return the settings that hold in a directory (None: the project's root), each by its name, the last value."""
        return dict(self.all(directory))

    def all(self, directory: str | None) -> list[tuple[str, str]]:
        """Return names and values in their order: a name may stand there more than once. Empty where there is no git.

        Section and key of a name are in lower case, what stands between them is as it was written.
        """
        where = directory if directory is not None and os.path.isdir(directory) else project_directory()
        if where not in self._kept:
            told = run(where, "config", "-z", "--get-regexp", r"^(alias|branch|remote)\.") or ""
            entries = [each.partition("\n") for each in told.split("\0") if each]
            self._kept[where] = [(name, value if is_given else "true") for name, is_given, value in entries]
        return self._kept[where]

    def remote(self, directory: str | None) -> str:
        """Return the remote that a push goes to which names none (see git-config, remote.pushDefault)."""
        settings = self(directory)
        here = branch(directory or project_directory())
        names = (f"branch.{here}.pushremote", "remote.pushdefault", f"branch.{here}.remote")
        return next((settings[name] for name in names if name in settings), "origin")


def branch(directory: str) -> str | None:
    """Return the name of the branch that is checked out around a directory, None where there is none.

    Read from the repository's files: no git is needed.
    """
    own = _git_directory(directory)
    head = _line(os.path.join(own, "HEAD")) if own is not None else None
    start = "ref: refs/heads/"
    return head[len(start) :] if head is not None and head.startswith(start) else None


def _git_directory(directory: str) -> str | None:
    """Return where git keeps what is this working tree's own: `.git`, or what a file of that name leads to."""
    while True:
        path = os.path.join(directory, ".git")
        if os.path.isdir(path):
            return path
        line = _line(path)
        if line is not None and line.startswith("gitdir: "):
            return os.path.join(directory, line[len("gitdir: ") :])
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above


def _line(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(LARGEST_HEAD)).partition("\n")[0].strip()
    except OSError:
        return None
