"""Codex does not report to hooks what the model types into a running program: recipes refuse to start such programs."""

from __future__ import annotations

import re

import pytest

from tests.live.model import Turn, say, use
from tests.live.run import Agent


def typed(agent: Agent, text: str) -> Turn:
    """Return the turn that types a text into the program that the turn before it has started."""

    class Typed(Turn):
        __slots__ = ()

        def numbered(self, request: int) -> Turn:
            session = re.search(r"session ID (\d+)", agent.model.results()[-1])
            return use("write_stdin", session_id=int(session[1]) if session else 0, chars=text).numbered(request)

    return Typed()


@pytest.mark.parametrize("recipe", ["block-destructive-commands", "no-force-push"])
@pytest.mark.parametrize("option", ["", "interactive=allow"])
@pytest.mark.parametrize("command", ["bash", "python3 -i"])
def test_what_is_typed_into_a_shell(codex: Agent, recipe: str, option: str, command: str) -> None:
    """A bare shell is not started. If an option allows it, typed input runs, and no hook has seen it."""
    codex.hookrun("add", recipe, "--user", *(("--option", option) if option else ()))
    codex.install()
    text = "echo typed > made.txt\n" if command == "bash" else "open('made.txt', 'w').write('typed')\n"
    started = use("exec_command", cmd=command, tty=True, yield_time_ms=1500)
    ran = codex.run(started, typed(codex, text), say("all-is-done"))
    calls = [record for record in ran.audit if record["kind"] == "fire" and record["event"] == "pre_tool_use"]
    assert len(calls) == 1, ran
    if option:
        assert (calls[0]["action"], list(ran.files)) == ("continue", ["made.txt"]), ran
    else:
        assert (calls[0]["action"], ran.files) == ("block", {}), ran
        assert "would read commands that no hook sees" in ran.heard, ran
