"""The recipe `session-digest`: tells you when a session ends how many calls it made and what hookrun did to them."""

from __future__ import annotations

from hookrun.core.state import NoHomeError, home_directory
from hookrun.recipes.recipe import Option, Recipe, one_of
from hookrun.recipes.recipe_state import session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "session-digest"
STOPPED = frozenset({"block", "skip", "stop"})
# Events of the log that are looked at, the latest of all sessions.
MAX_EVENTS = 20_000

RECIPE = Recipe(
    NAME,
    "Tell you at the end of a session, or of each turn, how many calls it made and how many were blocked.",
    options=(
        Option(
            "at",
            "session_end",
            "When: at the end of the session or of each turn (`stop`).",
            choices=("session_end", "stop"),
        ),
    ),
    catches="""
        - One line for you, such as `38 calls, 2 blocked, 310 ms`: calls that hooks saw, how many they blocked, and how
          long the agent waited for hookrun.
        - Nothing if no hook saw a call.
    """,
    misses="""
        - Calls without a hook, which are not in hookrun's log.
        - Ends that the agent does not tell of, such as a kill.
    """,
)


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether this is the end that the option names."""
    return context.get("event") == one_of(RECIPE, "at")


@RECIPE.hook(
    ["session_end", "stop"],
    "Tell what the session did",
    priority=1000,
    always=True,
    timeout=10,
    on_failure="continue",
    concerns=concerns,
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the digest of the session so far, None if there is nothing in the log."""
    from itertools import islice

    from hookrun.core import audit_reader

    session, calls, blocked, asked, ms = session_id(context), 0, 0, 0, 0.0
    try:
        for run in islice(audit_reader.fires(home_directory()), MAX_EVENTS):
            if run.fire is None or run.header.get("session_id", "") != session:
                continue
            ms += float(str(run.header.get("ms") or 0))
            if run.header.get("event") == "pre_tool_use":
                calls += 1
                blocked += run.answer in STOPPED
                asked += run.answer == "ask"
            elif run.header.get("event") == "session_start":
                break
    except (OSError, NoHomeError) as error:
        raise SystemExit(f"{NAME}: {error}") from None
    parts = [f"{calls} call{'s' * (calls != 1)}", f"{blocked} blocked", *([f"{asked} asked"] if asked else [])]
    shown = f"{ms:.0f} ms" if ms < 10_000 else f"{ms / 1000:.0f} s"  # noqa: PLR2004  # ten seconds
    return {"action": "continue", "system_message": f"hookrun: {', '.join([*parts, shown])}"} if calls else None
