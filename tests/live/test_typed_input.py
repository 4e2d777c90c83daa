"""Codex does not report to hooks what the model types into a running program: recipes refuse to start such programs."""

from __future__ import annotations

import re

import pytest

from hookrun_conformance.model import Turn, say, use
from tests.live.run import Agent, Ran


def typed(agent: Agent, text: str) -> Turn:
    """Return the turn that types a text into the program that the turn before it has started."""

    class Typed(Turn):
        __slots__ = ()

        def numbered(self, request: int) -> Turn:
            session = re.search(r"session ID (\d+)", agent.model.results()[-1])
            return use("write_stdin", session_id=int(session[1]) if session else 0, chars=text).numbered(request)

    return Typed()


RECIPES = pytest.mark.parametrize("recipe", ["block-destructive-commands", "no-force-push"])
TYPED = {"bash": "echo typed > made.txt\n", "python3 -i": "open('made.txt', 'w').write('typed')\n"}
"""A program that reads commands -> what is typed into it."""


def start_and_type(codex: Agent, command: str) -> tuple[Ran, object]:
    """Have a program started and a line typed into it; return the run, and the action of the one call that is seen."""
    codex.install()
    started = use("exec_command", cmd=command, tty=True, yield_time_ms=1500)
    ran = codex.run(started, typed(codex, TYPED[command]), say("all-is-done"))
    [call] = [record for record in ran.audit if record["kind"] == "fire" and record["event"] == "pre_tool_use"]
    return ran, call["action"]


@RECIPES
@pytest.mark.parametrize("command", TYPED)
def test_a_bare_shell_is_not_started(codex: Agent, recipe: str, command: str) -> None:
    """The model gets the reason."""
    codex.hookrun("add", recipe, "--user")
    ran, action = start_and_type(codex, command)
    assert (action, ran.files) == ("block", {}), ran
    assert "would read commands that no hook sees" in ran.heard, ran


@RECIPES
@pytest.mark.parametrize("command", TYPED)
def test_what_is_typed_into_a_shell_runs_where_an_option_allows_that(codex: Agent, recipe: str, command: str) -> None:
    """No hook has seen it."""
    codex.hookrun("add", recipe, "--user", "--option", "interactive=allow")
    ran, action = start_and_type(codex, command)
    assert (action, list(ran.files)) == ("continue", ["made.txt"]), ran
