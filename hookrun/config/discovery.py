"""Find the configuration files of the layers by name, and read their compiled form.

It is a cache file, indexed by event, used while no source has changed. Line 1 is the header; the hooks follow, and for
each event a table of its hooks' conditions. Only the header, one table and the hooks that run are parsed. Format: ASCII
JSON, so that offsets count characters.
"""

from __future__ import annotations

import os
import sys
from stat import S_ISLNK

from hookrun import __version__
from hookrun.core.conditions import mismatches
from hookrun.core.fastjson import scan_own
from hookrun.core.model import LAYERS, UNTRUSTED_LAYERS, ClaudeForm, Hook
from hookrun.core.state import CONFIG_DIR, DATA_DIR, STATE_DIR, file_name_for, identity, identity_of, read_cached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypedDict

    from hookrun.core.state import Identity

    # A working directory and the repository around it, if known.
    Place = tuple[str | None, str | None]

    class Row(TypedDict):
        """A hook in the table of its event, for what comes before it is parsed; `conditions` are those it has."""

        name: str
        layer: int
        always: bool
        enforcing: bool
        conditions: dict[str, Any]
        offset: int


MANAGED_DIRECTORY = "/etc/hookrun"
LAYER_FILES = ("hooks.json", "hooks.yaml", "hooks.yml")
PROJECT_FILES = ("coder.json", "hookrun.yaml", "hookrun.yml")
LOCAL_FILE = "coder.local.json"
CLAUDE_DIRECTORY = ".claude"
CLAUDE_MANAGED = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
# Claude Code's settings in a project: shared and the user's own.
CLAUDE_FILES = ("settings.json", "settings.local.json")

# Directory of the approved guards, with the paths of their projects' roots; added to the path of the home directory.
GUARDS = DATA_DIR + "/guards"
# The file with the names of the user's own guards.
USERS_GUARDS = GUARDS + "/user.json"

# Directory of the places where sessions began, a file for each; bytes of a path (PATH_MAX, limits.h).
BEGAN, LONGEST_PATH = STATE_DIR + "/began", 4096

# The identity of a file that cannot be examined.
UNKNOWN = (0, 0, 0, 0, 0)

# Prefix in `Hook.words` of the reason why a command was not read.
UNREAD = "unread:"

_CODE_SUFFIXES = (
    "sh bash zsh fish ksh csh py pyw pyc pyz js mjs cjs ts mts cts jsx tsx rb pl pm php lua awk sed jq tcl exp r "
    "jl go rs java class jar so dylib node wasm ps1 psm1 scpt applescript groovy gradle kts scala clj ex exs erl "
    "hs ml el vim mk bats nix cmake star bzl rego scm rkt raku nu gdb"
)
# Suffixes of files that look like code.
CODE_SUFFIXES = frozenset(_CODE_SUFFIXES.split())


class ConfigFiles:
    """The existing files: `files` are (layer, path, identity) in layer order, the nearest of a project first.

    `repository` is the root of the git repository around `cwd`, or None; `searched` are the directories searched for
    project files. `claude` has the directory of the user's Claude Code settings, then the project's existing settings
    files, the nearest first. `claude_managed` is the directory of the administrator's. `approved` are the searched
    directories that are the root of a project with approvals; their guards' files are of the layer "approved". `others`
    are the other places whose guards judge an agent's call.
    """

    __slots__ = ("approved", "claude", "claude_managed", "cwd", "files", "home", "others", "repository", "searched")

    def __init__(self, cwd: str | None, home: str) -> None:
        self.cwd = cwd
        self.home = home
        self.claude: list[str] = [f"{home}/{CLAUDE_DIRECTORY}"]
        self.claude_managed = CLAUDE_MANAGED
        self.repository: str | None = None
        self.searched: list[str] = []
        self.approved: list[str] = []
        self.others: list[Place] = []
        self.files: list[tuple[str, str, Identity]] = []

    def project_root(self, configured: str | None) -> str:
        """Return the project's root: `configured`, else the repository, else the working directory."""
        return configured or next(iter(self.approved), None) or self.repository or self.cwd or "/"

    def add(self, layer: str, path: str, *, named: bool = False) -> bool:
        """Add an existing or `named` file, even if it cannot be examined: its hooks are unknown. Return whether."""
        own, is_absent = UNKNOWN, not named
        try:
            status = os.lstat(path)
            is_absent = False  # a broken link is a mistake
            own = identity_of(os.stat(path) if S_ISLNK(status.st_mode) else status)
        except OSError as error:
            if is_absent and isinstance(error, (FileNotFoundError, NotADirectoryError)):
                return False
        self.files.append((layer, path, own))
        return True


def find(
    cwd: str | None,
    home: str,
    *,
    config: str | None = None,
    managed: str | None = None,
    own_environment: bool = False,
    repository: str | None = None,
    session: object = None,
    roots: Iterable[str] = (),
) -> ConfigFiles:
    """Return the configuration files for a process in `cwd`, None if its working directory is gone.

    `config` replaces the project's files, whether it exists or not. With `own_environment`, which no project has set,
    CLAUDE_CONFIG_DIR may name the user's Claude Code settings directory. `managed` replaces /etc/hookrun; its
    subdirectory `claude-code` then has the administrator's Claude Code settings. `repository` is one around `cwd`
    that is not the nearest. The others are those where an agent's `session` first was in a project with approvals, and
    those of the `roots` in its message that are not `cwd`.
    """
    found = ConfigFiles(cwd, home)
    if own_environment and os.environ.get("HOME", "").rstrip("/") == home.rstrip("/"):
        found.claude[0] = os.environ.get("CLAUDE_CONFIG_DIR") or found.claude[0]
    if managed is not None:
        found.claude_managed = f"{managed}/claude-code"
    _add_layer(found, "managed", managed or MANAGED_DIRECTORY)
    _add_layer(found, "user", home + CONFIG_DIR)
    found.add("approved", home + USERS_GUARDS)
    if cwd is not None:
        directories = _up_to_repository(found, cwd, repository)
        if config is None:
            _add_project(found, directories)
            found.approved = [each for each in directories if found.add("approved", _record(home, each))]
            if not found.approved and os.path.exists(home + GUARDS) and (real := os.path.realpath(cwd)) != cwd:
                there = find(real, home, managed=managed, own_environment=own_environment, session=session, roots=roots)
                if there.approved:
                    return there
    if config is not None:
        found.add("project", config, named=True)
    found.others = _others(found, session, roots)
    return found


def _add_project(found: ConfigFiles, directories: list[str]) -> None:
    found.searched = directories
    bases = ["" if directory == "/" else directory for directory in directories]
    for base in bases:
        for name in PROJECT_FILES:
            found.add("project", f"{base}/{name}")
        found.add("local", f"{base}/{LOCAL_FILE}")
    if found.files:  # only our own files can include them
        paths = (f"{base}/{CLAUDE_DIRECTORY}/{name}" for base in bases for name in CLAUDE_FILES)
        found.claude += [path for path in paths if os.path.exists(path)]


def _others(found: ConfigFiles, session: object, roots: Iterable[str]) -> list[Place]:
    """Return the other places whose guards judge a call. A session that has been in none with approvals begins here."""
    places: list[Place] = [(each, None) for each in roots if each != found.cwd and os.path.isdir(each)]
    if not isinstance(session, str):
        return places
    path, here = f"{found.home}{BEGAN}/{file_name_for(session)}", f"{found.repository or ''}//{found.cwd or ''}"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        began = os.read(fd, 2 * LONGEST_PATH).decode("utf-8", "surrogateescape")
        os.close(fd)
    except OSError:
        began = ""
    began = began[:-1] if began[-1:] == "\n" else ""  # half a place is none
    if "//" not in began and found.approved:
        from hookrun.core.session import keep_place  # once a session

        keep_place(path, here)
    elif "//" in began and began != here:
        repository, _, cwd = began.partition("//")
        places.append((cwd or None, repository or None))
    return places


def starting_directory(variables: Iterable[str] = (), roots: Iterable[str] = ()) -> str | None:
    """Return where to look for the project: an agent's variable, a message's roots, or the working directory.

    Only existing directories count.
    """
    for path in (*(os.environ.get(name, "") for name in variables), *roots):
        if os.path.isabs(path) and os.path.isdir(path):
            return os.path.normpath(path)
    try:
        return os.getcwd()
    except OSError:
        return None


def worktree_of(start: str | None, roots: Iterable[str]) -> str | None:
    """Return the place of `start` in the git worktree around the first root, if that has a config, else `start`.

    An agent's variable keeps naming the main checkout in a session that has moved to a worktree of it.
    """
    directory = next(iter(roots), None)
    if start is None or directory in (None, start) or not os.path.isabs(directory):
        return start
    mine, its = _repository(start), _repository(os.path.normpath(directory))
    if mine is None or its in (None, mine) or git_directories(its)[1] != git_directories(mine)[1]:
        return start
    place = f"{its}{start.removeprefix(mine)}"
    names = (*PROJECT_FILES, f"{CLAUDE_DIRECTORY}/{CLAUDE_FILES[0]}")
    has_config = any(os.path.exists(f"{each}/{name}") for each in (place, its) for name in names)
    return place if has_config and os.path.isdir(place) else start


def _repository(directory: str) -> str | None:
    found = ConfigFiles(directory, "")
    _up_to_repository(found, directory, None)
    return found.repository


def git_directories(root: str) -> tuple[str, str]:
    """Return git's directory for the checkout at a repository's root, and the one that it shares with its worktrees."""
    from hookrun.core.files import read_or_none  # rarely needed

    named = os.fsdecode(read_or_none(f"{root}/.git", LONGEST_PATH) or b"").removeprefix("gitdir: ").rstrip("\n")
    own = os.path.realpath(os.path.join(root, named or ".git"))  # the main checkout's is that directory
    worktrees, _, _ = own.rpartition("/")
    return own, worktrees.removesuffix("/worktrees") if named and worktrees.endswith("/worktrees") else own


def guards_file(home: str, root: str) -> str:
    """Return the path of the file with a project's approved guards, whatever links lead to it."""
    return _record(home, os.path.realpath(root))


def _record(home: str, root: str) -> str:
    return f"{home}{GUARDS}{root}/guards.json"


def _add_layer(found: ConfigFiles, layer: str, directory: str) -> None:
    for name in LAYER_FILES:
        found.add(layer, f"{directory}/{name}")


def _up_to_repository(found: ConfigFiles, cwd: str, repository: str | None) -> list[str]:
    """Return `cwd` and its parents up to the repository's root, which is recorded; without one, only `cwd`."""
    directories = []
    directory = cwd
    while True:
        directories.append(directory)
        git = (directory if directory != "/" else "") + "/.git"
        if directory == repository if repository is not None else os.path.exists(git):
            found.repository = directory
            return directories
        parent = directory.rpartition("/")[0] or "/"
        if parent == directory:
            return [cwd]
        directory = parent


# --- the compiled configuration

FORMAT = 12
# The fields of `load.Declarations` in it beside the hooks.
DECLARED = ("problems", "unread", "kept", "gone", "settings", "events", "root")


class CompiledConfig:
    """The effective configuration: `load.Declarations`, its hooks parsed when needed."""

    guards_only = False  # of the project
    problems: list[str]
    unread: list[str]
    kept: list[str]
    gone: list[str]
    settings: dict[str, object]
    events: list[str]
    root: str | None

    def __init__(self, text: str) -> None:
        """Parse the header. Raises ValueError, KeyError or TypeError if foreign or of another version."""
        # JSON, not pickle or marshal: a foreign or torn file can do no harm.
        header, end = scan_own(text, 0)
        if not isinstance(header, dict) or (header["format"], header["version"]) != (FORMAT, __version__):
            raise ValueError("not a cache file of this version")
        self._text = text
        self._base = end + 1
        self._index: dict[str, int] = dict(header["index"])
        self.sources: list[list[object]] = header["sources"]
        self.also: list[list[object]] = header["also"]
        self.claude: list[str] = header["claude"]
        vars(self).update({name: header["declared"][name] for name in DECLARED})

    def candidates(self, event: str) -> EventHooks:
        """Return the hooks of an event in running order."""
        return EventHooks(self._table(event), self)

    def matching(self, event: str, context: Mapping[str, object]) -> tuple[EventHooks, bool]:
        """Return an event's hooks in running order, and whether one matches this context."""
        hooks = self.candidates(event)
        return hooks, any(hooks.selects(index, context) for index in range(hooks.count))

    def _table(self, event: str) -> list[Row]:
        if event not in self._index:
            return []
        rows, _ = scan_own(self._text, self._base + self._index[event])
        if not isinstance(rows, list):
            raise TypeError("a damaged table")
        if self.guards_only:
            projects = [row for row in rows if row["enforcing"] and LAYERS[row["layer"]] in UNTRUSTED_LAYERS]
            rows = [row for row in projects if self.hook(row["offset"]).on_failure == "block"]
        for row in rows:
            if "claude" in row["conditions"]:
                row["conditions"]["claude"] = ClaudeForm(row["conditions"]["claude"])
        return rows

    def hooks(self) -> list[Hook]:
        """Return all hooks in running order."""
        offsets = {row["offset"] for event in self._index for row in self._table(event)}
        return [self.hook(offset) for offset in sorted(offsets)]

    def hook(self, offset: int) -> Hook:
        """Return the hook at an offset."""
        data, _ = scan_own(self._text, self._base + offset)
        if not isinstance(data, dict):
            raise TypeError("a damaged hook")
        return Hook.from_dict(data)


# Hooks of an event that the log names as not run.
MOST_NAMED = 100


class EventHooks:
    """The candidate hooks of one event, each parsed when first needed.

    They `need_approval` if one is of an untrusted layer.
    """

    def __init__(self, rows: list[Row], compiled: CompiledConfig) -> None:
        self._rows = rows
        self.count = len(rows)
        self.layers = [row["layer"] for row in rows]
        self.always = [row["always"] for row in rows]
        self.enforcing = [row["enforcing"] for row in rows]
        self.need_approval = any(LAYERS[layer] in UNTRUSTED_LAYERS for layer in self.layers)
        self._compiled = compiled
        self._hooks: dict[int, Hook] = {}
        self._context: Mapping[str, object] | None = None
        self._mismatches: dict[int, dict[int, tuple[str, str] | None]] = {}

    def selects(self, index: int, context: Mapping[str, object]) -> bool:
        """Return whether the hook matches this context."""
        if context is not self._context:
            self._context, self._mismatches = context, {}
        layer = self.layers[index]
        if layer not in self._mismatches:  # by layer: a project's conditions do not delay the user's guards
            rows = {n: row["conditions"] for n, row in enumerate(self._rows) if row["layer"] == layer}
            self._mismatches[layer] = mismatches(rows, context)
        return self._mismatches[layer][index] is None

    def not_run(self, statuses: Mapping[int, str]) -> dict[str, list[str]]:
        """Return each reason for which hooks did not run, with their names; `statuses` are a chain's.

        A condition that did not match is the field's name, for `when` with the path.
        """
        found: dict[str, list[str]] = {}
        for index, row in enumerate(self._rows[:MOST_NAMED]):
            if (why := statuses.get(index)) is None:
                unmet = self._mismatches[row["layer"]][index] if row["layer"] in self._mismatches else None
                condition, more = unmet or ("not reached", "")
                why = condition if not more else more if condition == "claude" else f"{condition} {more}"
            if why[:3] != "ran":
                found.setdefault(why.removeprefix("not run: "), []).append(row["name"])
        return found

    def hook(self, index: int) -> Hook:
        """Return the hook, parsed."""
        if index not in self._hooks:
            self._hooks[index] = self._compiled.hook(self._rows[index]["offset"])
        return self._hooks[index]


def cached_as(found: ConfigFiles) -> tuple[str, ...]:
    """Return the arguments of `cache_file` for these configuration files."""
    named = [f"{layer}:{path}" for layer, path, _ in found.files] + [f"claude:{path}" for path in found.claude]
    return found.home, ".json", *named


def load_cached(found: ConfigFiles) -> CompiledConfig | None:
    """Return the compiled configuration from the cache, None if it is missing, damaged or stale."""
    try:
        compiled = CompiledConfig(read_cached(*cached_as(found)))
        # Valid only if it names the current state of every source file.
        same = compiled.sources == [[layer, path, [*state]] for layer, path, state in found.files]
        if same and compiled.claude == found.claude:
            also = [(str(path), identity_or_none(str(path))) for path, _ in compiled.also]
            if compiled.also == [[path, state and [*state]] for path, state in also]:
                return compiled
    except (OSError, ValueError, KeyError, TypeError, IndexError, StopIteration):
        pass
    return None


def identity_or_none(path: str) -> Identity | None:
    """Return attributes that change with a file; None if it cannot be examined."""
    try:
        return identity(path)
    except OSError:
        return None
