"""Compute and cache the digest of a hook: a SHA-256 of its declaration, its place and the bytes of its files."""

from __future__ import annotations

import os
from stat import S_ISREG

from hookrun.config import cache
from hookrun.config.discovery import identity
from hookrun.fastjson import dumps, scan
from hookrun.model import Hook
from hookrun.state import cache_dir, now_ns
from hookrun.trust import hook_files as local
from hookrun.trust.hook_files import within
from hookrun.trust.ownership import Owners
from hookrun.trust.store import RULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from hashlib import _Hash as Hash

    from hookrun.process.prepare import HookEnvironment
    from hookrun.trust.hook_files import LocalFile

FORM = f"hookrun trust {RULE}"
"""Version of the digest's input."""

PREFIX = "sha256:"

LARGEST = 256 << 20
"""Limit on the size of a file."""

CHUNK = 1 << 20

SYSTEM = (
    *("/bin/", "/sbin/", "/lib/", "/lib64/", "/usr/", "/opt/", "/nix/store/", "/gnu/store/", "/snap/", "/System/"),
    *("/etc/", "/proc/", "/sys/"),
)
"""Directories of the system, whose files change with updates."""

FOR_PEOPLE = frozenset({"description", "metadata"})
"""Fields that do not affect what runs, when, or how."""

FROM_OTHERS = frozenset({"layer", "source", "line", "look", "words", "error"})
"""Fields that follow from others, and the declaration's place."""

IN_ANY_ORDER = frozenset({"events", "matcher", "agents", "files", "state", "allowed_env"})
"""Lists whose order has no meaning."""

LABELS = frozenset({"base", "home", "own", "twins"})
"""Keys of `claude` that depend on the project's place and on other hooks."""

DEFAULTS = Hook(name="", events=()).to_dict()


class UnreadableFileError(Exception):
    """A file of a hook that cannot be hashed; the message says why."""


def declaration(hook: Hook, root: str, home: str) -> str:
    """Return the canonical text of a declaration.

    It has the file, relative to the project's root, and every significant field that differs from its default, no
    matter whether the hook, `defaults` or an included file sets it.
    """
    fields = hook.to_dict()
    said = [
        [name, _settled(name, fields[name])]
        for name in sorted(fields.keys() - FOR_PEOPLE - FROM_OTHERS)
        if fields[name] != DEFAULTS.get(name)
    ]
    return dumps([FORM, place(hook.source, root, home), said])


def place(source: str, root: str, home: str) -> str:
    """Return a path relative to the project's root, with `~/` in the home directory, or absolute."""
    path = os.path.normpath(source)
    for base, name in ((root, ""), (home, "~/")):
        if within(path, base):
            return name + path[len(base.rstrip("/")) + 1 :]
    return path


def _settled(name: str, value: object) -> object:
    if isinstance(value, dict):
        return [[key, value[key]] for key in sorted(value) if name != "claude" or key not in LABELS]
    if name in IN_ANY_ORDER and isinstance(value, (list, tuple)):
        return sorted(value)
    return value


def digest_of(declared: str, files: Iterable[LocalFile], root: str, owners: Owners) -> str:
    """Return the digest of a hook: `sha256:` and 64 hexadecimal digits.

    `declared` is what `declaration` returned. System files outside the project are left out; of a project's link to
    one, the target is included. Raises UnreadableFileError.
    """
    real_root = owners.resolve_and_check(root)[0]
    contents: list[list[str]] = []
    for file in files:
        real = owners.resolve_and_check(file.path)[0]
        inside = within(real, real_root)
        if inside or not real.startswith(SYSTEM):
            contents.append([file.label, sum_of(file)])
        elif within(os.path.normpath(file.path), root):
            contents.append([file.label, f"link to {real}"])
    made = sha256()
    made.update(dumps([declared, sorted(contents)]).encode("ascii"))
    return PREFIX + made.hexdigest()


def sum_of(file: LocalFile) -> str:
    """Return the SHA-256 of a file that has not changed since it was found. Raises UnreadableFileError."""
    made = sha256()
    try:
        fd = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            if not S_ISREG(os.fstat(fd).st_mode) or file.identity[2] > LARGEST:
                raise UnreadableFileError(f"{file.path} is no file of at most {LARGEST >> 20} MiB")
            before = identity(fd)
            while chunk := os.read(fd, CHUNK):
                made.update(chunk)
            if (before, identity(fd)) != (file.identity, file.identity):
                raise UnreadableFileError(f"{file.path} changed while it was read")
        finally:
            os.close(fd)
    except OSError as error:
        raise UnreadableFileError(f"{file.path} cannot be read ({error.strerror})") from None
    return made.hexdigest()


def sha256() -> Hash:
    """Return a new SHA-256 of the bare C implementation: importing `hashlib` costs more than hashing."""
    for name in ("_sha2", "_sha256"):  # Python 3.12 and later, 3.11
        try:
            made: Hash = __import__(name).sha256()
        except ImportError:
            continue
        return made
    import hashlib

    return hashlib.sha256()


VERSION = 1
YOUNG = 2_000_000_000
"""Nanoseconds within which a file can change again without its times showing it (FAT has a resolution of 2 s)."""

MOST_HOOKS = 1000
"""Limit on cached digests of a project."""


class DigestCache:
    """A cache of digests by declaration and file identities. Unreadable entries are computed again."""

    def __init__(self, home: str, root: str) -> None:
        self._home = home
        name = root.encode("utf-8", "surrogateescape")
        self._path = f"{cache_dir(home)}/{int.from_bytes(name, 'big') % ((1 << 127) - 1):032x}.trust.json"
        self._root = root
        self._known: dict[str, list[object]] = {}
        self._changed = False
        try:
            data, _ = scan(cache.unseal(cache.read_own(self._path)), 0)
            if isinstance(data, dict) and (data["version"], data["root"]) == (VERSION, root):
                self._known = dict(data["hooks"])
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def digest(self, declared: str, files: list[LocalFile]) -> str | None:
        """Return the digest of a declaration with these files, None if it is not cached."""
        known = self._known.get(declared)
        if isinstance(known, list) and known[1:] == [file.to_list() for file in files] and isinstance(known[0], str):
            return known[0]
        return None

    def remember(self, declared: str, files: list[LocalFile], digest: str) -> None:
        """Add a digest, unless one of the files is too young to be known by its times."""
        now = now_ns()
        if all(abs(now - file.identity[4]) > YOUNG for file in files):
            self._known[declared] = [digest, *(file.to_list() for file in files)]
            self._changed = True

    def keep(self) -> None:
        """Write new digests to disk; failure to do so is ignored."""
        if not self._changed:
            return
        from hookrun.config.cache_writer import write

        hooks = dict(list(self._known.items())[-MOST_HOOKS:])
        try:
            write(
                cache.seal(dumps({"version": VERSION, "root": self._root, "hooks": hooks})),
                self._path,
                cache_dir(self._home),
            )
        except (OSError, ValueError, TypeError):
            return


class Inspection:
    """A hook's `digest` and `files`, or the `problem` that prevents its approval."""

    __slots__ = ("digest", "files", "problem")

    def __init__(self, digest: str, files: list[LocalFile], problem: str | None = None) -> None:
        self.digest = digest
        self.files = files
        self.problem = problem


class HookInspector:
    """Inspects hooks of the project at `root`: their files, whether other accounts could change them, their digest.

    `owners` are accounts, besides this one and root, whose files are trusted.
    """

    def __init__(self, home: str, root: str, around: HookEnvironment, owners: Iterable[int] = ()) -> None:
        self.home = home
        self.root = root
        self._around = around
        self._owners = owners
        self._identities: DigestCache | None = None

    def inspect(self, hook: Hook) -> Inspection:
        """Return the hook's current state, with a cached digest if no file has changed."""
        try:
            return self._inspect(hook)
        except Exception as error:  # whatever an untrusted project does affects only its own hook
            return Inspection("", [], f"it cannot be looked at ({type(error).__name__}: {error})")

    def _inspect(self, hook: Hook) -> Inspection:
        try:
            files = self.files(hook)
        except local.UnfitFilesError as error:
            return Inspection("", [], str(error))
        owners = Owners(self._owners)
        for file in files:
            real, problem = owners.resolve_and_check(file.path)
            if problem is not None and not real.startswith(SYSTEM):
                return Inspection("", files, problem)
        if self._identities is None:
            self._identities = DigestCache(self.home, self.root)
        declared = declaration(hook, self.root, self.home)
        # Nothing is hashed while declaration and identities are those of the last run.
        digest = self._identities.digest(declared, files)
        if digest is None:
            try:
                digest = digest_of(declared, files, self.root, owners)
            except UnreadableFileError as error:
                return Inspection("", files, str(error))
            self._identities.remember(declared, files, digest)
        return Inspection(digest, files)

    def files(self, hook: Hook) -> list[LocalFile]:
        """Return the files of the hook. Raises UnfitFilesError."""
        environment = self._around.variables(hook, b"")
        cwd = self._around.directory(hook, environment)
        return local.files_of(hook, environment, cwd, self.root)

    def keep(self) -> None:
        """Cache the digests for the next run."""
        if self._identities is not None:
            self._identities.keep()
