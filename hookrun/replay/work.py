"""Replay ranges of traffic in any `concurrent.futures.Executor`: here, in processes, on a cluster."""

from __future__ import annotations

import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import get_context
from typing import NamedTuple

from hookrun.core import audit_reader
from hookrun.core.model import Hook
from hookrun.replay import traffic
from hookrun.replay.differences import Report, difference
from hookrun.replay.judge import Judge, Judged
from hookrun.replay.traffic import Past, Range
from hookrun.testing.case_runner import CaseRunner
from hookrun.testing.sandbox import CaseConfig, Sandbox, expand_placeholders

# Copied into no scratch project: large, and no hook's input.
NOT_COPIED = shutil.ignore_patterns("node_modules", ".venv", "__pycache__", ".mypy_cache", "target")


class Plan(NamedTuple):
    """What to judge, and by what: the same for every range.

    `hooks` are those of the project `root`, `before` the ones to compare with (None: with what really happened).
    `wanted` are values of `audit_reader.CHECKS`, `hook` is the only one; calls outside of the project `within`, a real
    directory or a name, do not count.
    `examples` are kept of each kind. With `copy`, a copy of the project, hooks that are programs run in it.
    """

    hooks: list[Hook]
    before: list[Hook] | None
    root: str
    home: str
    settings: Mapping[str, object]
    wanted: Mapping[str, str] = {}
    hook: str | None = None
    within: str | None = None
    examples: int = 3
    copy: str | None = None


def replay_range(packed: bytes, part: Range) -> Report | None:
    """Return the report on a range by a pickled plan, None if its file is not here. Runs in any process or thread."""
    plan, judge, before = _unpacked(packed)
    lines = part.read()
    if lines is None:
        return None
    report = Report(plan.examples)
    with _programs(plan) as run:
        for past in traffic.read(part, lines):
            if past is None:
                report.without_context += part.source == traffic.AUDIT
                report.unreadable += part.source != traffic.AUDIT
            elif _is_meant(plan, past):
                now = judge.verdict(past.event, past.context)
                if now.unjudged and run is not None:
                    now = run(past)
                then = before.verdict(past.event, past.context) if before is not None else None
                report.add(past, difference(past, now, then, plan.hook), now)
    return report


@lru_cache(maxsize=4)
def _unpacked(packed: bytes) -> tuple[Plan, Judge, Judge | None]:
    plan: Plan = pickle.loads(packed)  # noqa: S301  # of the process that asks for the work
    judges = [Judge(hooks, plan.root, plan.home, plan.settings) for hooks in (plan.hooks, plan.before or [])]
    return plan, judges[0], judges[1] if plan.before is not None else None


def _is_meant(plan: Plan, past: Past) -> bool:
    given = past.context.get
    if plan.wanted:
        header = {"time": past.time, "event": past.event, "session_id": given("session_id")}
        header |= {"agent": given("agent"), "through": given("fired_through"), "tool": given("tool_name")}
        if not all(audit_reader.CHECKS[name](value, header) for name, value in plan.wanted.items()):
            return False
    return plan.within is None or audit_reader.is_in(past.project or given("working_dir"), plan.within)


@contextmanager
def _programs(plan: Plan) -> Iterator[Callable[[Past], Judged] | None]:
    """Yield the function that judges a call by all hooks, run in the copy with their own home; None without one."""
    if plan.copy is None:
        yield None
        return
    places = {plan.root: plan.copy}
    hooks = [Hook.from_dict(expand_placeholders(hook.to_dict(), places)) for hook in plan.hooks]
    config = CaseConfig(plan.copy, hooks)
    with tempfile.TemporaryDirectory(prefix="hookrun-replay-") as home:
        sandbox = Sandbox(None, home, {"HOME": home}, plan.copy)
        runner = CaseRunner()
        try:

            def run(past: Past) -> Judged:
                context = expand_placeholders({**past.context, "metadata": {}}, places)
                result = runner.fire(past.event, context, config, sandbox=sandbox)
                decided = (each.name for each in result.runs if each.action == result.action != "continue")
                return Judged(str(result.action), tuple(dict.fromkeys(decided)), result.message or "", None)

            yield run
        finally:
            runner.close()


def copy_of(project: str, directory: str) -> str:
    """Copy a project for hooks to run in, without what they install, and return the copy. Raises OSError."""
    copy = f"{directory}/project"
    shutil.copytree(project, copy, symlinks=True, ignore=NOT_COPIED)
    return copy


# --- executors


def replay(
    plan: Plan, parts: Iterable[Range], executor: Executor | None, on_done: Callable[[int], object] = lambda _: None
) -> Report:
    """Return the report on all parts, the same for any executor (None: this thread).

    `on_done` is called with the bytes of each finished part. Where a part's file cannot be read its bytes are sent.
    """
    packed, whole = pickle.dumps(plan), Report(plan.examples)
    if executor is None:
        for part in parts:
            whole.merge(replay_range(packed, part))
            on_done(part.end - part.begin)
        return whole
    waiting: dict[Future[Report | None], Range] = {executor.submit(replay_range, packed, each): each for each in parts}
    try:
        while waiting:
            for future in as_completed(list(waiting)):
                part = waiting.pop(future)
                report = future.result()
                if report is None and part.data is None and (data := part.read()) is not None:
                    sent = part._replace(data=data)
                    waiting[executor.submit(replay_range, packed, sent)] = sent
                    continue
                whole.merge(report)
                on_done(part.end - part.begin)
    except BaseException:
        for future in waiting:
            future.cancel()
        raise
    return whole


@contextmanager
def processes(count: int) -> Iterator[Executor | None]:
    """Yield an executor with so many processes, None for this one."""
    if count == 1:
        yield None
        return
    executor = ProcessPoolExecutor(count, mp_context=get_context("fork"))  # before any thread is started
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Yield an executor of a Dask cluster's. Raises ImportError without the extra, OSError if it does not answer."""
    from distributed import Client  # the extra `dask`

    with Client(address, timeout="10s", set_as_default=False) as client:  # type: ignore[no-untyped-call]
        executor: Executor = client.get_executor(pure=False, retries=3)
        yield executor
