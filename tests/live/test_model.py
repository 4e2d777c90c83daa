"""The scripted model keeps to its script, to loopback and to its bounds, whatever API it is asked by."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from hookrun_conformance.model import Json, ScriptedModel, say, use
from hookrun_conformance.model.server import REQUESTS
from tests.waiting import limit

TOOLS = [{"name": "shell"}]
APIS: dict[str, Json] = {
    "/v1/messages": {"tools": TOOLS, "messages": []},
    "/v1/responses": {"tools": TOOLS, "input": []},
    "/v1/chat/completions": {"tools": TOOLS, "messages": []},
    "/v1beta/models/any:streamGenerateContent?alt=sse": {"tools": TOOLS, "contents": []},
}


def ask(model: ScriptedModel, path: str, request: Json) -> str:
    """Return the body of an answer."""
    asked = urllib.request.Request(model.url + path, json.dumps(request).encode(), method="POST")  # noqa: S310
    with urllib.request.urlopen(asked, timeout=limit()) as answer:  # noqa: S310  # loopback
        return str(answer.read().decode())


@pytest.mark.parametrize("path", APIS)
def test_turns_are_said_in_order_and_the_last_one_stays(path: str) -> None:
    """As a stream of events each of which is JSON; each call has a separate id."""
    with ScriptedModel([use("shell", command="ls"), say("all done")]) as model:
        answers = [ask(model, path, {**APIS[path], "stream": True}) for _ in range(3)]
    for answer in answers:
        data = [line.removeprefix("data: ") for line in answer.splitlines() if line.startswith("data: ")]
        assert all(json.loads(each) for each in data if each != "[DONE]")
    assert ["shell" in answer for answer in answers] == [True, False, False]
    assert "call_1_0" in answers[0]
    assert ["all done" in answer for answer in answers] == [False, True, True]
    assert len(model.requests) == 3


@pytest.mark.parametrize("path", APIS)
def test_what_is_asked_beside_the_turns_does_not_use_one_up(path: str) -> None:
    """Agents ask for titles and summaries too, without offering tools."""
    with ScriptedModel([say("the turn")]) as model:
        assert "the turn" not in ask(model, path, {**APIS[path], "tools": [], "stream": True})
        assert "the turn" in ask(model, path, {**APIS[path], "stream": True})
    assert (len(model.requests), len(model.others)) == (1, 1)


def test_it_answers_whole_where_no_stream_is_asked_for() -> None:
    """In one piece of JSON, by each API that can."""
    with ScriptedModel([say("whole")]) as model:
        for path, request in APIS.items():
            whole = path.partition("?")[0].replace(":streamGenerateContent", ":generateContent")
            assert "whole" in json.dumps(json.loads(ask(model, whole, request)))


def test_a_path_that_is_no_api_is_written_down_and_refused() -> None:
    """An agent that asks elsewhere is seen to have asked."""
    with ScriptedModel([say("never")]) as model, pytest.raises(urllib.error.HTTPError, match="404"):
        ask(model, "/telemetry", {"a": 1})
    assert model.others == [("/telemetry", {"a": 1})]


def test_an_agent_that_goes_round_in_circles_is_ended() -> None:
    """After so many requests there is no further answer."""
    with ScriptedModel([say("again")]) as model:
        for _ in range(REQUESTS):
            ask(model, "/v1/messages", APIS["/v1/messages"])
        with pytest.raises(urllib.error.HTTPError, match="400"):
            ask(model, "/v1/messages", APIS["/v1/messages"])
