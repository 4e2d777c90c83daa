"""What a verdict sends to an agent, alone and combined with another; and the names of tools, both ways."""

from __future__ import annotations

from typing import cast

from hookrun import Engine, Result, Verdict
from hookrun.agents.base import NameMap
from hookrun.agents.formats import Reply
from hookrun.core.literals import Action
from hookrun.integrations import internal_failure, reply_of
from tests.rows import rows


def result(verdict: Verdict) -> Result:
    """Return the result of a fire in which one hook gives this answer."""
    with Engine() as engine:
        engine.register("pre_tool_use", lambda _: verdict, name="guard")
        return engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": "ls"})


def _bare(action: str, message: str | None = None) -> Result:
    found = Result()
    found.action, found.message = cast("Action", action), message
    return found


def _parts_of(reply: Reply) -> tuple[object, ...]:
    return reply.action, reply.reason, reply.context, reply.user_message, reply.args


@rows("action", ["continue", "allow"])
def test_the_message_of_what_goes_on_is_context(action: Action) -> None:
    """An advice is for the model too; it is no reason of a refusal."""
    reply = reply_of(result(Verdict(action, "mind the gap", additional_context="more")))
    assert _parts_of(reply) == (action, None, "mind the gap\n\nmore", None, None)
    assert reply.allows


@rows(
    "action, reason, without",
    [
        *((action, "because", action) for action in ("ask", "block", "stop")),
        ("skip", "skipped by guard: because", "skipped by a hook: skip"),
    ],
)
def test_what_does_not_go_on_has_a_reason(action: Action, reason: str, without: str) -> None:
    """With or without a message; a skip is named as one."""
    reply = reply_of(result(Verdict(action, "because")))
    assert (reply.action, reply.allows, reply.reason) == (action, False, reason)
    assert reply_of(result(Verdict(action))).reason
    assert reply_of(_bare(action)).reason == f"{without} (no reason given)"


def test_an_unknown_action_is_a_refusal() -> None:
    """A later hookrun may have more actions: none of them counts as continue."""
    reply = reply_of(_bare("postpone", "later"))
    assert (reply.action, reply.reason, reply.allows) == ("block", "later", False)


def test_two_answers_are_one() -> None:
    """The stronger action with its reason; no text is lost."""
    block = Reply("block", "no", "a", "p")
    stop = Reply("stop", "enough", "b", None)
    for one in (block.merged_with(stop), stop.merged_with(block)):
        assert (one.action, one.reason, one.user_message) == ("stop", "enough", "p")
        assert set((one.context or "").split("\n\n")) == {"no", "a", "b"}
    assert block.merged_with(Reply("block", "neither")).reason == "no\n\nneither"
    assert _parts_of(Reply().merged_with(Reply(context="c"))) == ("continue", None, "c", None, None)


@rows(
    "event, on_error, action",
    [
        ("pre_tool_use", "continue", "continue"),
        ("pre_tool_use", "block", "block"),
        ("stop", "block", "continue"),
        ("subagent_stop", "block", "continue"),
    ],
)
def test_own_trouble_never_keeps_a_turn_from_ending(event: str, on_error: str, action: str) -> None:
    """There a block would mean to go on, which mends nothing."""
    found = internal_failure(event, "disk full", on_error, None)  # type: ignore[arg-type]
    assert found.action == action
    assert found.system_message == f"hookrun failed ({event}: disk full)"


class TestNames:
    """Names of tools and arguments."""

    names = NameMap({"put": "write"}, {"put": {"path": "file_path"}})

    def test_they_are_read_both_ways(self) -> None:
        """A name that is in no table is unchanged."""
        assert self.names.tool("put") == "write"
        assert self.names.tool("get") == "get"
        assert self.names.arguments("put", {"path": "/a", "x": 1}) == {"file_path": "/a", "x": 1}
        assert self.names.arguments("get", {"path": "/a"}) == {"path": "/a"}
        assert self.names.to_native("put", {"file_path": "/a", "x": 1}) == {"path": "/a", "x": 1}

    def test_a_foreign_argument_cannot_hide_the_tool_s_own(self) -> None:
        """A model that adds a second path does not change which one the hooks see."""
        for given in ({"path": "/etc", "file_path": "/ok"}, {"file_path": "/ok", "path": "/etc"}):
            assert self.names.arguments("put", given) == {"file_path": "/etc"}

    def test_the_given_arguments_stay_as_they_are(self) -> None:
        """What is returned is a new object."""
        given = {"a": 1}
        assert self.names.arguments("get", given) is not given
        assert self.names.to_native("get", given) is not given
