"""Unapproved hooks are cheap: they are refused by their declarations, and share one budget of time, bytes and files,
whatever a project declares.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.core.model import Hook
from hookrun.trust.digest import declaration
from hookrun.trust.project import locked_store
from tests.cli.command import hookrun
from tests.waiting import limit, slowness, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Project

DEADLINE = 20
"""Seconds that a run is given on a quick machine; what is tested here took longer, and a refusal was a timeout then."""

GUARD: dict[str, object] = {"name": "mine", "command": "echo no >&2; exit 2"}
"""A user's hook that refuses."""

ANY_DIGEST = f"sha256:{0:064}"
"""With a digest in the user's settings a declaration alone does not show whether its hook is approved."""

MESSAGE = {
    "session_id": "s1",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "t1",
}

WITH_OPENED = Path(__file__).parent / "programs" / "with_opened.py"
"""hookrun, with the names of all files that it opened written down before its end."""


class Run:
    """What an agent got, what was opened for it, and what the audit has."""

    def __init__(self, project: Project, *arguments: str) -> None:
        before = len(project.audit())
        done = subprocess.run(
            [sys.executable, str(WITH_OPENED), *fire(project), *arguments],
            input=json.dumps({**MESSAGE, "cwd": str(project.root)}).encode(),
            capture_output=True,
            cwd=project.root,
            env=project.environment(),
            timeout=limit(),
            check=False,
        )
        self.answer = json.loads(done.stdout) if done.stdout else {}
        records = project.audit()[before:]
        self.failures = {each["hook"]: each.get("failure") for each in records if each["kind"] == "hook"}
        self.details = {each["hook"]: str(each.get("detail")) for each in records if each["kind"] == "hook"}
        opened = (project.root.parent / "opened").read_text().splitlines()
        self.opened = [name for name in opened if name.startswith(str(project.root))]

    @property
    def reason(self) -> str:
        """The reason of a refusal, for the model."""
        output = self.answer.get("hookSpecificOutput", {})
        return str(output.get("permissionDecisionReason", "")) if output.get("permissionDecision") == "deny" else ""

    @property
    def message(self) -> str:
        """What the user is shown."""
        return str(self.answer.get("systemMessage", ""))


def fire(project: Project) -> list[str]:
    """Return the arguments that an agent gives, with the deadline."""
    return ["fire", "--agent", "claude", "--home", str(project.home), "--deadline", str(DEADLINE * slowness())]


def links(project: Project, **more: object) -> None:
    """Declare sixty hooks, each a link to the same sparse file of 256 MiB."""
    big = project.root / "big"
    with big.open("wb") as file:
        file.truncate(256 << 20)
    big.chmod(0o755)
    for number in range(60):
        os.link(big, project.root / f"link{number}")
    project.hooks(*({"name": f"hook{n}", "command": f"./link{n}", **more} for n in range(60)))


@pytest.mark.parametrize("parallel", [False, True])
def test_after_a_users_refusal_unapproved_hooks_are_not_looked_at(project: Project, *, parallel: bool) -> None:
    """They would run even so (`always`): the refusal is shown, no file of theirs is opened, no failure is recorded."""
    project.user_hooks(GUARD)
    links(project, always=True, parallel=parallel)
    run = Run(project)
    assert run.reason == "no"
    assert run.failures == {"mine": None}
    assert run.opened == [str(project.root / "coder.json")]


def test_an_approved_hook_still_runs_after_a_users_refusal(project: Project) -> None:
    """`always` means always, for what the user has approved."""
    project.user_hooks(GUARD)
    project.hooks({"name": "log", "command": "touch ran", "always": True})
    project.approve()
    assert Run(project).failures == {"mine": None, "log": None}
    assert (project.root / "ran").exists()


def test_an_unapproved_hook_is_refused_by_its_declaration(project: Project) -> None:
    """None of its files is opened to find out, and each hook fails with its own `on_failure`."""
    links(project)
    run = Run(project)
    assert set(run.failures.values()) == {"untrusted"}
    assert len(run.failures) == 60
    assert run.opened == [str(project.root / "coder.json")]


def test_a_changed_declaration_of_an_approved_hook_is_refused_by_it(project: Project) -> None:
    """The name is that of an approved hook, the declaration is not."""
    project.script("guard.sh", "#!/bin/sh\ncat >/dev/null\n")
    project.hooks({"name": "guard", "command": "./guard.sh"})
    project.approve()
    assert Run(project).failures == {"guard": None}
    project.hooks({"name": "guard", "command": "./guard.sh --more"})
    run = Run(project)
    assert run.failures == {"guard": "untrusted"}
    assert "changed since it was approved" in run.details["guard"]
    assert run.opened == [str(project.root / "coder.json")]


@pytest.mark.slow
def test_a_hook_disabled_elsewhere_lets_no_other_hook_be_hashed(project: Project) -> None:
    """A hook disabled in another project is known by its digest: only a hook of its name can have that."""
    links(project)
    with locked_store(str(project.home)) as store:
        store.disabled.append({"name": "hook7", "root": "/elsewhere", "digest": ANY_DIGEST, "time": 0.0, "until": None})
    run = Run(project)
    assert len(run.failures) == 60
    assert {os.path.basename(name) for name in run.opened} == {"coder.json", "link7"}


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [False, True])
def test_hashing_has_one_budget_for_all_hooks_of_a_run(project: Project, *, parallel: bool) -> None:
    """Where the declaration is not enough, files are read up to a limit, and anything beyond fails as untrusted."""
    project.user_hooks({"name": "mine", "command": "true"}, trusted=[ANY_DIGEST])
    links(project, parallel=parallel, on_failure="block", always=True)
    run = Run(project)
    assert {name for name, failure in run.failures.items() if failure != "untrusted"} == {"mine"}
    assert len(run.failures) == 61
    assert "a run hashes at most" in run.details["hook59"]
    assert "hookrun trust" in run.reason
    # Two take all bytes, unless the time ends before; the third is over them.
    assert {os.path.basename(name) for name in run.opened} <= {"coder.json", "link0", "link1", "link2"}


def test_a_hook_that_cannot_start_before_the_deadline_is_a_timeout(project: Project) -> None:
    """An approved hook that there is no time to look at is late, not untrusted."""
    project.hooks({"name": "guard", "command": "true", "on_failure": "block"})
    project.approve()
    run = Run(project, "--deadline", "0.0001")
    assert run.failures == {"guard": "timeout"}


@pytest.mark.slow
def test_half_of_the_time_is_left_for_hooks(project: Project) -> None:
    """The limit follows the deadline: a refusal that was made before is shown in time."""
    project.user_hooks(GUARD, trusted=[ANY_DIGEST])
    links(project, parallel=True, always=True)
    run = Run(project, "--deadline", str(slowness()))
    assert run.reason == "no"
    assert len(run.opened) < 10


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has open is read from /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_hashing(project: Project, number: signal.Signals) -> None:
    """It is looked at between the pieces of a file; what was refused before stays refused."""
    project.user_hooks(GUARD, trusted=[ANY_DIGEST])
    links(project, parallel=True, always=True)
    process = project.start({**MESSAGE, "cwd": str(project.root)}, *fire(project))
    until(lambda: str(project.root / "link0") in opened(process.pid), "link0 was never opened")
    process.send_signal(number)
    answer = json.loads(process.communicate(timeout=limit())[0])
    assert answer["hookSpecificOutput"]["permissionDecisionReason"] == "no"
    [fired] = [each for each in project.audit() if each["kind"] == "fire"]
    assert fired["interrupted"] == number


def opened(pid: int) -> Iterator[str]:
    """Yield the files that a process has open."""
    with os.scandir(f"/proc/{pid}/fd") as found:
        for each in found:
            with suppress(OSError):  # closed meanwhile
                yield os.readlink(each.path)


@pytest.mark.slow
def test_four_thousand_hooks_are_refused_in_a_few_lines(project: Project) -> None:
    """Each is in the audit, the `on_failure` of the last one holds, the user reads a few lines, of few notes."""
    hooks: list[dict[str, object]] = [
        {"name": f"hook{n}", "command": f"./hook{n}.sh", "always": True} for n in range(3999)
    ]
    project.hooks(*hooks, {"name": "last", "command": "true", "on_failure": "block", "always": True})
    run = Run(project)
    assert "hookrun trust" in run.reason
    assert len(run.failures) == 4000
    assert set(run.failures.values()) == {"untrusted"}
    assert "hook0, hook1" in run.message
    assert "3980 more hooks" in run.message
    assert run.message.count("\n") == 3
    notes = [*(project.home / ".local/state/hookrun/sessions").iterdir()]
    assert len(notes) <= 21  # of each hook named, and of the line that was shown
    assert "hook0" not in Run(project).message


@pytest.mark.slow
def test_hooks_beyond_the_limit_cannot_be_approved_and_say_why(project: Project) -> None:
    """The first five hundred can; an approval of the others would be worthless, because they are never hashed."""
    hooks: list[dict[str, object]] = [{"name": f"hook{n}", "command": "true"} for n in range(502)]
    project.hooks(*hooks)
    found = {each["name"]: each for each in json.loads(hookrun(project, "trust", "--json").stdout)}
    assert [each["state"] for each in found.values()].count("new") == 500
    assert found["hook501"]["state"] == "cannot be approved"
    assert "more than 500 hooks" in found["hook501"]["problem"]
    assert "more than 500 hooks" in Run(project).details["hook501"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "declared",
    [
        lambda line: [{"event": "pre_tool_use", "command": line}],
        lambda line: [{"event": "pre_tool_use", "args": line.split("'")[:40_000]}],
        lambda line: {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": line}]}]},
    ],
    ids=["command", "args", "claude"],
)
def test_a_command_of_sixteen_megabytes_is_not_read(project: Project, declared: Callable[[str], object]) -> None:
    """What it runs is not worked out: it cannot be approved, the run is in time, and the user's guard is heard."""
    project.user_hooks(GUARD)
    hooks = declared("true " + "a b.c 'd' " * 1_600_000)
    (project.root / "coder.json").write_text(json.dumps({"hooks": hooks}))
    assert Run(project).reason == "no"
    project.user_hooks()
    [detail] = Run(project).details.values()
    assert "longer than 64 KiB" in detail
    [found] = json.loads(hookrun(project, "trust", "--json").stdout)
    assert found["state"] == "cannot be approved"


def test_a_command_at_the_limit_is_read(project: Project) -> None:
    """64 KiB of a command are looked through, and the script at their end is part of the approval."""
    script = project.script("guard.sh", "#!/bin/sh\ncat >/dev/null\n")
    line = f"true {'x' * ((64 << 10) - 7 - len(script))}; {script}"
    assert len(line) == 64 << 10
    project.hooks({"name": "guard", "command": line})
    [found] = json.loads(hookrun(project, "trust", "--json").stdout)
    assert [name.rpartition("/")[2] for name in found["files"]] == ["guard.sh"]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a|", "a b.c 'd' ", "cat <<E\n", "a=("])
def test_what_is_read_of_all_commands_of_a_project_is_bounded(project: Project, text: str) -> None:
    """Lines of 60 KB: some are read, the others cannot be approved, and none is dropped."""
    line = text * (60_000 // len(text))
    project.user_hooks(GUARD)
    hooks: list[dict[str, object]] = [{"name": f"hook{n}", "command": line} for n in range(200)]
    project.hooks(*hooks)
    assert Run(project).reason == "no"
    found = json.loads(hookrun(project, "trust", "--json").stdout)
    assert len(found) == 200
    assert found[-1]["state"] == "cannot be approved"


def test_a_tool_s_name_that_hookrun_learns_needs_no_new_approval() -> None:
    """A matcher gets hookrun's name of a tool beside an agent's; another tool is another declaration."""
    first, learned, other = (
        declaration(Hook.from_dict({"name": "guard", "matcher": matcher}), "/project", "/home/me")
        for matcher in (["Shell"], ["Shell", "bash"], ["Shell", "edit"])
    )
    assert first == learned != other
