"""Who could put something else in the place of a file: the owner and mode of all that leads to it, link by link."""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_ISVTX, S_IWGRP, S_IWOTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_LINKS = 40
"""Links that are followed on one way, as the system does (path_resolution(7))."""


class Owners:
    """The accounts whose files are believed: this one, root, and those that are given.

    Whoever may write a directory may put another file into it, so each directory on the way counts as the file does,
    but for one with the sticky bit (/tmp): there nobody removes what belongs to somebody else.
    """

    def __init__(self, more: Iterable[int] = ()) -> None:
        self._believed = frozenset({os.geteuid(), 0, *more})
        self._fine: set[str] = set()

    def resolve_and_check(self, path: str) -> tuple[str, str | None]:
        """Return where an absolute path leads when links are followed, and the first thing that is wrong on the way.

        What is wrong is part of a sentence and says what to do; None when nothing is.
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
                return here, wrong or f"{path} leads through more than {MOST_LINKS} links"
            if target.startswith("/"):
                at = ""
            rest += target.split("/")[::-1]
        return at or "/", wrong

    def _look(self, path: str) -> tuple[str | None, str | None]:
        """Return where the path leads if it is a link, and what is wrong with it."""
        try:
            status = os.lstat(path)
            if not S_ISLNK(status.st_mode):
                return None, self._wrong(path, status)
            return os.readlink(path), self._wrong_owner(path, status)
        except OSError as error:
            return None, f"{path} cannot be looked at ({error.strerror})"

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
        return f"{path} belongs to another account ({status.st_uid}): name it under trusted_owners if you believe it"


def _wrong_mode(path: str, status: os.stat_result) -> str | None:
    mode = status.st_mode
    if not mode & (S_IWGRP | S_IWOTH) or (S_ISDIR(mode) and mode & S_ISVTX):
        return None
    if mode & S_IWOTH:
        return f"everybody can write {path}: chmod o-w it"
    if _is_owners_own(status.st_gid, status.st_uid):
        return None
    return f"a group ({status.st_gid}) can write {path}: chmod g-w it"


def _is_owners_own(gid: int, uid: int) -> bool:
    """Tell whether a group is its owner's alone, as many systems give one to each account."""
    from grp import getgrgid
    from pwd import getpwuid

    try:
        group, user = getgrgid(gid), getpwuid(uid).pw_name
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def uids(names: Iterable[object]) -> list[int]:
    """Return the numbers of accounts that are given by name or number; an unknown one is nobody."""
    from pwd import getpwnam

    found = []
    for name in map(str, names):
        try:
            found.append(int(name) if name.isdigit() else getpwnam(name).pw_uid)
        except KeyError:
            continue
    return found
