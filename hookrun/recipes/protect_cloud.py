"""The recipe `protect-cloud`: asks before infrastructure is removed, and blocks that in production."""

from __future__ import annotations

from hookrun.recipes.catalogue import deciding
from hookrun.recipes.recipe import Recipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

RECIPE = Recipe(
    "protect-cloud",
    "Ask before infrastructure that cannot be brought back is removed; block it in production.",
    options=deciding.OPTIONS,
    catches="""
        - `terraform destroy` and `tofu destroy`, also as `apply -destroy`: all that a configuration manages.
        - The same behind `sudo`, `timeout` and similar, in `bash -c`, `$(...)` and here-documents.
    """,
    misses="""
        - Other programs, and what a plan that was made before destroys when it is applied.
        - Programs that are not in the catalogue; add them with the option `catalogues`.
    """,
)


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the call may remove what cannot be brought back. False is certain."""
    return deciding.concerns(RECIPE, context)


@RECIPE.hook("pre_tool_use", matcher="bash|mcp__*", priority=20, timeout=10, on_failure="block", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a call that removes something in production, or a question where the target is unknown."""
    return deciding.CatalogueGuard(RECIPE, context).verdict() if concerns(context) else None
