"""The audit of a program that lives on: the same records as ever, in the file that is there, and nothing left open."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from hookrun import Engine, Verdict, audit
from hookrun.library.journal import Draft
from hookrun.model import Hook, HookResult, Outcome

if TYPE_CHECKING:
    from tests.conftest import Project

OBJECTION_FREE = "cat >/dev/null"
TEXTS = st.one_of(st.none(), st.text(max_size=8), st.just("%b %s {}"), st.just("x" * 700))


def engine_of(project: Project, **settings: object) -> Engine:
    """Return an engine whose only hook has nothing to say."""
    project.hooks({"event": "stop", "name": "quiet", "command": OBJECTION_FREE})
    if settings:
        project.user_hooks(**settings)
    return Engine.load(project.root, home=project.home, trust_project=True)


def open_files() -> list[str]:
    """Return the audit's files that this process has open, one that was deleted included."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            continue
    return [file for file in found if "audit.jsonl" in file]


@given(
    context=st.fixed_dictionaries(
        {"event": st.just("stop")} | dict.fromkeys(("request_id", "agent", "session_id", "tool_name"), TEXTS)
    ),
    name=st.text(min_size=1, max_size=600),
    sizes=st.tuples(*[st.integers(0, 1 << 40)] * 3),
    own=st.floats(0, 1e7),
    ms=st.floats(0, 1e7),
)
def test_a_draft_says_what_the_records_of_any_fire_say(
    context: dict[str, object], name: str, sizes: tuple[int, int, int], own: float, ms: float
) -> None:
    """Whatever the context says, key by key and in the same order."""
    hook = Hook(name=name, events=["stop"], source="/p/coder.json", line=3)
    outcome = Outcome()
    outcome.exit_code, outcome.ms = 0, own
    outcome.bytes_in, outcome.bytes_out, outcome.bytes_err = sizes
    run = HookResult(hook, Verdict(), outcome=outcome)
    lines = Draft(hook, context).lines(run, ms)
    assert lines is not None
    drafted = [json.loads(line) for line in lines.splitlines()]
    expected = audit.fire_records([run], context, ms=ms, problems=[], keep_context=False, action="continue")
    for one, other in zip(drafted, expected, strict=True):
        assert one.pop("time")
        del other["time"]
        assert one.pop("ms") == pytest.approx(other.pop("ms"), abs=0.11)
        assert list(one.items()) == list(other.items())


@pytest.mark.parametrize(
    "unusual",
    [{"truncated": True}, {"left": 1}, {"exit_code": None}, {"exit_code": 3}],
    ids=lambda each: next(iter(each)),
)
def test_a_draft_leaves_what_it_has_no_words_for_to_the_records(unusual: dict[str, Any]) -> None:
    """Such a run is recorded as any other."""
    hook = Hook(name="h", events=["stop"])
    outcome = Outcome()
    outcome.exit_code = 0
    for name, value in unusual.items():
        setattr(outcome, name, value)
    assert Draft(hook, {}).lines(HookResult(hook, Verdict(), outcome=outcome), 1.0) is None


def test_the_audit_stays_open_once_and_is_closed_with_the_engine(project: Project) -> None:
    """However many fires there were."""
    engine = engine_of(project)
    for _ in range(5):
        assert engine.fire_sync("stop").action == "continue"
    assert open_files() == [str(project.audit_path)]
    engine.close_sync()
    assert open_files() == []
    assert [record["kind"] for record in project.audit()] == ["hook", "fire"] * 5


@pytest.mark.parametrize("how", ["deleted", "put aside", "replaced"])
def test_records_go_to_the_file_that_is_there(project: Project, how: str) -> None:
    """An open file is not believed to be the audit for long."""
    with engine_of(project) as engine:
        engine.fire_sync("stop")
        if how == "deleted":
            project.audit_path.unlink()
        elif how == "put aside":
            project.audit_path.rename(project.audit_path.with_suffix(".jsonl.1"))
        else:
            other = project.audit_path.with_name("other")
            other.write_bytes(b"")
            other.replace(project.audit_path)
        time.sleep(2 * audit.RECHECK_AFTER)
        request = engine.fire_sync("stop").request_id
        assert {record["request_id"] for record in project.audit()} == {request}
        assert len(open_files()) == 1


def test_a_file_that_grows_too_large_is_put_aside_and_a_new_one_begun(project: Project) -> None:
    """By whoever writes the line that is too much; lines of others count."""
    with engine_of(project, audit={"max_bytes": 65536, "keep": 2}) as engine:
        engine.fire_sync("stop")
        with project.audit_path.open("ab") as file:
            file.write(b'{"v":1}\n' * 9000)
        engine.fire_sync("stop")
        assert not project.audit_path.exists()
        time.sleep(2 * audit.RECHECK_AFTER)
        engine.fire_sync("stop")
        assert [record["kind"] for record in project.audit()] == ["hook", "fire"]
        assert len(project.audit_path.with_suffix(".jsonl.1").read_bytes().splitlines()) == 9004


def test_where_the_audit_is_switched_off_nothing_is_opened(project: Project) -> None:
    """Nor is it made."""
    with engine_of(project, audit=False) as engine:
        engine.fire_sync("stop")
        assert open_files() == []
        assert not project.audit_path.exists()


def test_the_whole_context_is_kept_where_the_user_wants_it(project: Project) -> None:
    """As in any fire."""
    with engine_of(project, record_context=True) as engine:
        engine.fire_sync("stop", session_id="s-1")
    fire = project.audit()[-1]
    assert isinstance(fire["context"], dict)
    assert fire["context"]["session_id"] == "s-1"
