"""Run the `python` hooks of a layer one by one in a forked child that imports only once.

A hook gets its own streams, environment, working directory and limits, as in its own child. What it leaves is undone;
if it cannot be (a thread, a process, an open file, a nonzero exit), the child exits with the hook, and the next one
gets another. Only modules of the interpreter, installed packages and hookrun stay loaded.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # see child.py
import _socket
import gc
import os
import sys

from hookrun import fastjson
from hookrun.process import python_hook, spawn
from hookrun.process.child import NOT_STARTED, STANDARD, WATCHER, chdir
from hookrun.process.python_state import OWN, State, forget_shadowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Variables = Mapping[bytes, bytes]

RECIPES = "hookrun.recipes."
"""Beginning of hookrun's own functions: they leave nothing to undo in the interpreter."""
INTEGER = 4
"""Bytes of a length or a descriptor in a message."""
STREAMS = 3


class Hosts:
    """A run's children that wait for another hook, and those to be reaped."""

    def __init__(self) -> None:
        self._idle: list[Host] = []
        self._ended: list[int] = []

    @staticmethod
    def leased(start: object, marker: bytes) -> HostLease | None:
        """Return a hook's start if it is one of ours, with its marker set."""
        if not isinstance(start, HostLease):
            return None
        start.marker = marker
        return start

    def take(self, layer: str, directory: str, inherited: Variables) -> Host | None:
        """Return a child of the same layer, directory and environment; end those of other layers."""
        for host in self._idle[:]:
            if host.layer != layer:
                self._idle.remove(host)
                self.end(host)
            elif host.directory == directory and host.inherited == inherited:
                self._idle.remove(host)
                return host
        return None

    def put(self, host: Host) -> None:
        """Keep a child for the next hook."""
        self._idle.append(host)

    def end(self, host: Host) -> None:
        """End an idle child."""
        host.control.close()
        os.kill(host.pid, _signal.SIGKILL)
        self._ended.append(host.pid)

    def close(self) -> None:
        """End all waiting children. `reap` takes their exit status."""
        while self._idle:
            self.end(self._idle.pop())

    def reap(self) -> None:
        """Reap the ended children: called late, to give them time."""
        while self._ended:
            try:
                os.waitpid(self._ended.pop(), 0)
            except ChildProcessError:  # reaped by other code
                continue


class Host:
    """A child that runs hooks, as its parent sees it."""

    def __init__(self, layer: str, directory: str, inherited: Variables, control: _socket.socket) -> None:
        self.layer = layer
        self.directory = directory
        self.inherited = inherited
        self.control = control
        self.pid = 0


class HostLease:
    """A hook's start: in an idle child of `hosts`, else in a new one. To be called once."""

    marker = b""

    def __init__(self, hosts: Hosts, layer: str, target: str, variables: Variables, cwd: str) -> None:
        self._hosts = hosts
        self._layer = layer
        self._target = target
        self._variables = variables
        self._cwd = cwd
        self._host: Host | None = None

    def __call__(self, stdin: int, stdout: int, stderr: int) -> int:
        """Start the hook and return its process id."""
        inherited = {name: value for name, value in self._variables.items() if not name.startswith(OWN)}
        while host := self._hosts.take(self._layer, self._cwd, inherited):
            chdir(self._cwd)
            WATCHER.note(self.marker, host.pid)  # it begins before this returns
            if _send(host.control, self._job(), (stdin, stdout, stderr)):
                self._host = host
                return host.pid
            self._hosts.end(host)
            WATCHER.note(self.marker, NOT_STARTED)
        ours, theirs = _socket.socketpair()
        if theirs.fileno() <= STANDARD:  # closed at Python's start; the child's streams take its number
            ours.close()
            start = spawn.function(lambda: run(self._target, self._cwd), self._variables, self._cwd)
            return start(stdin, stdout, stderr)
        host = Host(self._layer, self._cwd, inherited, ours)

        def child() -> int:
            theirs.detach()  # its number was closed, or is another socket's
            return _serve(_socket.socket(fileno=spawn.KEPT), self._job())

        start = spawn.function(child, self._variables, self._cwd, kept=theirs.fileno())
        host.pid = start(stdin, stdout, stderr)
        theirs.close()
        self._host = host
        return host.pid

    def _job(self) -> bytes:
        """Return the child's message: the hook's mark, function, directory and own variables."""
        own = [each for pair in self._variables.items() if pair[0].startswith(OWN) for each in pair]
        return b"\0".join((self.marker, os.fsencode(self._target), os.fsencode(self._cwd), *own))

    def is_done(self) -> bool:
        """Return whether the hook ended well and its process waits for the next."""
        if self._host is None:
            return False
        try:
            answer = self._host.control.recv(len(self.marker) + 1, _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            answer = b""
        if answer == self.marker:
            return True
        self._host.control.close()
        self._host = None
        return False

    def exit_fd(self) -> int:
        """Return a new descriptor that is readable when it may be done; -1 if the process no longer reports."""
        return os.dup(self._host.control.fileno()) if self._host is not None else -1

    def release(self, *, done: bool, reusable: bool) -> None:
        """Note the hook's end, and whether its process is alive and may run another."""
        host, self._host = self._host, None
        if host is None:
            return
        if done and reusable:
            self._hosts.put(host)
        elif done:
            self._hosts.end(host)
        else:
            host.control.close()


def _send(control: _socket.socket, data: bytes, streams: tuple[int, int, int]) -> bool:
    """Send a message with a hook's streams; return False if the child does not take it."""
    rights = b"".join(fd.to_bytes(INTEGER, sys.byteorder) for fd in streams)
    whole = len(data).to_bytes(INTEGER, "little") + data
    try:
        sent = control.sendmsg([whole], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)], _socket.MSG_DONTWAIT)
    except OSError:
        return False
    return sent == len(whole)


# --- in the child


def _serve(control: _socket.socket, job: bytes) -> int:
    """Run the first hook, then those the parent sends; return the exit status of the one that cannot be undone.

    Exceptions of a hook end the child.
    """
    os.register_at_fork(after_in_child=control.close)
    state = State()
    while True:
        marker, target, directory, _ = _parts(job)
        if target.startswith(RECIPES):
            imported_from = ""
        else:
            imported_from = directory
            state.prepare()
        status = run(target, imported_from)
        if status != 0 or not state.restore(marker, imported_from):
            return status
        control.sendall(marker)
        os.closerange(0, STREAMS)  # at once, so that the parent wakes once
        os.open(os.devnull, os.O_RDWR)  # takes the number 0
        for standard in range(1, STREAMS):
            os.dup2(0, standard)
        job = _receive(control)
        _, _, directory, variables = _parts(job)
        state.set_variables(variables)
        os.chdir(directory)


def run(target: str, directory: str) -> int:
    """Run the function of a hook in this process, without the modules that `json` loads."""
    if not target.startswith(RECIPES):  # they end before garbage matters
        forget_shadowed(directory)
        gc.enable()
    return python_hook.run(target, directory, _loads, _dumps)


def serve(target: str, directory: str) -> int:
    """Run the function of a hook that serves, likewise."""
    forget_shadowed(directory)
    return python_hook.serve(target, directory, _loads, _dumps)


def _loads(text: str) -> object:
    return fastjson.scan(text, 0)[0]


def _dumps(value: object) -> str:
    try:
        return fastjson.dumps(value)
    except (TypeError, ValueError):
        import json

        return json.dumps(value)  # with NaN, which makes the verdict wrong, or its own error


def _parts(job: bytes) -> tuple[bytes, str, str, dict[bytes, bytes]]:
    marker, target, directory, *own = job.split(b"\0")
    return marker, os.fsdecode(target), os.fsdecode(directory), dict(zip(own[::2], own[1::2], strict=True))


def _receive(control: _socket.socket) -> bytes:
    """Wait for the next hook, take its streams, and return the rest of the message; exit if there is none."""
    data, rights, _, _ = control.recvmsg(INTEGER, _socket.CMSG_LEN(STREAMS * INTEGER))
    if len(data) < INTEGER or not rights:
        os._exit(0)
    packed = rights[0][2]
    _attach([int.from_bytes(packed[i : i + INTEGER], sys.byteorder) for i in range(0, len(packed), INTEGER)])
    length = int.from_bytes(data, "little")
    job = bytearray()
    while len(job) < length:
        piece = control.recv(length - len(job))
        if not piece:
            os._exit(0)
        job += piece
    return bytes(job)


def _attach(streams: list[int]) -> None:
    """Make these the standard streams."""
    for standard, fd in enumerate(streams):
        os.dup2(fd, standard)
        os.close(fd)
