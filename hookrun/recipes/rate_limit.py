"""The recipe `rate-limit`: limits how often a session calls a tool."""

from __future__ import annotations

import time

from hookrun.core.globs import glob
from hookrun.recipes import recipe_state
from hookrun.recipes.recipe import Option, Recipe, count, fail_option, number, request_of, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "rate-limit"
# The largest limit: calls within the time window are remembered.
MAX_CALLS = 5000

RECIPE = Recipe(
    NAME,
    "Limit how often an agent may call a tool, to slow down runaway loops.",
    options=(
        Option(
            "calls",
            "30",
            "Maximum number of calls of one tool in that time; 0 blocks all.",
            lambda recipe, _: most_calls(recipe),
        ),
        Option("seconds", "60", "The time in seconds.", number),
        Option("tools", "*", "Globs of the tools to limit, each counted separately."),
    ),
    catches="""
        - Blocks calls of a tool over the limit, per session and in any such span of time, and gives the model the time
          to wait.
        - Parallel calls are counted one after another.
    """,
    misses="""
        - The work of one call: a shell line with a loop is one call.
        - A patch of several files counts as one call per file.
        - Calls of different tools or sessions are not added up.
        - Allowed calls count even if the tool fails; blocked calls do not count.
    """,
)


def most_calls(recipe: Recipe) -> int:
    """Return the option `calls`."""
    most = count(recipe, "calls")
    if most > MAX_CALLS:
        fail_option(recipe, "calls", f"a whole number up to {MAX_CALLS}")
    return most


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the call's tool is limited."""
    tool = context.get("tool_name")
    return isinstance(tool, str) and any(glob(pattern, tool) for pattern in words(RECIPE, "tools"))


# Late: calls blocked by other hooks do not count. A limit that cannot be checked blocks the call.
@RECIPE.hook(
    "pre_tool_use",
    "Limit how often a tool is called",
    priority=900,
    timeout=10,
    on_failure="block",
    concerns=concerns,
    python_only=True,
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a call over the limit; count one within it."""
    tool = str(context.get("tool_name"))
    most, seconds = most_calls(RECIPE), number(RECIPE, "seconds")
    session = str(context.get("session_id") or "")
    request = request_of(context)
    with recipe_state.LockedState(NAME, session, tool) as remembered:
        wait = _wait(remembered, request, most, seconds)
    if wait is None:
        return None
    then = f"wait {wait} s before the next call" if most else "do not call it"
    return {"action": "block", "message": f"{tool} is limited to {most} calls in {seconds:g} s: {then}"}


def _wait(remembered: dict[str, object], request: object, most: int, seconds: float) -> int | None:
    """Count a call and return None; over the limit, return the seconds to wait instead."""
    now = time.time()
    calls = [call for call in _calls(remembered.get("calls")) if now - seconds < call[0] <= now]
    if any(call[1] == request for call in calls):  # the same call, checked again after a hook changed it
        return None
    if len(calls) < most:
        calls.append((now, str(request)))
        remembered["calls"] = calls
        return None
    oldest = calls[-most][0] if most else now
    return max(-int((now - oldest - seconds) // 1), 1)


def _calls(kept: object) -> list[tuple[float, str]]:
    """Return each remembered call's time and request."""
    if not isinstance(kept, list):
        return []
    return [(float(each[0]), str(each[1])) for each in kept if isinstance(each, list) and len(each) == 2]  # noqa: PLR2004
