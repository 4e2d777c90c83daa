"""`python` hooks one after the other: each has a process of its own, and changes by one do not reach the next."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hookrun
from tests.waiting import until

if TYPE_CHECKING:
    from tests.conftest import Fired, Project

PROGRAMS = Path(__file__).with_name("programs")
MAIN = str(Path(hookrun.__file__).with_name("__main__.py"))
SEEN = (PROGRAMS / "seen_by_hooks.py").read_text()
"""A hook that reports all that an earlier one may have changed."""

CHANGES = "import os, sys, signal, threading, builtins, subprocess, atexit, time\nimport helper\ndef change(context):\n"
CHANGED = {
    "nothing": "pass",
    "cwd": "os.chdir('/')",
    "umask": "os.umask(0)",
    "environ": "os.environ['LEFT'] = '1'; del os.environ['PATH']; os.environ['HOOKRUN_HOOK'] = 'another'",
    "whole_environ": "os.environ = {'A': 'b'}",
    "path": "sys.path.insert(0, '/left'); sys.path = [*sys.path, '/right']",
    "stdout": "import io; sys.stdout = sys.stderr = io.StringIO()",
    "handlers": "signal.signal(15, signal.SIG_IGN); signal.signal(14, lambda *_: None); signal.alarm(100)",
    "blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])",
    "names": "builtins.left = sys.left = 1; builtins.open = None; os.getcwd = lambda: '/elsewhere'",
    "recursion": "sys.setrecursionlimit(5000)",
    "at_exit": "atexit.register(lambda: os.write(2, b'at exit'))",
    "runs_program": "subprocess.run(['true'])",
    "zombie": "os.waitid(os.P_PID, os.spawnlp(os.P_NOWAIT, 'true', 'true'), os.WEXITED | os.WNOWAIT)",
    "closed_stdout": "sys.stdout.close()",
    "file": "globals()['kept'] = sys.kept = open('/dev/null')",
    "thread": "threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
    "process": "subprocess.Popen(['sleep', '30'])",
    "grandchild": "subprocess.run('sleep 30 >/dev/null 2>&1 &', shell=True)",
    "escaped": "subprocess.run(['setsid', '-f', 'sleep', '30'], stdout=-3, stderr=-3)",
    "forked": "os.fork() or (time.sleep(30), os._exit(0))",
    "limits": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))",
    "nice": "os.nice(1)",
    "ignored_children": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "traced": "sys.settrace(lambda *_: None)",
    "control": "os.closerange(3, 100)",
    "fails": "raise RuntimeError('broken')",
    "exits": "sys.exit(0)",
    "killed": "os.kill(os.getpid(), 9)",
}
"""What a hook may do to its process."""


def seen(fired: Fired, index: int = -1) -> dict[str, object]:
    """Return a hook's report."""
    lines = [line for line in str(fired.verdict["system_message"]).splitlines() if line.startswith("{")]
    found: dict[str, object] = json.loads(lines[index])
    return found


def declare(project: Project, *hooks: dict[str, object], change: str = "pass") -> None:
    """Declare Python hooks of the two modules above."""
    project.script("seen.py", SEEN)
    project.script("changes.py", f"{CHANGES}    {change}\n")
    project.script("helper.py", "")
    project.hooks(*hooks)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("change", CHANGED)
def test_a_hook_finds_nothing_that_the_one_before_left_behind(project: Project, change: str) -> None:
    """It sees the same as the first one did."""
    declare(
        project,
        {"python": "seen:look", "name": "before"},
        {"python": "changes:change", "on_failure": "continue", "timeout": 20},
        {"python": "seen:look", "name": "after"},
        change=CHANGED[change],
    )
    fired = project.fire()
    before, after = seen(fired, 0), seen(fired, 1)
    assert before.pop("pid") != after.pop("pid")
    assert before.pop("session") != after.pop("session")
    assert after == before
    assert b"at exit" not in fired.stderr.encode()


def test_what_a_hook_wrote_and_how_it_failed_is_its_own(project: Project) -> None:
    """Output, verdict, exit status and failure are each hook's, in the audit as well."""
    project.script(
        "guards.py",
        "import sys\n"
        "def one(context): print('from one'); return {'action': 'continue', 'additional_context': context['hook']}\n"
        "def two(context): sys.stderr.write('from two'); sys.exit(3)\n"
        "def three(context): return {'action': 'modify', 'modified_args': {'command': 'changed'}}\n"
        "def four(context): return {'action': 'continue', 'additional_context': context['tool_args']['command']}\n",
    )
    names = ("one", "two", "three", "four")
    hooks: list[dict[str, object]] = [
        {"name": name, "python": f"guards:{name}", "on_failure": "continue"} for name in names
    ]
    project.hooks(*hooks)
    fired = project.fire()
    assert fired.verdict["additional_context"] == "one\nchanged"
    records = {name: fired.record(name) for name in names}
    assert [records[name]["exit"] for name in names] == [0, 3, 0, 0]
    assert records["two"]["failure"] == "exit_code"
    assert "from two" in str(records["two"]["detail"])
    assert records["one"]["bytes_err"] == len("from one\n")


@pytest.mark.slow
def test_a_hook_that_hangs_is_killed_and_those_after_it_run(project: Project) -> None:
    """With what it has started."""
    project.script(
        "guards.py", SEEN + "\nimport time\ndef hang(context):\n    os.system('sleep 600 &'); time.sleep(600)\n"
    )
    project.hooks(
        {"name": "first", "python": "guards:look"},
        {"name": "hang", "python": "guards:hang", "timeout": 1, "on_failure": "continue"},
        {"name": "last", "python": "guards:look"},
    )
    fired = project.fire()
    assert fired.record("hang")["failure"] == "timeout"
    assert seen(fired, 0)["pid"] != seen(fired, 1)["pid"]


@pytest.mark.slow
def test_hooks_side_by_side_have_a_child_each(project: Project) -> None:
    """Parallel hooks run at the same time."""
    project.script("guards.py", SEEN + "\nimport time\ndef slow(context):\n    time.sleep(0.5); return look(context)\n")
    several: list[dict[str, object]] = [
        {"name": f"n{number}", "python": "guards:slow", "parallel": True} for number in range(3)
    ]
    project.hooks(*several, {"name": "last", "python": "guards:look"})
    fired = project.fire()
    pids = [seen(fired, index)["pid"] for index in range(4)]
    assert len(set(pids)) == 4


def test_a_module_of_the_project_is_loaded_anew_for_each_hook(project: Project) -> None:
    """As are the interpreter's own."""
    project.script("state.py", "import sys, decimal\ncount = 0\n")
    project.script(
        "guards.py",
        "import sys; loaded = 'decimal' in sys.modules\n"
        "import state\n"
        "def check(context):\n"
        "    state.count += 1\n"
        "    return {'action': 'continue', 'additional_context': f'{state.count} {loaded}'}\n",
    )
    project.hooks({"name": "a", "python": "guards:check"}, {"name": "b", "python": "guards:check"})
    assert project.fire().verdict["additional_context"] == "1 False\n1 False"


@pytest.mark.slow
def test_no_child_is_left_after_a_run(project: Project) -> None:
    """They are reaped, also where the run is killed."""
    declare(project, {"python": "seen:look"}, {"python": "seen:look", "name": "again"})
    fired = project.fire()
    pids = {int(str(seen(fired, index)["pid"])) for index in range(2)}
    assert len(pids) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    project.script(
        "guards.py",
        "import os, signal, time\n"
        "def kill(context):\n"
        "    open('pid', 'w').write(str(os.getpid()))\n"
        "    os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)\n",
    )
    project.hooks({"python": "guards:kill"})
    project.fire()
    running = int((project.root / "pid").read_text())
    until(lambda: not Path(f"/proc/{running}").exists(), "a hook outlives its run")


TWO_EVENTS = (PROGRAMS / "two_events.py").read_text()
"""One call of two events, as of an agent's message with two calls, in a process that lives on."""


def test_the_children_of_every_event_of_a_call_are_reaped(project: Project) -> None:
    """A worker of the server would keep those of the first event as dead children."""
    (project.root / "one.py").write_text("def look(context): pass\n")
    project.hooks({"python": "one:look"})
    done = subprocess.run(
        [sys.executable, "-c", TWO_EVENTS],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("none\n", "")


@pytest.mark.slow
def test_recipes_and_other_python_hooks_run_side_by_side(project: Project) -> None:
    """As agents run it: each hook's process is an ordinary Python, with the hook's environment."""
    declare(
        project,
        {"python": "seen:look", "name": "first", "priority": 1},
        {"python": "seen:look", "name": "last", "priority": 900},
    )
    config = project.root / "coder.json"
    declared = json.loads(config.read_text())
    declared["hooks"] += [
        {"recipe": "rate-limit@1", "name": "rate", "priority": 0, "options": {"calls": "2"}},
        {"recipe": "rate-limit@1", "name": "rate again", "priority": 500, "options": {"calls": "3", "tools": "b*"}},
        {"recipe": "no-force-push@1", "priority": 600, "options": {"branches": "release"}},
    ]
    config.write_text(json.dumps(declared))

    def run(line: str) -> dict[str, object]:
        context = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": line}}
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "utf8", MAIN, "fire", "pre_tool_use"],
            input=json.dumps(context).encode(),
            capture_output=True,
            cwd=project.root,
            env=project.environment(),
            check=False,
        )
        assert b"Error" not in done.stderr
        answer: dict[str, object] = json.loads(done.stdout)
        return answer

    allowed = run("git push -f origin main")
    assert allowed["action"] == "continue"
    before, after = (json.loads(line) for line in str(allowed["system_message"]).splitlines())
    assert before.pop("pid") != after.pop("pid")
    assert before.pop("session") != after.pop("session")
    assert before == after
    assert run("git push -f origin release")["action"] == "block"
    assert "limited to 2 calls" in str(run("ls")["message"])


WITHOUT_FORKS = """
import os, sys
from hookrun.fire.command import main
del os.fork, os.posix_spawn
sys.exit(main(["pre_tool_use"]))
"""


def test_a_recipe_without_native_code_costs_no_process(project: Project) -> None:
    """It is called in hookrun's own, also where no server runs."""
    declared = {"hooks": [{"recipe": "rate-limit@1", "options": {"calls": "1"}}]}
    (project.root / "coder.json").write_text(json.dumps(declared))
    context = json.dumps({"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}})

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_FORKS],
            input=context,
            capture_output=True,
            cwd=project.root,
            env=project.environment(),
            text=True,
            check=False,
        )
        return done.stdout + done.stderr

    assert '"action":"continue"' in run()
    assert "limited to 1 calls" in run()
