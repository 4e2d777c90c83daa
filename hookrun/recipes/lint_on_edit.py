"""The recipe `lint-on-edit`: a file that the agent has written is checked, and what is wrong with it is fed back."""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import TYPE_CHECKING

from hookrun.bundles import programs
from hookrun.bundles.edited import Edited, edited
from hookrun.library.context import Context
from hookrun.recipes import state
from hookrun.recipes.excerpt import first_lines
from hookrun.recipes.linters import LINTERS, Linter
from hookrun.recipes.options import count, known_words, number, out_of
from hookrun.recipes.recipe import Option, Recipe
from hookrun.recipes.surroundings import PROJECT_TOOLS, may_run_project_tools

if TYPE_CHECKING:
    from collections.abc import Mapping

OUTPUT = 1 << 17
"""Bytes of a linter's output that are kept."""

RECIPE = Recipe(
    "lint-on-edit",
    "Checks each file that the agent writes or edits, and gives the model what is wrong with it.",
    hooks=(
        {
            "name": "lint-on-edit",
            "description": "Checks files that were written or edited",
            "event": "post_tool_use",
            "matcher": "write|edit",
            "python": "hookrun.recipes.lint_on_edit:check",
            "cwd": "/",
            "priority": 200,  # what a formatter has made of the file is what is checked
            "timeout": 60,
            "on_failure": "continue",  # the file is written: a linter that is broken refuses nothing
        },
    ),
    options=(
        Option(
            "linters",
            " ".join(each.name for each in LINTERS),
            "Which linters may be used; of several for one type of file, the first that is there is.",
            out_of([each.name for each in LINTERS]),
        ),
        Option("lines", "20", "How many lines of the linter's output the model is given, the first ones.", count),
        Option("seconds", "30", "How long one file may take; keep the hook's `timeout` above it.", number),
        PROJECT_TOOLS,
    ),
    catches=(
        (
            "Problems in files that the tools for writing and editing have changed, in the repository of the working "
            "directory: the model gets the linter's first lines as a block, right after the edit."
        ),
        "A linter that crashes, hangs or cannot read its configuration: you are told, once in a session.",
        "A type of file whose linter is not on the machine: you are told, once in a session.",
    ),
    misses=(
        "Files that a shell command has written.",
        "What shows only in the whole project (types, unused exports): each file is checked by itself.",
        "It undoes nothing: the file stays as it was written.",
        "The configuration of a linter may itself be code (eslint.config.js): it is the project's.",
    ),
)


def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block with what is wrong with the file, or a word to the person; None where nothing is wrong."""
    file = edited(Context.of(dict(context)))
    if file is None or context.get("tool_result_error") or not os.path.isfile(file.path):
        return None
    known = {each.name: each for each in LINTERS}
    fitting = [known[name] for name in known_words(RECIPE, "linters", known) if file.ending in known[name].endings]
    if not fitting:
        return None
    project_tools = may_run_project_tools(RECIPE)
    path = file.search_path(project_tools=project_tools)
    for linter in fitting:
        if (program := shutil.which(linter.command[0], path=path)) is not None:
            return _checked(context, file, linter, program)
    names = " or ".join(each.name for each in fitting)
    hint = "" if project_tools else " (the project's own programs are not run: see the option project_tools)"
    missing = f"lint-on-edit: {file.ending} files are not checked: {names} was not found{hint}"
    return state.once(context, f"lint-on-edit {file.ending}", missing)


def _checked(context: Mapping[str, object], file: Edited, linter: Linter, program: str) -> dict[str, object] | None:
    seconds = number(RECIPE, "seconds")
    argv = [program, *linter.command[1:], file.path]
    try:
        running = programs.run_and_read(argv, seconds=seconds, cwd=file.root, longest=OUTPUT)
        ended = asyncio.run(running)
    except OSError as error:
        return _broken(context, linter, f"it could not be started: {error.strerror}")
    if ended.exit_code == 0:
        return None
    if ended.exit_code is None:
        return _broken(context, linter, f"it had not ended after {seconds:g} s and was killed")
    output = first_lines(ended.output, count(RECIPE, "lines"))
    if ended.exit_code not in linter.found:
        return _broken(context, linter, f"exit status {ended.exit_code}\n{output}".rstrip())
    message = f"{linter.name} finds this in {file.shown}, correct it:\n{output}"
    return {"action": "block", "message": message.replace(file.path, file.shown)}


def _broken(context: Mapping[str, object], linter: Linter, why: str) -> dict[str, object] | None:
    text = f"lint-on-edit: {linter.name} cannot check files here: {why}"
    return state.once(context, f"lint-on-edit {linter.name} {why}", text)
