"""The recipe `require-plan`: blocks edits until there is a plan."""

from __future__ import annotations

import os

from hookrun.core.files import is_within, read_or_none
from hookrun.core.globs import glob
from hookrun.recipes import paths, recipe_state
from hookrun.recipes.recipe import Option, Recipe, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "require-plan"

# Planning tools, a line for each agent with its own.
PLANNING = (
    "ExitPlanMode", "TodoWrite", "TaskCreate",
    "update_plan",
    "write_todos", "exit_plan_mode",
    "todo_write",
    "todowrite",
    "update_todo",
)  # fmt: skip

RECIPE = Recipe(
    NAME,
    "Block edits until there is a plan: a file such as PLAN.md, or the agent's own task list.",
    options=(
        Option("file", "PLAN.md", "Plan files in the project root; one with content is enough."),
        Option("free", "", "Globs of files, relative to the project root, to edit without a plan, such as `docs/*`."),
    ),
    catches=f"""
        - Blocks writing, editing and deleting files with the agent's tools until a plan file has content or a planning
          tool ran in this session: {", ".join(PLANNING)}.
        - A rejected plan does not count: the call that ends plan mode succeeds only if the user approves it.
    """,
    misses="""
        - Files written by shell commands.
        - The quality of the plan, or a plan of earlier work: remove PLAN.md when it is done.
        - Agents without a planning tool need the file; writing it is allowed.
        - A subagent with its own session id needs its own plan, unless the agent names the parent session.
    """,
)


# A blocked edit can be made later; an edit cannot be undone.
@RECIPE.hook(
    "pre_tool_use", "Block edits until there is a plan", matcher="write|edit|delete", timeout=10, on_failure="block"
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of an edit that lacks a needed plan."""
    root = paths.project_root(context)
    plans = words(RECIPE, "file")
    files = [os.path.join(root, plan) for plan in plans]
    if any((read_or_none(file, 4096) or b"").strip() for file in files):
        return None
    path = context.get("file_path")
    if isinstance(path, str):
        path = os.path.realpath(os.path.join(paths.working_directory(context), path))
        own = os.path.relpath(path, root) if is_within(path, root) else None
        if path in files or (own is not None and any(glob(each, own) for each in words(RECIPE, "free"))):
            return None
    if any(_has_planned(session) for session in _sessions(context)):
        return None
    where = f"write one to {' or '.join(plans)}, or " if plans else ""
    return {
        "action": "block",
        "message": f"There is no plan yet. Before you edit files, {where}use your planning tool.",
    }


# At worst the agent has to plan once more.
@RECIPE.hook(
    "post_tool_use",
    "Record that a plan was made",
    name=f"{NAME}-made",
    matcher=list(PLANNING),
    timeout=10,
    on_failure="continue",
)
def note(context: Mapping[str, object]) -> None:
    """Record the session's plan; an empty task list is none."""
    args = context.get("tool_args")
    if context.get("tool_result_error") or (isinstance(args, dict) and [] in args.values()):
        return
    for session in _sessions(context)[:1]:
        with recipe_state.LockedState(NAME, session) as remembered:
            remembered["planned"] = True


def _sessions(context: Mapping[str, object]) -> list[str]:
    ids = (context.get("session_id"), context.get("root_session_id"))
    return list(dict.fromkeys(each for each in ids if isinstance(each, str) and each))


def _has_planned(session: str) -> bool:
    with recipe_state.LockedState(NAME, session) as remembered:
        return remembered.get("planned") is True
