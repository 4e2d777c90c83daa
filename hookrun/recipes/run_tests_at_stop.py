"""The recipe `run-tests-at-stop`: an agent that ends its turn with failing tests is told to go on."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from hookrun.bundles import programs
from hookrun.recipes import state, suites, surroundings, tree
from hookrun.recipes.excerpt import last_lines
from hookrun.recipes.options import count, number
from hookrun.recipes.recipe import Option, Recipe, option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.recipes.suites import Suite

OUTPUT = 1 << 18
"""Bytes of the tests' output that are kept."""
NAME = "run-tests-at-stop"

RECIPE = Recipe(
    NAME,
    "Runs the project's tests when the agent ends its turn, and has it go on while they fail.",
    hooks=(
        {
            "name": NAME,
            "description": "Runs the tests before a turn ends",
            "event": "stop",
            "python": "hookrun.recipes.run_tests_at_stop:check",
            "cwd": "/",
            "timeout": 330,
            "exclusive": True,
            "on_failure": "continue",  # a test runner that is broken must not keep the agent at work for ever
        },
        {
            "name": f"{NAME}-baseline",
            "description": "Notes the state of the project's files when a session begins",
            "event": "session_start",
            "python": "hookrun.recipes.run_tests_at_stop:begin",
            "cwd": "/",
            "timeout": 20,
            "on_failure": "continue",  # without it the tests run once more than they must
        },
    ),
    options=(
        Option("command", "", "The shell line that runs the tests, in the project's root; empty: what is detected."),
        Option("attempts", "3", "How often in a row a turn is made to go on; hookrun itself ends it after 8.", count),
        Option("lines", "40", "How many lines of the failing output the model is given, the last ones.", count),
        Option("seconds", "300", "How long the tests may take; keep the hook's `timeout` above it.", number),
    ),
    catches=(
        "A turn that ends while tests fail: the stop is blocked, with the end of the output.",
        f"What is detected: {suites.LOOKED_FOR}. A Makefile's target counts alone, the others all run.",
        "Tests that take too long: they are killed, and you are told.",
        "A project without tests, or a tool that is not on the machine: you are told, once in a session.",
    ),
    misses=(
        (
            "Changes in files that git ignores: nothing runs while no other file has changed since the session began "
            "or the last green run."
        ),
        (
            "Whose tests they are: declared among your own hooks it also runs a stranger's, once a file has changed. "
            "Declare it in projects that you trust."
        ),
        "A test run that rewrites files which git does not ignore is repeated at each stop.",
        "After so many attempts the agent may end its turn with failing tests: you are told.",
        "An agent that gives its hooks less time than the tests need: set `command` to a quicker part of them.",
        "Agents that cannot be made to go on (docs/agents.md) end their turn all the same.",
    ),
)


def begin(context: Mapping[str, object]) -> None:
    """Note the state of the files, unless it was noted for this session before: it may have been resumed."""
    root = surroundings.root(context)
    with state.held(NAME, "session", _session(context), root) as remembered:
        if "baseline" not in remembered and (files := tree.files(root)) is not None:
            remembered["baseline"] = tree.digest(files)


def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a stop with failing tests, None where there is nothing to say against it."""
    root = surroundings.root(context)
    before = tree.files(root)
    if before is not None and _seen(context, root, tree.digest(before)):
        return None
    command = option(RECIPE, "command").strip()
    chosen = [suites.given(command)] if command else suites.found(root)
    if not chosen:
        looked = f"no tests were found in {root} (looked for {suites.LOOKED_FOR}): set the option command"
        return state.once(context, f"{NAME} none", f"{NAME}: {looked}")
    missing = [f"{each.name} ({each.argv[0]} was not found)" for each in chosen if each.program is None]
    answer = _run([each for each in chosen if each.program is not None], root)
    if answer is not None:
        return _again(context, root, answer)
    if missing:
        return state.once(context, f"{NAME} missing", f"{NAME}: tests were not run: {', '.join(missing)}")
    _keep(root, before)
    _count(context, root, 0)
    return None


def _seen(context: Mapping[str, object], root: str, digest: str) -> bool:
    """Tell whether nothing has changed since the session began, or since a run that was green."""
    with state.held(NAME, "session", _session(context), root) as remembered:
        if remembered.get("baseline") == digest:
            return True
    with state.held(NAME, "green", root) as remembered:
        return remembered.get("digest") == digest


def _keep(root: str, before: tree.Files | None) -> None:
    """Remember that the tests are green with these files. New ones that the tests have made do not count as changed."""
    after = tree.files(root)
    if before is None or after is None:
        return
    same = all(after.get(name) == status for name, status in before.items())
    with state.held(NAME, "green", root) as remembered:
        remembered["digest"] = tree.digest(after if same else before)


def _run(chosen: list[Suite], root: str) -> str | None:
    """Run the suites one after the other; return what the model is told of the first that fails, None if none does."""
    seconds = number(RECIPE, "seconds")
    end = time.monotonic() + seconds
    for suite in chosen:
        left = max(end - time.monotonic(), 0.0)
        try:
            running = programs.run_and_read(suite.argv, seconds=left, cwd=root, longest=OUTPUT, env={"CI": "1"})
            ended = asyncio.run(running)
        except OSError as error:
            raise SystemExit(f"{NAME}: {suite.argv[0]} could not be started: {error.strerror}") from None
        if ended.exit_code is None:
            raise SystemExit(f"{NAME}: {suite.name} had not ended after {seconds:g} s and was killed")
        if ended.exit_code not in suite.green:
            output = last_lines(ended.output, count(RECIPE, "lines"))
            return f"{suite.name} fails (exit status {ended.exit_code}). Correct what is wrong, then end:\n{output}"
    return None


def _again(context: Mapping[str, object], root: str, message: str) -> dict[str, object]:
    """Return the block, or a word to the person where the turn was made to go on often enough."""
    attempts = count(RECIPE, "attempts")
    again = context.get("stop_hook_active")
    blocked = 0 if again is False else _count(context, root, None)
    if blocked >= attempts:
        _count(context, root, 0)
        first = message.partition(":\n")[0]
        text = f"{NAME}: the turn ends although {first.partition('.')[0]}: it was made to go on {blocked} times"
        return {"action": "continue", "system_message": text}
    _count(context, root, blocked + 1)
    return {"action": "block", "message": message}


def _count(context: Mapping[str, object], root: str, number_of_blocks: int | None) -> int:
    """Return how many blocks there were in a row, or with a number, remember it."""
    with state.held(NAME, "session", _session(context), root) as remembered:
        if number_of_blocks is not None:
            remembered["blocks"] = number_of_blocks
        blocks = remembered.get("blocks")
    return blocks if isinstance(blocks, int) else 0


def _session(context: Mapping[str, object]) -> str:
    session = context.get("session_id")
    return session if isinstance(session, str) else ""
