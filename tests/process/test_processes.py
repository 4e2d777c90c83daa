"""What surrounds a hook's process: its environment and directory, locks, the background, signals and broken streams."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.core.state import YOUNG
from tests.cli.command import hookrun
from tests.conftest import Project
from tests.fire.agents import Agent
from tests.waiting import ended, limit, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.sampled(3)

TELL_ENVIRONMENT = "import json, os; print(json.dumps({'action': 'block', 'message': json.dumps(dict(os.environ))}))"
BLOCK = """echo '{"action": "block", "message": "no"}'"""
MODIFY = """echo '{"action": "modify", "args_patch": {"command": "ls -l"}}'"""
CONTEXT = b'{"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}'


class Running:
    """A `hookrun fire` that has been started and not yet waited for."""

    def __init__(self, project: Project, *wrap: str) -> None:
        """Start it with the context on stdin; `wrap` is the command line before hookrun's."""
        self.process = subprocess.Popen(
            [*wrap, *project.command("fire", "pre_tool_use")],
            cwd=project.root,
            env=project.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(CONTEXT)
        self.process.stdin.close()
        self.process.stdin = None

    def end(self) -> tuple[int, bytes, str]:
        """Wait for it; return status, stdout and stderr."""
        stdout, stderr = self.process.communicate(timeout=limit())
        return self.process.returncode, stdout, stderr.decode()


@contextmanager
def running(project: Project, *wrap: str) -> Iterator[Running]:
    """Have a run active during the block, and be sure that it ends."""
    fire = Running(project, *wrap)
    try:
        yield fire
    finally:
        fire.process.kill()
        fire.process.communicate()


class Signpost:
    """A named pipe on which one side waits for the other: no sleeping, no polling."""

    def __init__(self, path: Path) -> None:
        """Make the pipe."""
        self.path = path
        os.mkfifo(path)
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def wait(self) -> bytes:
        """Return what was written to it, once there is something."""
        assert select.select([self._fd], [], [], limit())[0], f"nobody wrote to {self.path}"
        return os.read(self._fd, 65536)

    def tell(self) -> None:
        """Write one line for its reader."""
        os.write(self._fd, b"go\n")

    def close(self) -> None:
        """Close it: readers that wait for it continue."""
        os.close(self._fd)


@pytest.fixture
def signpost(project: Project) -> Iterator[Callable[[str], Signpost]]:
    """Return what makes a named pipe at the project's root."""
    made: list[Signpost] = []

    def make(name: str) -> Signpost:
        made.append(Signpost(project.root / name))
        return made[-1]

    yield make
    for each in made:
        each.close()


# --- environment


def environment_of(project: Project, *, env: dict[str, str] | None = None, **fields: object) -> dict[str, str]:
    """Return the environment that a hook sees."""
    project.hooks({"args": [sys.executable, "-c", TELL_ENVIRONMENT], **fields})
    fired = project.fire(
        {"session_id": "s1", "agent": "claude", "tool_name": "bash", "tool_args": {}, "working_dir": "/tmp/elsewhere"},
        env=env,
    )
    seen = json.loads(str(fired.verdict["message"]))
    assert seen.get("HOOKRUN_REQUEST_ID", fired.verdict["request_id"]) == fired.verdict["request_id"]
    return {str(name): str(value) for name, value in seen.items()}


def test_a_hook_is_told_everything_about_the_fire_in_its_environment(project: Project) -> None:
    """All nine HOOKRUN_ variables are there with the values of this fire."""
    seen = environment_of(project)
    told = {name: value for name, value in seen.items() if name.startswith("HOOKRUN_") and name != "HOOKRUN_CHAIN"}
    request_id = told.pop("HOOKRUN_REQUEST_ID")
    assert len(request_id) == 16
    assert told == {
        "HOOKRUN_EVENT": "pre_tool_use",
        "HOOKRUN_AGENT": "claude",
        "HOOKRUN_HOOK": "hook",
        "HOOKRUN_SESSION_ID": "s1",
        "HOOKRUN_TOOL": "bash",
        "HOOKRUN_PROJECT_DIR": str(project.root),
        "HOOKRUN_CONFIG_DIR": str(project.root),
        "HOOKRUN_WORKING_DIR": "/tmp/elsewhere",
    }


def test_the_config_directory_is_that_of_the_declaration(project: Project) -> None:
    """A hook of the user layer gets the user's configuration directory, and the project's root all the same."""
    project.user_hooks({"args": [sys.executable, "-c", TELL_ENVIRONMENT]})
    seen = json.loads(str(project.fire().verdict["message"]))
    assert seen["HOOKRUN_CONFIG_DIR"] == str(project.home / ".config" / "hookrun")
    assert seen["HOOKRUN_PROJECT_DIR"] == str(project.root)


def test_what_is_unknown_is_told_as_nothing(project: Project) -> None:
    """Without a session, a tool and an agent the variables are there and empty."""
    project.hooks({"args": [sys.executable, "-c", TELL_ENVIRONMENT], "event": "notification"})
    seen = json.loads(str(project.fire({}, event="notification").verdict["message"]))
    assert [seen[name] for name in ("HOOKRUN_SESSION_ID", "HOOKRUN_TOOL", "HOOKRUN_AGENT")] == ["", "", ""]
    assert seen["HOOKRUN_WORKING_DIR"] == str(project.root)


POLICY_ENVIRONMENT = {
    "GITHUB_TOKEN": "t",
    "AWS_SECRET_ACCESS_KEY": "s",
    "DB_PASSWORD": "p",
    "MY_APIKEY": "k",
    "STRIPE_KEY": "k",
    "DATABASE_URL": "u",
    "SSH_AUTH_SOCK": "a",
    "EDITOR": "vi",
    "KEYBOARD": "us",
    "LC_ALL": "C.UTF-8",
    "LANG": "C.UTF-8",
}


def test_env_policy_scrub_takes_out_what_looks_like_a_credential(project: Project) -> None:
    """Under scrub, variables named like credentials are gone and the others stay."""
    seen = environment_of(project, env=POLICY_ENVIRONMENT, env_policy="scrub")
    assert sorted(POLICY_ENVIRONMENT.keys() & seen.keys()) == ["EDITOR", "KEYBOARD", "LANG", "LC_ALL"]
    assert "PATH" in seen


def test_env_policy_clean_leaves_next_to_nothing(project: Project) -> None:
    """Under clean, only the basics of a login and what is hookrun's own are there."""
    seen = environment_of(project, env=POLICY_ENVIRONMENT, env_policy="clean")
    basics = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ", "NO_COLOR"}
    others = {n for n in seen if not n.startswith(("HOOKRUN_", "LC_")) and n not in basics}
    assert others <= {"PWD", "SHLVL", "_"}
    assert seen["HOME"] == str(project.home)
    assert seen["LC_ALL"] == "C.UTF-8"


def test_a_caller_s_own_repository_is_no_hook_s(project: Project) -> None:
    """What git sets for its hooks' repository would have every `git` of ours look there; a hook may name it."""
    local = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True)
    names = local.stdout.split()
    assert names
    caller = {**dict.fromkeys(names, "/elsewhere"), "GIT_AUTHOR_NAME": "me"}
    assert [name for name in environment_of(project, env=caller) if name in caller] == ["GIT_AUTHOR_NAME"]
    project.hooks({"args": [sys.executable, "-c", TELL_ENVIRONMENT], "env": {"GIT_DIR": "/mine"}})
    assert json.loads(str(project.fire(env=caller).verdict["message"]))["GIT_DIR"] == "/mine"


@pytest.mark.parametrize("policy", ["inherit", "scrub", "clean"])
def test_declared_env_wins_over_the_policy_but_not_over_hookrun(project: Project, policy: str) -> None:
    """Declared variables are set under every policy, but no declaration changes hookrun's own variables."""
    declared = {"GITHUB_TOKEN": "mine", "EDITOR": "ed", "HOOKRUN_EVENT": "forged", "HOOKRUN_PROJECT_DIR": "/forged"}
    project.hooks({"args": [sys.executable, "-c", TELL_ENVIRONMENT], "env_policy": policy, "env": declared})
    seen = json.loads(str(project.fire(env=POLICY_ENVIRONMENT).verdict["message"]))
    assert (seen["GITHUB_TOKEN"], seen["EDITOR"]) == ("mine", "ed")
    assert (seen["HOOKRUN_EVENT"], seen["HOOKRUN_PROJECT_DIR"]) == ("pre_tool_use", str(project.root))


def test_a_declared_path_is_where_the_program_is_looked_up(project: Project) -> None:
    """A PATH in a hook's env counts for finding the hook's own program."""
    project.script("tools/the-guard", f"#!/bin/sh\n{BLOCK}\n")
    path = f"{project.root}/tools:{os.environ['PATH']}"
    project.hooks({"args": ["the-guard"], "env": {"PATH": path}})
    assert project.fire().verdict["message"] == "no"


# --- directories


def directory_of(project: Project, cwd: str | None, *, at: Path, working_dir: str | None = None) -> str:
    """Return the working directory of a hook whose run starts in `at`."""
    project.hooks({"command": "pwd -P >&2; exit 2", **({} if cwd is None else {"cwd": cwd})})
    context = {"tool_name": "bash", "tool_args": {}, **({} if working_dir is None else {"working_dir": working_dir})}
    return str(project.fire(context, cwd=at).verdict["message"])


def test_the_path_setting_adds_to_the_path_of_hooks(project: Project) -> None:
    """As a version manager's directory, which an agent started from a desktop lacks; last, so it hides nothing."""
    shims = project.home / "shims"
    shims.mkdir()
    for name in ("only-a-shim", "true"):
        (shims / name).write_text(f"#!/bin/sh\necho '{json.dumps({'action': 'block', 'message': name})}'\n")
        (shims / name).chmod(0o755)
    hooks: list[dict[str, object]] = [
        {"name": "line", "command": "only-a-shim"},
        {"name": "args", "args": ["only-a-shim"]},
    ]
    project.user_hooks(*hooks, {"name": "true", "args": ["true"]})
    missing = project.fire()
    assert "only-a-shim is not on the PATH of this process (`hookrun.path` adds to it)" in missing.stderr
    assert missing.action == "continue"
    project.user_hooks(
        *({**hook, "always": True} for hook in hooks), {"name": "true", "args": ["true"]}, path=["~/shims"]
    )
    fired = project.fire()
    assert [fired.record(name)["action"] for name in ("line", "args")] == ["block", "block"]
    agent = Agent("claude", project)
    assert agent.fire(agent.shell(), env={"HOME": "/"}).reason == "only-a-shim\nonly-a-shim"
    assert "hooks also look for programs in ~/shims" in hookrun(project, "explain", "pre_tool_use").stdout


def test_the_agent_is_named_whose_path_lacks_a_program(project: Project) -> None:
    """It may have been started elsewhere than in a shell."""
    project.user_hooks({"command": "only-a-shim", "on_failure": "block"})
    agent = Agent("gemini", project)
    assert "its program only-a-shim is not on the PATH of gemini" in str(agent.fire(agent.shell()).reason)


def test_a_hook_runs_at_the_projects_root(project: Project) -> None:
    """By default, and with `project`, a hook of a run in a subdirectory runs at the root."""
    below = project.root / "a" / "b"
    below.mkdir(parents=True)
    assert directory_of(project, None, at=below) == str(project.root)
    assert directory_of(project, "project", at=below, working_dir=str(below)) == str(project.root)


def test_a_user_hook_runs_at_the_projects_root_too(project: Project) -> None:
    """A hook of the user layer runs at the project's root, not beside its declaration."""
    below = project.root / "a"
    below.mkdir()
    project.hooks({"name": "other", "command": "true"})
    project.user_hooks({"command": "pwd -P >&2; exit 2"})
    assert project.fire(cwd=below).verdict["message"] == str(project.root)


def test_cwd_event_is_where_the_agent_is(project: Project) -> None:
    """With `event` a hook runs in the context's working_dir, else where hookrun was started."""
    below = project.root / "a" / "b"
    below.mkdir(parents=True)
    assert directory_of(project, "event", at=project.root, working_dir=str(below)) == str(below)
    assert directory_of(project, "event", at=below) == str(below)


@pytest.mark.slow
def test_a_relative_directory_is_taken_from_the_projects_root(project: Project) -> None:
    """A relative cwd is below the root wherever the fire is made; an absolute one and one of the home stay."""
    below = project.root / "a" / "b"
    below.mkdir(parents=True)
    (project.home / "mine").mkdir()
    assert directory_of(project, "a", at=below) == str(project.root / "a")
    assert directory_of(project, str(project.home), at=below) == str(project.home)
    assert directory_of(project, "~/mine", at=below) == str(project.home / "mine")


def test_a_working_directory_of_the_event_that_is_gone_is_a_spawn_failure(project: Project) -> None:
    """With `event`, a working_dir that does not exist is a failure that names it and not another directory."""
    project.hooks({"command": "true", "cwd": "event", "on_failure": "block"})
    gone = str(project.root / "gone")
    fired = project.fire({"tool_name": "bash", "tool_args": {}, "working_dir": gone})
    assert fired.hook("hook")["failure"] == "spawn"
    assert gone in str(fired.verdict["message"])


# --- exclusive

MARKED = """
[ -e {marker} ] && exit 3
: > {marker}
i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done
rm {marker}
"""


def test_an_exclusive_hook_never_runs_twice_at_once(project: Project) -> None:
    """Eight concurrent runs of a hook that fails if it meets itself: none fails, and each has run."""
    project.hooks({"command": MARKED.format(marker="marker"), "exclusive": True, "on_failure": "block"})
    fires = [Running(project) for _ in range(8)]
    assert [fire.end()[0] for fire in fires] == [0] * 8
    runs = [record for record in project.audit() if record["kind"] == "hook"]
    assert [run.get("failure") for run in runs] == [None] * 8


def test_exclusive_neighbours_of_one_fire_take_turns_only_with_themselves(
    project: Project, signpost: Callable[[str], Signpost]
) -> None:
    """Two exclusive hooks of different names run side by side: each waits for the other to have begun."""
    signpost("one")
    signpost("two")
    shared: dict[str, object] = {"exclusive": True, "parallel": True, "on_failure": "block"}
    project.hooks(
        {"name": "a", "command": "echo go > one; read word < two", **shared},
        {"name": "b", "command": "echo go > two; read word < one", **shared},
    )
    assert project.fire().status == 0


def test_an_exclusive_hook_of_another_project_is_not_waited_for(
    project: Project, tmp_path: Path, signpost: Callable[[str], Signpost]
) -> None:
    """While a hook holds its lock in one project, that of the same name in another project runs."""
    other = Project(tmp_path / "other")
    began, go = signpost("began"), signpost("go")
    project.hooks({"command": "echo began > began; read word < go", "exclusive": True})
    other.hooks({"command": BLOCK, "exclusive": True})
    with running(project) as first:
        began.wait()
        fired = other.fire(env={"HOME": str(project.home)})
        assert (fired.status, fired.verdict["message"]) == (2, "no")
        go.tell()
        assert first.end()[0] == 0


@pytest.mark.slow
def test_waiting_for_the_lock_is_bounded_by_the_timeout(project: Project, signpost: Callable[[str], Signpost]) -> None:
    """A hook whose lock is held for all of its timeout times out, and the reason names the holder."""
    began, go = signpost("began"), signpost("go")
    hook: dict[str, object] = {"exclusive": True, "on_failure": "block"}
    project.hooks({"command": "echo began > began; read word < go", **hook})
    with running(project) as first:
        began.wait()
        project.hooks({"command": "true", "timeout": 0.3, **hook})
        fired = project.fire()
        assert fired.hook("hook")["failure"] == "timeout"
        assert "lock" in str(fired.verdict["message"])
        go.tell()
        assert first.end()[0] == 0


def test_the_lock_is_given_back_when_its_holder_is_killed(
    project: Project, signpost: Callable[[str], Signpost]
) -> None:
    """A hookrun that is killed while its exclusive hook runs leaves no lock behind that blocks others."""
    began = signpost("began")
    hook: dict[str, object] = {"exclusive": True, "on_failure": "block"}
    project.hooks({"command": "echo $$ > began; exec sleep 300", **hook})
    with running(project) as first:
        hook_process = int(began.wait())
        first.process.kill()
        first.process.wait()
        os.kill(hook_process, signal.SIGKILL)
    project.hooks({"command": BLOCK, **hook})
    assert project.fire().verdict["message"] == "no"


@pytest.mark.slow
def test_a_lock_that_is_held_survives_the_pruning_of_the_cache(
    project: Project, signpost: Callable[[str], Signpost]
) -> None:
    """Hundreds of compiled declarations beside it do not take a held lock away: the hook still never meets itself."""
    began, go = signpost("began"), signpost("go")
    hook: dict[str, object] = {"exclusive": True, "on_failure": "block"}
    project.hooks({"command": "echo began > began; read word < go", **hook})
    cache = project.home / ".cache" / "hookrun"
    cache.mkdir(parents=True, exist_ok=True)
    with running(project) as first:
        began.wait()
        for number in range(300):
            (cache / f"{number:032x}.json").write_text("{}")
        project.user_hooks({"name": "unrelated", "event": "stop", "command": "true"})
        until(lambda: is_old(project.home / ".config" / "hookrun" / "hooks.json"), "the file is new")
        elsewhere = project.home / "elsewhere"
        elsewhere.mkdir()
        project.fire(event="stop", cwd=elsewhere)
        project.hooks({"command": "true", "timeout": 0.3, **hook})
        assert project.fire().hook("hook")["failure"] == "timeout"
        go.tell()
        assert first.end()[0] == 0


def is_old(path: Path) -> bool:
    """Return whether the file is so old that hookrun caches what it compiles of it."""
    return time.time_ns() - path.stat().st_ctime_ns > YOUNG + 50_000_000


# --- background


def background_record(project: Project) -> dict[str, object]:
    """Return the record of the background hook's end, once it is there."""
    return until(lambda: ends(project), "no record of its end")[0]


def ends(project: Project) -> list[dict[str, object]]:
    """Return the records of the ends of background hooks."""
    return [record for record in project.audit() if record["kind"] == "background"]


def test_fire_does_not_wait_for_a_background_hook(project: Project, signpost: Callable[[str], Signpost]) -> None:
    """The run has answered, and its stdout and stderr have ended, while the hook still waits for our input."""
    began, go, done = signpost("began"), signpost("go"), signpost("done")
    project.hooks({"command": "echo began > began; read word < go; echo $word > done", "background": True})
    fired = project.fire()
    assert (fired.status, fired.action, fired.stderr) == (0, "continue", "")
    began.wait()
    assert ends(project) == []
    go.tell()
    assert done.wait() == b"go\n"
    record = background_record(project)
    assert (record["hook"], record["exit"], record.get("failure")) == ("hook", 0, None)
    assert (record["background"], record["request_id"]) == (True, fired.verdict["request_id"])


def test_a_background_hook_reads_the_whole_context(project: Project, signpost: Callable[[str], Signpost]) -> None:
    """A large context reaches a background hook whole although hookrun is gone."""
    done = signpost("done")
    project.hooks({"command": "wc -c > done", "background": True})
    content = "x" * (8 << 20)
    project.fire({"tool_name": "write", "tool_args": {"content": content}})
    assert int(done.wait()) > len(content)


def test_what_a_background_hook_says_is_no_verdict_and_goes_nowhere(project: Project) -> None:
    """Its block has no effect, and its output is not in hookrun's output."""
    project.hooks({"command": f"echo loud >&2; {BLOCK}; exit 2", "background": True})
    fired = project.fire()
    assert (fired.status, fired.action, fired.stderr) == (0, "continue", "")
    record = background_record(project)
    assert (record["exit"], record["action"]) == (2, "continue")
    assert record["bytes_out"] == len(json.dumps({"action": "block", "message": "no"})) + 1


@pytest.mark.slow
def test_the_timeout_of_a_background_hook_is_enforced(project: Project, signpost: Callable[[str], Signpost]) -> None:
    """A background hook past its timeout is ended with all its descendants, and its record says so."""
    pids = signpost("pids")
    project.hooks({"command": "setsid sleep 300 & echo $$ $! > pids; exec sleep 300", "background": True, "timeout": 3})
    project.fire()
    hook, child = map(int, pids.wait().split())
    record = background_record(project)
    assert record["failure"] == "timeout"
    until(lambda: not alive(hook) and not alive(child), "they run on")


def test_a_failing_background_hook_is_in_the_audit(project: Project) -> None:
    """An exit status other than 0 and 2 is a failure in the record, with what the hook wrote to stderr."""
    project.hooks({"command": "echo broken >&2; exit 3", "background": True})
    project.fire()
    record = background_record(project)
    assert (record["failure"], record["exit"]) == ("exit_code", 3)
    assert "broken" in str(record["detail"])


def test_an_environment_that_is_too_long_for_the_system_is_named(project: Project) -> None:
    """One that hookrun itself was started with can be: hooks get more variables."""
    project.hooks({"command": "true", "env": {"LONG": "x" * (4 << 20)}})
    fired = project.fire()
    assert fired.hook("hook")["failure"] == "spawn"
    assert "environment variables are longer than the system allows" in fired.stderr


def test_a_background_hook_that_cannot_be_started_is_a_failure_that_is_seen(project: Project) -> None:
    """A missing program of a background hook is detected before it starts, and reported at once."""
    project.hooks({"command": "./no-such-program", "background": True})
    fired = project.fire()
    assert fired.hook("hook")["failure"] == "missing"
    assert "no-such-program" in fired.stderr


def test_a_background_hook_survives_the_signal_that_ends_the_fire(
    project: Project, signpost: Callable[[str], Signpost]
) -> None:
    """SIGTERM to hookrun, while another hook is waited for, does not end what was handed to the background."""
    began, go, done = signpost("began"), signpost("go"), signpost("done")
    project.hooks(
        {"name": "behind", "command": "read word < go; echo $word > done", "background": True},
        {"name": "front", "command": "echo began > began; exec sleep 300"},
    )
    with running(project) as fire:
        began.wait()
        fire.process.terminate()
        assert fire.end()[0] == 143
    go.tell()
    assert done.wait() == b"go\n"


def alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def test_background_hooks_that_are_exclusive_take_turns(project: Project) -> None:
    """Six runs of a hook that is exclusive and in the background: all six ran, and none met another."""
    project.hooks({"command": MARKED.format(marker="marker"), "exclusive": True, "background": True})
    fires = [Running(project) for _ in range(6)]
    assert [fire.end()[0] for fire in fires] == [0] * 6
    until(lambda: len(ends(project)) == 6, "a hook has not ended")
    assert [(end["exit"], end.get("failure")) for end in ends(project)] == [(0, None)] * 6


# --- signals

ORDINARY_SIGNALS = (1 << 31) - 1
"""Signals 1 to 31: those above are the C library's own."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_fire_and_every_hook(
    project: Project, signpost: Callable[[str], Signpost], number: signal.Signals
) -> None:
    """The run ends with 128 + n, prints nothing on stdout, leaves no process, and its record says `interrupted`."""
    pids = signpost("pids")
    project.hooks(
        {"name": "before", "command": "true"},
        {"name": "deaf", "command": "trap '' TERM; setsid sleep 300 & echo $$ $! > pids; while :; do sleep 1; done"},
        {"name": "after", "command": "touch after"},
    )
    with running(project) as fire:
        processes = list(map(int, pids.wait().split()))
        fire.process.send_signal(number)
        status, stdout, stderr = fire.end()
    assert status == 128 + number
    assert stdout == b""
    assert stderr == f"error: interrupted by signal {int(number)}: every hook was ended\n"
    assert [pid for pid in processes if alive(pid)] == []
    assert not (project.root / "after").exists()
    last = project.audit()[-1]
    assert (last["kind"], last["interrupted"], last["exit"]) == ("fire", int(number), 128 + number)
    assert [record["hook"] for record in project.audit() if record["kind"] == "hook"] == ["before", "deaf"]


def test_every_hook_side_by_side_is_ended_by_a_signal(project: Project, signpost: Callable[[str], Signpost]) -> None:
    """Parallel hooks, those that wait their turn included, are all ended or never begun."""
    began = signpost("began")
    project.hooks(
        *({"name": f"h{i}", "command": "echo $$ >> began; exec sleep 300", "parallel": True} for i in range(40))
    )
    processes: list[int] = []
    with running(project) as fire:
        while len(processes) < 32:
            processes += map(int, began.wait().split())
        fire.process.terminate()
        assert fire.end()[0] == 143
    assert [pid for pid in processes if alive(pid)] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_the_parent_ignores_stays_ignored(
    project: Project, signpost: Callable[[str], Signpost], number: signal.Signals
) -> None:
    """As under nohup: hookrun does not take up a signal that it was started to ignore."""
    began, go = signpost("began"), signpost("go")
    project.hooks({"command": f"echo began > began; read word < go; {BLOCK}"})
    with running(project, "sh", "-c", f"trap '' {number.name[3:]}; exec \"$@\"", "sh") as fire:
        began.wait()
        fire.process.send_signal(number)
        go.tell()
        status, stdout, _ = fire.end()
    assert (status, json.loads(stdout)["message"]) == (2, "no")


def test_a_hook_has_its_signals_at_default_whatever_hookrun_ignores(project: Project) -> None:
    """A hook inherits no ignored signal: none of the ordinary ones is ignored or blocked."""
    status = "grep -E '^Sig(Ign|Blk):' /proc/self/status >&2; exit 2"
    project.hooks({"command": status})
    fired = project.fire(wrap=("sh", "-c", "trap '' HUP INT QUIT PIPE ALRM TERM XFSZ; exec \"$@\"", "sh"))
    words = str(fired.verdict["message"]).split()
    blocked, ignored = (int(word, 16) & ORDINARY_SIGNALS for word in words[1::2])
    assert (blocked, ignored) == (0, 0)


def test_a_python_hook_has_sigpipe_at_default(project: Project) -> None:
    """What a Python function starts sees a SIGPIPE that is not ignored."""
    project.script(
        "guards.py",
        "import os\ndef hook(context):\n    os.system('yes | head -1')\n"
        "    return {'action': 'block', 'message': 'no'}\n",
    )
    project.hooks({"python": "guards:hook"})
    fired = project.fire()
    assert (fired.verdict["message"], fired.record("hook")["bytes_err"]) == ("no", 2)


LOOKS = """import os
def ids(context): return {'action': 'block', 'message': f'{os.getsid(0)} {os.getpgid(0)} {os.getpid()}'}
def files(context): return {'action': 'block', 'message': ' '.join(os.listdir('/proc/self/fd'))}
"""
LIST_FILES = "import os, sys; sys.stderr.write(' '.join(os.listdir('/proc/self/fd'))); sys.exit(2)"


def test_a_python_hook_leads_a_session_of_its_own(project: Project) -> None:
    """Session, process group and process are the same: a hook has no terminal and gets no signal of ours."""
    project.script("looks.py", LOOKS)
    project.hooks({"python": "looks:ids"})
    session, group, process = map(int, str(project.fire().verdict["message"]).split())
    assert session == group == process
    assert session != os.getsid(0)


@pytest.mark.parametrize(
    ("hook", "own"),
    [({"args": [sys.executable, "-c", LIST_FILES]}, {3}), ({"python": "looks:files"}, {3, 4, 5})],
    ids=["command", "python"],
)
def test_a_hook_has_three_descriptors_and_no_more(project: Project, hook: dict[str, object], own: set[int]) -> None:
    """Nothing of what hookrun or its caller has open is open in a hook."""
    project.script("looks.py", LOOKS)
    project.hooks(hook)
    fired = project.fire(wrap=("sh", "-c", 'exec "$@" 7<coder.json 8>log', "sh"))
    descriptors = {int(word) for word in str(fired.verdict["message"]).split()}
    assert descriptors - own == {0, 1, 2}, "3 is listdir's; in python 3 reports the end, 4 is the answer, 5 listdir's"


# --- nesting


@pytest.mark.slow
def test_no_hook_can_talk_itself_out_of_its_depth(project: Project) -> None:
    """A hook that runs itself is stopped three deep, even if it clears its environment or declares the count itself."""
    fire = " ".join(project.command("fire", "pre_tool_use"))
    project.hooks(
        {
            "command": f"echo x >> ran; {fire} < /dev/stdin",
            "on_failure": "block",
            "env_policy": "clean",
            "env": {"HOOKRUN_CHAIN": "", "PYTHONPATH": project.environment()["PYTHONPATH"]},
        }
    )
    fired = project.fire(reap=True)
    assert (project.root / "ran").read_text() == "x\n" * 3
    assert (fired.status, fired.left) == (2, [])
    assert "hooks run inside hooks 3 levels deep" in fired.stderr
    assert "hooks run inside hooks 3 levels deep" in fired.stdout.decode()
    assert [record["exit"] for record in fired.audit if "error" in record] == [2]


@pytest.mark.slow
def test_ending_the_outer_hook_ends_the_hooks_it_has_fired(
    project: Project, signpost: Callable[[str], Signpost]
) -> None:
    """A hook that fires another event and times out is ended with the hooks of that run."""
    pids = signpost("pids")
    fire = " ".join(project.command("fire", "stop"))
    project.hooks(
        {"name": "outer", "command": f"echo '{{}}' | {fire}", "timeout": 3},
        {"name": "inner", "event": "stop", "command": "setsid sleep 300 & echo $$ $! > pids; exec sleep 300"},
    )
    fired = project.fire(reap=True)
    assert fired.hook("outer")["failure"] == "timeout"
    assert [pid for pid in map(int, pids.wait().split()) if alive(pid)] == []
    assert fired.left == []


# --- broken streams

ANSWERS = {"block": BLOCK, "modify": MODIFY, "continue": "true"}
STATUS = {"block": 2, "modify": 0, "continue": 0}


FULL = ["> /dev/full"] if Path("/dev/full").exists() else []


@pytest.mark.parametrize("action", ANSWERS)
def test_streams_beside_stdout_change_no_verdict(project: Project, action: str) -> None:
    """Closed at the start, or on a full disk: the verdict on stdout and the status are the same as usual."""
    project.hooks({"command": f"echo noise >&2; {ANSWERS[action]}"}, {"name": "broken", "command": "exit 7"})
    (project.root / "ctx.json").write_bytes(CONTEXT)
    for redirected in ("<&-", "2>&-", "<&- 2>&-", *(f"2{each}" for each in FULL)):
        fired = project.fire(None, "--ctx", "ctx.json", wrap=("sh", "-c", f'exec "$@" {redirected}', "sh"))
        assert (fired.status, fired.action) == (STATUS[action], action), redirected
        assert fired.stderr == "" or "2" not in redirected, redirected


def test_closed_stdin_without_a_context_file_is_trouble_of_hookruns_own(project: Project) -> None:
    """With stdin closed and no context, hookrun reports it and exits with 1."""
    project.hooks({"command": BLOCK})
    fired = project.fire(wrap=("sh", "-c", 'exec "$@" <&-', "sh"))
    assert (fired.status, fired.stdout) == (1, b"")
    assert "give one JSON object" in fired.stderr


@pytest.mark.parametrize("hook", [{"python": "guards:hook"}, {"url": "http://127.0.0.1:1/hook"}], ids=["python", "url"])
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-"])
def test_closed_streams_of_hookrun_hide_no_reason(project: Project, hook: dict[str, object], closed: str) -> None:
    """A hook in a forked child has its own streams: its failure is reported although hookrun's stderr is closed."""
    project.script("guards.py", "def hook(context):\n    raise ValueError('Connection refused')\n")
    project.hooks({**hook, "on_failure": "block"})
    fired = project.fire(wrap=("sh", "-c", f'exec "$@" {closed}', "sh"))
    assert fired.status == 2
    assert "Connection refused" in str(fired.record("hook")["detail"])


def test_a_python_hook_has_a_stdout_where_hookrun_has_none(project: Project) -> None:
    """A function that uses sys.stdout works in a hookrun whose stdout is closed."""
    text = "import sys\ndef hook(context):\n    sys.stdout.write('checking')\n    sys.stdout.flush()\n"
    project.script("guards.py", text)
    project.hooks({"python": "guards:hook", "on_failure": "block"})
    fired = project.fire(wrap=("sh", "-c", 'exec "$@" >&-', "sh"))
    assert fired.status == 0, fired.stderr


def test_everything_closed_still_blocks(project: Project) -> None:
    """With all three streams closed, a block is still exit 2 and no file of ours is written into by mistake."""
    project.hooks({"command": BLOCK})
    (project.root / "ctx.json").write_bytes(CONTEXT)
    fired = project.fire(None, "--ctx", "ctx.json", wrap=("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"))
    assert (fired.status, fired.stdout, fired.stderr) == (2, b"", "")
    assert fired.record("hook")["action"] == "block"


UNSAYABLE = {"block": 2, "modify": 1, "continue": 0}
"""The exit status where the verdict cannot be written: a block is recognised by the status alone, a modify is not."""


@pytest.mark.parametrize("action", ANSWERS)
def test_a_stdout_that_is_closed_or_full_loses_no_verdict_in_silence(project: Project, action: str) -> None:
    """A block still exits 2, an unwritable modify 1, a continue 0; of a full disk stderr names the reason."""
    project.hooks({"command": ANSWERS[action]})
    for redirected in (">&-", *FULL):
        fired = project.fire(wrap=("sh", "-c", f'exec "$@" {redirected}', "sh"))
        assert fired.status == UNSAYABLE[action], redirected
        assert f"error: the verdict ({action}) could not be written to stdout" in fired.stderr, redirected


@pytest.mark.parametrize("action", ANSWERS)
def test_an_agent_that_has_gone_loses_no_verdict_in_silence(
    project: Project, signpost: Callable[[str], Signpost], action: str
) -> None:
    """An agent that closes its end before the verdict comes: a block exits 2, a modify 1, a continue 0."""
    began, go = signpost("began"), signpost("go")
    project.hooks({"command": f"echo began > began; read word < go; {ANSWERS[action]}"})
    with running(project) as fire:
        began.wait()
        assert fire.process.stdout is not None
        fire.process.stdout.close()
        fire.process.stdout = None
        go.tell()
        status, _, stderr = fire.end()
    assert status == UNSAYABLE[action]
    assert f"the verdict ({action}) could not be written" in stderr
    assert project.audit()[-1]["exit"] == status


def test_a_large_verdict_to_a_slow_reader_arrives_whole(project: Project) -> None:
    """A verdict of 4 MB on a non-blocking stdout that is read late arrives to its last byte."""
    program = "import json, os; print(json.dumps({'action': 'block', 'message': 'x' * (4 << 20)}))"
    project.hooks({"args": [sys.executable, "-c", program], "max_output": 8 << 20})
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with subprocess.Popen(
        project.command("fire", "pre_tool_use"),
        cwd=project.root,
        env=project.environment(),
        stdin=subprocess.PIPE,
        stdout=writer,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(writer)
        assert process.stdin is not None
        process.stdin.write(CONTEXT)
        process.stdin.close()
        with os.fdopen(reader, "rb") as stream:
            verdict = json.loads(stream.read())
        assert ended(process) == 2
    assert len(verdict["message"]) == 4 << 20
