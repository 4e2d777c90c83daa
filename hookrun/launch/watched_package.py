"""Notice that the server is out of date: the package, the interpreter or another loaded package has changed.

Imports little: a server looks at the package before importing what it serves.
"""

from __future__ import annotations

import os
import select
import sys
from time import monotonic

from hookrun.launch.server_socket import package_files, package_identity

# inotify(7): a file is written, has new attributes, is moved, made or removed, or the directory itself is.
CHANGES = 0x2 | 0x4 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
# Seconds between looks at the interpreter and the installed packages.
LOOK_EVERY = 1.0

Identity = tuple[int, int, int]


class WatchedPackage:
    """The package as it was at the server's start, and later everything else loaded."""

    def __init__(self) -> None:
        self.identity = package_identity()
        """The strings in the socket's name; empty once the package has changed."""
        self._root = _stat(_package())[:2]
        self._others: dict[str, Identity] = {}
        self._looked = 0.0
        self._in_doubt = False
        try:
            self._fd = _watch({os.path.dirname(path) for path in package_files()})
        except OSError:  # it is being replaced
            self._fd = -1
            self.identity = []
        if package_identity() != self.identity:
            self.identity = []  # changed meanwhile
        self._add_others([os.path.realpath(sys.executable), str(os.__file__)])

    def all_loaded(self) -> None:
        """Watch the installed packages' directories, too, now that all is loaded."""
        tops = (module for name, module in list(sys.modules.items()) if "." not in name and name != "hookrun")
        files = (getattr(module, "__file__", None) or "" for module in tops)
        places = (os.path.dirname(file) for file in files if "-packages/" in file)  # site-packages, dist-packages
        self._add_others({place if place.endswith("-packages") else os.path.dirname(place) for place in places})

    def register(self, poll: select.poll) -> None:
        """Have changes end a wait, so that no server stays longer than it is of use."""
        if self._fd >= 0:
            poll.register(self._fd, select.POLLIN)

    def unregister(self, poll: select.poll) -> None:
        """Have changes no longer end a wait: a server waiting for its last runs ignores them."""
        if self._fd >= 0:
            poll.unregister(self._fd)

    def has_changed(self) -> bool:
        """Return whether something differs from what was loaded."""
        if not self.identity or _stat(_package())[:2] != self._root or self._have_others_changed():
            return True
        if self._fd >= 0:
            try:
                os.read(self._fd, 1 << 16)  # always: unread data ends every wait
                self._in_doubt = True
            except BlockingIOError:
                if not self._in_doubt:
                    return False
        try:
            os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return False  # no free descriptor to look at the modules: done at the next call
        self._in_doubt = False
        if package_identity() != self.identity:
            self.identity = []
        return not self.identity

    def _add_others(self, paths: list[str] | set[str]) -> None:
        self._others |= {path: _stat(path) for path in paths}

    def _have_others_changed(self) -> bool:
        """Look at the interpreter and the installed packages' directories, at most once a second."""
        now = monotonic()
        if now - self._looked >= LOOK_EVERY:
            self._looked = now
            if any(_stat(path) != status for path, status in self._others.items()):
                self.identity = []
        return not self.identity


def _package() -> str:
    """Return the package's directory: another may take its place."""
    return os.path.dirname(os.path.dirname(__file__))


def _stat(path: str) -> Identity:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _watch(directories: set[str]) -> int:
    """Return a descriptor that a change in one of the directories makes readable, -1 if there can be none."""
    if sys.platform != "linux":
        return -1
    import ctypes

    library = ctypes.CDLL(None)
    fd = int(library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    if fd < 0:
        return -1
    if any(library.inotify_add_watch(fd, os.fsencode(each), CHANGES) < 0 for each in directories):
        os.close(fd)
        return -1
    return fd
