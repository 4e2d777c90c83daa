"""The environment of an engine's hooks: each fire has its own."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from hookrun import Engine
from hookrun.trust.project import locked_store

if TYPE_CHECKING:
    from tests.conftest import Project

TELL = "env > told.$HOOKRUN_REQUEST_ID"
FIELDS = {"session_id": "HOOKRUN_SESSION_ID", "tool_name": "HOOKRUN_TOOL", "working_dir": "HOOKRUN_WORKING_DIR"}


def engine_of(project: Project, **more: object) -> Engine:
    """Return an engine whose hook writes its environment to a file."""
    project.hooks({"event": "pre_tool_use", "name": "tell", "command": TELL, "env": {"MINE": "1"}, **more})
    return Engine.load(project.root, home=project.home, trust_project=True)


def variables(project: Project, request: str) -> dict[str, str]:
    """Return the environment that the hook had in a fire."""
    lines = (project.root / f"told.{request}").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def fire(engine: Engine, **context: object) -> str:
    """Fire; return the request."""
    result = engine.fire_sync("pre_tool_use", context)
    assert [run.failure for run in result.runs] == [None]
    return result.request_id


@pytest.mark.slow
def test_each_fire_is_told_its_own_words(project: Project) -> None:
    """Also where the same values come again, in any order."""
    with engine_of(project) as engine:
        contexts = [
            {"session_id": f"s{n % 70}", "tool_name": ("bash", "edit")[n % 2], "working_dir": str(project.root)}
            for n in range(148)
        ]
        with ThreadPoolExecutor(4) as pool:
            requests = list(pool.map(lambda context: fire(engine, **context), contexts))
    assert len(set(requests)) == len(contexts)
    for request, context in zip(requests, contexts, strict=True):
        found = variables(project, request)
        assert {field: found[name] for field, name in FIELDS.items()} == context
        assert (found["HOOKRUN_REQUEST_ID"], found["HOOKRUN_HOOK"], found["MINE"]) == (request, "tell", "1")


def test_a_fire_s_processes_are_found_by_a_word_that_no_other_has(project: Project) -> None:
    """A hook's descendants are found by it."""
    with engine_of(project) as engine:
        chains = [variables(project, fire(engine))["HOOKRUN_CHAIN"] for _ in range(4)]
    assert len(set(chains)) == len(chains)


def test_a_variable_that_is_set_meanwhile_is_inherited(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that is gone is gone."""
    with engine_of(project) as engine:
        fire(engine)
        fire(engine)
        monkeypatch.setenv("SET_MEANWHILE", "yes")
        assert variables(project, fire(engine))["SET_MEANWHILE"] == "yes"
        monkeypatch.delenv("SET_MEANWHILE")
        assert "SET_MEANWHILE" not in variables(project, fire(engine))


def test_what_is_declared_anew_is_told_anew(project: Project) -> None:
    """After `reload`: another value, and another `inherit` of the user for projects' hooks."""
    with engine_of(project) as engine:
        fire(engine)
        fire(engine)
        project.hooks({"event": "pre_tool_use", "name": "tell", "command": TELL, "env": {"MINE": "2"}})
        project.user_hooks(project_env_policy="clean")
        engine.reload()
        found = variables(project, fire(engine))
    assert found["MINE"] == "2"
    assert os.environ.keys() - found.keys() >= {"PYTEST_CURRENT_TEST"}


def test_what_is_decided_between_two_fires_counts(project: Project) -> None:
    """A disabled hook does not run, and runs again after that."""
    with engine_of(project) as engine:
        fire(engine)
        with locked_store(str(project.home)) as store:
            store.disabled.append(
                {"name": None, "root": "", "digest": "", "time": time.time() - 1, "until": time.time() + 600}
            )
        assert list(engine.fire_sync("pre_tool_use").runs) == []
        with locked_store(str(project.home)) as store:
            store.disabled.clear()
        fire(engine)
    fires = [record for record in map(dict, project.audit()) if record["kind"] == "fire"]
    assert [json.dumps(record.get("switched_off")).count("tell") for record in fires] == [0, 1, 0]
