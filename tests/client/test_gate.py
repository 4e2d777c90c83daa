"""Where a guard may be asked, a run that ends without an answer is a refusal, and the launcher gives it alone."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.agents import AGENTS, load
from hookrun.core.events import GATES
from tests.client.conftest import Launcher
from tests.client.fake_server import Request, answering
from tests.waiting import limit, until

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER = '{"no": "run"}'
BECAUSE = "it ended"
REFUSAL = (0, f"{ANSWER}\n", "")
BY_STATUS = (2, "", f"{BECAUSE}\n")
FROM_THE_START = 0
SOURCE = Path(__file__).resolve().parents[2] / "hookrun" / "launch" / "client" / "gate.h"


def guard(launcher: Launcher, root: object = "/", *, since: float = FROM_THE_START, seconds: str = "60") -> None:
    """Write a conf with a guard of `PreToolUse`."""
    lines = [
        "place claude PROJECT_VARIABLE",
        f'guard claude PreToolUse {since:.0f} "Bash" "command" {root}',
        f"lost claude PreToolUse {seconds} 0 {ANSWER}",
        f"lost claude UserPromptSubmit {seconds} 2 ",
        f"guard claude UserPromptSubmit 0 {root}",
        f"because {BECAUSE}",
    ]
    launcher.write_conf([*launcher.lines(), *lines])


def cold_run(launcher: Launcher, code: str) -> None:
    """Have this as the cold run's program."""
    launcher.start.write_text(f"import os, signal, sys, time\n{code}\n")


ENDINGS = {
    "a signal": ("os.kill(os.getpid(), 9)", REFUSAL),
    "a signal with an exit status": ("sys.exit(143)", REFUSAL),
    "not started": ("sys.exit(127)", REFUSAL),
    "an error": ("sys.exit(1)", REFUSAL),
    "an exit that is no answer": ("print('half of one', end='', flush=True); os._exit(0)", REFUSAL),
    "not loaded": ("sys.exit(75)", REFUSAL),
    "an answer": ("print('go on'); sys.exit(80)", (0, "go on\n", "")),
    "no objection": ("sys.exit(80)", (0, "", "")),
    "much of an answer": ("print('x' * 300_000); sys.exit(80)", (0, f"{'x' * 300_000}\n", "")),
    "a block": ("print('no'); sys.stderr.write('why'); sys.exit(2)", (2, "no\n", "why")),
    "the message": ("print(sys.stdin.read()); sys.exit(80)", (0, "a message\n", "")),
}
"""How a cold run ends, and how its launcher does."""


def test_a_run_that_ends_without_an_answer_is_a_refusal(launcher: Launcher) -> None:
    """Whatever it has written until then."""
    guard(launcher)
    os.utime(launcher.start.parent, (0, 0))
    found = {}
    for name, (code, _) in ENDINGS.items():
        cold_run(launcher, code)
        found[name] = launcher.run("PreToolUse")
    assert found == {name: expected for name, (_, expected) in ENDINGS.items()}


def test_a_refusal_leaves_a_line_for_the_log(launcher: Launcher) -> None:
    """The time, the agent and the event."""
    guard(launcher)
    cold_run(launcher, "os.kill(os.getpid(), 9)")
    for _ in range(2):
        assert launcher.run("PreToolUse") == REFUSAL
    lines = (launcher.data / "pending").read_text().splitlines()
    assert [line.split()[1:] for line in lines] == [["claude", "PreToolUse"]] * 2
    assert all(line.split()[0].isdigit() for line in lines)


def test_without_a_form_the_exit_status_refuses(launcher: Launcher) -> None:
    """Some agents have none for some events."""
    guard(launcher)
    cold_run(launcher, "sys.exit(1)")
    status, _, stderr = launcher.run("UserPromptSubmit")
    assert (status, stderr) == (2, f"{BECAUSE}\n")


def test_where_no_guard_may_be_asked_the_run_s_end_is_its_own(launcher: Launcher, tmp_path: Path) -> None:
    """At another event, in another directory, while it is paused: the launcher becomes the cold run."""
    here, elsewhere = tmp_path / "here", tmp_path / "here too"
    for each in (here / "below", elsewhere):
        each.mkdir(parents=True)
    cold_run(launcher, "print(os.getppid()); sys.exit(9)")
    parent = f"{os.getpid()}\n"

    def run(event: str = "PreToolUse", cwd: Path = here, **variables: str) -> bool:
        done = launcher.run(event, cwd=cwd, env={**os.environ, **variables})
        assert done in (REFUSAL, (9, parent, ""))
        return done == REFUSAL

    guard(launcher, here)
    assert [run(), run(cwd=here / "below"), run(cwd=elsewhere), run("Stop")] == [True, True, False, False]
    assert run(cwd=elsewhere, PROJECT_VARIABLE=str(here / "below"))
    guard(launcher, here, since=1 << 40)
    assert not run()


def test_a_message_is_read_and_answered_below_the_launcher(launcher: Launcher) -> None:
    """Without a server and with one that sends it away."""
    guard(launcher)
    expected = "cold|fire|--agent|claude|--answered|80|--cold|{}|PreToolUse\na message"
    launcher.start.write_text(launcher.start.read_text().replace("sys.exit(7)", "sys.exit(80)"))
    assert launcher.run("PreToolUse") == (0, expected.format("no-server"), "")
    launcher.serve(lambda connection: connection.sendall(b"cold busy\n"))
    assert launcher.run("PreToolUse") == (0, expected.format("busy"), "")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_run_and_end_it(launcher: Launcher, number: signal.Signals) -> None:
    """It ends as hookrun does, and so does the launcher; a run that ignores them is killed."""
    guard(launcher)
    cold_run(
        launcher,
        f"signal.signal({number}, lambda *_: sys.exit({128 + number}))\n"
        "print(os.getpid(), file=open(sys.argv[0] + '.pid', 'w'), flush=True); time.sleep(1000)",
    )
    process = launcher.popen("PreToolUse")
    pid = started(launcher)
    process.send_signal(number)
    stdout, _ = process.communicate(timeout=limit())
    assert (process.returncode, stdout) == (128 + number, "")
    assert not alive(pid)


def started(launcher: Launcher) -> int:
    """Wait for the cold run, and return its process id."""
    path = Path(f"{launcher.start}.pid")
    until(lambda: path.exists() and path.read_text().endswith("\n"), "the run does not start")
    pid = int(path.read_text())
    path.unlink()
    return pid


def alive(pid: int) -> bool:
    """Return whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


STOPPED = "print(os.getpid(), file=open(sys.argv[0] + '.pid', 'w'), flush=True); os.kill(os.getpid(), signal.SIGSTOP)"


@pytest.mark.parametrize(("options", "seconds"), [([], "0.5"), (["--deadline", "0.5"], "1000")])
def test_a_run_that_is_stopped_is_not_waited_for(launcher: Launcher, options: list[str], seconds: str) -> None:
    """The launcher has a deadline of its own, some time after the run's."""
    guard(launcher, seconds=seconds)
    cold_run(launcher, STOPPED)
    assert launcher.run("PreToolUse", *options) == REFUSAL
    pid = started(launcher)
    until(lambda: not alive(pid), "the run is left behind")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_killed_launcher_takes_its_run_with_it(launcher: Launcher) -> None:
    """As if it had become the run."""
    guard(launcher)
    cold_run(launcher, f"{STOPPED.partition(';')[0]}; time.sleep(1000)")
    process = launcher.popen("PreToolUse")
    pid = started(launcher)
    process.kill()
    process.communicate(timeout=limit())
    until(lambda: not alive(pid), "the run is left behind")


def test_closed_streams(launcher: Launcher) -> None:
    """An answer that cannot be written refuses by the exit status."""
    guard(launcher)
    cold_run(launcher, "print('go on'); sys.exit(80)")
    assert launcher.run("PreToolUse", before=lambda: os.close(1))[0] == 2
    assert launcher.run("PreToolUse", before=lambda: os.close(0))[:2] == (0, "go on\n")
    cold_run(launcher, "sys.exit(1)")
    assert launcher.run("PreToolUse", before=lambda: os.close(1))[0] == 2


def test_a_package_that_comes_back_in_time(launcher: Launcher) -> None:
    """While it is replaced the launcher waits: for its file, and for a package that can be loaded."""
    guard(launcher)
    back = launcher.start.read_text().replace("sys.exit(7)", "sys.exit(80)")
    cold_run(launcher, f"open(sys.argv[0], 'w').write({back!r}); sys.exit(75)")
    assert launcher.run("PreToolUse").stdout.startswith("cold|fire|")
    launcher.start.unlink()
    process = launcher.popen("PreToolUse")
    launcher.start.with_suffix(".new").write_text(back)
    launcher.start.with_suffix(".new").rename(launcher.start)
    stdout, _ = process.communicate("a message", timeout=limit())
    assert (process.returncode, stdout.endswith("a message")) == (0, True)


def test_a_second_start_is_like_the_first(launcher: Launcher) -> None:
    """Nothing of the first is left: neither what it wrote nor blocked signals."""
    guard(launcher)
    second = "import signal, sys\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, []))\nsys.exit(80)\n"
    cold_run(launcher, f"print('half'); open(sys.argv[0], 'w').write({second!r}); sys.exit(75)")
    assert launcher.run("PreToolUse") == (0, "set()\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("prepare", [guard, Launcher.renew])
def test_a_package_that_does_not_come_back(launcher: Launcher, prepare: Callable[[Launcher], None]) -> None:
    """After two seconds the script answers that is there for it, guarded or not."""
    prepare(launcher)
    launcher.start.unlink()
    assert launcher.run("PreToolUse") == (0, "gone|claude PreToolUse\n", "")


@pytest.mark.parametrize("text", ["#!/gone\n", "no program"])
def test_without_a_python_the_script_answers(launcher: Launcher, text: str) -> None:
    """It reads the message, of which nothing has been read, and so knows the tool; it need not try again."""
    python = launcher.data / "python"
    python.write_text(text)
    python.chmod(0o755)
    guard(launcher)
    launcher.write_conf(launcher.conf.read_text().replace(f"exec {sys.executable}", f"exec {python}").splitlines())
    os.utime(launcher.start.parent, (0, 0))
    assert launcher.run("PreToolUse") == (0, "gone|- claude PreToolUse\n", "")
    launcher.gone.unlink()
    assert launcher.run("PreToolUse") == REFUSAL


def test_a_removed_hookrun_without_the_script(launcher: Launcher) -> None:
    """The launcher refuses itself."""
    guard(launcher)
    os.utime(launcher.start.parent, (0, 0))
    launcher.gone.unlink()
    launcher.start.unlink()
    os.utime(launcher.start.parent, (0, 0))
    assert launcher.run("PreToolUse") == REFUSAL


SERVED: dict[str, tuple[bytes, tuple[int, str, str]]] = {
    "no answer": (b"", REFUSAL),
    "half of one": (b"X", REFUSAL),
    "an error": (b"X\x01", BY_STATUS),
    "the status of a signal that nobody sent": (b"X\x8f", BY_STATUS),
    "an answer": (b"X\x00", (0, "", "")),
    "a block": (b"X\x02", (2, "", "")),
}


def test_a_server_that_gives_no_answer(launcher: Launcher) -> None:
    """The lost run is a cold one, which fails here as well."""
    guard(launcher)
    found = {}
    for name, (answer, _) in SERVED.items():
        launcher.renew()
        guard(launcher)
        launcher.serve(answering(answer))
        cold_run(launcher, "sys.exit(1)")
        found[name] = launcher.run("PreToolUse")
        launcher.close()
    assert found == {name: expected for name, (_, expected) in SERVED.items()}


def test_a_frozen_server_is_not_waited_for(launcher: Launcher) -> None:
    """With the request in hand: no second run."""
    guard(launcher, seconds="0.3")

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"go 0\n")
        Request(connection)
        assert connection.recv(1) == b""

    launcher.serve(serve)
    assert launcher.run("PreToolUse") == REFUSAL
    launcher.close()


def test_the_events_that_can_refuse_are_the_tables() -> None:
    """The launcher knows them by heart, for the case that its conf cannot be read."""
    text = SOURCE.read_text().partition("gates[] = {")[2].partition("}")[0]
    known = {word.strip().strip('"') for word in text.split(",")}
    assert known == {native for name in AGENTS for native, event in load(name).EVENTS.items() if event in GATES}
