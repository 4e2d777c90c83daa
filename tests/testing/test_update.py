"""`--update` writes the actual results as the expected ones, and reports what it cannot write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun.testing.case_runner import run_cases
from hookrun.testing.update import update
from tests.testing.cases import GUARD, LIST, PUSH, run_here, text_file

if TYPE_CHECKING:
    from tests.conftest import Project


def expectations(project: Project) -> list[object]:
    """Return what the cases expect now."""
    cases = json.loads((project.root / "hooks" / "a.hooktest.json").read_text())["cases"]
    return [case.get("expect") for case in cases]


def test_what_came_is_what_is_expected(project: Project) -> None:
    """Only failed expectations; for a case without expectations, the action and its texts."""
    says = 'cat >/dev/null; echo \'{"action": "modify", "args_patch": {"n": 1}, "message": "*[x]"}\''
    project.hooks(
        GUARD, {"name": "changes", "matcher": "edit", "command": says}, {"event": "stop", "command": "exit 3"}
    )
    cases: list[dict[str, object]] = [
        {**PUSH, "expect": {"action": "ask", "message": "*force*", "fired": []}},
        {**LIST, "tool": "edit"},
        {"event": "stop", "expect": {"action": "continue"}},
        {**LIST, "expect": {"action": "continue"}},
    ]
    update(tested := run_here(project, *cases))
    assert (tested.updated, tested.not_updated, tested.ok) == (3, [], True)
    assert expectations(project) == [
        {"action": "block", "message": "*force*", "fired": ["no-force"]},
        {"action": "modify", "message": "[*][[]x]", "args": {"command": "ls", "n": 1}},
        {"action": "continue", "failure": "exit_code"},
        {"action": "continue"},
    ]
    written = [{**case, "expect": expect} for case, expect in zip(cases, expectations(project), strict=True)]
    assert run_here(project, *written).ok


def test_the_cases_own_directory_is_written_as_its_word(project: Project) -> None:
    """It is another one the next time."""
    project.hooks({"command": 'cat >/dev/null; echo "in $HOOKRUN_WORKING_DIR/a" >&2; exit 2'})
    update(run_here(project, {**LIST, "workdir": "temporary"}))
    assert expectations(project) == [{"action": "block", "message": "in ${WORKDIR}/a"}]


def test_agents_that_are_told_different_things_are_not_made_one(project: Project) -> None:
    """The user has to decide for each agent."""
    project.hooks({"command": 'cat >/dev/null; echo \'{"action": "ask", "message": "sure?"}\''})
    case: dict[str, object] = {**LIST, "agents": ["claude", "gemini"], "expect": {"action": "block"}}
    update(tested := run_here(project, case))
    assert tested.updated == 0
    (problem,) = tested.not_updated
    assert problem.endswith("case 1: `action` differs between its agents: write a case for each")
    assert expectations(project) == [{"action": "block"}]


def test_a_file_that_cannot_be_written_is_said(project: Project) -> None:
    """Nothing is raised."""
    project.hooks(GUARD)
    done = run_here(project, {**PUSH, "expect": {"action": "ask"}})
    (project.root / "hooks" / "a.hooktest.json").unlink()
    update(done)
    assert done.updated == 0
    assert "nothing of it was updated" in done.not_updated[0]


ANCHORED = """\
cases:
  - {name: first, event: pre_tool_use, tool: bash, args: {command: git push --force}, expect: &e {action: ask}}
  - {name: second, event: pre_tool_use, tool: bash, args: {command: ls}, expect: *e}
  - {name: third, event: pre_tool_use, tool: bash, args: {command: ls}, expect: {action: ask}}
"""


def test_a_case_with_a_yaml_alias_is_left_as_it_is(project: Project) -> None:
    """Also the one that has the anchor: the other would change with it. The rest of the file is updated."""
    project.hooks(GUARD)
    update(tested := run_cases([text_file(project, ANCHORED)]))
    assert tested.updated == 1
    first, second = tested.not_updated
    assert "first: it cannot be edited in place (a YAML alias?)" in first
    assert "second: it cannot be edited in place (a YAML alias?)" in second
    assert (project.root / "a.hooktest.yaml").read_text() == ANCHORED.replace(
        "args: {command: ls}, expect: {action: ask}", "args: {command: ls}, expect: {action: continue}"
    )
