"""Where there is no server, or an odd one, the client becomes the cold command; without that, `gone`."""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import termios
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.client.fake_server import Request, ended, listen
from tests.python_launcher import LONGEST_GREETING
from tests.waiting import until, vary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.client.conftest import Launcher

GONE = (0, "gone|claude Stop --deadline 5\n", "")


def cold(reason: str) -> tuple[int, str, str]:
    """Return the result of the recorder with this reason, standard input read by it."""
    return 7, f"cold|fire|--agent|claude|--cold|{reason}|Stop|--deadline|5\na message", ""


def run(launcher: Launcher) -> tuple[int, str, str]:
    """Run the launcher with the arguments that `cold` and GONE have."""
    return launcher.run("Stop", "--deadline", "5")


def test_what_the_conf_says_of_the_socket(launcher: Launcher) -> None:
    """Without its line never warm; a path that no socket can have is not cut; unknown lines are of a later release."""
    first, _, *others = launcher.lines()
    launcher.write_conf([first, *others])
    assert run(launcher) == cold("off")
    launcher.write_conf([first, f"socket /{'x' * 100}/0123456789abcdef", *others])
    assert run(launcher) == cold("no-server")
    launcher.write_conf([first, f"socket /{'x' * 100}", *others])
    assert run(launcher) == cold("socket-path")
    launcher.write_conf([*launcher.lines(), "colour blue", "", "execute x"])
    assert run(launcher) == cold("no-server")


def test_no_server(launcher: Launcher) -> None:
    """No socket, no directory, and a socket without a listener."""
    assert run(launcher) == cold("no-server")
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(launcher.socket))
    assert run(launcher) == cold("no-server")
    launcher.socket.unlink()
    launcher.run_directory.rmdir()
    assert run(launcher) == cold("no-server")


def test_a_full_queue(launcher: Launcher) -> None:
    """The server accepts no connection and its queue is full: the client does not wait."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(launcher.socket))
        listener.listen(0)
        with socket.socket(socket.AF_UNIX) as first:
            first.connect(str(launcher.socket))
            assert run(launcher) == cold("busy")


def test_something_else_at_the_socket(launcher: Launcher) -> None:
    """A directory or a datagram socket there: cold."""
    launcher.socket.mkdir()
    assert run(launcher) == cold("no-server")
    launcher.socket.rmdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(launcher.socket))
        assert run(launcher) == cold("connect")


def test_a_directory_that_is_open_to_others(launcher: Launcher) -> None:
    """Only a directory of this account, 0700, may hold the socket."""
    launcher.serve(lambda _: pytest.fail("connected"))
    found = {}
    for mode in (0o755, 0o770, 0o710, 0o701, 0o500):
        launcher.run_directory.chmod(mode)
        found[oct(mode)] = run(launcher)
    launcher.run_directory.chmod(0o700)
    assert found == {mode: cold("socket-directory") for mode in found}


def test_a_directory_that_inherited_its_group(launcher: Launcher) -> None:
    """Below a directory with the bit for that, every directory has it."""
    launcher.serve(greeter(b"cold busy\n"))
    launcher.run_directory.chmod(0o2700)
    assert run(launcher) == cold("busy")


def test_a_directory_that_is_a_link(launcher: Launcher, tmp_path: Path) -> None:
    """Who may set the link chooses the server."""
    launcher.serve(lambda _: pytest.fail("connected"))
    launcher.run_directory.rename(tmp_path / "elsewhere")
    launcher.run_directory.symlink_to(tmp_path / "elsewhere")
    assert run(launcher) == cold("socket-directory")
    launcher.run_directory.unlink()


root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@root
def test_a_directory_of_another_account(launcher: Launcher) -> None:
    """An account that made it before us is not connected to."""
    launcher.serve(lambda _: pytest.fail("connected"))
    os.chown(launcher.run_directory, 12345, 12345)
    assert run(launcher) == cold("socket-directory")


@root
def test_a_server_of_another_account(launcher: Launcher) -> None:
    """It is asked of the system who listens; nothing is sent or read."""
    program = """import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.setuid(12345); s.listen()
print("up", flush=True)
c, _ = s.accept(); c.sendall(b"go 0\\n"); print(c.recv(1), flush=True)"""
    command = [sys.executable, "-c", program, str(launcher.socket)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "up\n"
        assert run(launcher) == cold("foreign-server")
        assert server.stdout.readline() in {"b''\n", ""}


def greeter(greeting: bytes) -> Callable[[socket.socket], None]:
    """Return a server that sends this greeting and then sees the client leave without a byte."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(greeting)
        connection.shutdown(socket.SHUT_WR)
        assert ended(connection)

    return serve


def silent(connection: socket.socket) -> None:
    """See the client leave without a byte, to which nothing was sent."""
    assert ended(connection)


def test_greetings(launcher: Launcher) -> None:
    """A word from the server is the reason; anything but the three greetings, and any part of one, is none."""
    reasons = {
        b"cold busy\n": "busy",
        b"cold foreign-namespace\n": "foreign-namespace",
        b"cold " + b"x" * 58 + b"\n": "x" * 58,
    }
    odd = [
        *(b"cold " + b"x" * 59 + b"\n", b"cold \n", b"cold --agent\n", b"cold Two Words\n", b"cold a\0b\n"),
        *(b"go 2\n", b"go 0\n\n", b"go 0\nX\0", b"go 0 \n", b"go\n", b"g\0 0\n", b"\n", b"\xff" * 1000),
        *(b"", b"c", b"co", b"col", b"cold", b"go 0", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    ]
    greetings = iter([*reasons, *odd])

    def serve(connection: socket.socket) -> None:
        greeter(next(greetings))(connection)

    launcher.serve(serve)
    found = {greeting: run(launcher) for greeting in [*reasons, *odd]}
    expected = {greeting: cold(reasons.get(greeting, "no-greeting")) for greeting in found}
    assert found == expected


def test_a_greeting_in_pieces(launcher: Launcher) -> None:
    """Pieces are put together."""

    def serve(connection: socket.socket) -> None:
        for byte in b"go 0\n":
            connection.sendall(bytes([byte]))
            until(lambda: has_read_all(connection), "the client does not read")
        Request(connection)
        connection.sendall(b"X\x06")

    launcher.serve(serve)
    assert run(launcher) == (6, "", "")


def has_read_all(connection: socket.socket) -> bool:
    """Return whether the other end has read what was sent."""
    return fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)) == bytes(4)


@pytest.mark.slow
def test_a_silent_server(launcher: Launcher) -> None:
    """Two seconds, then cold."""
    launcher.serve(silent)
    assert run(launcher) == cold("timeout")


@pytest.mark.slow
def test_a_server_that_greets_too_slowly(launcher: Launcher) -> None:
    """The two seconds are for the whole line, not for each byte."""

    def serve(connection: socket.socket) -> None:
        with suppress(BrokenPipeError):
            for _ in range(LONGEST_GREETING - 1):
                connection.sendall(b"x")
                vary(0.2)
            pytest.fail("the client was still waiting")

    launcher.serve(serve)
    assert run(launcher) == cold("timeout")


def test_a_server_that_closes_when_it_has_greeted(launcher: Launcher) -> None:
    """No byte of the request arrived anywhere: the run is cold."""

    def serve(connection: socket.socket) -> None:
        connection.shutdown(socket.SHUT_RD)  # the client's first write fails
        connection.sendall(b"go 1\n")

    launcher.serve(serve)
    assert run(launcher) == cold("no-request")


def killed_after(launcher: Launcher, greeting: bytes, read: int, answer: bytes) -> tuple[int, str, str]:
    """Run the launcher with a server that is killed after so many exchanges."""
    launcher.socket.unlink(missing_ok=True)
    listener, process = listen(launcher.words(), launcher.socket)
    with listener, process:
        pid = os.fork()
        if not pid:
            connection, _ = listener.accept()
            connection.sendall(greeting)
            heard = 0
            while heard < read:
                heard += len(connection.recv(read - heard))
            connection.sendall(answer)
            os.kill(os.getpid(), signal.SIGKILL)
        result = launcher.run("Stop", "--deadline", "5", env={"A": "1"})
        os.waitpid(pid, 0)
        process.kill()
    return result


@pytest.mark.slow
def test_a_server_that_is_killed_at_every_byte(launcher: Launcher) -> None:
    """The message is either the cold command's, whole, or a lost run, for which that only refuses: never neither."""
    for said in range(len(b"go 1\n")):
        assert killed_after(launcher, b"go 1\n"[:said], 0, b"") == cold("no-greeting")
    lost = cold("lost")
    words = [b"fire", b"--agent", b"claude", b"Stop", b"--deadline", b"5", b"A=1"]
    size = 20 + sum(len(word) + 1 for word in words)
    assert killed_after(launcher, b"go 1\n", 0, b"") in (cold("no-request"), lost)
    for heard in range(1, size + 1):
        assert killed_after(launcher, b"go 1\n", heard, b"") == lost
    assert killed_after(launcher, b"go 1\n", size, b"X") == lost
    assert killed_after(launcher, b"go 1\n", size, b"X\x05") == (5, "", "")


def test_a_closed_standard_stream(launcher: Launcher) -> None:
    """It stays closed for the cold command: nothing of ours is opened in its place."""
    launcher.serve(lambda _: pytest.fail("connected"))
    launcher.start.write_text(
        "import os, sys\n"
        "free = [fd for fd in range(3) if not os.path.exists(f'/proc/self/fd/{fd}')]\n"
        f"open({str(launcher.data / 'seen')!r}, 'a').write(f'{{free}} {{sys.argv[1:]}}\\n')\n"
    )
    for closed in range(3):
        launcher.run("Stop", before=partial(os.close, closed))
    seen = (launcher.data / "seen").read_text().splitlines()
    words = "['fire', '--agent', 'claude', '--cold', 'streams', 'Stop']"
    assert seen == [f"[{closed}] {words}" for closed in range(3)]


def test_no_descriptor_is_left_open(launcher: Launcher) -> None:
    """The cold command has the descriptors that the agent gave and no other."""
    launcher.serve(greeter(b"cold busy\n"))
    launcher.start.write_text("import os\nprint(*sorted(os.listdir('/proc/self/fd')))\n")
    bare = subprocess.run(
        [sys.executable, "-I", launcher.start], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    assert run(launcher) == (0, bare.stdout, "")


def test_no_descriptor_is_free(launcher: Launcher) -> None:
    """Without descriptors not even the conf can be read: whether it has a guard is not known."""
    limit = (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    result = launcher.run("Stop", before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
    message = "hookrun: no descriptor is free, so no hook has run\n"
    assert result == (1, "", message)
    result = launcher.run("PreToolUse", before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
    assert result == (2, "", message)


def test_a_working_directory_that_is_gone(launcher: Launcher, tmp_path: Path) -> None:
    """A removed directory can still be passed on."""
    here = tmp_path / "here"
    here.mkdir()

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"go 0\n")
        request = Request(connection, keep=True)
        assert os.readlink(f"/proc/self/fd/{request.descriptors[0]}").endswith("(deleted)")
        request.close()
        connection.sendall(b"X\0")

    launcher.serve(serve)
    assert launcher.run("Stop", cwd=here, before=here.rmdir).status == 0


def no_program(launcher: Launcher) -> None:
    """Remove the program, some time ago: it is not being replaced."""
    launcher.start.unlink()
    os.utime(launcher.start.parent, (0, 0))


def conf_link(launcher: Launcher) -> None:
    """Replace the conf by a link to it."""
    launcher.conf.rename(launcher.data / "real")
    launcher.conf.symlink_to("real")


def conf_fifo(launcher: Launcher) -> None:
    """Replace the conf by a FIFO without a writer."""
    launcher.conf.unlink()
    os.mkfifo(launcher.conf, 0o600)


def conf_directory(launcher: Launcher) -> None:
    """Replace the conf by a directory."""
    launcher.conf.unlink()
    launcher.conf.mkdir(mode=0o600)


DAMAGES: dict[str, Callable[[Launcher], object]] = {
    "no conf": lambda launcher: launcher.conf.unlink(),
    "mode 644": lambda launcher: launcher.conf.chmod(0o644),
    "mode 602": lambda launcher: launcher.conf.chmod(0o602),
    "mode 400": lambda launcher: launcher.conf.chmod(0o400),
    "a link": conf_link,
    "a FIFO": conf_fifo,
    "a directory": conf_directory,
    "empty": lambda launcher: launcher.write_conf([]),
    "without its first line": lambda launcher: launcher.write_conf(launcher.lines()[1:]),
    "version 2": lambda launcher: launcher.write_conf(["hookrun-launcher 2", *launcher.lines()[1:]]),
    "a word less": lambda launcher: launcher.write_conf(launcher.lines()[:-1]),
    "two words less": lambda launcher: launcher.write_conf(launcher.lines()[:-2]),
    "no command": lambda launcher: launcher.write_conf(launcher.lines()[:2]),
    "a word more": lambda launcher: launcher.write_conf([*launcher.lines(), "exec --more"]),
    "a relative command": lambda launcher: launcher.write_conf(
        [*launcher.lines()[:2], "exec relative", "exec x", "exec fire"]
    ),
    "a long line": lambda launcher: launcher.write_conf([*launcher.lines(), "x" * 300_000]),
    "many words": lambda launcher: launcher.write_conf([*launcher.lines()[:2], *["exec /x"] * 100, "exec fire"]),
    "a NUL": lambda launcher: launcher.write_conf([*launcher.lines(), "a\0b"]),
    "no end of its last line": lambda launcher: launcher.conf.write_text(launcher.conf.read_text().rstrip("\n")),
    "no program": no_program,
    "no Python": lambda launcher: launcher.write_conf(
        [*launcher.lines()[:2], "exec /no/python", *launcher.lines()[-2:]]
    ),
}


def test_what_cannot_be_used_ends_in_gone(launcher: Launcher) -> None:
    """A conf that is not whole, not ours or not private, and a cold command that cannot start."""
    found = {}
    for damage, make in DAMAGES.items():
        launcher.renew()
        make(launcher)
        found[damage] = run(launcher)
    assert found == dict.fromkeys(DAMAGES, GONE)


@root
def test_a_conf_of_another_account(launcher: Launcher) -> None:
    """It is not read."""
    os.chown(launcher.conf, 12345, 12345)
    assert run(launcher) == GONE


def test_a_conf_truncated_at_every_byte(launcher: Launcher) -> None:
    """No part of a conf starts anything."""
    whole = launcher.conf.read_text()
    for length in range(0, len(whole), 7):
        launcher.conf.write_text(whole[:length])
        assert run(launcher) == GONE, length


def test_without_gone(launcher: Launcher) -> None:
    """With nothing left to start, it says so and does not refuse the call: Copilot takes any status but 0 for that."""
    launcher.conf.unlink()
    launcher.gone.unlink()
    message = "hookrun: not found, so no hook has run\nhint: reinstall it and run `hookrun install`\n"
    assert run(launcher) == (1, "", message)
    launcher.program = launcher.program.rename(launcher.data / "copilot")
    assert run(launcher) == (0, "", message)


def test_the_reason_is_no_value_of_a_last_option(launcher: Launcher) -> None:
    """It comes before the caller's arguments, which may end with an option that lacks its value."""
    result = launcher.run("Stop", "--deadline")
    assert result.stdout.splitlines()[0] == "cold|fire|--agent|claude|--cold|no-server|Stop|--deadline"


@pytest.mark.slow
def test_an_environment_that_leaves_no_room_for_the_cold_command(launcher: Launcher) -> None:
    """The system has just started the launcher, and does not start Python: hookrun is not missing."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 19, 1 << 19))  # then it takes 128 KB

    for length in range(1 << 16, 0, -8):
        environment = dict.fromkeys(("A", "B"), "x" * length)
        try:
            result = launcher.run(env=environment, before=limit)
        except OSError:
            continue
        message = "hookrun: the environment is too long, so no hook has run\nhint: shorten its variables\n"
        assert result == (1, "", message)
        break


def test_a_name_that_does_not_say_where_it_is(launcher: Launcher) -> None:
    """Without its directory it cannot find anything: it says so."""
    program = """import ctypes, os, sys
name = eval(sys.argv[2])
words = (ctypes.c_char_p * 2)(None if name is None else os.fsencode(name), None)
ctypes.CDLL(None).execve(os.fsencode(sys.argv[1]), words, (ctypes.c_char_p * 1)(None))"""
    found = {}
    for name in (None, "", "claude", "claude/", "/" + "x" * 5000 + "/claude"):
        command = [sys.executable, "-c", program, str(launcher.program), repr(name)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found[name] = (done.returncode, done.stdout, done.stderr)
    message = "hookrun: the launcher was started without its path, so no hook has run\n"
    assert found == dict.fromkeys(found, (1, "", message))


def test_a_name_with_an_event_outside_of_a_home(launcher: Launcher) -> None:
    """Its directory determines the home: outside a home's launchers, its hooks are unknown."""
    link = launcher.program.with_name("claude.Stop")
    link.symlink_to("claude")
    done = subprocess.run([link], input="a message", capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("gone|claude\n", "")


def test_a_link_to_the_launcher(launcher: Launcher, tmp_path: Path) -> None:
    """Name and directory are the link's: a link elsewhere finds nothing there."""
    link = tmp_path / "codex"
    link.symlink_to(launcher.program)
    done = subprocess.run([link, "Stop"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (launcher.data / "codex").symlink_to("claude")
    done = subprocess.run(["./codex", "Stop"], capture_output=True, text=True, check=False, cwd=launcher.data)
    assert done.stdout.startswith("cold|fire|--agent|codex|--cold|no-server|Stop\n")


def go(connection: socket.socket) -> None:
    """Greet as a server does, and see the client leave without a byte."""
    connection.sendall(b"go 0\n")
    assert ended(connection)


def test_a_server_of_another_command_line(launcher: Launcher) -> None:
    """A program of this account that listens at the socket, and holds its lock: it could answer anything."""
    launcher.serve(go, command=[sys.executable, str(launcher.start)])
    assert run(launcher) == cold("foreign-server")


def test_a_server_of_another_interpreter(launcher: Launcher, tmp_path: Path) -> None:
    """The command line is what a program says of itself; the system says what it runs."""
    other = tmp_path / "python"
    shutil.copy(os.path.realpath(sys.executable), other)
    if subprocess.run([other, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip("a copy of this Python does not start")
    launcher.serve(go, command=launcher.words(), executable=other)
    assert run(launcher) == cold("foreign-server")


def test_a_server_without_the_lock(launcher: Launcher, tmp_path: Path) -> None:
    """It is not the one that started first."""
    launcher.serve(go, command=launcher.words(), lock=tmp_path / "lock")
    assert run(launcher) == cold("foreign-server")
