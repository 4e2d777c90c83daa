"""Declared hooks of every kind in a long-running program: environment, sizes, background work, shutdown."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import threading
from typing import TYPE_CHECKING

import pytest

from hookrun import Engine
from tests.library.running import (
    NOTHING,
    QUICK_ECHO,
    Resources,
    fields,
    kinds,
    left,
    linux,
    load,
    output,
    program_file,
    seen,
    until_inside,
)
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hookrun import Result
    from tests.conftest import Project

pytestmark = linux
WAYS = pytest.mark.parametrize("way", ["fire", "fire_sync"])
TELL = """printf '{"action": "block", "message": "%s"}' "$("""


def fire(engine: Engine, way: str, context: dict[str, object] | None = None) -> Result:
    """Fire in one of the two ways, and close the engine."""
    context = context or fields()
    if way == "fire_sync":
        with engine:
            return engine.fire_sync("pre_tool_use", context)

    async def main() -> Result:
        async with engine:
            return await engine.fire("pre_tool_use", context)

    return asyncio.run(main())


@WAYS
def test_a_hook_works_where_it_is_declared_to(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Wherever this process is, then in a deleted directory; and that stays where it was."""
    (tmp_path / "gone").mkdir()
    (project.root / "below").mkdir()
    hooks: list[dict[str, object]] = [
        {"command": TELL + 'echo $(pwd) $PWD)"', "parallel": True},
        {"command": TELL + 'pwd)"', "cwd": str(project.root / "below"), "parallel": True},
        {"command": TELL + 'pwd)"', "cwd": "event", "parallel": True},
    ]
    expected = [[str(project.root)] * 2, [str(project.root / "below")], [str(tmp_path)]]

    def directories() -> list[list[str]]:
        result = fire(load(project, *hooks), way, {**fields(), "working_dir": str(tmp_path)})
        return [(run.verdict.message or "").split() for run in result.runs]

    monkeypatch.chdir(tmp_path / "gone")
    assert directories() == expected
    assert os.getcwd() == str(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert directories() == expected


@WAYS
def test_a_descriptor_that_the_host_made_inheritable_stays_out_of_hooks(project: Project, way: str) -> None:
    """Nor do they get ours, of other hooks that run at once."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        engine = load(project, *[{"command": TELL + 'ls /proc/self/fd | wc -l)"', "parallel": True}] * 4)
        result = fire(engine, way)
    finally:
        os.close(reader)
        os.close(writer)
    assert {(run.verdict.message or "").strip() for run in result.runs} == {"4"}  # and the one that ls reads with


@WAYS
def test_the_beginning_of_a_longer_output_is_no_answer(project: Project, way: str) -> None:
    """The part within `max_output` alone would be a continue."""
    line = """printf '%s' '{"action":"continue"}no'"""
    result = fire(load(project, {"command": line, "max_output": 21}), way)
    assert kinds(result) == ["bad_verdict"]


@WAYS
@pytest.mark.parametrize("others", [0, 1])
def test_an_answer_in_the_other_dialect_is_told(project: Project, way: str, others: int) -> None:
    """Also of a hook that runs alone, and where the answer would only continue."""
    hooks: list[dict[str, object]] = [
        {"command": """echo '{"action": "continue"}'""", "dialect": "claude"},
        {"command": "true"},
    ]
    first = fire(load(project, *hooks[: 1 + others]), way).runs[0]
    assert first.lost == ['its answer has the field "action" of hookrun\'s dialect, which is ignored']


@WAYS
def test_an_enormous_output_costs_no_memory_and_is_told(project: Project, way: str) -> None:
    """50 MB on both streams: `max_output` bytes are kept."""
    line = "head -c 50000000 /dev/zero | tee /dev/stderr"
    result = fire(load(project, {"command": line, "max_output": 1000}), way)
    outcome = result.runs[0].outcome
    assert (kinds(result), outcome.bytes_out, outcome.bytes_err) == (["bad_verdict"], 50_000_000, 50_000_000)
    assert (len(outcome.stdout), len(outcome.stderr), outcome.truncated) == (1000, 1000, True)


@WAYS
def test_a_refusal_after_noise_on_stderr_counts(project: Project, way: str) -> None:
    """Whatever a hook writes there before."""
    line = """head -c 3000000 /dev/zero >&2; echo '{"action": "block", "message": "no"}'"""
    assert fire(load(project, {"command": line}), way).action == "block"


@WAYS
def test_a_hook_need_not_read_its_stdin(project: Project, way: str) -> None:
    """20 MB of unread stdin block nothing; a hook that reads them gets all."""
    line = """printf '{"action": "block", "message": "%s"}' "$(wc -c | tr -d ' ')" """
    refuses = """echo '{"action": "block", "message": "unread"}'"""
    context = {**fields(), "tool_args": {"text": "x" * 20_000_000}}
    engine = load(project, {"command": line, "parallel": True}, {"command": refuses, "parallel": True})
    first, second = fire(engine, way, context).runs
    assert int(first.verdict.message or 0) > 20_000_000
    assert (second.verdict.message, second.failure) == ("unread", None)


PYTHON = """
import os, sys, threading
def check(context):
    return {"action": "block", "message": f"{context['tool_args']['n']} {threading.active_count()} {os.getppid()}"}
"""


@WAYS
def test_a_python_hook_runs_in_an_interpreter_of_its_own(project: Project, way: str) -> None:
    """Not in a fork of a program with threads."""
    project.script("checks.py", PYTHON)
    engine = load(project, {"python": "checks:check", "cwd": str(project.root)})
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    result = fire(engine, way, fields(7))
    stop.set()
    assert result.message == f"7 1 {os.getpid()}"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with its request."""

    def do_POST(self) -> None:
        """Answer."""
        context = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"action": "modify", "args_patch": {"seen": context["tool_args"]["n"]}}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """Return the address of a server on a port of the system's choice."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.mark.slow
@WAYS
def test_a_url_hook_is_asked(project: Project, way: str, url: str) -> None:
    """Its answer is the fire's; a server that is not there is a failure."""
    engine = load(project, {"url": url}, {"url": "http://127.0.0.1:1/", "on_failure": "continue"})
    result = fire(engine, way, fields(12))
    assert (seen(result), kinds(result)[:2]) == (12, [None, "http"])


def test_a_background_hook_is_recorded_when_it_ends(project: Project) -> None:
    """The fire does not wait for it; its failure has the name that it has on the command line."""
    project.script("checks.py", PYTHON)
    engine = load(
        project,
        {
            "command": "mkdir in.$$; n=0; while [ ! -e go ] && [ $((n += 1)) -lt 20000000 ]; do :; done; exit 3",
            "background": True,
        },
        {"python": "checks:missing", "cwd": str(project.root), "background": True},
        {"url": "http://127.0.0.1:1/", "background": True},
        {"command": QUICK_ECHO},
    )
    result = engine.fire_sync("pre_tool_use", fields(3))
    assert (seen(result), [run.name for run in result.runs if run.failure]) == (3, [])
    until_inside(project, 1)
    (project.root / "go").touch()
    until(lambda: len(ended(project)) == 3, lambda: str(ended(project)))
    engine.close_sync()
    assert ended(project) == {"hook0": "exit_code", "hook1": "missing", "hook2": "http"}


def ended(project: Project) -> dict[object, object]:
    """Return the background hooks' failures from the audit."""
    return {record["hook"]: record.get("failure") for record in project.audit() if record["kind"] == "background"}


@pytest.mark.slow
@pytest.mark.parametrize("close", [Engine.close_sync, lambda engine: asyncio.run(engine.close())])
def test_closing_ends_background_hooks_and_records_it(project: Project, close: Callable[[Engine], None]) -> None:
    """With all that they have started."""
    before = Resources()
    line = "setsid sh -c 'mkdir in.$$; sleep 60' & mkdir in.$$; sleep 60"
    engine = load(project, {"command": line, "background": True})
    engine.fire_sync("pre_tool_use", fields())
    until_inside(project, 2)
    close(engine)
    assert (left(project), ended(project)) == (NOTHING, {"hook0": "signal"})
    assert before.same()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1", "0 2", "0 1 2"])
def test_a_host_without_standard_streams_runs_hooks(project: Project, closed: str) -> None:
    """Their pipes lie on 0, 1 and 2 then, and are not mixed up."""
    line = """IFS= read -r line; echo problem >&2; printf '{"action": "block", "message": "%s"}' "${#line}" """
    load(project, {"command": line, "parallel": True}, {"command": QUICK_ECHO, "parallel": True}).close_sync()
    stdout, stderr = output(program_file(project, "closed_streams", closed))
    printed = eval(stdout, {})  # noqa: S307  # what the program above has written
    assert [(action, int(message) > 10, failures) for action, message, failures in printed] == [("block", True, [])] * 3
    assert stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["ignored", "taken"])
def test_an_exit_status_that_is_lost_is_never_a_silent_continue(project: Project, how: str) -> None:
    """A guard that refused by exit status 2 refuses or has failed; one that is out of time is that."""
    load(
        project,
        {"command": "exit 2", "on_failure": "block", "event": "pre_tool_use"},
        {"command": "exit 2", "event": "stop"},
        {"command": "exec sleep 60", "timeout": 0.05, "event": "post_tool_use"},
    ).close_sync()
    stdout, stderr = output(program_file(project, "lost_statuses", how))
    assert stderr == ""
    seen_of = {event: {line.partition(" ")[2] for line in stdout.splitlines() if line.startswith(event)} for event in (
        "pre_tool_use", "stop", "post_tool_use")}  # fmt: skip
    assert seen_of["pre_tool_use"] <= {"block ['exit_code']", "block [None]"}
    assert seen_of["stop"] <= {"continue ['exit_code']", "block [None]"}
    assert seen_of["post_tool_use"] == {"continue ['timeout']"}
    assert len(stdout.splitlines()) == 60


@pytest.mark.slow
def test_a_host_that_is_out_of_descriptors_is_told_of_a_failure(project: Project) -> None:
    """The guard has failed, with the reason: it neither raises nor waits forever."""
    load(project, {"command": "exit 2", "on_failure": "block"}).close_sync()
    for used in ("used", "new"):
        stdout, stderr = output(program_file(project, "few_descriptors", used))
        assert (used, stdout.split("\n"), stderr) == (used, ["['spawn']", "['spawn']", "block", ""], "")


def test_nothing_is_told_at_the_end_of_a_program_that_never_closes(project: Project) -> None:
    """It ends although hooks run, and takes them with it."""
    os.mkfifo(project.root / "begun")
    load(project, {"command": ": > begun; sleep 60", "background": True}).close_sync()
    process = program_file(project, "never_closes")
    assert output(process) == ("", "")
    until(lambda: left(project) == NOTHING, lambda: str(left(project)))
    assert process.returncode == 0
