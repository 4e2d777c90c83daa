"""Many cases are run in several processes, and come to what they come to in one."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.testing import case_runner
from tests.testing.cases import GUARD, LIST, PUSH, interrupted, write
from tests.waiting import limit, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Project

MANY = 40
"""Times that each case is there: enough for several processes."""

SEVERAL = min(os.cpu_count() or 1, 2)
"""How many processes there are at least."""


def hookrun_test(project: Project, *options: str) -> tuple[int, dict[str, Any]]:
    """Run `hookrun test --json`; return its exit status and its output, without times."""
    done = subprocess.run(
        project.command("test", "--json", *options),
        capture_output=True,
        check=False,
        text=True,
        cwd=project.root,
        env=project.environment(),
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout, object_hook=without_times)


def without_times(data: dict[str, Any]) -> dict[str, Any]:
    """Return an object without what is another each time."""
    return {name: value for name, value in data.items() if name not in {"ms", "seconds"}}


def parents(path: Path) -> set[str]:
    """Return the processes that started hooks, as these have noted."""
    return set(path.read_text().split())


@pytest.mark.slow
def test_several_processes_come_to_what_one_does(project: Project) -> None:
    """Passed and failed, as an agent, with files of their own, and what cannot be run; coverage included."""
    noted = project.home / "parents"
    project.hooks(GUARD, {"name": "note", "event": "stop", "command": f"echo $PPID >> {noted}; echo oh >&2; exit 3"})
    cases: list[dict[str, object]] = []
    for _ in range(MANY):
        cases += [
            {**PUSH, "expect": {"action": "block", "message": "*force*"}},
            {**PUSH, "agents": ["claude", "qwen"], "expect": {"action": "block"}},
            {**LIST, "files": {"a.txt": "x"}, "expect": {"action": "block", "files": {"a.txt": "x"}}},
            {"event": "stop", "expect": {"failure": "timeout"}},
            {**LIST, "hook": "nobody", "expect": {"action": "continue"}},
            {**LIST, "expect": {"action": "continue"}},  # an odd number, so that each kind is in each process
        ]
    write(project, *cases)
    several = hookrun_test(project)
    assert len(parents(noted)) >= SEVERAL
    noted.unlink()
    one = hookrun_test(project, "-j", "1")
    assert len(parents(noted)) == 1
    assert several == one
    assert one[0] == 1
    assert sum(case["passed"] for case in one[1]["cases"]) == 4 * MANY


@pytest.mark.slow
def test_a_process_that_dies_takes_no_result_with_it(project: Project) -> None:
    """Each case in it is reported as not run, and those of the other files have run."""
    project.hooks(
        {"name": "killer", "event": "stop", "command": "kill -9 $PPID; sleep 60"}, {**GUARD, "event": "pre_tool_use"}
    )
    cases = [{**PUSH, "expect": {"action": "block"}} for _ in range(5 * MANY)]
    write(project, *cases[: 2 * MANY], {"event": "stop", "expect": {"fired": True}}, *cases[2 * MANY :])
    status, output = hookrun_test(project)
    died = [case for case in output["cases"] if not case["passed"]]
    assert status == 1
    assert died
    assert all("the process that was to run it has died" in str(case["problems"]) for case in died)
    assert len(output["cases"]) == len(cases) + 1
    if SEVERAL > 1:
        assert len(died) <= len(cases) // 2 + 1


def test_ctrl_c_ends_every_process_and_every_hook(project: Project) -> None:
    """None is left, nor anything of what was made for the cases."""
    marks = project.home / "marks"
    marks.mkdir()
    project.hooks({"command": f"echo $PPID > {marks}/$$.new; mv {marks}/$$.new {marks}/$$; sleep 60"})
    write(project, *({**LIST, "expect": {"fired": True}} for _ in range(5 * MANY)))

    def there() -> list[int]:
        return [int(mark.name) for mark in marks.iterdir() if mark.suffix == ""]

    interrupted(project, "-j", "4", when=lambda: until(lambda: len(there()) >= 4, lambda: f"{there()} run"))
    started = there()
    for pid in {*started, *(int((marks / str(pid)).read_text()) for pid in started)}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_process_with_threads_is_not_forked() -> None:
    """What they hold at that moment would be held for ever in the other."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert case_runner.process_count(1000, 32) == 1
    finally:
        over.set()
        thread.join()


def test_ctrl_c_while_the_threads_are_started_ends_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may run a hook before the one that starts it continues."""
    stopped = threading.Event()
    runner: Any = SimpleNamespace(run=lambda _: stopped.wait(limit()), stop=stopped.set)
    only_one: Any = [None]
    submit = ThreadPoolExecutor.submit

    def interrupted(pool: ThreadPoolExecutor, work: Callable[..., None], *arguments: object) -> None:
        submit(pool, work, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        case_runner.run_in_threads(runner, only_one, 1, lambda _: None)
    assert stopped.is_set()
