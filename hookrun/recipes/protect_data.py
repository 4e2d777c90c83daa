"""The recipe `protect-data`: asks before data in a database is destroyed, and blocks that in production."""

from __future__ import annotations

from hookrun.recipes.catalogue import deciding
from hookrun.recipes.recipe import Recipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

RECIPE = Recipe(
    "protect-data",
    "Ask before data in a database is destroyed; block it in production.",
    options=deciding.OPTIONS,
    catches="""
        - SQL.
    """,
    misses="""
        - Others.
    """,
)


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the call may destroy data. False is certain."""
    return deciding.concerns(RECIPE, context)


@RECIPE.hook("pre_tool_use", matcher="bash|mcp__*", priority=20, timeout=10, on_failure="block", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a call that destroys data in production, or a question where the target is unknown."""
    return deciding.CatalogueGuard(RECIPE, context).verdict() if concerns(context) else None
