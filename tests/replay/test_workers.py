"""The report is the same for any number of workers, here and on a cluster that has none of the files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.agents import load
from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.replay import traffic, work
from hookrun.replay.traffic import Range
from tests.cli.command import hookrun
from tests.replay.recorded import AGENTS, HERE, place
from tests.waiting import until

if TYPE_CHECKING:
    from tests.conftest import Project

Process = subprocess.Popen[bytes]
COPIES = 24
"""Sessions in the transcript that is cut into ranges."""


@pytest.fixture
def plan(project: Project) -> work.Plan:
    """Return the plan that judges by two guards."""
    hooks = [{"recipe": "no-force-push"}, {"recipe": "block-destructive-commands"}]
    (project.root / "coder.json").write_text(json.dumps({"hooks": hooks}))
    declarations = load_config(find(str(project.root), str(project.home))).declarations
    root = str(project.root)
    return work.Plan(declarations.hooks, None, root, str(project.home), declarations.settings)


@pytest.fixture
def parts(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Range]:
    """Return many small ranges: of all agents' transcripts, one of them long, and of a log."""
    monkeypatch.setattr(traffic, "RANGE", 1 << 12)
    for agent in AGENTS:
        place(agent, project.home)
    path = next((project.home / ".claude").rglob("*.jsonl"))
    session = path.read_text()
    path.write_text("".join(session.replace('"call_', f'"call_{number}_') for number in range(COPIES)))
    project.user_hooks(audit={"details": "full"})
    for command in ("git status", "git push --force origin main", "rm -rf /"):
        project.fire({"session_id": "s", "tool_name": "bash", "tool_args": {"command": command}})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = traffic.transcript_ranges(map(load, AGENTS), str(project.home), str(scratch), 0)
    return [*traffic.audit_ranges(str(project.home)), *found]


def test_no_cut_changes_the_report(
    plan: work.Plan, parts: list[Range], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the order of the parts."""
    monkeypatch.setattr(traffic, "RANGE", 1 << 30)
    whole = [
        *traffic.audit_ranges(str(project.home)),
        *traffic.transcript_ranges(map(load, set(AGENTS) - {"opencode"}), str(project.home), "", 0),
        *(part for part in parts if part.source == "opencode"),
    ]
    assert len(parts) > COPIES
    expected = work.replay(plan, whole, None).to_dict()
    assert work.replay(plan, parts, None).to_dict() == expected
    assert work.replay(plan, reversed(parts), None).to_dict() == expected


@pytest.mark.parametrize("count", [2, 3])
def test_processes_report_the_same(plan: work.Plan, parts: list[Range], count: int) -> None:
    """In whatever order they are done."""
    with work.processes(count) as executor:
        assert work.replay(plan, parts, executor).to_dict() == work.replay(plan, parts, None).to_dict()


def test_a_file_that_is_gone_or_another_is_said(plan: work.Plan, parts: list[Range], project: Project) -> None:
    """Nothing else is read in its place."""
    next((project.home / ".codex").rglob("*.jsonl")).write_text("{}\n")
    report = work.replay(plan, parts, None)
    assert report.unreadable == sum(part.source == "codex" for part in parts)


@contextmanager
def dask_cluster(count: int, directory: Path, environment: dict[str, str]) -> Iterator[tuple[str, list[Process]]]:
    """Start a scheduler and workers, each a process; yield its address and the workers."""
    pytest.importorskip("distributed")
    with ExitStack() as stack:

        def start(name: str, module: str, *arguments: str, sign: str) -> tuple[Process, str]:
            log = directory / f"{name}.log"
            words = [sys.executable, "-m", f"distributed.cli.dask_{module}", *arguments]
            with log.open("wb") as stderr:
                process = subprocess.Popen(words, stdout=stderr, stderr=stderr, env=environment, cwd=directory)
            stack.enter_context(process)
            stack.callback(process.kill)
            said = until(lambda: [line for line in log.read_text().splitlines() if sign in line], log.read_text)
            return process, said[0]

        at = ("--host", "127.0.0.1", "--no-dashboard")
        _, line = start("scheduler", "scheduler", *at, "--port", "0", sign="Scheduler at:")
        address = line.split()[-1]
        about = (address, *at, "--nthreads", "1", "--no-nanny")
        yield address, [start(f"w{each}", "worker", *about, sign="Registered to:")[0] for each in range(count)]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the files are named by a descriptor of this process")
def test_a_cluster_reports_the_same_though_it_has_no_file_and_loses_a_worker(
    plan: work.Plan, parts: list[Range], project: Project, tmp_path: Path
) -> None:
    """Three processes that are sent the bytes; one of them is killed when the first part is done."""
    expected = work.replay(plan, parts, None).to_dict()
    descriptor = os.open(project.root.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        here = f"/proc/self/fd/{descriptor}"  # a worker has no such descriptor, or it is something else there
        hidden = [Range(each.source, each.path.replace(str(project.root.parent), here), *each[2:]) for each in parts]
        assert all(each.read() for each in hidden)
        with dask_cluster(3, tmp_path, project.environment()) as (address, workers), work.cluster(address) as executor:
            done: list[int] = []

            def kill_one(size: int) -> None:
                done.append(size)
                if len(done) == 1:
                    workers[0].send_signal(signal.SIGKILL)

            assert work.replay(plan, hidden, executor, kill_one).to_dict() == expected
            assert workers[0].wait() == -signal.SIGKILL
    finally:
        os.close(descriptor)
    assert len(done) == len(parts)


@pytest.mark.slow
def test_the_command_hands_its_work_to_a_cluster(project: Project, tmp_path: Path) -> None:
    """By the address of its scheduler; one that does not answer is an error."""
    (project.root / "coder.json").write_text('{"hooks": [{"recipe": "no-force-push"}]}')
    options = ("replay", "--json", "--from", str(HERE / "claude.jsonl"))
    with dask_cluster(1, tmp_path, project.environment()) as (address, _):
        on_cluster = hookrun(project, *options, "--dask", address)
    assert (on_cluster.status, on_cluster.stdout) == (1, hookrun(project, *options).stdout)


def test_an_address_that_is_none(project: Project) -> None:
    """It names the address."""
    pytest.importorskip("distributed")
    (project.root / "coder.json").write_text('{"hooks": [{"recipe": "no-force-push"}]}')
    done = hookrun(project, "replay", "--from", str(HERE / "claude.jsonl"), "--dask", "nowhere://x")
    assert done.status == 1
    assert 'no Dask scheduler at "nowhere://x"' in done.stderr
