"""Test files are read with locations, and every problem is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.testing.cases import find_case_files, load
from tests.rows import rows
from tests.testing.cases import text_file

if TYPE_CHECKING:
    from tests.conftest import Project

GOOD = "cases: [{name: a, event: stop, expect: {action: continue}}]\n"


def problems(project: Project, text: str) -> list[str]:
    """Return all problems reported for a file with this text."""
    file = text_file(project, text)
    return [problem.text for problem in [*file.problems, *(each for case in file.cases for each in case.problems)]]


def test_a_file_is_read(project: Project) -> None:
    """Short forms become fields of the context, defaults are laid under, every case knows its line."""
    file = text_file(
        project,
        "config: x/coder.json\n"
        "defaults: {event: PreToolUse, tool: bash, context: {session_id: s1}, env: {A: '1'}}\n"
        "cases:\n"
        "  # a comment\n"
        "  - name: first\n"
        "    args: {command: ls}\n"
        "    expect: {action: [continue, allow], message: null, fired: true}\n"
        "  - name: second\n"
        "    event: stop\n"
        "    context: {user_prompt: hi}\n"
        "    env: {B: '2'}\n"
        "    hook: guard\n"
        "    agents: claude\n"
        "    expect: {action: block}\n",
    )
    first, second = file.cases
    assert not file.problems
    assert not first.problems
    assert not second.problems
    assert file.config == str(project.root / "x" / "coder.json")
    assert (first.event, first.context) == (
        "PreToolUse",
        {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}},
    )
    assert first.expect == {"action": ["continue", "allow"], "message": None, "fired": True}
    assert (first.line, second.line) == (5, 8)
    assert second.context == {"session_id": "s1", "tool_name": "bash", "user_prompt": "hi"}
    assert (second.hooks, second.agents, second.env) == (("guard",), ("claude",), {"A": "1", "B": "2"})


def test_a_context_comes_from_a_file_under_the_other_fields(project: Project) -> None:
    """`context_file` is relative to the test file; the case's own fields override it."""
    (project.root / "push.json").write_text('{"tool_name": "bash", "session_id": "s1", "tool_args": {"command": "a"}}')
    file = text_file(
        project, "cases: [{name: a, event: stop, context_file: push.json, args: {command: b}, expect: {action: block}}]"
    )
    (case,) = file.cases
    assert not case.problems
    assert case.context == {"tool_name": "bash", "session_id": "s1", "tool_args": {"command": "b"}}


@rows(
    "text, expected",
    [
        ("", "a.hooktest.yaml:1:1: the file is empty; write {cases: [...]}, or remove the file"),
        ("- a\n", "a.hooktest.yaml:1:1: the file must be an object with `cases`"),
        ("cases: {}\n", "a.hooktest.yaml:1:8: `cases` must be a list of cases, not an empty object"),
        ("config: x\n", "a.hooktest.yaml:1:1: `cases` must be a list of cases, not null"),
        ("casess: []\ncases: []\n", 'a.hooktest.yaml:1:1: unknown key "casess"'),
        ("cases:\n- event: stop\n", "a.hooktest.yaml:2:3: the case has no name"),
        ("cases:\n- name: a\n", "a.hooktest.yaml:2:3: the case has no event"),
        (
            "cases:\n- name: a\n  event: stop\n  tol: x\n",
            'a.hooktest.yaml:4:3: unknown field of a case: "tol"',
        ),
        ("cases:\n- {name: a, event: stop, tool: 1}\n", "a.hooktest.yaml:2:32: `tool` must be a string, not 1"),
        ("cases:\n- {name: a, event: stop, agents: [claud]}\n", 'did you mean "claude"?'),
        ("cases:\n- {name: a, event: stop, expect: {action: blok}}\n", 'did you mean "block"?'),
        ("cases:\n- {name: a, event: stop, expect: {failure: time}}\n", "`expect.failure` must be"),
        ("cases:\n- {name: a, event: stop, expect: {masage: x}}\n", 'did you mean "message"?'),
        ("cases:\n- {name: a, event: stop, files: {/etc/x: a}}\n", '"/etc/x" is outside the working directory'),
        ("cases:\n- {name: a, event: stop, files: {../x: a}}\n", '"../x" is outside the working directory'),
        (
            "cases:\n- {name: a, event: stop, context_file: gone.json}\n",
            'gone.json": No such file or directory',
        ),
        (
            "cases:\n- {name: a, event: stop, context: {user_prompt: 1}}\n",
            "`context.user_prompt` must be a string or null, not 1",
        ),
        ("defaults: {name: a}\ncases: []\n", 'a.hooktest.yaml:1:12: unknown field of `defaults`: "name"'),
        (
            "cases:\n- {name: a, event: stop}\n- {name: a, event: stop}\n",
            'duplicate case name "a", first',
        ),
        ("cases: [\n", "a.hooktest.yaml:"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(project: Project, text: str, expected: str) -> None:
    """File, line and column, what was found, what was expected, the nearest valid name."""
    found = problems(project, text)
    assert any(expected in each for each in found), found
    assert all(each.startswith("a.hooktest.yaml:") for each in found)


def test_one_mistake_spoils_one_case(project: Project) -> None:
    """The other cases of the file are as good as before."""
    file = text_file(project, GOOD.rstrip("]\n") + ", {name: b, event: 1}]\n")
    assert [bool(case.problems) for case in file.cases] == [False, True]


def test_a_file_that_is_not_there_is_a_problem(project: Project) -> None:
    """Nothing is raised."""
    file = load(str(project.root / "gone.hooktest.json"), "gone.hooktest.json")
    (problem,) = file.problems
    assert str(problem).startswith("gone.hooktest.json:1:1: no such file")


def test_nested_checkouts_are_not_searched(project: Project) -> None:
    """A checkout, a submodule (whose `.git` is a file) and a virtual environment do not belong to the project."""
    for name in ("checkout", "submodule", ".venv", "hooks"):
        (project.root / name / "below").mkdir(parents=True)
        (project.root / name / "below" / "a.hooktest.yaml").write_text(GOOD)
    (project.root / "checkout" / ".git").mkdir()
    (project.root / "submodule" / ".git").write_text("gitdir: ../.git/modules/submodule\n")
    assert (project.root / ".git").exists()
    assert find_case_files([str(project.root)]) == [str(project.root / "hooks" / "below" / "a.hooktest.yaml")]
