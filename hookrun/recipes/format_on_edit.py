"""The recipe `format-on-edit`: a file that the agent has written is formatted by the tool for its type."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookrun.bundles.edited import edited
from hookrun.bundles.format_on_edit import FORMATTERS, RUFF_WITH_FIXES, FormatOnEdit
from hookrun.library.context import Context
from hookrun.recipes import state
from hookrun.recipes.options import known_words, number, out_of, yes
from hookrun.recipes.recipe import Option, Recipe
from hookrun.recipes.surroundings import PROJECT_TOOLS, may_run_project_tools

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST = 8 << 20
"""Bytes of a file that is compared with what it was."""

RECIPE = Recipe(
    "format-on-edit",
    "Formats each file that the agent writes or edits, with the tool for its type, and tells the model what changed.",
    hooks=(
        {
            "name": "format-on-edit",
            "description": "Formats files that were written or edited",
            "event": "post_tool_use",
            "matcher": "write|edit",
            "python": "hookrun.recipes.format_on_edit:check",
            "cwd": "/",
            "priority": 100,
            "timeout": 60,
            "exclusive": True,
            "on_failure": "continue",  # the file is written: that it is not pretty refuses nothing
        },
    ),
    options=(
        Option(
            "formatters",
            " ".join(each.name for each in FORMATTERS),
            "Which formatters may be used; of several for one type of file, the first that is there is.",
            out_of([each.name for each in FORMATTERS]),
        ),
        Option(
            "fixes", "no", "With `yes` ruff also makes the fixes that it holds to be safe, such as unused imports.", yes
        ),
        Option("seconds", "30", "How long one file may take; keep the hook's `timeout` above it.", number),
        PROJECT_TOOLS,
    ),
    catches=(
        "Files that the tools for writing and editing have changed, in the repository of the working directory.",
        (
            "A formatter that fails or hangs: what it has cut off is put back. Text that was not there before stays, "
            "for somebody may have saved it meanwhile, with what was there beside it (`.NAME.*.before`). The model is "
            "told."
        ),
        "A type of file whose formatter is not on the machine: you are told, once in a session.",
    ),
    misses=(
        "Files that a shell command has written.",
        "Files over 8 MiB, files outside of the repository, and types of files that are not in the table.",
        "The configuration of a formatter may itself be code (plugins of prettier): it is the project's.",
    ),
)


def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return what the model or the person is told once the file is formatted, None where there is nothing to tell."""
    known = {each.name: each for each in FORMATTERS}
    chosen = [known[name] for name in known_words(RECIPE, "formatters", known)]
    if yes(RECIPE, "fixes"):
        chosen = [RUFF_WITH_FIXES if each.name == RUFF_WITH_FIXES.name else each for each in chosen]
    project_tools = may_run_project_tools(RECIPE)
    formatting = FormatOnEdit(chosen, number(RECIPE, "seconds"), project_tools=project_tools)
    given = Context.of(dict(context))
    file = edited(given)
    if file is None:
        return None
    before = _content(file.path)
    try:
        verdict = asyncio.run(formatting.format(given))
    except OSError as error:
        raise SystemExit(f"format-on-edit: {file.shown} cannot be put back as it was: {error.strerror}") from None
    if verdict is None:
        return None
    if verdict.system_message is not None:
        hint = "" if project_tools else " (the project's own programs are not run: see the option project_tools)"
        return state.once(context, f"format-on-edit {file.ending}", f"format-on-edit: {verdict.system_message}{hint}")
    told = verdict.additional_context or ""
    return {"action": "continue", "additional_context": told + _changed(before, _content(file.path))}


def _content(path: str) -> list[bytes]:
    """Return the lines of a file, none where it cannot be read: then nothing is said of lines."""
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST).split(b"\n")
    except OSError:
        return []


def _changed(before: list[bytes], after: list[bytes]) -> str:
    """Return from which line to which a file is another one, nothing where it is the same."""
    if before == after:
        return ""
    shorter = min(len(before), len(after))
    first = next((number for number in range(shorter) if before[number] != after[number]), shorter)
    same = next((number for number in range(shorter - first) if before[-1 - number] != after[-1 - number]), None)
    last = len(after) - (shorter - first if same is None else same)
    return f": lines {first + 1} to {max(last, first + 1)} are not as you wrote them, read them before you edit them"
