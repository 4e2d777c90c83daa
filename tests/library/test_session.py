"""A session: what its events share."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import get_args

import pytest

from hookrun import Context, ContextError, Engine, Verdict
from hookrun.core.audit_reader import latest_fires
from hookrun.core.literals import EventName
from hookrun.events import PreToolUse, Stop
from tests.conftest import Project
from tests.library.conftest import Load

SHARED = {"session_id": "s1", "working_dir": "/work"}


@dataclass
class Notes:
    """A program's own state."""

    seen: list[tuple[object, ...]] = field(default_factory=list)


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Return an engine whose handler notes each event in the session's state."""

    def note(ctx: Context) -> None:
        ctx.state.seen.append((ctx.event, ctx.session_id, ctx.working_dir, ctx.request_id, ctx.get("mine")))

    with Engine() as engine:
        engine.register(list(get_args(EventName)), note, name="note")
        yield engine


def test_all_its_events_have_its_fields_state_and_request(engine: Engine) -> None:
    """Fired in a task, in this thread, and around a tool; by name, and as a context."""
    session = engine.session({"mine": 1}, session_id="s1", working_dir="/work", state=Notes())

    async def main() -> None:
        await session.fire("user_prompt_submit", user_prompt="hello")
        outcome = await session.run_tool("bash", {"command": "ls"}, lambda command: f"ran {command}")
        assert outcome.content == "ran ls"
        await session.fire(Stop())

    asyncio.run(main())
    session.fire_sync("session_end")
    request = session.request_id
    assert len(request) == 16
    events = ["user_prompt_submit", "pre_tool_use", "post_tool_use", "stop", "session_end"]
    assert session.state.seen == [(event, "s1", "/work", request, 1) for event in events]


def test_what_an_event_says_itself_takes_precedence(engine: Engine) -> None:
    """By keyword, in a mapping, and in a context."""
    session = engine.session(SHARED, state=Notes())
    session.fire_sync("stop", working_dir="/a")
    session.fire_sync("stop", {"working_dir": "/b"})
    session.fire_sync(PreToolUse(tool_name="bash", working_dir="/c"))
    asyncio.run(session.run_tool("bash", {}, lambda: "", working_dir="/d"))
    assert [each[2] for each in session.state.seen] == ["/a", "/b", "/c", "/d", "/d"]


@pytest.mark.parametrize("given", ["r1", 7, uuid.UUID(int=5)], ids=["text", "number", "uuid"])
def test_a_given_request_id_is_kept(engine: Engine, given: str | int | uuid.UUID) -> None:
    """By a session, and by a single fire."""
    session = engine.session(request_id=given, state=Notes())
    session.fire_sync("stop")
    engine.fire_sync("stop", request_id=given, state=session.state)
    assert [each[3] for each in session.state.seen] == [str(given)] * 2


def test_the_next_request_has_another_id_and_the_same_state(engine: Engine) -> None:
    """The checkpoint is of one request; the first request is left as it is."""
    first = engine.session(SHARED, state=Notes())
    first.new_checkpoint_id = uuid.UUID(int=1)
    second, third = first.new_request(), first.new_request("r3")
    assert len({first.request_id, second.request_id, third.request_id}) == 3
    assert third.request_id == "r3"
    assert (first.new_checkpoint_id, second.new_checkpoint_id) == (str(uuid.UUID(int=1)), None)
    assert second.state is first.state
    assert second.session_id == "s1"


def test_what_is_known_later_is_set(engine: Engine) -> None:
    """The session's ID and the checkpoint's."""
    seen: list[object] = []
    engine.register("post_checkpoint", lambda ctx: seen.append((ctx.session_id, ctx.get("new_checkpoint_id"))))
    session = engine.session(state=Notes())
    session.fire_sync("post_checkpoint")
    session.session_id, session.new_checkpoint_id = "s2", "c1"
    session.fire_sync("post_checkpoint")
    assert seen == [(None, None), ("s2", "c1")]


def test_a_misspelt_field_is_refused_where_it_is_written(engine: Engine) -> None:
    """Not at the first event."""
    with pytest.raises(ContextError, match=r'unknown field "sesion_id": did you mean "session_id"'):
        engine.session({"sesion_id": "s1"})
    with pytest.raises(ContextError, match="did you mean"):
        asyncio.run(engine.session(state=Notes()).run_tool("bash", {}, lambda: "", workin_dir="/"))


def test_a_misspelt_attribute_of_a_session_is_an_error() -> None:
    """Hooks would not see what was set."""
    with pytest.raises(AttributeError, match="sesion_id"):
        Engine().session().sesion_id = "s1"  # type: ignore[attr-defined]


def test_hooks_of_a_session_decide_as_ever() -> None:
    """About an event, and about a tool."""
    with Engine() as engine:
        engine.register("pre_tool_use", lambda _: Verdict.block("no"), name="no")
        session = engine.session(session_id="s1")
        assert session.fire_sync("pre_tool_use", tool_name="bash").message == "no"
        outcome = asyncio.run(session.run_tool("bash", {}, lambda: "ran"))
        assert (outcome.ran, outcome.content) == (False, "no")


def test_the_log_keeps_the_events_of_a_request_apart(project: Project, load: Load) -> None:
    """By the ID of the fire, which the result and the hooks' environment have; the context has the request's."""
    project.hooks({"name": "tell", "event": "stop", "command": 'cat > "$HOOKRUN_REQUEST_ID"'})
    with load(trust_project=True) as engine:
        session = engine.session(session_id="s1", request_id="r1")
        fires = [session.fire_sync("stop").request_id for _ in range(2)]
    assert len({*fires, "r1"}) == 3
    assert all('"request_id":"r1"' in (project.root / each).read_text() for each in fires)
    logged = latest_fires(str(project.home), lambda _: True, 9)
    assert [(run.request_id, len(run.hooks)) for run in logged] == [(each, 1) for each in fires]


def test_each_call_of_a_request_counts_against_a_limit(project: Project, load: Load) -> None:
    """A request is no call: else a limit on a tool's calls would be one on requests."""
    recipe = {"event": "pre_tool_use", "python": "hookrun.recipes.rate_limit:check", "on_failure": "block"}
    project.hooks({**recipe, "env": {"HOOKRUN_OPTION_CALLS": "1", "HOOKRUN_OPTION_SECONDS": "3600"}})
    with load(trust_project=True) as engine:
        session = engine.session(session_id="s1", request_id="r1")
        answers = [session.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": "ls"}) for _ in range(2)]
    assert [answer.action for answer in answers] == ["continue", "block"], answers
    assert "is limited to 1 calls" in str(answers[1].message)
