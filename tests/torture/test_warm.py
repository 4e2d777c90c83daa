"""A run answered by a server has the same result as in a separate process, whoever calls and from where."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import ANY

import pytest

from tests.conftest import Project, copy_package, records
from tests.process.bench import processes_in
from tests.process.test_coprocesses import COUNT
from tests.waiting import ended, until
from tests.warm import WarmServer, children, descriptors, resident, waits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not Path("/proc/self/ns").exists(), reason="only Linux shows these surroundings")

CONTEXT = b'{"tool_name": "bash", "tool_args": {"command": "ls"}}'

LOOK = """cat >/dev/null
ulimit -a; ulimit -H -a; umask; nice; pwd
grep -E '^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Cap|Cpus_|Mems_|Sig(Ign|Blk)|Umask)' /proc/self/status
for name in cgroup ipc mnt net pid time user uts; do readlink /proc/self/ns/$name; done
mkfifo "$0.fifo" && rm "$0.fifo" && echo may make a FIFO
cat /proc/self/cgroup /proc/self/oom_score_adj; chrt -p $$ | sed 's/.* //'; ionice; hostname
"""
"""A hook that prints what it runs under."""

RESTRICT = (sys.executable, str(Path(__file__).with_name("restrict.py")))
WRAPS: dict[str, tuple[tuple[str, ...], object]] = {
    "nothing": ((), None),
    "a network namespace": (("unshare", "--net"), "namespace"),
    "a mount namespace": (("unshare", "--mount"), "namespace"),
    "a pid namespace": (("unshare", "--pid", "--fork", "--mount-proc"), "namespace"),
    "a user namespace": (("unshare", "--user", "--map-root-user"), "namespace"),
    "a host name": (("unshare", "--uts", "sh", "-c", 'hostname elsewhere; exec "$@"', "sh"), ANY),
    "a sandbox": (
        ("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--ipc"),
        "namespace",
    ),
    "no new privileges": (("setpriv", "--no-new-privs"), ANY),
    "fewer capabilities": (("setpriv", "--bounding-set", "-net_raw"), ANY),
    "another group": (("setpriv", "--groups", "12345"), ANY),
    "fewer descriptors": (("sh", "-c", 'ulimit -n 123; exec "$@"', "sh"), ANY),
    "smaller files": (("sh", "-c", 'ulimit -f 123456; exec "$@"', "sh"), ANY),
    "no core dumps": (("prlimit", "--core=12345:12345"), ANY),
    "a nice value": (("nice", "-n", "5"), ANY),
    "a umask": (("sh", "-c", 'umask 027; exec "$@"', "sh"), ANY),
    "one processor": (("taskset", "--cpu-list", "0"), ANY),
    "ignored signals": (("sh", "-c", "trap '' USR1 TERM INT; exec \"$@\"", "sh"), ANY),
    "another directory": (("env", "--chdir=/"), ANY),
    "a batch job": (("chrt", "--batch", "0"), ANY),
    "the disk last": (("ionice", "--class", "3"), ANY),
    "the first victim": (("choom", "--adjust", "500", "--"), ANY),
    "a Landlock domain": ((*RESTRICT, "landlock"), "sandbox"),
    "a filter of system calls": ((*RESTRICT, "seccomp"), "privileges"),
}
"""What is before a command to run it under something, and the reason for which a run under that is cold."""


@pytest.fixture
def warm(tmp_path: Path, session_server: WarmServer) -> Iterator[Project]:
    """Return a project whose runs go to the server."""
    Project.server = session_server
    made = Project(tmp_path)
    yield made
    Project.server = None


def cold(project: Project, *arguments: str) -> list[str]:
    """Return the command line of the same run without a server."""
    return [sys.executable, "-m", "hookrun", *arguments]


def claude_message(project: Project, tool: str = "Bash") -> bytes:
    """Return what Claude Code sends before it uses a tool."""
    fields = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(project.root), "tool_name": tool}
    return json.dumps(fields | {"tool_input": {"command": "ls"}}).encode()


def agent_call(project: Project) -> tuple[list[str], bytes]:
    """Return the command line of an agent's call, and its message."""
    return project.command("fire", "--agent", "claude", "PreToolUse", "--home", str(project.home)), claude_message(
        project
    )


def run(project: Project, command: list[str], **more: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command line with a context."""
    env = project.environment(**more)
    return subprocess.run(command, input=CONTEXT, capture_output=True, cwd=project.root, env=env, check=False)


def ways(project: Project) -> list[dict[str, object]]:
    """Return the records of all runs."""
    return [record for record in records(project.audit_path) if record["kind"] == "fire"]


@pytest.fixture(params=WRAPS)
def wrap(request: pytest.FixtureRequest) -> tuple[tuple[str, ...], object]:
    """Return one of WRAPS that works here."""
    words, reason = WRAPS[request.param]
    can_start = shutil.which([*words, "sh"][0]) is not None
    if not can_start or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"{request.param}: `{' '.join(words)}` does not work here")
    return words, reason


@pytest.mark.sampled(6)
def test_a_hook_runs_under_what_its_caller_runs_under(warm: Project, wrap: tuple[tuple[str, ...], object]) -> None:
    """Namespaces, privileges, limits, priority: as in a cold run, whether the server takes it or not."""
    words, reason = wrap
    without_namespaces = [[line for line in seen.splitlines() if ":[" not in line] for seen in looks(warm, words)]
    assert without_namespaces[0] == without_namespaces[1]
    assert [record.get("cold") for record in ways(warm)] == [None, reason]


def test_a_hook_is_in_the_namespaces_of_its_caller(warm: Project) -> None:
    """Those of a cold run."""
    seen = looks(warm, ())
    assert seen[0] == seen[1]
    assert [record.get("warm") for record in ways(warm)] == [None, True]


def looks(warm: Project, words: tuple[str, ...]) -> list[str]:
    """Return what a hook of LOOK prints under these words in a cold run, and in one that a launcher sends."""
    warm.script("look.sh", LOOK)
    warm.user_hooks({"command": f"sh {warm.root}/look.sh > {warm.root}/seen"})
    seen = []
    for command in (cold(warm, "fire", "pre_tool_use"), warm.command("fire", "pre_tool_use")):
        done = run(warm, [*words, *command])
        assert done.returncode == 0, done.stderr
        seen.append((warm.root / "seen").read_text())
    return seen


def test_a_launcher_in_a_sandbox_of_landlock_runs_cold(warm: Project) -> None:
    """No file of /proc shows the server that its caller is in one."""
    wrap = [*RESTRICT, "landlock"]
    if subprocess.run([*wrap, "true"], capture_output=True, check=False).returncode:
        pytest.skip("not allowed here")
    warm.user_hooks({"command": "mkfifo fifo || { echo no FIFO >&2; exit 2; }"})
    command, message = agent_call(warm)
    env = warm.environment()
    done = subprocess.run([*wrap, *command], input=message, capture_output=True, cwd=warm.root, env=env, check=True)
    assert b"no FIFO" in done.stdout
    if os.geteuid() == 0:  # another account enters a domain only with no_new_privs, which the server sees
        assert [record.get("cold") for record in ways(warm)] == ["sandbox"]


def plain_call(project: Project) -> tuple[list[str], bytes]:
    """Return the command line of a program's call, and its context."""
    return project.command("fire", "pre_tool_use"), CONTEXT


@pytest.mark.parametrize("call", [agent_call, plain_call])
def test_a_launcher_ignores_sigpipe_as_python_does(
    warm: Project, call: Callable[[Project], tuple[list[str], bytes]]
) -> None:
    """A hook that runs is answered for, whatever a stray SIGPIPE would do to another program."""
    os.mkfifo(warm.root / "go")
    warm.user_hooks({"command": f"cat >/dev/null; cat {warm.root}/go; echo no >&2; exit 2"})
    command, message = call(warm)
    with subprocess.Popen(
        command, cwd=warm.root, env=warm.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(message)
        process.stdin.close()
        process.stdin = None
        with (warm.root / "go").open("w"):  # once the hook has begun; it waits until this is closed
            process.send_signal(signal.SIGPIPE)
        out = process.communicate()[0]
    assert b"no" in out
    assert process.returncode in {0, 2}


@pytest.mark.slow
def test_a_hundred_runs_at_once_are_each_answered(warm: Project) -> None:
    """All are warm, or cold because the server has enough to do; none waits two seconds for the greeting."""
    warm.user_hooks({"command": "cat >/dev/null; sleep 0.1; echo no >&2; exit 2"})
    (warm.root / "message").write_bytes(claude_message(warm))
    command, env, runs = agent_call(warm)[0], warm.environment(), []
    for _ in range(100):
        with (warm.root / "message").open() as stdin:
            runs.append(subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, env=env))
    assert [b'"deny"' in each.communicate()[0] for each in runs] == [True] * 100
    assert {record.get("cold") for record in ways(warm)} <= {None, "busy"}
    assert len(ways(warm)) == 100


STAYS = {"command": "(trap '' TERM HUP; sleep 300) & setsid sleep 300 & sleep 300", "timeout": 600}


@pytest.mark.parametrize(
    ("hooks", "started"),
    [
        ([STAYS], 2),
        ([{"python": "stays:check", "timeout": 600}], 1),
        ([{**STAYS, "name": f"h{number}", "parallel": True} for number in range(3)], 2),
    ],
    ids=["command", "python", "parallel"],
)
def test_a_killed_launcher_leaves_no_hook(warm: Project, hooks: list[dict[str, object]], started: int) -> None:
    """Nor any process that a hook has started: as with a killed process."""
    warm.script("stays.py", "import subprocess, time\ndef check(context):\n    time.sleep(300)\n")
    warm.hooks(*hooks)
    process = warm.start(CONTEXT, "fire", "pre_tool_use")
    until(lambda: len({*processes_in(warm.root)} - {process.pid}) >= started, "not all have started")
    process.kill()
    process.wait()  # its pipes are open in hooks that live on
    until(lambda: not processes_in(warm.root), "a process is left")
    process.communicate()
    warm.hooks({"command": "true"})
    assert warm.fire(CONTEXT).action == "continue"


def test_variables_of_a_project_lead_to_no_other_server(warm: Project) -> None:
    """An agent's launcher finds the same server, which finds the same hooks."""
    elsewhere = warm.root / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    warm.user_hooks({"command": "echo no >&2; exit 2"})
    homes = dict.fromkeys(("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_DATA_HOME", "TMPDIR"), str(elsewhere))
    variables = {**homes, "PATH": f"{elsewhere}:{os.environ['PATH']}"}
    command, message = agent_call(warm)
    for name, value in variables.items():
        env = warm.environment(**{name: value})
        done = subprocess.run(command, input=message, capture_output=True, cwd=warm.root, env=env, check=False)
        assert b'"deny"' in done.stdout, name
    assert [record.get("warm") for record in ways(warm)] == [True] * len(variables)
    assert list(elsewhere.iterdir()) == []


def test_a_package_that_is_replaced_is_not_answered_by_the_old_one(tmp_path: Path) -> None:
    """The first caller after an upgrade runs cold, with the new code, and the server ends."""
    package = copy_package(tmp_path / "lib" / "hookrun")
    with WarmServer(main=package / "__main__.py") as server:
        Project.server = server
        project = Project(tmp_path)
        project.user_hooks({"command": "echo old >&2; exit 2"})
        assert run(project, project.command("fire", "pre_tool_use")).returncode == 2
        with (package / "core" / "verdicts.py").open("a") as file:
            file.write("\n# another version\n")
        done = run(project, project.command("fire", "pre_tool_use"))
        Project.server = None
        [first, second] = ways(project)
        assert (done.returncode, first.get("warm"), second.get("warm")) == (2, True, None)
        # the server may have seen it before, and be ending or gone
        assert second["cold"] in {"outdated", "stopping", "no-greeting", "no-server"}
        ended(server.reaper)


def test_a_server_that_nobody_calls_ends(tmp_path: Path) -> None:
    """And nothing of it is left: no worker, no socket, no program that is kept."""
    for idle in ("0.5", "2", "8"):
        with WarmServer("--idle", idle) as server:
            Project.server = server
            project = Project(tmp_path / idle)
            project.script("serve.py", COUNT)
            project.hooks({"args": ["python3", "serve.py"], "serve": True})
            assert project.fire(CONTEXT).action == "continue"
            kept, family = processes_in(project.root), server.family()
            Project.server = None
            ended(server.reaper)
            assert not server.socket.exists()
            assert processes_in(project.root) == []
            assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []
        if kept:  # on a slow machine the server may end before it is called, or before this looks
            break
    assert len(kept) == 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_runs_leave_nothing_behind(tmp_path: Path) -> None:
    """Neither memory nor descriptors nor processes grow, whatever the hooks do."""
    with WarmServer() as server:
        Project.server = server
        project = Project(tmp_path)
        python = os.path.realpath(shutil.which("python3") or "python3")
        project.user_hooks(
            {"name": "shell", "command": "cat >/dev/null", "matcher": "bash"},
            {"name": "fails", "command": "cat >/dev/null; exit 3", "matcher": "edit"},
            {"name": "python", "python": "guard:check", "cwd": str(project.root), "matcher": "read"},
            {"name": "serve", "args": [python, str(project.root / "serve.py")], "serve": True, "matcher": "glob"},
        )
        project.script("serve.py", COUNT)
        project.script("guard.py", "def check(context):\n    return None\n")
        tools = ("Grep", "Grep", "Grep", "Grep", "Bash", "Bash", "Edit", "Glob", "Grep", "Read")
        command = project.command("fire", "--agent", "claude", "PreToolUse", "--home", str(project.home))

        def fire(count: int) -> tuple[int, int, int]:
            for number in range(count):
                tool = tools[number % len(tools)]
                done = subprocess.run(
                    command,
                    input=claude_message(project, tool),
                    capture_output=True,
                    cwd=project.root,
                    env=project.environment(),
                    check=False,
                )
                assert done.returncode in {0, 1}, done
            until(
                lambda: all(map(waits, server.family())), "a process computes"
            )  # a run is answered before it is put away
            family = server.family()
            return len(family), sum(map(descriptors, family)), sum(map(resident, family))

        before = fire(1000)
        after = fire(9000)
        Project.server = None
        assert server.left() == []
        assert (after[0], after[1]) == (before[0], before[1])
        assert after[2] < before[2] + 5_000  # KB
        assert {record.get("cold") for record in ways(project)} == {None}


def test_a_server_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """Its workers end with it, after the run that they are at."""
    with WarmServer() as server:
        Project.server = server
        project = Project(tmp_path)
        project.hooks({"command": "touch began; sleep 1; echo no >&2; exit 2"})
        process = project.start(CONTEXT, "fire", "pre_tool_use")
        Project.server = None
        until((project.root / "began").exists, "the hook has not begun")
        os.kill(server.pid, signal.SIGTERM)
        assert ended(process) == 2
        ended(server.reaper)
        assert children(server.reaper.pid) == []
