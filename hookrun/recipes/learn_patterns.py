"""The recipe `learn-patterns`: learns which sequences of tools work in a project."""

from __future__ import annotations

from hookrun.recipes import kept_events
from hookrun.recipes.recipe import Option, Recipe, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "learn-patterns"
# Sequences that a session begins with.
MAX_TOLD = 3

RECIPE = Recipe(
    NAME,
    "Learn which sequences of tools work in a project (tests before a commit), and optionally tell the model.",
    options=(
        Option("tell", "no", "Whether to tell the model, when a session starts, which sequences have worked.", yes),
    ),
    catches="""
        - Two steps within five calls, at least four times, in two sessions: tools, or programs with their subcommands
          (`git commit`, `npm test`). No arguments, messages or titles.
        - Only if the second step works more often after the first than without it.
        - Forgotten once it works less than eight of ten times, or after 60 days.
        - `hookrun stats` and `report` list them.
    """,
    misses="""
        - Whether the first step is the reason why the second works.
        - Steps that are more than five calls apart, and what happens in other projects.
    """,
)


@RECIPE.hook(kept_events.RESULTS, "Learn which sequences of tools work", **kept_events.LATE, **kept_events.KEEPING)
def check(context: Mapping[str, object]) -> None:
    """Keep a call."""
    kept_events.keep(RECIPE, context)


@RECIPE.hook("session_start", "Tell what has worked in this project", name=f"{NAME}-tell", **kept_events.KEEPING)
def begin(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the sequences that have worked in the project, if they may be reported."""
    if not yes(RECIPE, "tell") or context.get("proof"):
        return None
    from hookrun.observe.sequences import sequences

    found = kept_events.of_store(RECIPE, lambda store: sequences(store, project=kept_events.project(context)))
    lines = [f"- {each.shown}" for each in found[:MAX_TOLD]]
    text = "\n".join(["What has worked in this project before:", *lines])
    return {"action": "continue", "additional_context": text} if lines else None
