"""The recipe `cost-tracker`: shows what a session has used and cost, and can hold it to a budget."""

from __future__ import annotations

from hookrun.recipes import recipe_state
from hookrun.recipes.recipe import Option, Recipe, count, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.recipes.session_costs import Costs

NAME = "cost-tracker"
ADVICE = "end your turn, and tell the person"

RECIPE = Recipe(
    NAME,
    "Adds up the tokens and the cost of a session, tells them when a turn ends, and can hold it to a budget.",
    options=(
        Option(
            "prices",
            "",
            "What models cost, in USD per million tokens, as `MODEL=INPUT/OUTPUT` or "
            "`MODEL=INPUT/OUTPUT/CACHE_READ/CACHE_WRITE`; the model may be a glob. Prices change: none are built in.",
        ),
        Option("budget", "0", "After how many USD prompts and tool calls are refused; 0 for never.", number),
        Option("limit", "0", "After how many tokens, all kinds together, they are refused; 0 for never.", count),
    ),
    catches="""
        - What agents write into their transcripts or report after each inference (`after_inference`), that of subagents
          with a transcript included.
        - A session over its budget: prompts and tool calls are refused.
        - A model without a price: its tokens are counted, and you are told, once in a session.
        - What is counted is in `hookrun stats` as well.
    """,
    misses="""
        - Agents that report no usage: you are told, once in a session (docs/agents.md).
        - The last message of a turn, where the agent writes its transcript late: it is counted the next time.
        - An inference that has begun is not stopped: a session can end a little over its budget.
        - A session that is resumed under a new name with a copy of its history: that is counted again.
        - The bill: discounts, batches and subscriptions are not known here.
    """,
)


# An unknown cost is reported, and blocks nothing.
@RECIPE.hook(
    ["stop", "subagent_stop", "after_inference"],
    "Tells what the session has used",
    always=True,
    timeout=30,
    on_failure="continue",
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Count what was used since the last call; at the end of a turn return what the session has used so far."""
    costs = _counted(context)
    messages = _unpriced(context, costs)
    if context.get("event") == "stop":
        if costs.used is None:
            nothing = f"{NAME}: nothing is known of what this session uses: its agent has not told it"
            return recipe_state.once(context, f"{NAME} nothing", nothing)
        messages.insert(0, f"{NAME}: {costs.shown} in this session")
    return {"action": "continue", "system_message": "\n".join(messages)} if messages else None


# A budget that cannot be checked must not be exceeded: the money would be gone.
@RECIPE.hook(
    ["user_prompt_submit", "pre_tool_use"],
    "Refuses what would cost more than the budget",
    name=f"{NAME}-budget",
    timeout=30,
    on_failure="block",
)
def guard(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a prompt or call if the session's budget is used up."""
    budget, tokens = number(RECIPE, "budget"), count(RECIPE, "limit")
    if not budget and not tokens:
        return None
    costs = _counted(context)
    if (reason := costs.over(budget, tokens)) is not None:
        return {"action": "block", "message": f"{reason}: {ADVICE}"}
    messages = _unpriced(context, costs)
    return {"action": "continue", "system_message": messages[0]} if messages else None


def _counted(context: Mapping[str, object]) -> Costs:
    """Return what the session has cost, including what was used since the last call."""
    from hookrun.observe.database import DatabaseError  # most calls have no budget: they need no SQLite
    from hookrun.recipes.session_costs import Costs

    costs = Costs(context, RECIPE)
    try:
        costs.count()
    except (OSError, DatabaseError) as error:
        raise SystemExit(f"{NAME}: {error}") from None
    return costs


def _unpriced(context: Mapping[str, object], costs: Costs) -> list[str]:
    """Return the messages about models without a price, each once in a session, if the cost is of interest."""
    if not costs.prices and not number(RECIPE, "budget"):
        return []
    return [f"{NAME}: {each}" for each in costs.unpriced if recipe_state.first_time(context, f"{NAME} {each}")]
