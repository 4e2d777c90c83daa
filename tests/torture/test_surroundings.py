"""Who starts hookrun and where: an agent that does not read, streams that are none, accounts without a home."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys

import pytest

from tests.conftest import Project
from tests.process.bench import processes_in
from tests.torture.strangers import commands
from tests.waiting import ended, limit

pytestmark = pytest.mark.sampled(2)

CONTEXT = b'{"tool_name": "bash", "tool_args": {"command": "ls"}}'
NO = "cat >/dev/null; echo no >&2; exit 2"


def shell(project: Project, line: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a shell line in which "$@" is a run of pre_tool_use with these arguments."""
    command = ["sh", "-c", line, "sh", *project.command("fire", "pre_tool_use", *arguments)]
    return subprocess.run(command, capture_output=True, cwd=project.root, env=project.environment(), check=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_agent_that_does_not_read_can_still_end_hookrun(project: Project, number: signal.Signals) -> None:
    """If a verdict is larger than the pipe and is not read, a signal ends hookrun; a launcher exits as a shell does."""
    project.hooks(
        {"args": [sys.executable, "-c", 'print(\'{"action": "block", "message": "\' + \'x\' * 300000 + \'"}\')']}
    )
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        project.command("fire", "pre_tool_use"),
        stdin=subprocess.PIPE,
        stdout=write_end,
        stderr=subprocess.DEVNULL,
        cwd=project.root,
        env=project.environment(),
    )
    assert process.stdin is not None
    process.stdin.write(CONTEXT)
    process.stdin.close()
    assert os.read(read_end, 1) == b"{"  # it writes, and waits for us to read the rest
    process.send_signal(number)
    assert ended(process) == (-number if project.server is None else 128 + number)
    os.close(read_end)
    os.close(write_end)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('"$@" 0>/dev/null', "cannot read stdin: Bad file descriptor"),
        ('"$@" --deadline 0.5 < /dev/zero', "stdin: the context is not whole"),
        ('mkfifo pipe; "$@" --deadline 0.5 --ctx pipe', "pipe: nothing came"),
        ('"$@" --ctx /dev/null', "/dev/null: the context is empty"),
    ],
)
def test_streams_that_hold_no_context_are_trouble(project: Project, line: str, expected: str) -> None:
    """One clear line and exit status 1, within the deadline, with a record in the audit."""
    project.hooks({"command": NO})
    done = shell(project, line)
    assert (done.returncode, done.stdout) == (1, b"")
    assert expected in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 2
    assert "error" in project.audit()[-1]


def test_a_context_may_come_through_a_pipe_by_name(project: Project) -> None:
    """`--ctx` of a named pipe is read to its end, as a shell's <(...) is."""
    project.hooks({"command": NO})
    done = shell(project, f"mkfifo pipe; (echo '{CONTEXT.decode()}' > pipe) & \"$@\" --ctx pipe")
    assert done.returncode == 2


def test_a_variable_without_a_name_ends_no_guard(project: Project) -> None:
    """Node passes one on: a project that could set it would have every hook fail before it is started."""
    project.hooks({"command": "echo no >&2; exit 2"}, {"name": "python", "python": "guard:check"})
    project.script("guard.py", "def check(context): return {'action': 'block', 'message': 'never'}\n")
    fired = project.fire(wrap=("env", "=odd"))
    assert (fired.action, fired.verdict["message"]) == ("block", "no")
    project.hooks({"name": "python", "python": "guard:check"})
    assert project.fire(wrap=("env", "=odd")).verdict["message"] == "never"


@pytest.mark.only_cold("replaces what the interpreter that is started has")
def test_an_account_without_a_home_is_told_what_to_do(project: Project) -> None:
    """No HOME, and no entry in the password database, as in a container: one line says to set HOME."""
    program = """import pwd, sys, hookrun.__main__
def unknown(number): raise KeyError(number)
pwd.getpwuid = unknown
sys.argv = ["hookrun", "fire", "stop"]
hookrun.__main__.main()"""
    environment = project.environment()
    del environment["HOME"]
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=b"{}",
        capture_output=True,
        cwd=project.root,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"hint: set HOME" in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_everything_is_private_whatever_the_umask(project: Project) -> None:
    """Under umask 0 the directories of audit, cache and locks are the account's alone, parents included."""
    project.hooks({"command": "true", "exclusive": True})
    assert shell(project, f"umask 0; echo '{CONTEXT.decode()}' | \"$@\"").returncode == 0
    made = [project.home / ".local", project.audit_path.parent.parent, project.audit_path.parent]
    assert [stat.S_IMODE(path.stat().st_mode) for path in [*made, project.audit_path.parent / "locks"]] == [0o700] * 4
    assert stat.S_IMODE(project.audit_path.stat().st_mode) == 0o600


def test_a_background_hook_is_ended_with_its_supervisor(project: Project) -> None:
    """TERM to the process that holds a background hook ends the hook, and its record shows it."""
    project.hooks({"background": True, "timeout": 60, "command": "echo $PPID $$ > pids; sleep 300"})
    os.mkfifo(project.root / "pids")
    assert project.fire().status == 0
    supervisor, hook = map(int, (project.root / "pids").read_text().split())
    done = os.pidfd_open(supervisor)
    os.kill(supervisor, signal.SIGTERM)
    assert select.select([done], [], [], limit())[0]
    os.close(done)
    last = project.audit()[-1]
    assert (last["kind"], last["failure"]) == ("background", "signal")
    with pytest.raises(ProcessLookupError):
        os.kill(hook, 0)


def test_a_scrubbed_environment_keeps_what_headers_are_granted(project: Project) -> None:
    """`allowed_env` names a variable for the headers: `scrub` does not take it away."""
    url = {"url": "http://127.0.0.1:1/", "headers": {"X-Key": "$SHOP_TOKEN"}, "allowed_env": ["SHOP_TOKEN"]}
    project.hooks({**url, "env_policy": "scrub"})
    fired = project.fire(env={"SHOP_TOKEN": "t"})
    assert "is not set" not in fired.stderr
    assert "refused" in fired.stderr


def test_a_key_that_stands_twice_is_no_answer(project: Project) -> None:
    """However it is written, of two answers in one neither is believed."""
    answers = (
        '{"action": "continue", "action": "modify"}',
        r'{"\u0061ction": "allow", "action": "continue"}',
        '{"action": "modify", "args_patch": {"a": 1}, "args_patch": {"b": 1}}',
    )
    for number, answer in enumerate(answers):
        (project.root / f"answer{number}").write_text(answer)
    project.hooks(*commands({each: f"cat answer{number}" for number, each in enumerate(answers)}))
    fired = project.fire()
    assert {each: fired.hook(each)["failure"] for each in answers} == dict.fromkeys(answers, "bad_verdict")


@pytest.mark.parametrize(("action", "said"), [("block", "blocked"), ("stop", "stopped"), ("skip", "skipped")])
def test_a_refusal_without_a_reason_names_its_hook(project: Project, action: str, said: str) -> None:
    """The user need not guess which hook refused."""
    project.hooks({"command": f"""cat >/dev/null; echo '{{"action": "{action}"}}'"""})
    fired = project.fire()
    assert (fired.status, fired.verdict["message"]) == (2, f"{said} by hook (no reason given)")
    assert f"{said} by hook" in fired.stderr


@pytest.mark.only_cold("replaces what the interpreter that is started has")
@pytest.mark.slow
def test_what_goes_wrong_inside_leaves_no_hook_running(project: Project) -> None:
    """A mistake of our own in mid-hook: the hooks are ended, the exit status is 1, and what was refused stays so."""
    program = """import sys, hookrun.fire.invocation, hookrun.__main__
def broken(self): raise MemoryError('no more')
hookrun.fire.invocation.EventFire._record_start = broken
sys.argv = ['hookrun', 'fire', 'pre_tool_use']
hookrun.__main__.main()"""
    for first, status in (("true", 1), ("exit 2", 2)):
        project.hooks(
            {"name": "first", "command": first},
            {"name": "long", "command": ": > began; sleep 300", "always": True},
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=CONTEXT,
            capture_output=True,
            cwd=project.root,
            env=project.environment(),
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert b"internal error" in done.stderr
        (project.root / "began").unlink()
        assert processes_in(project.root) == []


def test_the_order_of_conflicts_is_always_the_same(project: Project) -> None:
    """The same input gives the same words, whatever Python's hashes are this time."""
    none = json.dumps({"action": "modify", "args_patch": {"a": None, "b": None, "c": None, "d": None}})
    ones = json.dumps({"action": "modify", "args_patch": {"a": 1, "b": 1, "c": 1, "d": 1}})
    project.hooks(
        {"name": "x", "command": f"cat >/dev/null; echo '{none}'", "parallel": True},
        {"name": "y", "command": f"cat >/dev/null; echo '{ones}'", "parallel": True},
    )
    context = {"tool_name": "bash", "tool_args": {"a": 0, "b": 0, "c": 0, "d": 0}}
    told = {
        str(project.fire(context, env={"PYTHONHASHSEED": str(seed)}).verdict["system_message"]) for seed in range(6)
    }
    assert len(told) == 1
