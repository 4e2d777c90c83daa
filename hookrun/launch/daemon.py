"""Become the server of a home: find its socket, load what runs need, serve, and tell the launchers."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import socket
from collections.abc import Callable

from hookrun.agents import AGENTS, load
from hookrun.core.files import remove_if_there
from hookrun.core.state import make_private_dir
from hookrun.edit.file_change import FileError
from hookrun.launch import launcher_file, server_socket
from hookrun.launch.server import IDLE_LIMIT, Server
from hookrun.launch.server_start import LOCK
from hookrun.launch.watched_package import WatchedPackage
from hookrun.process.spawn import restore_signals
from hookrun.recipes import RECIPES
from hookrun.shell.syntax_tree import parse
from hookrun.wiring.launchers import renew_launchers
from hookrun.wiring.wired_command import HookrunProgram

# Why a server ends before it serves; the next run starts another.
CHANGED = "hookrun was changed while it was loaded"
# What runs import late, each with what it imports itself.
PRELOADED = """
    hookrun.__main__ hookrun.claude.answer hookrun.claude.matcher hookrun.core.audit hookrun.core.credentials
    hookrun.core.engine hookrun.core.session hookrun.fire.agent hookrun.fire.command hookrun.fire.lost
    hookrun.fire.response hookrun.launch.server_start hookrun.process.orphans hookrun.process.python_child
    hookrun.process.recipe_calls hookrun.shell.evaluate hookrun.shell.named_files hookrun.shell.parse_line
    hookrun.trust.approvals hookrun.trust.digest hookrun.trust.hook_files
"""
# Seconds that clients wait for a greeting.
ANSWERS_WITHIN = 2.0


def preload() -> None:
    """Import the modules of runs, of recipes and of all agents, so that workers share them."""
    for name in ("json", *PRELOADED.split(), *(f"hookrun.recipes.{recipe}" for recipe in RECIPES)):
        importlib.import_module(name)
    for agent in AGENTS:
        load(agent)
    parse(b"")  # loads tree-sitter
    gc.collect()
    gc.freeze()
    gc.disable()


def serve(
    path: str,
    home: str,
    package: WatchedPackage,
    idle_limit: float = IDLE_LIMIT,
    on_ready: Callable[[], object] = bool,
    *,
    blocks: bool = False,
) -> str | None:
    """Serve a home at a socket until the end; return why that is not possible, else None.

    `blocks`: failures do so far.
    """
    lock: int | None = None
    try:
        lock = server_socket.take_lock(path)
        if lock is None:
            if answers(path):
                on_ready()
                return None
            if (found := server_socket.listening(path)) is not None:  # a silent server
                server_socket.end_server(path, found[0])
            lock = server_socket.take_lock(path)
            if lock is None:
                return f"the server at {path} does not answer"
        if os.path.dirname(path) == server_socket.run_directory(home):
            server_socket.sweep(os.path.dirname(path))
        preload()
        package.all_loaded()
        if package.has_changed():
            server_socket.release_lock(path, lock)
            return CHANGED
        server = Server(path, lock, package, idle_limit, blocks=blocks)
        server.listen(home)
        on_ready()
    except (OSError, ImportError) as error:
        if lock is not None:
            server_socket.release_lock(path, lock)
        if isinstance(error, OSError):
            return f"cannot listen at {path}: {error.strerror or error}"  # Python's own error has no strerror
        return CHANGED if package.has_changed() else f"cannot be loaded: {error}"
    server.run()
    return None


def answers(path: str) -> bool:
    """Return whether the server at a socket greets; if not, remove the socket, so that no client waits again."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(ANSWERS_WITHIN)
        try:
            with server_socket.directory_of(path) as name:
                client.connect(name)
            if client.recv(1):
                return True
        except OSError:
            pass
    remove_if_there(path)
    return False


def main(argv: list[str], package: WatchedPackage) -> int:
    """Be the server that a cold run started with `--home DIR [--blocks]`; return the exit status."""
    os.set_inheritable(LOCK, False)  # noqa: FBT003
    os.chdir("/")
    os.umask(0o077)
    restore_signals()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)  # as in every Python
    home = argv[argv.index("--home") + 1]
    found = launcher_file.read(launcher_file.path_in(home))
    if found is None:
        return 1
    failure = _serve_launchers(home, found.command, package, blocks="--blocks" in argv)
    if failure is None:
        return 0
    os.ftruncate(LOCK, 0)
    if failure != CHANGED:
        os.pwrite(LOCK, f"{failure}\n".encode(), 0)
    return 1


def _serve_launchers(home: str, command: list[str], package: WatchedPackage, *, blocks: bool) -> str | None:
    """Point a home's launchers to this server and serve; return why that fails, or None."""
    base = server_socket.socket_base(home, identity=package.identity)
    renewed = HookrunProgram.started_by(command).cold_command()
    try:
        renew_launchers(home, renewed)  # first: no other version's may find this server
    except (OSError, FileError) as error:
        return f"a launcher cannot be renewed: {str(error).partition(os.linesep)[0]}"
    launcher_file.update_socket(launcher_file.path_in(home), command, base, renewed)
    if base is None:
        return "the path of the home has a line break"
    make_private_dir(os.path.dirname(base))
    if not server_socket.is_private(os.path.dirname(base)):
        return f"{os.path.dirname(base)} is open to others"
    return serve(server_socket.socket_here(base), home, package, on_ready=_started, blocks=blocks)


def _started() -> None:
    """Allow the start of another server after this one."""
    os.ftruncate(LOCK, 0)
    os.close(LOCK)
