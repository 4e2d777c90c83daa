"""Start the server, in a cold run that a launcher started for want of one, after it has answered.

Few imports: the run that starts the server waits for this.
"""

from __future__ import annotations

import os
from time import time

from hookrun import launcher_file, server_socket
from hookrun.process.prepare import nesting_depth, runs_inside_hook
from hookrun.process.spawn import RESTORED, set_cloexec_on_inherited
from hookrun.state import make_private_dir

WANTED = frozenset({"off", "no-server", "no-greeting", "outdated", "socket-directory", "stopping", "timeout"})
"""Why a run was cold, where a new server helps; `off` is a launcher that knows no socket."""
HUNG = frozenset({"no-greeting", "timeout"})
RETRY_AFTER = 60.0
"""Seconds after which a server is started again that could not listen."""
LOCK = 3
"""The server's descriptor of its lock, which tells others that it runs."""
CI = "CI"
"""The variable by which a build server is known."""


def after_cold_run(home: str, reason: str, setting: object) -> None:
    """Start the server of a home if the run's reason for being cold, and the setting `warm`, ask for it.

    The launchers learn where it is. What fails is tried again by the next run.
    """
    try:
        _make_warm(home, reason, setting)
    except OSError:
        return


def _make_warm(home: str, reason: str, setting: object) -> None:
    path = launcher_file.path_in(home)
    found = launcher_file.read(path)
    if found is None or reason not in WANTED:
        return
    if setting == "off":
        launcher_file.update_socket(path, found.command, None)
        return
    if (os.environ.get(CI) and setting != "on") or _inside_hook():
        return
    base = server_socket.socket_base(home, found.socket)
    launcher_file.update_socket(path, found.command, base)
    if base is None:
        return
    make_private_dir(os.path.dirname(base))
    socket = server_socket.socket_here(base)
    lock = take_lock(socket) if server_socket.is_private(os.path.dirname(base)) else None
    if lock is None:
        if reason in HUNG:
            os.unlink(socket)  # one that does not answer: nobody is to wait for it again
        return
    try:
        status = os.fstat(lock)
        if not status.st_size or time() - status.st_mtime > RETRY_AFTER:
            spawn([*found.command[:-1], "serve", "--daemon", "--socket", socket], home, lock)
    finally:
        os.close(lock)


def _inside_hook() -> bool:
    """Return whether a hook has started this: its processes are to end with it."""
    return bool(nesting_depth()) or (os.path.exists("/proc/self/environ") and runs_inside_hook())


def take_lock(socket: str) -> int | None:
    """Return a descriptor of the server's lock, None while there is a server. Raises OSError.

    The lock lasts as long as the descriptor, also in a process that inherits it. The file says why the last server
    could not start; it is empty where one could.
    """
    import fcntl

    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(f"{socket}.lock", flags, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def spawn(argv: list[str], home: str, lock: int) -> int:
    """Start the server in a session of its own, with nothing of this process but the lock. Raises OSError."""
    set_cloexec_on_inherited()
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        return os.posix_spawn(
            argv[0],
            argv,
            {"HOME": home, "PATH": "/usr/bin:/bin"},
            file_actions=[
                *((os.POSIX_SPAWN_DUP2, nothing, standard) for standard in (0, 1, 2)),
                (os.POSIX_SPAWN_DUP2, lock, LOCK),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=RESTORED,
        )
    finally:
        os.close(nothing)
