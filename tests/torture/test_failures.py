"""Every way in which a hook fails: its name, what `on_failure` makes of it, and that nothing of it is left running."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import pytest

from tests.conftest import Project

Declared = dict[str, object]

BLOCK = json.dumps({"action": "block", "message": "no"})
CONTINUE = json.dumps({"action": "continue"})


def script(text: str, mode: int = 0o755, **fields: object) -> Callable[[Project], Declared]:
    """Return the fields that declare a script of the project as the hook."""
    return lambda project: {"command": project.script("h.sh", text, mode), **fields}


def argv(text: str, mode: int = 0o755) -> Callable[[Project], Declared]:
    """Return the fields that declare the same script as an argument list."""
    return lambda project: {"args": [project.script("h.sh", text, mode)]}


def line(command: str, **fields: object) -> Callable[[Project], Declared]:
    """Return the fields that declare a shell line as the hook."""
    return lambda _: {"command": command, **fields}


def prints(data: bytes) -> Callable[[Project], Declared]:
    """Return the fields that declare a hook that prints these bytes."""

    def declare(project: Project) -> Declared:
        (project.root / "output").write_bytes(data)
        return {"command": "cat output"}

    return declare


FORK_AND_HANG = "setsid sh -c 'trap \"\" TERM; sleep 300' & sh -c 'sleep 300' & sleep 300"

FAILURES: dict[str, tuple[Callable[[Project], Declared], str]] = {
    "sleeps past its timeout": (line("sleep 300", timeout=0.2), "timeout"),
    "ignores TERM": (line("trap '' TERM; while :; do sleep 1; done", timeout=0.2), "timeout"),
    "hangs with children and a setsid grandchild": (line(FORK_AND_HANG, timeout=0.3), "timeout"),
    "hangs with a setsid grandchild without environment": (
        line("setsid env -i sh -c 'exec sleep 300' & sleep 300", timeout=0.3),
        "timeout",
    ),
    "300 MB on stdout": (line("head -c 300000000 /dev/zero"), "bad_verdict"),
    "not UTF-8": (prints(b'{"action": "continue", "message": "\xff\xfe"}'), "bad_verdict"),
    "NUL bytes": (prints(b'{"action": "continue"}\0\0'), "bad_verdict"),
    "plain text": (prints(b"all fine"), "bad_verdict"),
    "nested 100,000 deep": (prints(b'{"action": "modify", "args_patch": {"a": ' + b"[" * 100_000), "bad_verdict"),
    "exit 1": (line("echo broken >&2; exit 1"), "exit_code"),
    "exit 127": (line("exit 127"), "exit_code"),
    "a continue and then exit 1": (line(f"echo '{CONTINUE}'; exit 1"), "exit_code"),
    "killed by SIGKILL": (line("kill -KILL $$"), "signal"),
    "killed by SIGSEGV": (line("kill -SEGV $$"), "signal"),
    "missing program": (line("./no/such/hook --flag"), "missing"),
    "missing program in args": (lambda _: {"args": ["./no/such/hook"]}, "missing"),
    "program not on PATH": (line("no-such-program-anywhere"), "missing"),
    "missing script of an interpreter": (line("python3 no_such_hook.py"), "missing"),
    "missing script of an interpreter in args": (lambda _: {"args": [sys.executable, "no_such_hook.py"]}, "missing"),
    "no execute bit": (script("#!/bin/sh\nexit 0\n", 0o644), "missing"),
    "no execute bit in args": (argv("#!/bin/sh\nexit 0\n", 0o644), "missing"),
    "a directory": (line("./.git"), "missing"),
    "no shebang in args": (argv("exit 0\n"), "spawn"),
    "CRLF shebang": (script("#!/bin/sh\r\nexit 0\r\n"), "missing"),
    "CRLF shebang in args": (argv("#!/bin/sh\r\nexit 0\r\n"), "missing"),
    "missing interpreter": (script("#!/no/such/interpreter\n"), "missing"),
    "missing interpreter in args": (argv("#!/no/such/interpreter\n"), "missing"),
    "working directory that is not there": (line("true", cwd="gone"), "spawn"),
    "declared wrongly": (line("true", timeout=-1), "declaration"),
    "Python module that is not there": (lambda _: {"python": "no_such_module:hook"}, "missing"),
    "nobody listens at its URL": (lambda _: {"url": "http://127.0.0.1:1/hook"}, "http"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_what_its_on_failure_says_and_never_silent(project: Project, name: str) -> None:
    """`continue` continues, `block` refuses with exit 2; verdict, stderr and audit name the hook and the failure."""
    declare, failure = FAILURES[name]
    declared = declare(project)
    project.hooks({"name": "first", **declared}, {"name": "last", **declared, "on_failure": "block"})
    fired = project.fire(reap=True)
    assert (fired.status, fired.action) == (2, "block"), fired.stderr
    assert f"hook first failed ({failure})" in str(fired.verdict["system_message"])
    assert f"hook last failed ({failure})" in str(fired.verdict["message"])
    for hook, action in (("first", "continue"), ("last", "block")):
        assert f"hook {hook} failed ({failure})" in fired.stderr
        assert fired.hook(hook)["failure"] == failure
        assert (fired.record(hook)["failure"], fired.record(hook)["action"]) == (failure, action)
    assert fired.left == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("ending", ["exit 1", "sleep 300", "kill -KILL $$", "exec sleep 300"])
@pytest.mark.parametrize("action", ["block", "skip", "ask", "stop"])
def test_a_refusal_counts_whatever_comes_after_it(project: Project, ending: str, action: str) -> None:
    """A block, skip, ask or stop that was printed is kept when the hook then exits with 1, hangs, or is killed."""
    project.hooks({"command": f"""echo '{{"action": "{action}", "message": "R"}}'; {ending}""", "timeout": 2})
    fired = project.fire(reap=True)
    assert (fired.status, fired.action, fired.verdict["message"]) == (2, action, "R")
    assert fired.hook("hook")["failure"] is None
    assert fired.left == []


def test_300_megabytes_on_stdout_cost_no_memory_and_no_log(project: Project) -> None:
    """What a hook prints beyond max_output is drained, counted and dropped: under 40 MB of memory, a short audit."""
    project.hooks({"command": "head -c 300000000 /dev/zero"})
    fired = project.fire(reap=True)
    assert fired.record("hook")["bytes_out"] == 300_000_000
    assert fired.record("hook")["truncated"] is True
    assert fired.peak_kilobytes < 40_000
    assert project.audit_path.stat().st_size < 5_000


def test_300_megabytes_on_stderr_leave_the_verdict_as_it_is(project: Project) -> None:
    """A flood on stderr is drained while the verdict on stdout is kept, under 40 MB of memory."""
    project.hooks({"command": f"head -c 300000000 /dev/zero >&2; echo '{BLOCK}'"})
    fired = project.fire(reap=True)
    assert (fired.status, fired.verdict["message"]) == (2, "no")
    assert fired.record("hook")["bytes_err"] == 300_000_000
    assert fired.peak_kilobytes < 40_000


@pytest.mark.parametrize("first", ["", "exec <&-; sleep 0.3; "])
def test_a_hook_that_does_not_read_8_megabytes_of_stdin_is_heard(project: Project, first: str) -> None:
    """A hook that never reads its stdin, or closes it and works on, answers all the same."""
    project.hooks({"command": f"{first}echo '{BLOCK}'"})
    fired = project.fire({"tool_name": "write", "tool_args": {"content": "x" * (8 << 20)}})
    assert (fired.status, fired.verdict["message"]) == (2, "no")


def test_a_hook_without_shebang_run_by_the_shell_is_a_shell_script(project: Project) -> None:
    """A script without a #! line is run by sh, as sh does it."""
    project.hooks({"command": project.script("h", f"echo '{BLOCK}'\n")})
    assert project.fire().verdict["message"] == "no"


@pytest.mark.parametrize("start", ["sleep 300 &", "setsid sleep 300 &"])
def test_a_child_that_holds_stdout_does_not_hold_the_verdict(project: Project, start: str) -> None:
    """A hook that exits and leaves a child holding its stdout is heard while the child lives on, which is counted."""
    has_begun = "until xargs -0 < /proc/$!/cmdline | grep -qx 'sleep 300'; do :; done"
    project.hooks({"command": f"{start} {has_begun}; echo '{BLOCK}'"})
    fired = project.fire(reap=True)
    assert (fired.status, fired.verdict["message"]) == (2, "no")
    assert fired.left == ["sleep 300"]
    assert fired.record("hook")["left_running"] == 1


@pytest.mark.slow
@pytest.mark.may_be_cold({"limits"})
def test_500_parallel_hooks_all_run_with_24_open_files(project: Project) -> None:
    """With a limit of 24 open files 500 parallel hooks take turns, and the last one's block is kept."""
    answers = [CONTINUE] * 499 + [BLOCK]
    project.hooks(*({"name": f"h{i}", "command": f"echo '{a}'", "parallel": True} for i, a in enumerate(answers)))
    fired = project.fire(wrap=("sh", "-c", 'ulimit -n 24; exec "$@"', "sh"))
    assert (fired.status, fired.verdict["message"]) == (2, "no")
    assert len(fired.verdict["hooks"]) == 500  # type: ignore[arg-type]
    assert all(hook["failure"] is None for hook in fired.verdict["hooks"])  # type: ignore[attr-defined]


def test_a_deadline_ends_every_hook_that_has_not_answered(project: Project) -> None:
    """With --deadline, hooks that run and hooks that have not begun are all timeouts, and none is left."""
    project.hooks(
        *({"name": f"h{i}", "command": "sleep 300", "on_failure": "block", "always": True} for i in range(20))
    )
    fired = project.fire(None, "--deadline", "1", reap=True)
    assert fired.status == 2
    assert [record["failure"] for record in fired.audit if record["kind"] == "hook"] == ["timeout"] * 20
    assert fired.left == []


def test_a_deadline_ends_parallel_hooks_all_at_once(project: Project) -> None:
    """Hooks that run side by side when the deadline comes are all ended."""
    project.hooks(*({"name": f"h{i}", "command": "sleep 300", "parallel": True} for i in range(20)))
    fired = project.fire(None, "--deadline", "1", reap=True)
    assert fired.status == 0
    assert {record["failure"] for record in fired.audit if record["kind"] == "hook"} == {"timeout"}
    assert fired.left == []


def test_what_is_too_long_or_has_nul_bytes_reaches_the_hook_whole(project: Project) -> None:
    """A NUL byte and a megabyte in session_id and tool_name are in the context whole, cut in the environment."""
    text = "a\0b" + "x" * (1 << 20)
    program = (
        "import json, os, sys; c = json.load(sys.stdin); e = os.environ;"
        "print(json.dumps({'action': 'block', 'message': json.dumps([len(c['session_id']), len(c['tool_name']),"
        "len(e['HOOKRUN_SESSION_ID']), len(e['HOOKRUN_TOOL']), e['HOOKRUN_TOOL'][:3]])}))"
    )
    project.hooks({"args": [sys.executable, "-c", program]})
    fired = project.fire({"session_id": text, "tool_name": text, "tool_args": {}})
    assert json.loads(str(fired.verdict["message"])) == [len(text), len(text), 4095, 4095, "abx"]
    assert os.path.getsize(project.audit_path) < 10_000
