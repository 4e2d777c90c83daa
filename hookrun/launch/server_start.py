"""Start the server, after the answer of a cold run that a launcher started for lack of one.

Few imports: the agent waits for the run's end. The server does the rest (serve/server.py).
"""

from __future__ import annotations

import os
import sys
from time import time

from hookrun.core.nesting import nesting_depth, parent_of, runs_inside_hook
from hookrun.core.state import DATA_DIR, open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Reasons for a cold run for which a new server helps; `off` is a launcher without a socket.
WANTED = frozenset({"off", "no-server", "no-greeting", "outdated", "socket-directory", "stopping", "timeout"})
# Seconds after which a failed start is tried again.
RETRY_AFTER = 60.0
# The server's descriptor of `lock_path`, while it starts.
LOCK = 3
# The reason for a cold run of the script `gone`.
DAMAGED = "no-launcher-file"
# Lines of /proc/PID/status that a sandbox changes.
CONFINEMENT = (b"NoNewPrivs:", b"Seccomp:", b"Seccomp_filters:")
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
# The variable that marks build servers.
CI = "CI"


def lock_path(home: str) -> str:
    """Return the file locked while a server starts; it says why the last one could not."""
    return home + DATA_DIR + "/server.lock"


def after_cold_run(home: str, reason: str, settings: Mapping[str, object]) -> None:
    """Start a home's server if the reason for the cold run and the setting `warm` ask for it.

    The next run tries again what fails.
    """
    if reason == DAMAGED:
        _mend_launcher_file(home)
    if reason not in WANTED:
        return
    setting = settings.get("warm")
    try:
        if setting == "off":
            from hookrun.launch import launcher_file

            path = launcher_file.path_in(home)
            if (found := launcher_file.read(path)) is not None:
                launcher_file.update_socket(path, found.command, None)
        elif (
            (setting == "on" or not os.environ.get(CI))
            and os.path.exists(f"{home}{DATA_DIR}/launcher.conf")
            and not nesting_depth()  # a hook's processes end with it
            and not (os.path.exists("/proc/self/environ") and runs_inside_hook())
            and not _is_sandboxed()
        ):
            _start(home, blocks=settings.get("on_error") == "block")
    except OSError:
        return


def _mend_launcher_file(home: str) -> None:
    """Write a missing or damaged launcher.conf of a home with launchers again: the next run then starts a server."""
    from hookrun.launch import launcher_file

    path, fire = launcher_file.path_in(home), sys.orig_argv.index("fire")
    try:
        if os.path.exists(f"{home}{DATA_DIR}/gone") and launcher_file.read(path) is None:
            launcher_file.write(path, os.fsencode(launcher_file.LauncherFile(sys.orig_argv[: fire + 1]).text()))
            from hookrun.trust.launcher_gate import renew

            renew(home)
    except (OSError, ValueError):
        return


def _is_sandboxed() -> bool:
    """Return whether this process is confined and an ancestor is not: a server of this one would serve nobody outside.

    Without /proc (macOS) nothing is known.
    """
    number = os.getppid()
    try:
        own = _confinement(os.getpid())
        while number > 1 and os.stat(f"/proc/{number}").st_uid == os.geteuid():
            if _confinement(number) != own:
                return True
            number = parent_of(number)
    except PermissionError:  # of our own account: a user namespace or Landlock is between us
        return True
    except OSError:
        pass
    return False


def _confinement(process: int) -> list[object]:
    with open(f"/proc/{process}/status", "rb") as file:
        lines = [line for line in file if line.startswith(CONFINEMENT)]
    return [lines, *(os.readlink(f"/proc/{process}/ns/{name}") for name in NAMESPACES)]


def _start(home: str, *, blocks: bool) -> None:
    import fcntl
    import resource

    if resource.getrlimit(resource.RLIMIT_CPU)[0] != resource.RLIM_INFINITY:  # a worker's runs would add up
        return
    lock = open_private(lock_path(home), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: one is starting
        status = os.fstat(lock)
        if not status.st_size or abs(time() - status.st_mtime) > RETRY_AFTER:  # the clock may have been set back
            os.pwrite(lock, b"it did not come up\n", 0)  # until it has
            _spawn(home, lock, ["--blocks"] * blocks)
    finally:
        os.close(lock)


def _spawn(home: str, lock: int, options: list[str]) -> None:
    """Start the server in its own session; of this process it keeps only the lock."""
    words = sys.orig_argv[1 : sys.orig_argv.index("fire")]
    command = [sys.executable, *(os.path.abspath(word) if word.endswith(".py") else word for word in words)]
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.set_inheritable(lock, True)  # noqa: FBT003
        os.posix_spawn(
            command[0],
            [*command, "serve", "--daemon", "--home", home, *options],
            {"HOME": home, "PATH": "/usr/bin:/bin"},
            file_actions=[
                *((os.POSIX_SPAWN_DUP2, nothing, standard) for standard in (0, 1, 2)),
                (os.POSIX_SPAWN_DUP2, lock, LOCK),
            ],
            setsid=True,
        )
    finally:
        os.close(nothing)
