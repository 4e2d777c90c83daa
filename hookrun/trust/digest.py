"""The digest of a hook: one SHA-256 over where it is declared, what is declared, and the bytes of its files."""

from __future__ import annotations

import os
from stat import S_ISREG

from hookrun.fastjson import dumps
from hookrun.model import Hook
from hookrun.trust.files import BY_PATH, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from hookrun.trust.files import LocalFile
    from hookrun.trust.owners import Owners

    class Hash(Protocol):
        """As much of a hash object as is used here."""

        def update(self, data: bytes, /) -> None:
            """Take more data in."""

        def hexdigest(self) -> str:
            """Return the digest of all that was taken in."""


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


class UnreadableError(Exception):
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


def digest(declared: str, files: Iterable[LocalFile], root: str, owners: Owners) -> str:
    """Return the digest of a hook: `sha256:` and 64 hexadecimal digits.

    `declared` is what `declaration` returned. Files of the system that lie outside the project are not in it; a link
    of the project that leads to one is, by where it leads. Raises UnreadableError.
    """
    real_root = owners.walk(root)[0]
    contents: list[list[str]] = []
    for file in files:
        real = owners.walk(file.path)[0]
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
    """Return the SHA-256 of a file that is still what it was when it was found. Raises UnreadableError."""
    made = sha256()
    try:
        fd = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            if not S_ISREG(os.fstat(fd).st_mode) or file.identity[2] > LARGEST:
                raise UnreadableError(f"{file.path} is no file of at most {LARGEST >> 20} MiB")
            before = _identity(fd)
            while chunk := os.read(fd, CHUNK):
                made.update(chunk)
            if (before, _identity(fd)) != (file.identity, file.identity):
                raise UnreadableError(f"{file.path} changed while it was read")
        finally:
            os.close(fd)
    except OSError as error:
        raise UnreadableError(f"{file.path} cannot be read ({error.strerror})") from None
    return made.hexdigest()


def _identity(fd: int) -> tuple[int, int, int, int, int]:
    status = os.fstat(fd)
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


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
