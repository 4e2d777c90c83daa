"""The recipe `lint-on-edit`: lints each file that the agent writes or edits."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from hookrun import Context
from hookrun.process.program import ProgramError, run_program
from hookrun.recipes import recipe_state, turn_files
from hookrun.recipes.output_excerpt import first_lines
from hookrun.recipes.paths import EditedFile, edited_file, project_tools_allowed
from hookrun.recipes.recipe import Option, Recipe, count, known_words, number
from hookrun.recipes.turn_files import JAVASCRIPT, PYTHON, SHELL, YAML

# Bytes read of a linter's output.
MAX_OUTPUT = 1 << 17


class Linter(NamedTuple):
    """A program that checks the file in its last argument.

    `found` are the exit statuses for a file with problems; any other but 0 is a failed check.
    """

    name: str
    endings: tuple[str, ...]
    command: tuple[str, ...]
    found: tuple[int, ...] = (1,)


# The first installed one for a file's extension is used; a language's last checks only syntax.
LINTERS = (
    Linter("ruff", PYTHON, ("ruff", "check", "--force-exclude", "--output-format=concise", "--quiet")),
    Linter("flake8", PYTHON, ("flake8",)),
    Linter("pyflakes", PYTHON, ("pyflakes",)),
    Linter("eslint", JAVASCRIPT, ("eslint",)),
    Linter("biome", (*JAVASCRIPT, ".json", ".css"), ("biome", "lint")),
    Linter("node", (".js", ".mjs", ".cjs"), ("node", "--check")),
    Linter("shellcheck", SHELL, ("shellcheck", "--format=gcc")),
    Linter("bash", SHELL, ("bash", "-n"), (1, 2)),
    Linter("stylelint", (".css", ".scss", ".less"), ("stylelint",), (2,)),
    Linter("yamllint", YAML, ("yamllint", "--format=parsable")),
    Linter("jq", (".json",), ("jq", "empty"), (2, 5)),
    Linter("gofmt", (".go",), ("gofmt", "-e", "-l"), (2,)),
    Linter("luacheck", (".lua",), ("luacheck", "--quiet", "--no-color"), (1, 2)),
    Linter("php", (".php",), ("php", "-l"), (255,)),
    Linter("ruby", (".rb",), ("ruby", "-wc")),
    Linter("hadolint", (".dockerfile",), ("hadolint", "--no-color")),
)

RECIPE = Recipe(
    "lint-on-edit",
    "Lint each file that the agent writes or edits, and give the model the problems.",
    options=(
        Option(
            "linters",
            " ".join(each.name for each in LINTERS),
            "Linters to use; for each file type the first installed one runs.",
            list_of=[each.name for each in LINTERS],
        ),
        Option("lines", "20", "Maximum number of lines of linter output for the model.", count),
        *turn_files.OPTIONS,
    ),
    catches="""
        - Checks files changed by the write and edit tools, in the repository of the working directory. The model gets
          the problems as a block right after the edit.
        - Notifies you once per session if a linter crashes, times out or cannot read its config, or if none is
          installed for a file type.
        - With `at=stop`, each file once at the end of the turn that edited it: problems keep the model working.
    """,
    misses="""
        - Files written by shell commands.
        - Problems that only show across files (types, unused exports): each file is checked alone.
        - Edits are not undone.
        - With `at=stop`, agents that cannot be kept working: they end their turn without the problems.
        - A linter's config can be code (`eslint.config.js`) and belongs to the project.
    """,
)


# After formatters. The file is written already: a failing linter blocks nothing.
@RECIPE.hook(
    "post_tool_use",
    "Lint files that were written or edited",
    matcher="write|edit",
    priority=200,
    timeout=60,
    on_failure="continue",
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block with the file's problems, or a message for the user, if any."""
    file = edited_file(Context.of(dict(context)))
    if file is None or context.get("tool_result_error") or not os.path.isfile(file.path):
        return None
    if turn_files.is_kept(RECIPE, context, file.path):
        return None
    known = {each.name: each for each in LINTERS}
    fitting = [known[name] for name in known_words(RECIPE, "linters") if file.ending in known[name].endings]
    if not fitting:
        return None
    project_tools = project_tools_allowed(RECIPE)
    path = file.search_path(project_tools=project_tools)
    for linter in fitting:
        if (program := shutil.which(linter.command[0], path=path)) is not None:
            return _checked(context, file, linter, program)
    names = " or ".join(each.name for each in fitting)
    hint = "" if project_tools else " (the project's own programs do not run: see the option `project_tools`)"
    missing = f"lint-on-edit: {file.ending} files are not linted: {names} was not found{hint}"
    return recipe_state.once(context, f"lint-on-edit {file.ending}", missing)


@RECIPE.hook(
    "stop",
    "Lint the files that the turn has edited",
    name="lint-on-edit-at-stop",
    priority=200,
    timeout=turn_files.TIMEOUT,
    on_failure="continue",
)
def check_turn(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block with the problems of files that were left to the end of the turn, if any."""
    return turn_files.handle(RECIPE, context, check)


def _checked(context: Mapping[str, object], file: EditedFile, linter: Linter, program: str) -> dict[str, object] | None:
    seconds = number(RECIPE, "seconds")
    argv = [program, *linter.command[1:], file.path]
    try:
        result = asyncio.run(run_program(argv, timeout=seconds, cwd=file.root, max_output=MAX_OUTPUT, keep="first"))
    except ProgramError as error:
        return _broken(context, linter, f"cannot start it: {error}")
    if result.exit_code == 0:
        return None
    if result.exit_code is None:
        return _broken(context, linter, f"timed out after {seconds:g} s")
    output = first_lines(result.output, count(RECIPE, "lines"))
    if result.exit_code not in linter.found:
        return _broken(context, linter, f"exit status {result.exit_code}\n{output}".rstrip())
    message = f"{linter.name} found problems in {file.shown}. Fix them:\n{output}"
    return {"action": "block", "message": message.replace(file.path, file.shown)}


def _broken(context: Mapping[str, object], linter: Linter, why: str) -> dict[str, object] | None:
    text = f"lint-on-edit: {linter.name} failed: {why}"
    return recipe_state.once(context, f"lint-on-edit {linter.name} {why}", text)
