"""Measure what learning costs a call: all recipes that keep events, and all bundles of `hookrun.observe`.

`python -m benchmarks.observe` prints milliseconds of processor time as JSON, the median of several turns. `call` is
what a call pays before and after its tool, `end` its part of storing the turn. Exits 1 above 0.3 ms a call.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from typing import TYPE_CHECKING

from hookrun.events import PostToolUse, PreToolUse
from hookrun.observe import CauseChains, ObserverDatabase, ToolTimes, WorkflowMetrics
from hookrun.recipes import learn_from_errors, learn_patterns, tool_times

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS, ROUNDS, MOST = 100, 9, 0.3


def of_recipes(number: int) -> None:
    """Do what a server's worker does of a call, with all three recipes."""
    context = {"session_id": "s1", "working_dir": "/", "tool_name": "bash", "request_id": f"before {number}"}
    context |= {"tool_use_id": str(number), "event": "pre_tool_use"}
    args = {"tool_args": {"command": f"cd /srv/app && uv run pytest -q tests/test_{number % 7}.py 2>&1 | tail -20"}}
    tool_times.begin({**context, **args})
    after = {**context, **args, "event": "post_tool_use", "request_id": f"after {number}"}
    for recipe in (tool_times, learn_from_errors, learn_patterns):
        recipe.check(after)


def of_bundles(store: ObserverDatabase) -> Callable[[int], None]:
    """Return what an engine's handlers do of a call."""
    times, causes, workflow = ToolTimes(store), CauseChains(store, tell=True), WorkflowMetrics(store)

    def call(number: int) -> None:
        args = {"command": f"uv run pytest -q tests/test_{number % 7}.py"}
        same = {"session_id": "s1", "tool_name": "bash", "tool_use_id": str(number), "tool_args": args}
        times.on_call(PreToolUse(**same))  # type: ignore[arg-type]
        result = PostToolUse(**same)  # type: ignore[arg-type]
        for handler in (times.on_result, causes.on_result, workflow.on_result):
            handler(result)

    return call


def milliseconds(call: Callable[[int], None], store: ObserverDatabase) -> dict[str, float]:
    """Return what a call takes, and its part of the turn's end: nothing waits in either but for the disk."""
    calls, ends = [], []
    for turn in range(ROUNDS):
        begun = time.process_time()
        for number in range(CALLS):
            call(turn * CALLS + number)
        ended = time.process_time()
        store.flush()
        calls.append((ended - begun) / CALLS)
        ends.append((time.process_time() - ended) / CALLS)
    return {"call": statistics.median(calls) * 1000, "end": statistics.median(ends) * 1000}


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = os.environ["HOOKRUN_PROJECT_DIR"] = home
        account, own = ObserverDatabase(), ObserverDatabase(os.path.join(home, "own.db"))
        found = {"recipes": milliseconds(of_recipes, account), "bundles": milliseconds(of_bundles(own), own)}
        kept = sum(each.count for each in ToolTimes(account).per_tool())
    if kept != CALLS * ROUNDS:
        raise SystemExit(f"{kept} calls are in the store, not {CALLS * ROUNDS}")
    print(json.dumps(found, indent=2))
    if any(each["call"] > MOST for each in found.values()):
        raise SystemExit(f"more than {MOST} ms a call")


if __name__ == "__main__":
    main()
