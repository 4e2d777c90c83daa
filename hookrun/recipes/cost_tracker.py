"""The recipe `cost-tracker`: reports the tokens and cost of a session and enforces a budget."""

from __future__ import annotations

from hookrun.recipes import recipe_state
from hookrun.recipes.recipe import Option, Recipe, count, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.recipes.session_costs import Costs

NAME = "cost-tracker"
ADVICE = "end your turn and tell the user"

RECIPE = Recipe(
    NAME,
    "Track the tokens and cost of a session, report them when a turn ends, and enforce a budget.",
    options=(
        Option(
            "prices",
            "",
            "Prices in USD per million tokens, as `MODEL=INPUT/OUTPUT` or `MODEL=INPUT/OUTPUT/CACHE_READ/CACHE_WRITE`; "
            "MODEL may be a glob. No prices are built in.",
        ),
        Option("budget", "0", "Block prompts and tool calls after this many USD; 0 for no budget.", number),
        Option(
            "limit", "0", "Block prompts and tool calls after this many tokens of all kinds; 0 for no limit.", count
        ),
    ),
    catches="""
        - Reads usage from the agent's transcript, or from `after_inference` events, including subagents that have a
          transcript.
        - Blocks prompts and tool calls of a session over its budget.
        - Counts the tokens of a model without a price, and notifies you once per session.
        - The totals also appear in `hookrun stats`.
    """,
    misses="""
        - Agents that report no usage: you are notified once per session.
        - The last message of a turn, if the agent writes its transcript late: it is counted next time.
        - A running inference is not stopped, so a session can end slightly over budget.
        - A session resumed under a new id with a copy of its history is counted again.
        - Discounts, batches and subscriptions.
    """,
)


# An unknown cost is reported, and blocks nothing.
@RECIPE.hook(
    ["stop", "subagent_stop", "after_inference"],
    "Report what the session has used",
    always=True,
    timeout=30,
    on_failure="continue",
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Count usage since the last call; at the end of a turn return the session's so far."""
    costs = _counted(context)
    messages = _unpriced(context, costs)
    if context.get("event") == "stop":
        if costs.used is None:
            nothing = f"{NAME}: no usage data: the agent has reported none for this session"
            return recipe_state.once(context, f"{NAME} nothing", nothing)
        messages.insert(0, f"{NAME}: {costs.shown} in this session")
    return {"action": "continue", "system_message": "\n".join(messages)} if messages else None


# A budget that cannot be checked blocks: the money would be gone.
@RECIPE.hook(
    ["user_prompt_submit", "pre_tool_use"],
    "Block prompts and calls over the budget",
    name=f"{NAME}-budget",
    timeout=30,
    on_failure="block",
)
def guard(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a prompt or call beyond the session's budget."""
    budget, tokens = number(RECIPE, "budget"), count(RECIPE, "limit")
    if not budget and not tokens:
        return None
    costs = _counted(context)
    if (reason := costs.over(budget, tokens)) is not None:
        return {"action": "block", "message": f"{reason}: {ADVICE}"}
    messages = _unpriced(context, costs)
    return {"action": "continue", "system_message": messages[0]} if messages else None


def _counted(context: Mapping[str, object]) -> Costs:
    """Return the session's cost, including usage since the last call."""
    from hookrun.observe.spool import DatabaseError  # most calls have no budget and need no SQLite
    from hookrun.recipes.session_costs import Costs

    costs = Costs(context, RECIPE)
    try:
        costs.count()
    except (OSError, DatabaseError) as error:
        raise SystemExit(f"{NAME}: {error}") from None
    return costs


def _unpriced(context: Mapping[str, object], costs: Costs) -> list[str]:
    """Return messages about models without a price, once a session, if the cost matters."""
    if not costs.prices and not number(RECIPE, "budget"):
        return []
    return [f"{NAME}: {each}" for each in costs.unpriced if recipe_state.first_time(context, f"{NAME} {each}")]
