"""Read a configuration file: recognize its form and validate its settings, but not yet its hooks.

A file included from a git repository is read from the copy that `hookrun update` fetched.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from hookrun import __version__
from hookrun.agents import DIALECTS, load_sender
from hookrun.agents.dialects import dialect, of_events, of_file
from hookrun.claude.hook_protocol import NATIVE_EVENTS
from hookrun.config import claude_settings, last_readable
from hookrun.config.claude_settings import plugin_root
from hookrun.config.discovery import LAYER_FILES, LOCAL_FILE, PROJECT_FILES
from hookrun.config.document import NOT_READ, Diagnostic, Document, Location, SourceError, errors_in, read
from hookrun.config.parse import MAX_PROJECT_VALUES, MAX_VALUES, KeyPath
from hookrun.config.recipe_entries import expanded
from hookrun.config.validate import SETTING_FIELDS, validate_settings
from hookrun.core.conditions import resolve_path
from hookrun.core.events import EVENTS
from hookrun.core.files import open_regular
from hookrun.core.model import UNTRUSTED_LAYERS, as_object
from hookrun.core.state import DATA_DIR, report_bug
from hookrun.core.text import did_you_mean, one_line, one_of, quote

# Files shared with other programs; their keys are left alone.
SHARED = frozenset({"coder.json", LOCAL_FILE})

# Files of hookrun alone, where an unknown top-level key is an error.
OURS_ALONE = frozenset({*PROJECT_FILES, *LAYER_FILES}) - SHARED

# Seconds after which a file is no longer taken for one that is being written, and for which it is read again.
JUST_SAVED, WRITTEN_IN = 1.0, 0.1

TOP = ("hooks", "hookrun")
# A file's byte-order mark is gone once it is parsed.
NO_MARK = False
# Top-level keys of Claude Code's settings that switch hooks off.
SWITCHES = ("disableAllHooks", "allowManagedHooksOnly")


@dataclass(eq=False, slots=True)
class ConfigFile:
    """A file of a layer as far as it could be read, with the problems of the whole file.

    `handlers` are the entries in the form of the agent `dialect`, None in hookrun's. `claudes` is true for settings of
    Claude Code or a plugin, `others` for a file of another agent. `own` is True if that reads the file everywhere, or
    the project directory if only there. `plugin` is the plugin's root, with its `plugin_name`; `included_by` the
    including file. `off`: the agent's settings switch the hooks off. `unread`: which hooks it has is not known. If it
    cannot be read now, but once was, `faults` say why; all else is as it then was, from the Unix time `since` on.
    """

    path: str
    layer: str
    document: Document = NOT_READ
    claudes: bool = False
    others: bool = False
    dialect: str = "claude"
    handlers: list[claude_settings.HandlerEntry] | None = None
    off: bool = False
    unread: bool = False
    since: float | None = None
    faults: list[Diagnostic] = field(default_factory=list)
    own: bool | str = False
    plugin: str | None = None
    plugin_name: str = ""
    included_by: ConfigFile | None = None
    entries: list[object] = field(default_factory=list)
    entries_path: KeyPath = ("hooks",)
    settings: dict[str, object] = field(default_factory=dict)
    defaults: dict[str, object] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)

    @property
    def is_effective(self) -> bool:
        """Whether the file affects the configuration, as unreadable files do: their hooks are unknown."""
        if not isinstance(self.document.data, dict):
            return True
        keys = (*TOP, *SWITCHES) if self.claudes else TOP
        return any(key in self.data for key in keys) or bool(errors_in(self.problems))

    @property
    def was_read(self) -> bool:
        """Whether the file could be read and parsed."""
        return self.document is not NOT_READ

    @property
    def data(self) -> dict[str, object]:
        """The top-level keys and values; empty if unreadable or no object."""
        return self.document.top

    @property
    def count(self) -> int:
        """The number of hooks, valid or not."""
        return len(expanded(self.entries)) if self.handlers is None else len(self.handlers)

    def at(self, *path: str | int) -> Location:
        """Return a place in the file; diagnostics there are problems of the file."""
        return Location(self.document, path, self.problems)


def load_file(path: str, layer: str, *, claudes: bool = False, text: str | None = None) -> ConfigFile:
    """Return the file as far as it is readable, with its problems but no included files.

    `claudes` marks a file of Claude Code, whatever its name. `text` is used in place of what the file holds.
    """
    file = ConfigFile(path, layer)
    by_name = path.endswith(claude_settings.PLUGIN_FILE) and _is_of_plugin(file)
    file.claudes = claudes or by_name or claude_settings.is_settings(path)
    if claude_settings.is_settings(path):
        file.own = claude_settings.project_of(path)
    elif (
        not file.claudes and os.path.basename(path) not in (*PROJECT_FILES, LOCAL_FILE) and (found := of_file(path))[0]
    ):
        file.others, (file.dialect, file.own) = True, found
    try:
        _load(file, text)
    except SourceError as error:
        file.unread = True
        file.problems.append(error.problem)
    except Exception as error:  # one broken file must not stop the other files' hooks
        file.unread = True
        file.problems.append(internal_problem(path, error))
    return file


def in_force(file: ConfigFile, home: str) -> ConfigFile:
    """Return the file, or what it held when it was last readable, if it cannot be read now.

    One that was just saved is read again for a moment: an editor may still be writing it.
    """
    until = time.monotonic() + WRITTEN_IN
    while file.unread and time.monotonic() < until and _is_being_written(file.path):
        time.sleep(0.01)
        file = load_file(file.path, file.layer, claudes=file.claudes)
    if not file.unread or (kept := last_readable.kept(home, file.path)) is None:
        return file
    before = load_file(file.path, file.layer, claudes=file.claudes, text=kept[0])
    if before.unread:  # by another version of hookrun
        return file
    before.since, before.faults, before.plugin = kept[1], file.problems, file.plugin
    return before


def _is_being_written(path: str) -> bool:
    try:
        return abs(time.time() - os.stat(path).st_mtime) < JUST_SAVED
    except OSError:  # between its removal and the new file
        return os.path.isdir(os.path.dirname(path))


def internal_problem(path: str, error: Exception, home: str | None = None) -> Diagnostic:
    """Return the diagnostic for an internal error in reading a file; its traceback goes to crash.log."""
    reason = type(error).__name__
    if not isinstance(error, RecursionError):  # that is the file's
        reason = one_line(report_bug(error, home))
    return Diagnostic(path, 1, 1, "", f"cannot read the file: {reason}", "simplify the file")


def _load(file: ConfigFile, text: str | None) -> None:
    if file.others and not (file.dialect in DIALECTS and file.path.endswith(".json")):
        message = f"hookrun cannot run hooks in this file of {load_sender(file.dialect).DISPLAY_NAME}"
        hint = f"it runs those in JSON files of {one_of([dialect(each).title for each in DIALECTS], 'and')}"
        raise SourceError(Diagnostic(file.path, 1, 1, "", message, hint))
    file.document = read(file.path, MAX_PROJECT_VALUES if file.layer in UNTRUSTED_LAYERS else MAX_VALUES, text)
    data = file.document.data
    if not isinstance(data, dict):
        file.unread = True
        file.at().type_error(data, "an object", 'write {"hooks": [...]}')
        return
    _check_top(file, data)
    if "hooks" in data:
        _take_hooks(file, data["hooks"])
    elif file.claudes and (events := [key for key in data if key in NATIVE_EVENTS]):
        message = f"`{events[0]}` is not inside `hooks`, so Claude Code ignores it"
        file.at(events[0]).report(message, 'move the events into "hooks": {...}')
    if "hookrun" in data and not (file.claudes or file.others):
        file.settings, problems = validate_settings(file.document, data["hookrun"], file.layer)
        file.problems += problems
        file.defaults = as_object(file.settings.get("defaults"))
        wanted = file.settings.get("min_version")
        if isinstance(wanted, str) and _version(wanted) > _version(__version__):
            message = f"this config needs hookrun {wanted} or newer, and this is {__version__}"
            file.at("hookrun", "min_version").report(message, "upgrade hookrun")


def _check_top(file: ConfigFile, data: dict[str, object]) -> None:
    """Report unknown top-level keys in hookrun's files; warn of near misses in shared ones."""
    if file.others:
        form = dialect(file.dialect)
        dropped_if = form.install.get("dropped_if")
        for path, needed in dropped_if(data, NO_MARK) if dropped_if is not None else ():
            file.at(*path).warn(f"{form.title} ignores the whole file: it needs {needed}", "remove it")
        off = form.install.get("off", {}).items()
        file.off = any(next(resolve_path(data, path), None) is value for path, value in off)
    if file.claudes or file.others:
        return
    at = file.at()
    name = file.path.rpartition("/")[2]
    strict = name in OURS_ALONE
    if not (strict or name in SHARED or any(key in data for key in TOP)):
        at.warn("the file has neither `hooks` nor `hookrun`", 'add "hooks": [...]')
    for key in data:
        if key in TOP or key == "$schema" or key.startswith("x-"):
            continue
        if strict:
            setting = f"did you mean `hookrun.{key}`?" if key in SETTING_FIELDS else f"use {one_of(TOP)}"
            at.unknown_key(key, "key", TOP, did_you_mean(key, TOP, setting))
        elif not any(name in data for name in TOP) and (hint := did_you_mean(key, TOP)):
            at.at(key).warn(f"hookrun ignores the key {quote(key)}", hint)


def _take_hooks(file: ConfigFile, hooks: object) -> None:
    """Take the entries of a list, `{"hooks": [...]}` or Claude Code's map; report other forms."""
    path: KeyPath = ("hooks",)
    if isinstance(hooks, dict) and not (file.claudes or file.others) and (agent := of_events(hooks)):
        file.dialect = agent
    of_agent = file.claudes or file.others or file.dialect != "claude"
    of_agent = of_agent or (claude_settings.is_map(hooks) and _is_of_plugin(file))
    if isinstance(hooks, dict) and (of_agent or claude_settings.is_map(hooks)):
        file.handlers = [*claude_settings.entries(hooks, file.at(*path), strict=not of_agent, agent=file.dialect)]
        return
    if isinstance(hooks, dict) and "hooks" in hooks:
        for key in hooks:
            if key != "hooks":
                file.at(*path).unknown_key(key, "key", ["hooks"])
        path, hooks = ("hooks", "hooks"), hooks["hooks"]
    if isinstance(hooks, list) and not of_agent:
        file.entries, file.entries_path = hooks, path
        return
    expected, hint = "a list of hooks", "write [] for no hooks"
    if of_agent:
        expected, hint = "an object of events", "write {} for no hooks"
    elif event := next((key for key in hooks if key in EVENTS), None) if isinstance(hooks, dict) else None:
        hint = f'write "hooks": [{{"event": "{event}", "command": ...}}]'
    elif isinstance(hooks, dict) and hooks:
        hint = 'list the hooks, each with its "event"; `hookrun migrate FILE` converts Claude Code hooks'
    file.unread = True
    file.at(*path).type_error(hooks, expected, hint)


def _is_of_plugin(file: ConfigFile) -> bool:
    """Return whether a file in Claude Code's form that is no config of ours is of a plugin; mark it so."""
    if os.path.basename(file.path) not in (*PROJECT_FILES, LOCAL_FILE) and (root := plugin_root(file.path)):
        file.claudes, file.plugin, file.plugin_name = True, root, os.path.basename(root)
    return file.claudes


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


# --- included files


def included_path(base: str, text: str, home: str) -> str:
    """Return the path of an `include` in the file `base`."""
    if text.startswith("~/"):
        return home + text[1:]
    return text if text.startswith("/") else f"{base.rpartition('/')[0] or '.'}/{text.removeprefix('./')}"


# A whole commit id, SHA-1 or SHA-256: no writer to the repository can change what it names.
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class GitInclude:
    """A file at a git repository's revision: a commit, or any revision if `digest` pins the files."""

    git: str
    rev: str
    digest: str
    path: str

    @classmethod
    def from_item(cls, item: object, file: str) -> GitInclude | None:
        """Return what a validated `include` item names, missing parts empty; None for a path."""
        if not isinstance(item, dict):
            return None
        git, rev, digest = (str(item.get(name, "")) for name in ("git", "rev", "digest"))
        if git and not os.path.isabs(git) and ":" not in git.partition("/")[0]:  # a path, not `host:path` or a URL
            git = os.path.normpath(os.path.join(os.path.dirname(file), git))
        return cls(git, rev, digest, str(item.get("path", "coder.json")))

    def __str__(self) -> str:
        return f"{self.git} at {self.rev}"

    def problem(self, home: str, *, fetching: bool = False) -> tuple[str, str] | None:
        """Return what keeps an account from using the include, and a hint, or None.

        With `fetching`, its files may not exist yet.
        """
        if not self.git or not self.rev:
            return "an included repository needs `git` and `rev`", 'write {"git": URL, "rev": COMMIT}'
        if not COMMIT.fullmatch(self.rev) and not self.digest:
            hint = "write the whole id (`git rev-parse HEAD`), or add `digest`"
            return "`rev` must be a whole commit id, unless `digest` pins the files", hint
        if os.path.isabs(self.path) or ".." in self.path.split("/"):
            return f"`path` leads out of the repository: {quote(self.path)}", "write it relative to the repository"
        return None if fetching else self._missing(self.directory(home))

    def _missing(self, directory: str) -> tuple[str, str] | None:
        if not os.path.isdir(directory):
            return f"{self} is not fetched yet", "run `hookrun update`"
        if not os.path.isfile(f"{directory}/{self.path}"):
            return f"no file {quote(self.path)} in {self}", "correct `path`"
        try:
            changed = bool(self.digest) and tree_digest(directory) != self.digest
        except OSError as error:
            return f"cannot read {error.filename}: {error.strerror}", f"remove {directory}, then run `hookrun update`"
        return (f"the copy of {self} was changed", "run `hookrun update`") if changed else None

    def directory(self, home: str) -> str:
        """Return the directory of this revision's files for an account."""
        import hashlib  # few configs include a repository

        name = hashlib.sha256(f"{self.git}\0{self.rev}\0{self.digest}".encode()).hexdigest()[:32]
        return f"{home}{DATA_DIR}/includes/{name}"

    def file(self, home: str) -> str:
        """Return the path of the account's copy of the config file."""
        return f"{self.directory(home)}/{self.path}"


def tree_digest(directory: str) -> str:
    """Return the digest of all files below a directory: paths, executable bits and bytes.

    Raises OSError.
    """
    import hashlib

    whole = hashlib.sha256()
    for path in sorted(_files(directory)):
        with open_regular(os.path.join(directory, path)) as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
            mode = "x" if os.fstat(file.fileno()).st_mode & 0o100 else "-"
        whole.update(f"{content} {mode} {path}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}"


def _files(directory: str) -> Iterator[str]:
    for base, directories, files in os.walk(directory):
        linked = [name for name in directories if os.path.islink(os.path.join(base, name))]
        for name in (*files, *linked):
            yield os.path.relpath(os.path.join(base, name), directory)
