"""Hooks with `serve` in a server: their programs live in a worker from one run to the next, and end with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.trust.project import locked_store
from tests.process.bench import processes_in
from tests.process.test_coprocesses import COUNT
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.serve.conftest import RunningServer, WarmProject

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc here")

CONTEXT = b'{"tool_name": "bash", "tool_args": {"command": "ls"}, "say": "hello"}'


def declare(warm: WarmProject, text: str = COUNT, **fields: object) -> None:
    """Declare a user's hook that serves, with this Python program."""
    warm.project.script("serve.py", text)
    args = [os.path.realpath(shutil.which("python3") or "python3"), str(warm.project.root / "serve.py")]
    warm.project.user_hooks({"name": "serve", "args": args, "serve": True, "timeout": 20, **fields})


def said(warm: WarmProject) -> list[str]:
    """Run the hook of COUNT and return its values: process, number of the line, context, name."""
    done = warm.fire("pre_tool_use", context=CONTEXT)
    assert done.status == 0, done.stderr
    return str(json.loads(done.stdout)["system_message"]).split()


def nothing_runs(warm: WarmProject) -> bool:
    """Return whether no process works in the project's directory."""
    return not processes_in(warm.project.root)


def test_a_program_answers_run_after_run(warm: WarmProject, server: RunningServer) -> None:
    """The same process, until its script changes; it ends with the server."""
    declare(warm)
    first, second = said(warm), said(warm)
    assert first[0] == second[0]
    assert (first[1:], second[1:]) == (["1", "hello", "serve"], ["2", "hello", "serve"])
    declare(warm, COUNT + "# changed\n")
    third = said(warm)
    assert third[1] == "1"
    until(lambda: processes_in(warm.project.root) == [int(third[0])], "the program before runs on")
    server.end()
    until(lambda: nothing_runs(warm), "a program runs on")


@pytest.mark.slow
def test_a_killed_caller_ends_the_program_too(warm: WarmProject) -> None:
    """What runs for it and what is kept: nothing of the worker is left."""
    asked = "asked = json.loads(line)"
    declare(warm, COUNT.replace(asked, f"{asked}; count == 2 and (open('second', 'w'), __import__('time').sleep(300))"))
    said(warm)
    client = warm.send(CONTEXT, "pre_tool_use")
    until((warm.project.root / "second").exists, "the second line is not read")
    client.close()
    until(lambda: nothing_runs(warm), "a program runs on")


@pytest.mark.slow
def test_a_killed_worker_leaves_no_program(warm: WarmProject, server: RunningServer) -> None:
    """Its watcher ends those that would not see the end of their input, too."""
    declare(warm, "import signal\nsignal.signal(1, signal.SIG_IGN)\n" + COUNT + "\nimport time; time.sleep(300)\n")
    said(warm)
    for pid in server.children():
        os.kill(pid, signal.SIGKILL)
    until(lambda: nothing_runs(warm), "a program runs on")
    assert said(warm)[1] == "1"


def not_approved(warm: WarmProject) -> None:
    """Take the approval back."""
    (warm.project.home / ".local" / "share" / "hookrun" / "trust.json").unlink()


def disabled(warm: WarmProject) -> None:
    """Disable the hook."""
    with locked_store(str(warm.project.home)) as decided:
        decided.disabled.append(
            {"name": "serve", "root": str(warm.project.root), "digest": "", "time": 0.0, "until": None}
        )


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("decide", [not_approved, disabled])
def test_a_hook_that_may_no_longer_run_has_no_program(warm: WarmProject, decide: Callable[[WarmProject], None]) -> None:
    """Whether it is disabled or no longer approved, it answers no more and is ended at once."""
    text = COUNT.replace("'continue'", "'block'").replace('"continue"', '"block"').replace("system_message", "message")
    script = warm.project.script("serve.py", text)
    python = os.path.realpath(shutil.which("python3") or "python3")
    warm.project.hooks({"name": "serve", "args": [python, script], "serve": True, "matcher": "bash"})
    warm.project.approve()
    asked = json.dumps(
        {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
         "cwd": str(warm.project.root)}
    ).encode()  # fmt: skip
    home = ("--home", str(warm.project.home))
    for number in "12":
        done = warm.fire("--agent", "claude", "PreToolUse", *home, context=asked)
        assert f" {number} None serve" in done.stdout.decode(), (done.stdout, done.stderr)
    decide(warm)
    done = warm.fire("--agent", "claude", "PreToolUse", *home, context=asked)
    assert b" 3 " not in done.stdout
    until(lambda: nothing_runs(warm), "a program runs on")
