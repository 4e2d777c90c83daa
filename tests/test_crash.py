"""Internal errors: the traceback is in crash.log, private and without secrets, and no verdict depends on that."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hookrun.cli import log_filter
from hookrun.core import crash, state
from hookrun.launch.worker import NO_ANSWER
from tests.cli.command import Done, hookrun
from tests.fire.agents import Agent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

TOKEN = "ghp_" + "a1B2c3D4" * 5
FIRE = """import sys
from hookrun.fire import command, invocation
def fail(self, data, value_of_a_variable="-".join(("never", "shown"))): raise ZeroDivisionError("an error of ours")
invocation.EventFire.run = fail
sys.exit(command.main(sys.argv[1:]))"""

BUGS = {
    "reading": "hookrun.config.config_file._load",
    "validating": "hookrun.config.load._check_entries",
    "testing": "hookrun.testing.case_runner.CaseRunner._fire_case",
    "inspecting": "hookrun.trust.digest.HookInspector._look",
    "output": "hookrun.cli.log_filter.RunFilter",
}
"""Where a bug may be that stops no other file, case or hook, and one that is an error of the system."""
PLACES = [("reading", "validate"), ("validating", "validate"), ("testing", "test"), ("inspecting", "trust")]
WORKER = """from hookrun.launch import server
from hookrun.core.state import CurrentRun
def fail(*_): raise ZeroDivisionError("an error of ours")
server.Worker, CurrentRun.home = fail, server.os.environ["HOME"]
ours, its = __import__("socket").socketpair(); server._become_worker(its, server.CallWatch(), [ours])"""
CASE = {"name": "a", "event": "pre_tool_use", "tool": "bash", "expect": {"action": "continue"}}


def run_with(project: Project, bug: str, *arguments: str, error: Exception | None = None, **env: str) -> Done:
    """Run a command that has a bug, in a project with a hook and a case."""
    declare(project)

    def fail(*_: object, **__: object) -> object:
        raise error or ZeroDivisionError("an error of ours")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BUGS[bug], fail)
        return hookrun(project, *arguments, cwd=None, **env)


def declare(project: Project) -> None:
    """Declare a hook and a case."""
    project.hooks({"name": "a", "command": "true"})
    (project.root / "a.hooktest.json").write_text(json.dumps({"cases": [CASE]}))


def failed(text: str) -> Exception:
    """Return an error that was raised while another was handled."""
    value_of_a_variable = "never-shown"
    try:
        try:
            raise KeyError(value_of_a_variable[:5])  # noqa: TRY301  # the context is under test
        except KeyError:
            raise ZeroDivisionError(text)  # noqa: B904  # the context is under test
    except ZeroDivisionError as error:
        return error


def crash_log(home: Path) -> Path:
    """Return the crash log of a home."""
    return home / ".local" / "state" / "hookrun" / "crash.log"


def fire(project: Project, *arguments: str, stdin: str = "{}", **env: str) -> subprocess.CompletedProcess[str]:
    """Run a `hookrun fire` that has a bug."""
    return subprocess.run(
        [sys.executable, "-c", FIRE, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=project.root,
        env=project.environment(**env),
        check=False,
    )


def test_the_log_has_the_frames_and_is_private(tmp_path: Path) -> None:
    """It is appended to, has mode 0600 whatever mode it had, and the message names it."""
    crash_log(tmp_path).parent.mkdir(parents=True)
    crash_log(tmp_path).touch(0o644)
    for _ in range(2):
        message = crash.report(failed("division by zero"), str(tmp_path), debug=False)
    path = crash_log(tmp_path)
    assert message == f"internal error, please report it: ZeroDivisionError: division by zero (see {path})"
    text = path.read_text()
    assert text.count("Traceback (most recent call last):") == 2
    assert "raise ZeroDivisionError(text)" in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_module_that_is_not_there_is_no_bug() -> None:
    """A package is replaced file by file. What another package lacks is reported as before."""
    ours = ModuleNotFoundError("No module named 'hookrun.fire.unread'", name="hookrun.fire.unread")
    other = crash.report(ModuleNotFoundError("No module named 'hookrunner'", name="hookrunner"), None, debug=False)
    replaced = "hookrun is being replaced (try again), or must be installed again"
    assert crash.report(ours, None, debug=False) == f"hookrun.fire.unread cannot be loaded: {replaced}"
    assert other == "internal error, please report it: ModuleNotFoundError: No module named 'hookrunner'"


def test_neither_secrets_nor_variables_nor_the_error_being_handled_are_kept(tmp_path: Path) -> None:
    """Credentials are redacted in the log and in the message; explicit causes are shown."""
    error = failed(f"token={TOKEN}")
    error.__cause__ = ValueError(f"the cause, with {TOKEN}")
    message = crash.report(error, str(tmp_path), debug=False)
    text = crash_log(tmp_path).read_text()
    assert TOKEN not in message + text
    assert "[redacted]" in message
    assert "ValueError: the cause, with [redacted]" in text
    assert "never-shown" not in text
    assert "KeyError" not in text


def test_the_log_is_rotated(tmp_path: Path) -> None:
    """At 1 MiB; one older file is kept."""
    path = crash_log(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text("x" * (crash.MAX_BYTES + 1))
    crash.report(failed("division by zero"), str(tmp_path), debug=False)
    assert path.with_name("crash.log.1").stat().st_size == crash.MAX_BYTES + 1
    assert path.read_text().count("ZeroDivisionError: division by zero") == 1


def test_an_exception_that_cannot_be_shown(tmp_path: Path) -> None:
    """Even then nothing is raised, and control characters reach no terminal."""

    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert "OddError" in crash.report(OddError(), str(tmp_path), debug=False)
    assert "\x1b" not in crash.report(failed("\x1b[2J"), str(tmp_path), debug=False) + crash_log(tmp_path).read_text()


def test_every_command_prints_the_traceback_for_debugging(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """With HOOKRUN_DEBUG=1; the log has it without, too. Status and the line on stderr are the same."""

    def fail(*_: object) -> object:
        raise ZeroDivisionError("an error of ours")

    monkeypatch.setattr(log_filter, "RunFilter", fail)
    plain = hookrun(project, "log")
    line = "error: internal error, please report it: ZeroDivisionError: an error of ours"
    assert (plain.status, plain.stdout) == (1, "")
    assert plain.stderr == f"{line} (see {crash_log(project.home)})\n"
    assert "Traceback" in crash_log(project.home).read_text()
    debugged = hookrun(project, "log", HOOKRUN_DEBUG="1")
    assert debugged.status == 1
    assert debugged.stderr.startswith("Traceback (most recent call last):\n")
    assert debugged.stderr.endswith(plain.stderr)


def test_a_fire_prints_the_traceback_for_debugging(project: Project) -> None:
    """As other commands do; a variable that is empty or 0 is off."""
    plain = fire(project, "pre_tool_use")
    assert (plain.returncode, plain.stdout, plain.stderr.count("\n")) == (1, "", 1)
    assert f"an error of ours (see {crash_log(project.home)})" in plain.stderr
    assert "never-shown" not in crash_log(project.home).read_text()
    assert "Traceback" in fire(project, "pre_tool_use", HOOKRUN_DEBUG="1").stderr
    for value in ("", "0"):
        assert fire(project, "pre_tool_use", HOOKRUN_DEBUG=value).stderr.count("\n") == 1


def test_an_agent_never_reads_a_traceback(project: Project) -> None:
    """Its environment may be a project's: HOOKRUN_DEBUG does not count; the log has the traceback all the same."""
    agent = Agent("claude", project)

    done = fire(
        project,
        *("--agent", "claude", "--home", str(project.home)),
        stdin=json.dumps(agent.shell()),
        HOOKRUN_DEBUG="1",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "an error of ours" in json.loads(done.stdout)["systemMessage"]
    assert "Traceback" not in done.stdout
    assert "Traceback" in crash_log(project.home).read_text()


def test_for_an_agent_the_log_is_the_account_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no home is given: HOME may be a project's."""
    account, home = tmp_path / "account", tmp_path / "home"
    for directory in (account, home):
        directory.mkdir()
    monkeypatch.setattr(state, "line_home", lambda: str(account))
    monkeypatch.setattr(state.CurrentRun, "home", "")
    monkeypatch.setenv("HOME", str(home))
    for for_agent, whose in ((True, account), (False, home)):
        monkeypatch.setattr(state.CurrentRun, "for_agent", for_agent)
        assert str(crash_log(whose)) in state.report_bug(failed("x"))


@pytest.mark.parametrize(
    ("arguments", "about"),
    [(("pre_tool_use",), {"tool_args": {}}), (("--agent", "claude"), {"hook_event_name": "PreToolUse"})],
)
def test_a_log_that_cannot_be_written_changes_nothing(
    project: Project, arguments: tuple[str, ...], about: dict[str, object]
) -> None:
    """Neither the status nor the answer, only no log is named; a FIFO without a reader does not block."""
    stdin = json.dumps({"session_id": "s1", "tool_name": "Bash", "tool_input": {"command": "ls"}, **about})
    home = ("--home", str(project.home))
    written = fire(project, *arguments, *home, stdin=stdin.replace('"s1"', '"s2"'))
    log = crash_log(project.home)
    log.unlink()
    named = f" (see {log})"
    assert named in written.stdout + written.stderr
    expected = written.returncode, written.stdout.replace(named, ""), written.stderr.replace(named, "")
    for make, session in ((os.mkdir, "s3"), (os.mkfifo, "s4")):
        make(log)
        done = fire(project, *arguments, *home, stdin=stdin.replace('"s1"', f'"{session}"'))
        assert (done.returncode, done.stdout, done.stderr) == expected, make
        log.rename(log.with_name(session))


@pytest.mark.parametrize(("bug", "arguments"), [(bug, arguments) for bug, *arguments in PLACES])
def test_a_bug_that_stops_nothing_else_is_reported_too(project: Project, bug: str, arguments: list[str]) -> None:
    """Its traceback is in crash.log, which the message names, and on stderr with HOOKRUN_DEBUG=1."""
    plain = run_with(project, bug, *arguments)
    assert f"ZeroDivisionError: an error of ours (see {crash_log(project.home)})" in plain.stdout + plain.stderr
    assert "Traceback" not in plain.stdout + plain.stderr
    assert "in fail" in crash_log(project.home).read_text()
    debugged = run_with(project, bug, *arguments, HOOKRUN_DEBUG="1")
    assert (debugged.status, "in fail" in debugged.stderr) == (plain.status, True)


@pytest.mark.parametrize(("bug", "arguments"), [(bug, arguments) for bug, *arguments in PLACES])
def test_a_bug_that_cannot_be_logged_stops_nothing_else_either(
    project: Project, bug: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without free descriptors, for example, the module that reports it cannot be loaded."""
    monkeypatch.setitem(sys.modules, "hookrun.core.crash", None)
    done = run_with(project, bug, *arguments)
    assert "internal error, please report it: ZeroDivisionError: an error of ours" in done.stdout + done.stderr
    assert not crash_log(project.home).exists()


@pytest.mark.parametrize("bug", ["reading", "validating", "inspecting"])
def test_an_agent_never_reads_a_traceback_of_such_a_bug(project: Project, bug: str, tmp_path: Path) -> None:
    """The log is where its run has its other files, whatever HOME a project sets."""
    arguments = ("fire", "--agent", "claude", "--home", str(project.home), "--trust", "sha256:0")
    declare(project)
    code = f"""import sys
from unittest import mock
def fail(*_, **__): raise ZeroDivisionError("an error of ours")
mock.patch({BUGS[bug]!r}, fail).start()
sys.argv[0] = "hookrun"; __import__("hookrun.__main__").__main__.main()"""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=json.dumps(Agent("claude", project).shell()),
        capture_output=True,
        text=True,
        cwd=project.root,
        env=project.environment(HOOKRUN_DEBUG="1", HOME=str(tmp_path)),
        check=False,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stdout + done.stderr
    assert "in fail" in crash_log(project.home).read_text()
    assert not crash_log(tmp_path).exists()


@pytest.mark.parametrize(("bug", "arguments"), [(bug, arguments) for bug, *arguments in PLACES])
def test_nesting_that_is_too_deep_is_no_bug(project: Project, bug: str, arguments: list[str]) -> None:
    """Neither are other errors of what the user wrote: the message is all there is."""
    done = run_with(project, bug, *arguments, error=RecursionError())
    assert "RecursionError" in done.stdout + done.stderr
    assert not crash_log(project.home).exists()


def test_a_bug_of_a_worker(tmp_path: Path) -> None:
    """It ends without an answer; stderr, which may be an agent's, gets one line."""
    env = {**os.environ, "HOME": str(tmp_path)}
    command = [sys.executable, "-c", WORKER]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == NO_ANSWER
    assert done.stderr.endswith(f"ZeroDivisionError: an error of ours (see {crash_log(tmp_path)})\n")
    assert done.stderr.count("\n") == 1
    assert "in fail" in crash_log(tmp_path).read_text()


def test_an_error_of_the_system_is_one_of_the_output_only_if_that_failed(project: Project) -> None:
    """One that names a file is the user's; any other is a bug."""
    odd = run_with(project, "output", "log", error=OSError("nope"))
    assert odd.stderr == f"error: internal error, please report it: OSError: nope (see {crash_log(project.home)})\n"
    assert "in fail" in crash_log(project.home).read_text()
    named = run_with(project, "output", "log", error=PermissionError(13, "Permission denied", "a.txt"))
    assert (odd.status, named.status) == (1, 1)
    assert named.stderr == "error: a.txt: Permission denied\n"
