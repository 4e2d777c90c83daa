"""The recipe `learn-from-errors`: links errors to what fixed them, and can tell the model the next time."""

from __future__ import annotations

from hookrun.recipes import kept_events
from hookrun.recipes.recipe import Option, Recipe, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

RECIPE = Recipe(
    "learn-from-errors",
    "Learn which changes fixed which errors in a project, and optionally tell the model the next time.",
    options=(
        Option("tell", "no", "Whether to tell the model, when an error occurs again, what has fixed it before.", yes),
    ),
    catches="""
        - An error is known by its last telling line, quoted values included, in its project. Its fix is what changed
          something between the call's failure and its success: edits, and commands known to change something.
        - It is reported once a session, if it has held at least twice and in three of four cases.
        - `hookrun stats` and `report` list what was learned, told or not.
    """,
    misses="""
        - Errors whose call is never made again in the same words.
        - Fixes by you, and by programs not known to change anything.
    """,
)


@RECIPE.hook(kept_events.RESULTS, "Learn what fixes errors", **kept_events.LATE, **kept_events.KEEPING)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Keep a call; of one that failed return what fixed the error before, if it may be reported."""
    tells = yes(RECIPE, "tell")
    row = kept_events.keep(RECIPE, context)
    if row is None or row.get("ok", True) or not tells:
        return None
    from hookrun.observe.error_chains import CauseChains, told  # for failures only

    lesson = kept_events.of_store(RECIPE, lambda store: CauseChains(store).lesson(row))
    return {"action": "continue", "additional_context": told(lesson)} if lesson is not None else None
