"""Asks git about a repository: read-only, with a timeout, and without running programs of its settings."""

from __future__ import annotations

import os
import subprocess

from hookrun.recipes.shell_recipe import project_directory

TIMEOUT = 5.0
"""Seconds for one command."""
QUIET = (
    "--no-optional-locks",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false",
    "-c", "core.quotePath=false",
    "-c", "color.ui=false",
)  # fmt: skip
"""A repository's settings can name programs: none of them is run. The output is not for a terminal."""
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
MAX_LINE = 4096
"""Bytes of HEAD or of a `.git` file."""


def run(directory: str, *arguments: str) -> str | None:
    """Return the output of a git command, None if it fails: no repository, no git, or too slow."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *QUIET, *arguments],  # noqa: S607  # the user's git
            cwd=directory,
            env={**environment, **ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


class Configuration:
    """The settings of aliases, remotes and branches in git's configuration, asked for once per directory."""

    __slots__ = ("_cache",)

    def __init__(self) -> None:
        self._cache: dict[str, list[tuple[str, str]]] = {}

    def __call__(self, directory: str | None) -> dict[str, str]:
        """Return the settings in a directory (None: the project's root) by name; the last value counts."""
        return dict(self.all(directory))

    def all(self, directory: str | None) -> list[tuple[str, str]]:
        """Return names and values in order, in which a name can recur; empty without git.

        Section and key of a name are in lower case, the part between them is unchanged.
        """
        where = directory if directory is not None and os.path.isdir(directory) else project_directory()
        if where not in self._cache:
            listed = run(where, "config", "-z", "--get-regexp", r"^(alias|branch|remote)\.") or ""
            entries = [each.partition("\n") for each in listed.split("\0") if each]
            self._cache[where] = [(name, value if is_given else "true") for name, is_given, value in entries]
        return self._cache[where]

    def remote(self, directory: str | None) -> str:
        """Return the remote of a push that names none (see git-config, remote.pushDefault)."""
        settings = self(directory)
        here = branch(directory or project_directory())
        names = (f"branch.{here}.pushremote", "remote.pushdefault", f"branch.{here}.remote")
        return next((settings[name] for name in names if name in settings), "origin")


def branch(directory: str) -> str | None:
    """Return the branch that is checked out in a directory, None if there is none. Reads files: git is not needed."""
    own = _git_directory(directory)
    head = _line(os.path.join(own, "HEAD")) if own is not None else None
    start = "ref: refs/heads/"
    return head[len(start) :] if head is not None and head.startswith(start) else None


def _git_directory(directory: str) -> str | None:
    """Return the git directory of a working tree: `.git`, or the target of a file of that name."""
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
            return os.fsdecode(file.read(MAX_LINE)).partition("\n")[0].strip()
    except OSError:
        return None
