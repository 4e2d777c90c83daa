import asyncio
from typing import Any

import pytest


def test_a_force_push_is_refused(hookrun: Any) -> None:
    came = hookrun.fire("PreToolUse", tool="bash", args={"command": "git push --force"})
    assert (came.action, came.message, came.fired) == ("block", "no force push here", ["no-force"])
    assert not came.go_on


def test_as_an_agent(hookrun: Any) -> None:
    came = hookrun.fire("pre_tool_use", tool="bash", args={"command": "git push --force"}, agent="claude")
    assert came.action == "block"


def test_the_home_is_kept_from_fire_to_fire(hookrun: Any) -> None:
    first = hookrun.fire("stop", env={"WORD": "a"})
    second = hookrun.fire("stop", hook="remembers", env={"WORD": "b"})
    assert (first.message, second.message) == ("a", "a\nb")
    assert (hookrun.home / "words").read_text() == "a\nb\n"


def test_another_home_is_empty(hookrun: Any) -> None:
    assert list(hookrun.home.iterdir()) == []


def test_in_a_running_loop(hookrun: Any) -> None:
    async def fire() -> str:
        return str(hookrun.fire("stop", env={"WORD": "a"}).action)

    assert asyncio.run(fire()) == "block"


@pytest.mark.parametrize(
    "wrong", [{"event": "no_such"}, {"event": "stop", "hook": "no_such"}, {"event": "stop", "config": "gone.json"}]
)
def test_what_cannot_be_fired(hookrun: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no_such|gone"):
        hookrun.fire(**wrong)
