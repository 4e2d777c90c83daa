"""`hookrun log` and `hookrun why`: what the audit knows of fires, for people and for programs."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

from hookrun import audit_reader
from tests.cli.command import hookrun
from tests.fire.agents import says

if TYPE_CHECKING:
    from tests.conftest import Project

LS = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}


def three_fires(project: Project) -> list[str]:
    """Fire three times: a change, a failure, a refusal; return the ids."""
    ids = []
    declared: tuple[list[dict[str, object]], ...] = (
        [{"name": "dry", "command": says(action="modify", args_patch={"command": "ls -l"})}],
        [{"name": "bad", "command": "exit 3"}, {"name": "fine", "command": "true"}],
        [{"name": "guard", "command": says(action="block", message="R")}, {"name": "late", "command": "true"}],
    )
    for hooks in declared:
        project.hooks(*hooks)
        ids.append(str(project.fire(LS).verdict["request_id"]))
    return ids


def test_the_last_fires_and_what_each_hook_did(project: Project) -> None:
    """The newest last; a hook's answer, its failure, and what it changed."""
    ids = three_fires(project)
    done = hookrun(project, "log", "-n", "2")
    assert (done.status, done.stderr) == (0, "")
    heads = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert [head.rpartition("(")[2] for head in heads] == [f"{each})" for each in ids[1:]]
    assert "pre_tool_use bash: block in " in heads[1]
    assert "    bad: continue in " in done.stdout
    assert "failed (exit_code: " in done.stdout
    assert "        changed: command\n" in hookrun(project, "log").stdout


def test_only_those_that_are_wanted(project: Project) -> None:
    """By a hook's name, or those in which something failed; `--json` gives the records as they were written."""
    ids = three_fires(project)
    shown = [json.loads(line) for line in hookrun(project, "log", "--hook", "guard", "--json").stdout.splitlines()]
    by_hook = [record for record in shown if record["kind"] != "start"]  # which a run on a slow machine has too
    assert [record["request_id"] for record in by_hook] == [ids[2]] * 2
    assert by_hook == project.audit()[-2:]
    failed = hookrun(project, "log", "--failures", "-n", "1").stdout
    assert ids[1] in failed
    assert ids[2] not in failed
    nothing = hookrun(project, "log", "--hook", "none")
    assert (nothing.status, nothing.stdout) == (0, f"no matching entries in {project.audit_path}\n")


def test_what_is_torn_foreign_or_newer_is_passed_over(project: Project) -> None:
    """A line that this version does not understand is none, and the files that were put aside count."""
    ids = three_fires(project)
    project.audit_path.rename(project.audit_path.with_name("audit.jsonl.1"))
    project.hooks({"name": "guard", "command": "true"})
    ids.append(str(project.fire(LS).verdict["request_id"]))
    with project.audit_path.open("a") as file:
        file.write('{"v":1,"kind":"fi\n[]\n{"v":99,"kind":"fire","request_id":"new"}\n')
    found = audit_reader.latest_fires(str(project.home), lambda _: True, 100)
    assert [fired.request_id for fired in found] == ids
    assert [len(fired.hooks) for fired in found] == [1, 2, 1, 1]


def test_following_shows_what_is_fired_from_now_on(project: Project) -> None:
    """Each fire once, until it is interrupted."""
    first = three_fires(project)[-1]
    command = project.command("log", "--follow", "-n", "1", "--json")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=project.root, env=project.environment()
    ) as process:
        assert process.stdout is not None
        lines = (json.loads(line) for line in process.stdout)
        records = (line for line in lines if line["kind"] != "start")  # which a run on a slow machine has too
        shown = [next(records)["request_id"] for _ in range(2)]
        second = project.fire(LS).verdict["request_id"]
        shown += [next(records)["request_id"] for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stdout.read() == b""
    assert shown == [first, first, second, second]


def test_why_names_who_decided_in_its_first_line(project: Project) -> None:
    """Who refused and why, who changed what, who failed; by an id, its beginning, or the last one."""
    ids = three_fires(project)
    said = [hookrun(project, "why", each[:8]).stdout.splitlines() for each in ids]
    assert said[0][0] == "pre_tool_use: modify: dry: changed command"
    assert said[1][0].startswith("pre_tool_use: continue: ran: bad, fine; bad failed (exit_code: ")
    assert said[2][0] == "pre_tool_use: block: guard: R"
    assert said[2][-1].strip() == "1 more declared for it did not run: hookrun explain pre_tool_use --tool bash"
    assert hookrun(project, "why").stdout.splitlines() == said[2]
    assert hookrun(project, "why", "last", "--json").json["answer"] == said[2][0]


def test_why_of_a_fire_that_was_killed(project: Project) -> None:
    """It had begun, and there is no end: that is said, and not that nothing was fired."""
    start = {"v": 1, "kind": "start", "time": "2026-01-02T03:04:05.000Z", "request_id": "abcdef", "event": "stop"}
    project.audit_path.parent.mkdir(parents=True)
    project.audit_path.write_text(json.dumps(start) + "\n")
    said = "stop: began at 2026-01-02T03:04:05.000Z and has not answered: it still runs, or was killed"
    assert hookrun(project, "why").stdout.splitlines()[0] == said


def test_a_fire_that_is_not_there(project: Project) -> None:
    """One line that says where was looked, and the status is 1."""
    for arguments, said in (
        ((), "audit.jsonl has no run at all; "),
        (("0123456789",), 'audit.jsonl has no run "0123456789"; '),
        (("01",), "give at least 4 characters"),
    ):
        done = hookrun(project, "why", *arguments)
        assert (done.status, done.stdout, done.stderr.count("\n") <= 2) == (1, "", True)
        assert said in done.stderr
