"""Every recorded message of every agent is read, and every verdict is answered, as was reviewed."""

from __future__ import annotations

import json

import jsonschema
import pytest

from hookrun import agents
from hookrun.agents.formats import Reply
from hookrun.agents.reply import build_response
from tests.golden import golden

AGENTS = pytest.mark.parametrize("agent", list(agents.AGENTS))


@AGENTS
@pytest.mark.parametrize("directory", list(golden.FILES))
def test_it_is_as_was_reviewed(directory: str, agent: str) -> None:
    """What differs is either a mistake, or to be reviewed and written with `python -m tests.golden.golden --update`."""
    assert golden.text(directory, agent) == (golden.HERE / directory / f"{agent}.json").read_text()


@AGENTS
def test_there_is_a_recording_for_every_agent(agent: str) -> None:
    """No agent's golden file is empty."""
    assert len(golden.recorded(agent)) >= 4


@AGENTS
def test_no_refusal_is_ever_nothing_where_something_can_be_refused(agent: str) -> None:
    """At an event that can refuse, every action but continue produces an answer."""
    module = agents.load(agent)
    for native, form in module.RESPONSE_FORMATS.items():
        if "block" not in form.capabilities or native in ("Stop", "SubagentStop", "AfterAgent", "session.idle"):
            continue
        message = golden.read(agent, native, golden.bare(agent, native))
        for action in ("ask", "skip", "block", "stop"):
            if (action, module.EVENTS[native]) == ("ask", "permission_request"):
                continue  # where the user is asked anyway, no answer is needed
            assert build_response(module, message, [Reply(action, "R")]).data, (native, action)


@AGENTS
def test_nothing_to_say_is_said_by_nothing(agent: str) -> None:
    """No agent is given an answer where no hook has one."""
    answers = golden.answers_of(agent)
    assert {each["continue"]["stdout"] for each in answers.values()} == {None}


def test_codex_is_given_nothing_that_its_schemas_do_not_take() -> None:
    """One key that it does not know would void the answer, and the tool would run.

    The schemas are those in the program of Codex CLI 0.169.0. Answers that they accept and Codex was measured to reject
    are tested as well: `allow` without new arguments, new arguments without it, `ask`, `continue`, an empty reason.
    """
    schemas = json.loads((golden.HERE / "codex_output_schemas.json").read_text())
    for case, answers in golden.answers_of("codex").items():
        schema = schemas.get(f"{_dashed(case.partition(',')[0])}.command.output")
        for verdict, each in answers.items():
            said = each["stdout"]
            assert said is None or schema is not None, (case, verdict)
            if said is None:
                continue
            jsonschema.validate(said, schema)
            own = said.get("hookSpecificOutput", {})
            assert ("updatedInput" in own) is (own.get("permissionDecision") == "allow"), (case, verdict)
            assert own.get("permissionDecision") != "ask"
            assert not {"continue", "stopReason", "suppressOutput"} & set(said)
            assert "" not in (own.get("permissionDecisionReason"), said.get("reason"))


def _dashed(name: str) -> str:
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in name).lstrip("-")
