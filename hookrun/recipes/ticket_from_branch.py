"""The recipe `ticket-from-branch`: gives the model the ticket in the branch name."""

from __future__ import annotations

from hookrun.core.text import escape
from hookrun.recipes import git_repository, paths, recipe_state
from hookrun.recipes.output_excerpt import cut
from hookrun.recipes.recipe import Option, Recipe, option, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BRANCH = 250
NAME = "ticket-from-branch"

RECIPE = Recipe(
    NAME,
    "Give the model the ticket in the branch name, such as ABC-123 in `feature/ABC-123-login`.",
    options=(
        Option(
            "pattern",
            "[A-Z][A-Z0-9]+-[0-9]+",
            "Regular expression for a ticket; if it has a group, the first group is the ticket.",
            pattern,
        ),
        Option("url", "", "URL for the model, with `{ticket}` in place of the ticket."),
    ),
    catches="""
        - The branch that is checked out where the agent works, also in a worktree and without git installed.
        - If the branch changes during the session, the new ticket comes with the next prompt.
    """,
    misses="""
        - A branch without a ticket in its name, and a detached HEAD.
        - A second ticket in the same name.
        - The content of the ticket: only its name is given.
        - Repositories that store references as a reftable.
    """,
)


# An unknown ticket does not block a prompt.
@RECIPE.hook(["session_start", "user_prompt_submit"], timeout=5, on_failure="continue")
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the verdict with the ticket at a session's start, and at a prompt if it has changed."""
    branch = git_repository.branch(paths.working_directory(context))
    if branch is None:
        return None
    wanted = pattern(RECIPE, "pattern")
    found = wanted.search(branch[:MAX_BRANCH]) if wanted is not None else None
    named = (*found.groups()[:1], found[0]) if found is not None else ()
    ticket = next(filter(None, named), None)
    if ticket is None:
        return None
    first = recipe_state.first_time(context, f"{NAME} {ticket}")
    if not first and context.get("event") != "session_start":  # after a compaction it is repeated
        return None
    url = option(RECIPE, "url").strip()
    where = f" ({url.replace('{ticket}', ticket)})" if url else ""
    text = f"The branch {cut(escape(branch), MAX_BRANCH)} is for ticket {escape(ticket)}{where}."
    return {"action": "continue", "additional_context": text}
