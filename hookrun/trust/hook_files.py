"""Find the files of a hook: those that its command or module names, and those under `files`."""

from __future__ import annotations

import os
from stat import S_IFDIR as DIRECTORY, S_IFMT, S_IFREG as REGULAR

from hookrun.config.discovery import identity_of
from hookrun.globs import glob
from hookrun.process.prepare import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.config.discovery import Identity
    from hookrun.model import Hook

    Named = tuple[str, str]
    """A file's label in the digest, and its path."""

ENTRY_POINTS = ("__main__.py", "index.js", "package.json")
"""Files that an interpreter reads when it is given a directory."""

BY_PATH = "PATH:"
"""Prefix of the label of a program found by PATH in the project."""

MOST_LOOKED_AT = 10_000
"""Limit on directory entries read for the globs of one hook."""

UNCHECKED = 1
"""Flags of a compiled Python module that is loaded without checking its source (PEP 552)."""


class TooManyFilesError(Exception):
    """The globs of a hook read more than MOST_LOOKED_AT entries."""


class LocalFile:
    """A file of a hook: its `label` in the digest, its `path`, its `identity` when it was found."""

    __slots__ = ("identity", "label", "path")

    def __init__(self, label: str, path: str, identity: Identity) -> None:
        self.label = label
        self.path = path
        self.identity = identity

    def to_list(self) -> list[object]:
        """Return the file as plain data, for the cache."""
        return [self.label, self.path, *self.identity]


def files_of(hook: Hook, environment: Mapping[bytes, bytes], cwd: str, root: str) -> list[LocalFile]:
    """Return the files of a hook that runs in `cwd` with this environment in the project at `root`.

    They include system files that the hook names. Raises TooManyFilesError.
    """
    found: dict[str, LocalFile] = {}
    for label, path in _named(hook, environment, cwd, root):
        if label not in found and _look(label, path, found) == DIRECTORY:
            for name in ENTRY_POINTS:
                _look(f"{label}/{name}", f"{path}/{name}", found)
    return list(found.values())


def _look(label: str, path: str, found: dict[str, LocalFile]) -> int:
    """Add a regular file; return the type of the path (S_IFMT), 0 if it does not exist."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return 0
    kind = S_IFMT(status.st_mode)
    if kind == REGULAR:
        found[label] = LocalFile(label, path, identity_of(status))
    return kind


def _named(hook: Hook, environment: Mapping[bytes, bytes], cwd: str, root: str) -> Iterator[Named]:
    """Yield label and path of every possible file."""
    on_path = _path_within(root, environment, cwd)
    # Every word under whose name a file exists, not only program and script: one file too many costs a question, one
    # too few lets a change pass.
    for word in (*(hook.words or ()), *((hook.interpreter,) if hook.interpreter else ())):
        yield word, expand(word, environment, cwd)
        if hook.cwd == "event":  # the same file when the agent works in another directory, where it is missing
            yield word, expand(word, environment, root)
        if "/" not in word:
            for directory in on_path:
                yield f"{BY_PATH}{word}", f"{directory}/{word}"
    if hook.kind == "python":
        yield from _modules(str(hook.target).partition(":")[0], cwd)
    looked_at = [0]
    for pattern in hook.files:
        yield from _matching(pattern, expand(pattern, environment, root), looked_at)


def _path_within(root: str, environment: Mapping[bytes, bytes], cwd: str) -> list[str]:
    """Return the directories of PATH inside the project, whose programs are files of the project."""
    directories = os.fsdecode(environment.get(b"PATH", b"")).split(":")
    paths = [os.path.normpath(os.path.join(cwd, each)) for each in directories]
    return [path for path in paths if within(path, root)]


def within(path: str, root: str) -> bool:
    """Return whether a normalized path is the directory or lies in it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def _is_directory(path: str) -> bool:
    try:
        return S_IFMT(os.stat(path).st_mode) == DIRECTORY
    except (OSError, ValueError):
        return False


def _modules(name: str, directory: str) -> Iterator[Named]:
    """Yield the files that Python may load for a module and its packages from this directory."""
    from _imp import extension_suffixes

    suffixes = (".py", ".pyc", *extension_suffixes())
    label = "module:"
    for part in name.split("."):
        for suffix in suffixes:
            yield f"{label}{part}{suffix}", f"{directory}/{part}{suffix}"
            yield f"{label}{part}/__init__{suffix}", f"{directory}/{part}/__init__{suffix}"
        yield from _unchecked(label, directory, part)
        yield from _unchecked(f"{label}{part}/", f"{directory}/{part}", "__init__")
        label, directory = f"{label}{part}/", f"{directory}/{part}"


def _unchecked(label: str, directory: str, part: str) -> Iterator[Named]:
    """Yield compiled forms of a module that Python loads without checking the source."""
    try:
        names = sorted(os.listdir(f"{directory}/__pycache__"))
    except OSError:
        return
    for name in names:
        if name.startswith(part + ".") and _flags(path := f"{directory}/__pycache__/{name}") == UNCHECKED:
            yield f"{label}__pycache__/{name}", path


def _flags(path: str) -> int | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return int.from_bytes((file.read(8) or b"")[4:8], "little")
    except OSError:
        return None


def _matching(pattern: str, path: str, looked_at: list[int]) -> Iterator[Named]:
    """Yield the files of a glob. `*` matches in one directory, `**` any depth; a directory means all files in it."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for found in _below("", parts, looked_at):
        yield f"files:{pattern}:{_labelled(found, parts)}", found


def _labelled(path: str, parts: list[str]) -> str:
    """Return the part of a path that the glob matched, which stays the same when the project moves."""
    plain = 0
    while plain < len(parts) and not _is_glob(parts[plain]):
        plain += 1
    return "/".join(path.split("/")[1 + plain :])


def _is_glob(part: str) -> bool:
    return any(char in part for char in "*?[")


def _below(directory: str, parts: list[str], looked_at: list[int]) -> Iterator[str]:
    if not parts:
        if _is_directory(directory):
            yield from _below(directory, ["**"], looked_at)
        else:
            yield directory
        return
    part, rest = parts[0], parts[1:]
    if not _is_glob(part):
        yield from _below(f"{directory}/{part}", rest, looked_at)
        return
    if part == "**" and rest:
        yield from _below(directory, rest, looked_at)
    for name, is_directory in _entries(directory, looked_at):
        path = f"{directory}/{name}"
        if part == "**":
            if is_directory:
                yield from _below(path, parts, looked_at)
            elif not rest:
                yield path
        elif glob(part, name):
            yield from _below(path, rest, looked_at)


def _entries(directory: str, looked_at: list[int]) -> list[tuple[str, bool]]:
    """Return the names in a directory, without .git, and whether each is a real directory."""
    try:
        with os.scandir(directory or "/") as entries:
            found = sorted((each.name, each.is_dir(follow_symlinks=False)) for each in entries if each.name != ".git")
    except OSError:
        return []
    looked_at[0] += len(found)
    if looked_at[0] > MOST_LOOKED_AT:
        raise TooManyFilesError
    return found
