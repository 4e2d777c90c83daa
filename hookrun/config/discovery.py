"""Find the configuration files of the managed, user, project and local layers, by name only."""

from __future__ import annotations

import os
import sys

from hookrun.state import config_directory, identity_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.state import Identity

MANAGED_DIRECTORY = "/etc/hookrun"
LAYER_FILES = ("hooks.json", "hooks.yaml", "hooks.yml")
PROJECT_FILES = ("coder.json", "hookrun.yaml", "hookrun.yml")
LOCAL_FILE = "coder.local.json"
CLAUDE_DIRECTORY = ".claude"
CLAUDE_MANAGED = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
CLAUDE_FILES = ("settings.json", "settings.local.json")
"""Claude Code's settings in a project: shared, and the user's own."""

UNKNOWN = (0, 0, 0, 0, 0)
"""The identity of a file that cannot be examined."""

LINK = 10
"""The type of a symbolic link, in its mode (the module `stat` is not worth its loading)."""

UNREAD = "unread:"
"""Prefix of a reference among `Hook.words` that is the reason why a command was not read."""

_CODE_SUFFIXES = (
    "sh bash zsh fish ksh csh py pyw pyc pyz js mjs cjs ts mts cts jsx tsx rb pl pm php lua awk sed jq tcl exp r "
    "jl go rs java class jar so dylib node wasm ps1 psm1 scpt applescript groovy gradle kts scala clj ex exs erl "
    "hs ml el vim mk bats nix cmake star bzl rego scm rkt raku nu gdb"
)
CODE_SUFFIXES = frozenset(_CODE_SUFFIXES.split())
"""Suffixes of files that look like code."""


class ConfigFiles:
    """The files that exist: `files` are (layer, path, identity) in the order of layers, the nearest of a project first.

    `repository` is the root of the git repository around `cwd`, or None, and `searched` are the directories in which a
    project's files are looked for. `claude` starts with the directory of the user's Claude Code settings, followed by
    existing settings files of the project, the nearest first. `claude_managed` is the directory of the administrator's
    settings.
    """

    __slots__ = ("claude", "claude_managed", "cwd", "files", "home", "repository", "searched")

    def __init__(self, cwd: str | None, home: str, *, claude: str | None = None) -> None:
        self.cwd = cwd
        self.home = home
        self.claude: list[str] = [claude or f"{home}/{CLAUDE_DIRECTORY}"]
        self.claude_managed = CLAUDE_MANAGED
        self.repository: str | None = None
        self.searched: list[str] = []
        self.files: list[tuple[str, str, Identity]] = []

    def project_root(self, configured: str | None) -> str:
        """Return the project's root: where it is `configured`, else the repository, else the working directory."""
        return configured or self.repository or self.cwd or "/"

    def add(self, layer: str, path: str, *, named: bool = False) -> None:
        """Add the file if it exists or is `named` by the user, even if it cannot be examined: its hooks are unknown."""
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            if named:
                self.files.append((layer, path, UNKNOWN))
            return
        except OSError:
            status = None
        try:
            if status is None or status.st_mode >> 12 == LINK:
                status = os.stat(path)
            self.files.append((layer, path, identity_of(status)))
        except OSError:  # also a broken link: a mistake, not the absence of a file
            self.files.append((layer, path, UNKNOWN))


def find(
    cwd: str | None, home: str, *, config: str | None = None, managed: str | None = None, claude: str | None = None
) -> ConfigFiles:
    """Return the configuration files for a process in `cwd`, None if its working directory is gone.

    `config` replaces the project's files and is included whether it exists or not. `claude` is the directory of the
    user's Claude Code settings, by default in the home directory. `managed` replaces /etc/hookrun, and its
    subdirectory `claude-code` that of the administrator's settings of Claude Code.
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
            found.searched = directories
            for directory in directories:
                base = "" if directory == "/" else directory
                for name in PROJECT_FILES:
                    found.add("project", f"{base}/{name}")
                found.add("local", f"{base}/{LOCAL_FILE}")
            if found.files:  # only our own files can include them
                found.claude += _claude_files(directories)
    if config is not None:
        found.add("project", config, named=True)
    return found


def claude_directory(home: str) -> str | None:
    """Return CLAUDE_CONFIG_DIR if the environment is that of this home, else None."""
    same = os.environ.get("HOME", "").rstrip("/") == home.rstrip("/")
    return os.environ.get("CLAUDE_CONFIG_DIR") or None if same else None


def _claude_files(directories: list[str]) -> list[str]:
    bases = ("" if directory == "/" else directory for directory in directories)
    paths = (f"{base}/{CLAUDE_DIRECTORY}/{name}" for base in bases for name in CLAUDE_FILES)
    return [path for path in paths if _exists(path)]


def find_user_layer(home: str) -> ConfigFiles:
    """Return the files of the user layer of a home only."""
    found = ConfigFiles(None, home)
    _add_user_layer(found)
    return found


def _add_user_layer(found: ConfigFiles) -> None:
    user = config_directory(found.home)
    for name in LAYER_FILES:
        found.add("user", f"{user}/{name}")


def _up_to_repository(found: ConfigFiles, cwd: str) -> list[str]:
    """Return `cwd` and its parents up to the repository's root, which is recorded; only `cwd` outside one."""
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
