"""Check who could replace a file: owner and mode of every component of its path, link by link."""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_ISVTX, S_IWGRP, S_IWOTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_LINKS = 40
"""Limit on links in one path, as in path_resolution(7)."""


class Owners:
    """The trusted accounts: this one, root, and `more`.

    Whoever can write to a directory can replace the files in it, so every directory of a path is checked. Directories
    with the sticky bit (/tmp) are exempt: accounts cannot remove each other's files there.
    """

    def __init__(self, more: Iterable[int] = ()) -> None:
        self._believed = frozenset({os.geteuid(), 0, *more})
        self._fine: set[str] = set()

    def resolve_and_check(self, path: str) -> tuple[str, str | None]:
        """Return the target of an absolute path with links resolved, and the first problem on the way.

        The problem is a clause that says what to do; None if there is none.
        """
        rest = path.split("/")[::-1]
        at = ""
        links = 0
        wrong = self._wrong("/")
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
        """Return the link's target if the path is a link, and the problem with the path."""
        try:
            status = os.lstat(path)
            if not S_ISLNK(status.st_mode):
                return None, self._wrong(path, status)
            return os.readlink(path), self._wrong_owner(path, status)
        except OSError as error:
            return None, f"{path} cannot be inspected ({error.strerror})"

    def _wrong(self, path: str, status: os.stat_result | None = None) -> str | None:
        if path in self._fine:
            return None
        status = status or os.lstat(path)
        wrong = self._wrong_owner(path, status) or _wrong_mode(path, status)
        if wrong is None:
            self._fine.add(path)
        return wrong

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
    """Return whether the owner is the only member of a group, as with user private groups."""
    from grp import getgrgid
    from pwd import getpwuid

    try:
        group, user = getgrgid(gid), getpwuid(uid).pw_name
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def uids(names: Iterable[object]) -> list[int]:
    """Return the user ids of accounts given by name or number; unknown ones are left out."""
    from pwd import getpwnam

    found = []
    for name in map(str, names):
        try:
            found.append(int(name) if name.isdigit() else getpwnam(name).pw_uid)
        except KeyError:
            continue
    return found
