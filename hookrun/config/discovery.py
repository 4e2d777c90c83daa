"""Which declaration files are in force here: managed, user, and the project's, by looking only at names."""

from __future__ import annotations

import os
import sys

from hookrun import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    Identity = tuple[int, int, int, int, int]

NoHomeError = state.NoHomeError
account_home, config_directory, home_directory = state.account_home, state.config_directory, state.home_directory

MANAGED_DIRECTORY = "/etc/hookrun"
LAYER_FILES = ("hooks.json", "hooks.yaml", "hooks.yml")
PROJECT_FILES = ("coder.json", "hookrun.yaml", "hookrun.yml")
LOCAL_FILE = "coder.local.json"
CLAUDE_DIRECTORY = ".claude"
CLAUDE_MANAGED = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
CLAUDE_FILES = ("settings.json", "settings.local.json")
"""Claude Code's settings in a project: those of the project, and those of a person in it."""


class ConfigFiles:
    """What is there: `files` are (layer, path, identity), in the order of the layers, the project's nearest first.

    `repository` is the root of the git repository around `cwd`, None when there is none. `claude` are Claude Code's
    files that declarations may take in: the directory of the person's own settings, then those of the project that are
    there, the nearest first. `claude_managed` is the directory of those of the machine's administrator.
    """

    __slots__ = ("claude", "claude_managed", "cwd", "files", "home", "repository")

    def __init__(self, cwd: str | None, home: str, *, claude: str | None = None) -> None:
        self.cwd = cwd
        self.home = home
        self.claude: list[str] = [claude or f"{home}/{CLAUDE_DIRECTORY}"]
        self.claude_managed = CLAUDE_MANAGED
        self.repository: str | None = None
        self.files: list[tuple[str, str, Identity]] = []

    def add(self, layer: str, path: str) -> None:
        """Take the file in if it exists, also if it is there but cannot be looked at: that is no silence."""
        try:
            self.files.append((layer, path, identity(path)))
        except (FileNotFoundError, NotADirectoryError):
            if os.path.islink(path):
                self.files.append((layer, path, (0, 0, 0, 0, 0)))  # a link that leads nowhere is no silence either
        except OSError:
            self.files.append((layer, path, (0, 0, 0, 0, 0)))


def identity(path: str | int) -> Identity:
    """Return what changes with a file (a path or a descriptor). Raises OSError if it cannot be examined."""
    return identity_of(os.stat(path))


def identity_of(status: os.stat_result) -> Identity:
    """Return device, inode, size, mtime and ctime (in nanoseconds) of a file."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def find(
    cwd: str | None, home: str, *, config: str | None = None, managed: str | None = None, claude: str | None = None
) -> ConfigFiles:
    """Find the declaration files in force for a process that works in `cwd`.

    `config` is one named file that stands in for the project's own; it is taken in whether it exists or not.
    `cwd` None means that the working directory is gone: then there is no project to look for. `claude` is where the
    person's Claude Code settings lie, if not in the home directory. `managed` stands in for /etc/hookrun, and with
    `claude-code` in it for where Claude Code has the administrator's.
    """
    found = ConfigFiles(cwd, home, claude=claude)
    if managed is not None:
        found.claude_managed = f"{managed}/claude-code"
    for name in LAYER_FILES:
        found.add("managed", f"{managed or MANAGED_DIRECTORY}/{name}")
    _add_user_layer(found)
    if cwd is not None:
        directories = _up_to_repository(found, cwd)
        if config is None:
            for directory in directories:
                base = "" if directory == "/" else directory
                for name in PROJECT_FILES:
                    found.add("project", f"{base}/{name}")
                found.add("local", f"{base}/{LOCAL_FILE}")
            if found.files:  # without a declaration nothing takes them in
                found.claude += _claude_files(directories)
    if config is not None:
        try:
            found.files.append(("project", config, identity(config)))
        except OSError:
            found.files.append(("project", config, (0, 0, 0, 0, 0)))
    return found


def claude_directory(home: str) -> str | None:
    """Return where the environment says that the Claude Code settings of its HOME lie; None where it does not."""
    same = os.environ.get("HOME", "").rstrip("/") == home.rstrip("/")
    return os.environ.get("CLAUDE_CONFIG_DIR") or None if same else None


def _claude_files(directories: list[str]) -> list[str]:
    bases = ("" if directory == "/" else directory for directory in directories)
    paths = (f"{base}/{CLAUDE_DIRECTORY}/{name}" for base in bases for name in CLAUDE_FILES)
    return [path for path in paths if _exists(path)]


def find_user_layer(home: str) -> ConfigFiles:
    """Find what a home declares and nothing else: neither managed declarations nor a project's are in force."""
    found = ConfigFiles(None, home)
    _add_user_layer(found)
    return found


def _add_user_layer(found: ConfigFiles) -> None:
    user = config_directory(found.home)
    for name in LAYER_FILES:
        found.add("user", f"{user}/{name}")


def _up_to_repository(found: ConfigFiles, cwd: str) -> list[str]:
    """Return `cwd` and its parents up to the repository's root, which is noted; only `cwd` outside a repository."""
    directories = []
    directory = cwd
    while True:
        directories.append(directory)
        if _exists((directory if directory != "/" else "") + "/.git"):
            found.repository = directory
            return directories
        parent = directory.rpartition("/")[0] or "/"
        if parent == directory:
            return [cwd]
        directory = parent


def _exists(path: str) -> bool:
    try:
        os.stat(path)
    except OSError:
        return False
    return True
