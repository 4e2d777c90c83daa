"""A worker does for its caller what a separate process would do, and leaves nothing behind."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
from typing import TYPE_CHECKING

import pytest

from hookrun.core.state import make_private_dir
from hookrun.launch.launcher_file import LauncherFile, path_in, write
from hookrun.launch.server_start import lock_path
from tests.waiting import until
from tests.warm import waits

if TYPE_CHECKING:
    from tests.serve.conftest import WarmProject
    from tests.serve.warm_client import WarmClient

BASH = b'{"tool_name": "bash", "tool_args": {"command": "ls"}}'


def test_a_hook_sees_the_caller_s_directory_environment_and_umask(warm: WarmProject) -> None:
    """Nothing of the server's own, and nothing of the caller before."""
    warm.project.hooks({"command": 'printf "%s\\n" "$PWD" "$FOO" "$(umask)" > seen; exit 2'})
    for foo in ("one", "two", ""):
        environment = {**warm.project.environment(), "FOO": foo}
        run = warm.fire("pre_tool_use", context=BASH, environment=environment)
        assert run.status == 2
        assert (warm.project.root / "seen").read_text().splitlines() == [str(warm.project.root), foo, "0022"]
        directories = {os.readlink(f"/proc/{worker}/cwd") for worker in warm.server.children()}
        assert str(warm.project.root) not in directories  # the caller may remove or unmount it


@pytest.mark.sampled
@pytest.mark.parametrize("variables", [{}, {"LANG": "C"}, {"LANG": "xx_XX"}, {"LC_ALL": "C"}, {"LC_CTYPE": "C.UTF-8"}])
def test_a_hook_sees_the_locale_of_a_cold_run(warm: WarmProject, variables: dict[str, str]) -> None:
    """Python replaces the C locale when it starts, and hooks see that: ruby, for one, reads UTF-8 only then."""
    warm.project.hooks({"command": "env | grep ^L >> seen; echo >> seen"})
    names = ("LANG", "LC_ALL", "LC_CTYPE")
    environment = {name: value for name, value in warm.project.environment().items() if name not in names}
    for _ in range(2):
        assert warm.fire("pre_tool_use", context=BASH, environment={**environment, **variables}).status == 0
    subprocess.run(
        [sys.executable, "-m", "hookrun", "fire", "pre_tool_use"],
        check=True,
        cwd=warm.project.root,
        env={**environment, **variables},
        input=BASH,
        stdout=subprocess.DEVNULL,
    )
    first, second, cold, _ = (warm.project.root / "seen").read_text().split("\n\n")
    assert first == second == cold


def test_a_python_hook_runs_in_a_child_of_the_worker(warm: WarmProject) -> None:
    """It is imported anew at each run: nothing of a project is kept."""
    for answer in ("first", "second"):
        warm.project.script(
            "guard.py", f"def check(context):\n    return {{'action': 'block', 'message': '{answer}'}}\n"
        )
        warm.project.hooks({"python": "guard:check"})
        run = warm.fire("pre_tool_use", context=BASH)
        assert (run.status, json.loads(run.stdout)["message"]) == (2, answer)


@pytest.mark.sampled
@pytest.mark.parametrize("file", ["ctypes.py", "ctypes/__init__.py"])
def test_a_module_beside_a_hook_is_found_as_in_a_cold_run(warm: WarmProject, file: str) -> None:
    """Whatever of that name the server, or the hook before, has loaded; other modules of the interpreter work."""
    warm.project.script(file, "OWN = 'of the project'\n")
    warm.project.script(
        "guard.py",
        "import ctypes, decimal, time, zlib\n"
        "from fractions import Fraction\n"
        "def check(context):\n"
        "    decimal.Decimal(1) + 1, Fraction(1, 2), zlib.crc32(b'')\n"
        "    return {'action': 'block', 'message': ctypes.OWN}\n",
    )
    warm.project.script("first.py", "import select\ndef check(context): return None\n")
    warm.project.hooks({"python": "first:check", "name": "first"}, {"python": "guard:check", "name": "guard"})
    cold = warm.project.fire(json.loads(BASH))
    assert (cold.verdict["action"], cold.verdict.get("message")) == ("block", "of the project"), (
        cold.verdict,
        cold.stderr,
    )
    for _ in range(2):
        verdict = json.loads(warm.fire("pre_tool_use", context=BASH).stdout)
        assert (verdict["action"], verdict["message"]) == ("block", "of the project")


@pytest.mark.sampled
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_of_the_caller_ends_its_hooks(warm: WarmProject, number: int) -> None:
    """As in a separate process: the hooks are ended, and the status encodes the signal."""
    warm.project.hooks({"command": "touch began; sleep 60"})
    client = warm.send(BASH, "pre_tool_use")
    until((warm.project.root / "began").exists, "the hook has not begun")
    client.signal(number)
    assert client.answer() == 128 + number
    assert warm.fire("stop").status == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_that_waits_for_its_context(warm: WarmProject, number: int) -> None:
    """Nothing has run then; without an answer the launcher ends as the signal does, which it has passed on."""
    client, write_end = waiting_for_its_context(warm)
    client.signal(number)
    assert client.answer() in {None, 128 + number}
    os.close(write_end)


def test_a_caller_that_is_killed_before_its_context_is_whole_leaves_no_worker(warm: WarmProject) -> None:
    """No hook has run; the next run is served."""
    client, write_end = waiting_for_its_context(warm)
    busy = warm.server.children()
    client.close()
    until(lambda: set(busy).isdisjoint(warm.server.children()) or len(busy) > 1, "its worker runs on")
    os.close(write_end)
    assert warm.fire("stop").status == 0


def waiting_for_its_context(warm: WarmProject) -> tuple[WarmClient, int]:
    """Send a run that has read half its context; return the client, and the end of the pipe for the rest."""
    read_end, write_end = os.pipe()
    os.write(write_end, b"{")  # a whole object is not waited for the end of
    with open(os.devnull, "r+b") as nothing:
        client = warm.start("pre_tool_use", stdin=read_end, stdout=nothing.fileno(), stderr=nothing.fileno())
    os.close(read_end)
    until(lambda: unread(write_end) == 0, "the context is not read")
    return client, write_end


def unread(pipe: int) -> int:
    """Return how many bytes of a pipe its reader has not taken."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.slow
def test_a_killed_caller_whose_clock_file_is_a_fifo_leaves_no_worker(warm: WarmProject) -> None:
    """The C library waits for a writer: its worker, which has the agent's pipes, ends with the caller all the same."""
    os.mkfifo(warm.project.root / "clock")
    environment = {**warm.project.environment(), "TZ": f":{warm.project.root}/clock"}
    [worker] = warm.server.children()
    with open(os.devnull, "r+b") as nothing:
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), nothing.fileno())
        client = warm.start("stop", environment=environment, **streams)
        until(lambda: os.readlink(f"/proc/{worker}/cwd") == str(warm.project.root), "the run has not begun")
        until(lambda: waits(worker), "it does not wait")
        client.close()
    until(lambda: worker not in warm.server.children(), "its worker runs on")
    assert warm.fire("stop").status == 0


def test_a_warm_run_starts_no_server_whatever_its_arguments_say(warm: WarmProject) -> None:
    """An attempt that cannot succeed would keep others from starting one for a minute."""
    home = str(warm.project.home)
    make_private_dir(os.path.dirname(path_in(home)))
    write(path_in(home), LauncherFile(["/bin/false", "fire"]).text().encode())
    environment = {name: value for name, value in warm.project.environment().items() if name != "CI"}
    words = ("--agent", "claude", "PreToolUse", "--home", home, "--cold", "no-server")
    assert warm.fire(*words, environment=environment).status == 0
    assert not os.path.exists(lock_path(home))


def test_a_client_that_says_nothing_or_half_does_no_harm(warm: WarmProject) -> None:
    """Wherever a client disconnects, the next one is served."""
    for sent in (b"", b"H", b"HKR3", b"HKR3\x10\0\0\0", b"HKR3\xff\xff\xff\xff", b"garbage and more of it" * 10):
        client = warm.server.client()
        client.greeting()
        client.socket.sendall(sent) if sent else None
        client.close()
    assert warm.fire("stop").status == 0


@pytest.mark.slow
def test_a_worker_goes_on_after_a_usual_run_only(warm: WarmProject) -> None:
    """The same one serves run after run; after a hook that had to be killed another one takes over."""
    (first,) = warm.server.children()
    warm.project.script("guard.py", "def check(context):\n    return None\n")
    hooks: list[dict[str, object]] = [
        {"command": "true"},
        {"python": "guard:check"},
        {"command": "echo no >&2; exit 2"},
    ]
    for hook in hooks:
        warm.project.hooks(hook)
        warm.fire("pre_tool_use", context=BASH)
        assert warm.server.children() == [first]
    warm.project.hooks({"command": "sleep 60", "timeout": 0.1})
    warm.fire("pre_tool_use", context=BASH)
    until(lambda: first not in warm.server.children(), "its worker runs on")
    assert warm.fire("stop").status == 0


@pytest.mark.slow
def test_a_background_hook_outlives_its_run_and_leaves_no_zombie(warm: WarmProject) -> None:
    """Its supervisor is a child of the worker, which serves on."""
    (worker,) = warm.server.children()
    warm.project.hooks({"command": "sleep 0.3; touch done", "background": True})
    assert warm.fire("pre_tool_use", context=BASH).status == 0
    until((warm.project.root / "done").exists, "the hook has not ended")
    warm.project.hooks({"command": "true"})

    def has_zombies() -> bool:
        warm.fire("pre_tool_use", context=BASH)
        done = subprocess.run(["ps", "-o", "stat=", "--ppid", str(worker)], capture_output=True, check=False)
        return b"Z" in done.stdout

    until(lambda: not has_zombies(), "a dead child stays")
    assert warm.server.children() == [worker]


def test_while_an_answer_may_be_half_out_the_exit_status_is_the_refusal(warm: WarmProject) -> None:
    """Before it is written the agent's form would be right, afterwards nothing more."""
    warm.project.user_hooks({"command": "echo no >&2; exit 2"})
    message = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}})
    home = ("--home", str(warm.project.home))
    client = warm.send(message.encode(), "--agent", "claude", "PreToolUse", *home)
    assert client.answer() == 0
    assert [(status, bool(out), bool(err)) for status, out, err in client.said] == [
        (0, True, False),
        (2, False, True),
        (0, False, False),
    ]
    client.close()
