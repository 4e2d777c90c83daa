"""Keep the files that a turn edits until it ends, for recipes that handle them once then."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from hookrun.recipes.paths import PROJECT_TOOLS
from hookrun.recipes.recipe import Option, Recipe, number, one_of
from hookrun.recipes.recipe_state import LockedState, session_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Answer = dict[str, object] | None
    Check = Callable[[Mapping[str, object]], Answer]

# Endings of the files in a language.
PYTHON, SHELL, YAML = (".py", ".pyi"), (".sh", ".bash"), (".yaml", ".yml")
JAVASCRIPT = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
# Files kept of a turn.
MAX_FILES = 1000
# Seconds for all files of a turn, and of the hook's timeout.
SECONDS, TIMEOUT = 240.0, 300

AT = Option(
    "at",
    "change",
    "When files are handled: `change`, each after it changed, or `stop`, once at the end of the turn.",
    choices=("change", "stop"),
)
# The options of recipes that run a program for each edited file.
OPTIONS = (
    Option("seconds", "30", "Time limit for one file; keep it below the hook's `timeout`.", number),
    AT,
    PROJECT_TOOLS,
)


def is_kept(recipe: Recipe, context: Mapping[str, object], path: str) -> bool:
    """Return whether the option `at` leaves an edited file to the end of the turn, and keep it until then."""
    is_late = one_of(recipe, AT.name) == "stop" and context.get("event") != "stop"
    if is_late:
        with _kept(recipe, context) as files:
            files.pop(path, None)
            if len(files) < MAX_FILES:
                files[path] = context.get("working_dir")
    return is_late


def handle(recipe: Recipe, context: Mapping[str, object], check: Check) -> Answer:
    """Return one answer to all files that are kept, by a check that gets each as `file_path`; keep them no longer.

    Blocks are joined; what else there is to say is for the user: the model's turn is over.
    """
    with _kept(recipe, context) as files:
        edited = dict(files)
        files.clear()
    begun, blocks, notes = monotonic(), list[str](), list[str]()
    for at, (path, directory) in enumerate(edited.items()):
        if monotonic() - begun > SECONDS:
            notes.append(f"{recipe.name}: {len(edited) - at} of {len(edited)} files not handled, it took too long")
            break
        answer = check({**context, "tool_args": None, "file_path": path, "working_dir": directory}) or {}
        blocks += [str(answer["message"])] if "message" in answer else []
        notes += [str(answer[each]) for each in ("additional_context", "system_message") if each in answer]
    said: dict[str, object] = {"system_message": "\n".join(notes)} if notes else {}
    if blocks:
        return {"action": "block", "message": "\n".join(blocks), **said}
    return {"action": "continue", **said} if said else None


def _kept(recipe: Recipe, context: Mapping[str, object]) -> LockedState:
    return LockedState(recipe.name, "turn", session_id(context))
