"""Read the user's decisions about hooks from the account's private, versioned file.

`Owners` checks who could replace a file: owner and mode of every component of its path, link by link.
"""

from __future__ import annotations

import os
from errno import ELOOP, ENOTDIR
from stat import S_ISDIR, S_ISLNK, S_ISVTX, S_IWGRP, S_IWOTH

from hookrun.core.fastjson import loads
from hookrun.core.state import DATA_DIR, ForeignFileError, read_own
from hookrun.core.text import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypedDict

    class Approved(TypedDict):
        """An approval: the hook's name, its source at that time, the Unix time.

        `roots` are those for which it was given, each with its place. `declaration` is its declaration's SHA-256, so
        that files of one never approved are not hashed. `guards`: at a gate it blocks what it cannot check.
        """

        name: str
        source: str
        roots: dict[str, str]
        time: float
        declaration: str
        guards: bool

    class Disabled(TypedDict):
        """A disabled hook, or all of them (`name` None), between two Unix times, `until` None without an end.

        A project's hook has its `root`, and its digest by which it is known in all others; any other has "" for both.
        """

        name: str | None
        root: str
        digest: str
        time: float
        until: float | None


# Version of the file format.
VERSION = 1

# Limit in seconds on a time for which hooks are disabled: for longer, a hook is disabled without an end, or removed.
MAX_TIME = 24 * 3600

# Limit on links in a path, as in path_resolution(7).
MOST_LINKS = 40

NAME = "trust.json"
AGAIN = "then approve your hooks again"


class StoreError(UserError):
    """The store cannot be trusted and is ignored as a whole; the message says why and what to do."""


class Store:
    """The decisions: `approved` by digest, and `disabled`, the oldest first."""

    __slots__ = ("approved", "disabled")

    def __init__(self) -> None:
        self.approved: dict[str, Approved] = {}
        self.disabled: list[Disabled] = []

    def approve(self, digest: str, entry: Approved) -> None:
        """Add an approval to those for other roots."""
        before = self.approved.get(digest, entry)
        self.approved[digest] = {**entry, "roots": {**before["roots"], **entry["roots"]}}

    def is_approved(self, digest: str, root: str) -> bool:
        """Return whether a digest is approved for a root: this directory, wherever it was, or another worktree of it.

        Another repository may have the same entry for other code, such as its tests.
        """
        entry = self.approved.get(digest)
        if entry is None or root in entry["roots"]:
            return entry is not None
        if place_of(root) in entry["roots"].values():
            return True
        from hookrun.trust.git_files import of_worktree

        mine = of_worktree(root)
        return mine is not None and mine in map(of_worktree, entry["roots"])


def load(home: str, owners: Iterable[int] = ()) -> Store:
    """Return the decisions, empty if there are none. Raises StoreError if they cannot be trusted.

    `owners` are accounts, besides this one and root, that may own the directories above it.
    """
    where = home + DATA_DIR
    try:
        fd = open_directory(where, owners)
    except FileNotFoundError:
        return Store()
    try:
        return read(fd, where)
    finally:
        os.close(fd)


def open_directory(where: str, owners: Iterable[int] = ()) -> int:
    """Return a descriptor of the store's directory. Raises FileNotFoundError, or StoreError if others can write it."""
    try:
        fd = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        what = "a symbolic link, or not a directory" if error.errno in (ELOOP, ENOTDIR) else str(error.strerror)
        raise StoreError(f"{where}: {what}\nhint: remove it, {AGAIN}") from None
    _, problem = Owners(owners).resolve_and_check(where)
    if problem is None and os.fstat(fd).st_uid != os.geteuid():
        problem = f"{where} belongs to another account"
    if problem is None:
        return fd
    os.close(fd)
    raise StoreError(f"only you may have write access to {where}, but {problem}")


def read(fd: int, where: str) -> Store:
    """Return the store in an open directory. Raises StoreError."""
    path = f"{where}/{NAME}"
    text = _text(fd, path)
    if text is None:
        return Store()
    try:
        data = loads(text)
    except ValueError:
        raise StoreError(f"{path}: not valid JSON\nhint: remove it, {AGAIN}") from None
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > VERSION:
        fault = f"{path}: version {version} was written by a newer hookrun; this one reads up to {VERSION}"
        raise StoreError(f"{fault}\nhint: upgrade hookrun, or remove the file, {AGAIN}")
    try:
        return _store(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise StoreError(f"{path}: not an approval store of hookrun\nhint: remove it, {AGAIN}") from None


def _text(fd: int, path: str) -> str | None:
    """Return the file's content, or None. Raises StoreError if others could have written it."""
    try:
        return read_own(NAME, fd).decode("ascii")
    except FileNotFoundError:
        return None
    except ForeignFileError as error:
        fault = f"{error}: only you may have write access"
    except OSError as error:
        fault = "is a symbolic link" if error.errno == ELOOP else f"cannot be read ({error.strerror})"
    except UnicodeDecodeError as error:
        fault = f"cannot be read ({error})"
    raise StoreError(f"{path}: {fault}\nhint: remove it, {AGAIN}")


def _store(data: object) -> Store:
    """Return the store of parsed data. Raises KeyError, TypeError, ValueError or AttributeError if invalid."""
    if not isinstance(data, dict) or data["version"] != VERSION:
        raise ValueError("not a store")
    store = Store()
    for digest, each in data["approved"].items():
        store.approved[digest] = {
            "name": _text_of(each["name"]),
            "source": _text_of(each["source"]),
            "roots": {_text_of(root): _text_of(place) for root, place in each["roots"].items()},
            "time": float(each["time"]),
            "declaration": _text_of(each["declaration"]),
            "guards": bool(each["guards"]),
        }
    store.disabled = [_disabled(each) for each in data["disabled"]]
    return store


def _disabled(each: dict[str, str | float | None]) -> Disabled:
    until = each.get("until")
    return {
        "name": None if each["name"] is None else _text_of(each["name"]),
        "root": _text_of(each["root"]),
        "digest": _text_of(each["digest"]),
        "time": float(each["time"] or 0),
        "until": None if until is None else float(until),
    }


def place_of(root: str) -> str:
    """Return what tells a project's directory from others, also after a move; its real path if it has no repository."""
    try:
        both = os.stat(root), os.stat(f"{root}/.git")  # the number of one alone may be given again
    except OSError:
        return os.path.realpath(root)
    return " ".join(f"{each.st_dev}:{each.st_ino}" for each in both)


def _text_of(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


class Owners:
    """The trusted accounts: this one, root, and `more`.

    Whoever can write to a directory can replace its files, so every directory of a path is checked. Directories with
    the sticky bit (/tmp) are exempt: accounts cannot remove each other's files there.
    """

    def __init__(self, more: Iterable[int] = ()) -> None:
        self._believed = frozenset({os.geteuid(), 0, *more})
        self._fine: set[str] = set()

    def resolve_and_check(self, path: str) -> tuple[str, str | None]:
        """Return an absolute path with links resolved, and the first problem on the way.

        The problem is a clause with what to do, or None.
        """
        rest = path.split("/")[::-1]
        at = ""
        links = 0
        wrong = None if "/" in self._fine else self._look("/")[1]
        while rest:
            name = rest.pop()
            if name in ("", "."):
                continue
            if name == "..":
                at = at.rpartition("/")[0]
                continue
            here = f"{at}/{name}"
            if here in self._fine:
                at = here
                continue
            target, problem = self._look(here)
            wrong = wrong or problem
            if target is None:
                at = here
                continue
            links += 1
            if links > MOST_LINKS:
                return here, wrong or f"{path} goes through more than {MOST_LINKS} links"
            if target.startswith("/"):
                at = ""
            rest += target.split("/")[::-1]
        return at or "/", wrong

    def _look(self, path: str) -> tuple[str | None, str | None]:
        """Return the target if the path is a link, and the problem with the path."""
        try:
            status = os.lstat(path)
            if S_ISLNK(status.st_mode):
                return os.readlink(path), self._wrong_owner(path, status)
        except OSError as error:
            return None, f"{path} cannot be inspected ({error.strerror})"
        wrong = self._wrong_owner(path, status) or _wrong_mode(path, status)
        if wrong is None:
            self._fine.add(path)
        return None, wrong

    def _wrong_owner(self, path: str, status: os.stat_result) -> str | None:
        if status.st_uid in self._believed:
            return None
        return f"{path} belongs to account {status.st_uid}: add it to `trusted_owners` if you trust it"


def _wrong_mode(path: str, status: os.stat_result) -> str | None:
    mode = status.st_mode
    if not mode & (S_IWGRP | S_IWOTH) or (S_ISDIR(mode) and mode & S_ISVTX):
        return None
    if mode & S_IWOTH:
        return f"everyone can write to {path}: run `chmod o-w` on it"
    if _is_owners_own(status.st_gid, status.st_uid):
        return None
    return f"group {status.st_gid} can write to {path}: run `chmod g-w` on it"


def _is_owners_own(gid: int, uid: int) -> bool:
    """Return whether the owner is a group's only member, as with user private groups."""
    from grp import getgrgid
    from pwd import getpwuid

    try:
        group, user = getgrgid(gid), getpwuid(uid).pw_name
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def owners_in(settings: Mapping[str, object]) -> list[int]:
    """Return the user ids of the settings' `trusted_owners`, by name or number; unknown ones are left out."""
    names = settings.get("trusted_owners")
    if not isinstance(names, list) or not names:
        return []
    from pwd import getpwnam

    found = []
    for name in map(str, names):
        try:
            found.append(int(name) if name.isdigit() else getpwnam(name).pw_uid)
        except KeyError:
            continue
    return found
