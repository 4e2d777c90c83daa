"""The recipe `tool-times`: measures how long tools take and how often they fail, for `hookrun stats`."""

from __future__ import annotations

from hookrun.recipes import kept_events
from hookrun.recipes.recipe import Recipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "tool-times"

RECIPE = Recipe(
    NAME,
    "Measure how long each tool takes and how often it fails, for `hookrun stats` and `report`.",
    catches="""
        - The time from the last hook before a tool to the first after it, or what the agent measured.
        - Sessions: when they were active, their calls and changed files.
        - Of arguments and results only changed paths and a line about each change are kept, without credentials, for
          180 days.
    """,
    misses="""
        - Tools for which the agent runs no hooks.
        - How long the agent itself takes between two calls.
    """,
)


@RECIPE.hook(
    ["post_tool_use", "post_tool_failure", "session_start", "file_changed", "stop", "session_end"],
    always=True,
    priority=0,
    **kept_events.KEEPING,
)
def check(context: Mapping[str, object]) -> None:
    """Keep that a call has ended, or a session begun."""
    kept_events.keep(RECIPE, context)


@RECIPE.hook("pre_tool_use", "Note when a tool begins", name=f"{NAME}-begin", priority=1000, **kept_events.KEEPING)
def begin(context: Mapping[str, object]) -> None:
    """Keep when a call begins: last, and not of one that was blocked."""
    kept_events.keep(RECIPE, context)
