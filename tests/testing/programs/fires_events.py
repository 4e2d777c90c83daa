import asyncio
from typing import Any

import pytest

from hookrun import Engine, Verdict


def test_a_force_push_is_refused(fire_hooks: Any) -> None:
    came = fire_hooks("PreToolUse", tool_name="bash", tool_args={"command": "git push --force"})
    assert (came.action, came.message) == ("block", "no force push here")
    assert [run.name for run in came.runs] == ["no-force"]
    assert not came


def test_as_an_agent(fire_hooks: Any) -> None:
    call = {"tool_name": "bash", "tool_args": {"command": "git push --force"}}
    assert fire_hooks("pre_tool_use", agent="claude", **call).action == "block"


def test_an_agent_that_cannot_ask_blocks(fire_hooks: Any) -> None:
    asks = {"config": "asks.json", "tool_name": "bash", "tool_args": {"command": "ls"}}
    assert fire_hooks("pre_tool_use", **asks).action == "ask"
    came = fire_hooks("pre_tool_use", agent="gemini", **asks)
    assert (came.action, came.modified_args, came.go_on) == ("block", None, False)


def test_the_home_is_kept_from_fire_to_fire(fire_hooks: Any) -> None:
    first = fire_hooks("stop", env={"WORD": "a"})
    second = fire_hooks("stop", hook="remembers", env={"WORD": "b"})
    assert (first.message, second.message) == ("a", "a\nb")
    assert (fire_hooks.home / "words").read_text() == "a\nb\n"


def test_another_home_is_empty(fire_hooks: Any) -> None:
    assert list(fire_hooks.home.iterdir()) == []


def test_in_a_running_loop(fire_hooks: Any) -> None:
    async def fire() -> str:
        return str(fire_hooks("stop", env={"WORD": "a"}).action)

    assert asyncio.run(fire()) == "block"


def test_an_engine(fire_hooks: Any) -> None:
    import hookrun

    with Engine() as engine:
        engine.register("pre_tool_use", lambda _: Verdict.patch({"timeout": 9}), name="patient")
        came = fire_hooks("pre_tool_use", engine=engine, tool_name="bash", tool_args={"command": "ls"})
        assert isinstance(came, hookrun.Result)
        assert came.modified_args == {"command": "ls", "timeout": 9}
        with pytest.raises(ValueError, match="agent"):
            fire_hooks("stop", engine=engine, agent="claude")


@pytest.mark.parametrize(
    "wrong", [{"event": "no_such"}, {"event": "stop", "hook": "no_such"}, {"event": "stop", "config": "gone.json"}]
)
def test_what_cannot_be_fired(fire_hooks: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no_such|gone"):
        fire_hooks(**wrong)
