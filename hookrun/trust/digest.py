"""The digest of a hook: one SHA-256 over where it is declared, what is declared, and the bytes of its files."""

from __future__ import annotations

import os
from stat import S_ISREG
from time import time_ns

from hookrun.config import cache
from hookrun.config.discovery import identity
from hookrun.fastjson import dumps, scan
from hookrun.model import Hook
from hookrun.state import cache_dir
from hookrun.trust import hook_files as local
from hookrun.trust.hook_files import BY_PATH, within
from hookrun.trust.ownership import Owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from hookrun.trust.hook_files import LocalFile
    from hookrun.trust.ownership import Owners

    class Hash(Protocol):
        """As much of a hash object as is used here."""

        def update(self, data: bytes, /) -> None:
            """Take more data in."""

        def hexdigest(self) -> str:
            """Return the digest of all that was taken in."""

    from hookrun.model import Hook
    from hookrun.process.prepare import HookEnvironment

FORM = "hookrun trust 1"
"""What a digest is made of, in a word: another making of digests has another."""

PREFIX = "sha256:"

LARGEST = 256 << 20
"""Bytes of a file that is hashed."""

CHUNK = 1 << 20

SYSTEM = (
    *("/bin/", "/sbin/", "/lib/", "/lib64/", "/usr/", "/opt/", "/nix/store/", "/gnu/store/", "/snap/", "/System/"),
    *("/etc/", "/proc/", "/sys/"),
)
"""Where files lie that come with the system and change with it."""

FOR_PEOPLE = frozenset({"description", "metadata"})
"""Fields that change nothing of what runs, when, or how."""

FROM_OTHERS = frozenset({"layer", "source", "line", "look", "words", "error"})
"""Fields that follow from the others, and where the declaration stands."""

IN_ANY_ORDER = frozenset({"events", "matcher", "agents", "files", "allowed_env"})
"""Lists whose order says nothing."""

LABELS = frozenset({"base", "home", "own", "twins"})
"""What `claude` has besides what is declared in the hook: where its project lies, and which others there are."""

DEFAULTS = Hook(name="", events=()).to_dict()


class UnreadableFileError(Exception):
    """A file that belongs to a hook cannot be hashed; the message says why."""


def declaration(hook: Hook, root: str, home: str) -> str:
    """Return what a declaration comes to as text: the same for every spelling of the same thing.

    That is the file it is declared in, by its path from the project's root, and every field that makes a difference and
    is not at its default, whether it stands in the hook, under `defaults` or in an included file.
    """
    fields = hook.to_dict()
    said = [
        [name, _settled(name, fields[name])]
        for name in sorted(fields.keys() - FOR_PEOPLE - FROM_OTHERS)
        if fields[name] != DEFAULTS[name]
    ]
    return dumps([FORM, place(hook.source, root, home), said])


def place(source: str, root: str, home: str) -> str:
    """Return how a file is called wherever the project lies: from its root, from the home directory, or by its path."""
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

    `declared` is what `declaration` returned. Files of the system that lie outside the project are not in it; a link
    of the project that leads to one is, by where it leads. Raises UnreadableFileError.
    """
    real_root = owners.resolve_and_check(root)[0]
    contents: list[list[str]] = []
    for file in files:
        real = owners.resolve_and_check(file.path)[0]
        inside = within(real, real_root)
        if file.label.startswith(BY_PATH) and not inside:
            continue  # the link of a virtual environment: which one is active is not the hook's
        if inside or not real.startswith(SYSTEM):
            contents.append([file.label, sum_of(file)])
        elif within(os.path.normpath(file.path), root):
            contents.append([file.label, f"link to {real}"])
    made = sha256()
    made.update(dumps([declared, sorted(contents)]).encode("ascii"))
    return PREFIX + made.hexdigest()


def sum_of(file: LocalFile) -> str:
    """Return the SHA-256 of a file that is still what it was when it was found. Raises UnreadableFileError."""
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


def _sha256() -> Callable[[], Hash]:
    """Return the C implementation by itself: `hashlib` around it costs more than hashing."""
    for name in ("_sha2", "_sha256"):  # Python 3.12 and later, 3.11
        try:
            made: Callable[[], Hash] = __import__(name).sha256
        except ImportError:
            continue
        return made
    from hashlib import sha256 as made

    return made


def sha256() -> Hash:
    """Return a new SHA-256."""
    return _sha256()()


VERSION = 1
YOUNG = 2_000_000_000
"""Nanoseconds: what changed so shortly before it was hashed can change again and its times not show it (2 s on FAT)."""

MOST_HOOKS = 1000
"""Hooks of one project whose digests are kept."""


class DigestCache:
    """The known digests of the hooks of one project. A cache: what cannot be read or kept is computed again."""

    def __init__(self, home: str, root: str) -> None:
        self._home = home
        name = root.encode("utf-8", "surrogateescape")
        self._path = f"{cache_dir(home)}/{int.from_bytes(name, 'big') % ((1 << 127) - 1):032x}.trust.json"
        self._root = root
        self._known: dict[str, list[object]] = {}
        self._changed = False
        try:
            data, _ = scan(cache.read_own(self._path), 0)
            if isinstance(data, dict) and (data["version"], data["root"]) == (VERSION, root):
                self._known = dict(data["hooks"])
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def digest(self, declared: str, files: list[LocalFile]) -> str | None:
        """Return the digest of what is declared with these very files, None if it is not known."""
        known = self._known.get(declared)
        if isinstance(known, list) and known[1:] == [file.to_list() for file in files] and isinstance(known[0], str):
            return known[0]
        return None

    def remember(self, declared: str, files: list[LocalFile], digest: str) -> None:
        """Take in a digest that was computed now, unless one of the files is too young to be known by its times."""
        now = time_ns()
        if all(abs(now - file.identity[4]) > YOUNG for file in files):
            self._known[declared] = [digest, *(file.to_list() for file in files)]
            self._changed = True

    def keep(self) -> None:
        """Write down what was remembered. That it cannot be written is no failure."""
        if not self._changed:
            return
        from hookrun.config.cache_writer import write

        hooks = dict(list(self._known.items())[-MOST_HOOKS:])
        try:
            write(
                dumps({"version": VERSION, "root": self._root, "hooks": hooks}),
                self._path,
                cache_dir(self._home),
            )
        except (OSError, ValueError, TypeError):
            return


class Inspection:
    """What was found: the hook's `digest` and `files`, or the `problem` for which it cannot be approved at all."""

    __slots__ = ("digest", "files", "problem")

    def __init__(self, digest: str, files: list[LocalFile], problem: str | None = None) -> None:
        self.digest = digest
        self.files = files
        self.problem = problem


class HookInspector:
    """Examines the hooks of the project at `root`, as they would run in these surroundings.

    `owners` are accounts, besides this one and root, whose files are believed.
    """

    def __init__(self, home: str, root: str, around: HookEnvironment, owners: Iterable[int] = ()) -> None:
        self.home = home
        self.root = root
        self._around = around
        self._owners = owners
        self._identities: DigestCache | None = None

    def inspect(self, hook: Hook) -> Inspection:
        """Return what the hook is now. What its files were before is believed only while their identities hold."""
        try:
            return self._inspect(hook)
        except Exception as error:  # whatever a stranger thinks of, it concerns this hook and no other
            return Inspection("", [], f"it cannot be looked at ({type(error).__name__}: {error})")

    def _inspect(self, hook: Hook) -> Inspection:
        files = self.files(hook)
        if files is None:
            return Inspection("", [], f"its files are more than {local.MOST_LOOKED_AT}: name fewer under files")
        owners = Owners(self._owners)
        for file in files:
            real, problem = owners.resolve_and_check(file.path)
            if problem is not None and not real.startswith(SYSTEM):
                return Inspection("", files, problem)
        if self._identities is None:
            self._identities = DigestCache(self.home, self.root)
        declared = declaration(hook, self.root, self.home)
        digest = self._identities.digest(declared, files)
        if digest is None:
            try:
                digest = digest_of(declared, files, self.root, owners)
            except UnreadableFileError as error:
                return Inspection("", files, str(error))
            self._identities.remember(declared, files, digest)
        return Inspection(digest, files)

    def files(self, hook: Hook) -> list[LocalFile] | None:
        """Return the files that belong to the hook as they are now; None for too many."""
        environment = self._around.variables(hook, b"")
        cwd = self._around.directory(hook, environment)
        try:
            return local.files_of(hook, environment, cwd, self.root)
        except local.TooManyFilesError:
            return None

    def keep(self) -> None:
        """Keep for the next fire what was found."""
        if self._identities is not None:
            self._identities.keep()
