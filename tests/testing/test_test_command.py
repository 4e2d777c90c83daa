"""`hookrun test` as a person runs it: what it prints, and its exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.command import hookrun
from tests.testing.cases import GUARD, LIST, PUSH, write

if TYPE_CHECKING:
    from tests.conftest import Project

BLOCKED: dict[str, object] = {"action": "block", "message": "no force push here"}


def test_all_passed_is_zero(project: Project) -> None:
    """The sum and the coverage are told; nothing is written into the home."""
    project.hooks(GUARD)
    write(project, {**PUSH, "expect": BLOCKED}, {**LIST, "expect": {"action": "continue"}})
    done = hookrun(project, "test")
    assert (done.status, done.stderr) == (0, "")
    coverage, missing, total = done.stdout.splitlines()
    assert coverage == "coverage: 4 of 5 (80 %)"
    assert missing == f"  no-force ({project.root}/coder.json:1): no case with a tool that shell matches"
    assert total.startswith("2 cases: 2 passed in ")
    assert list(project.home.iterdir()) == []


def test_a_failure_is_told_as_a_difference(project: Project) -> None:
    """Where the case stands, what was expected and came, who ran, stderr, and a line that does the same again."""
    project.hooks(GUARD)
    write(project, {**PUSH, "name": "lets it pass", "expect": {"action": "continue", "args": {"command": "x"}}})
    done = hookrun(project, "test", "hooks", "--no-coverage")
    assert done.status == 1
    shown = done.stdout.splitlines()
    assert shown[0] == "FAIL hooks/a.hooktest.json:3:5: lets it pass"
    assert shown[1:8] == [
        "  - action: continue",
        "  + action: block",
        "  args:",
        "    {",
        '  -   "command": "x"',
        '  +   "command": "git push --force"',
        "    }",
    ]
    assert shown[8].startswith("  ran: no-force (block, ")
    assert shown[9:11] == ["  stderr of no-force:", "    | no force push here"]
    assert shown[11] == (
        """  try it: echo '{"tool_name": "bash", "tool_args": {"command": "git push --force"}}' """
        "| hookrun fire pre_tool_use --explain"
    )
    assert shown[12].startswith("1 case: 0 passed, 1 failed in ")


def test_a_broken_file_is_told_and_the_others_are_run(project: Project) -> None:
    """It is no success either."""
    project.hooks(GUARD)
    write(project, {**PUSH, "expect": BLOCKED})
    (project.root / "b.hooktest.yaml").write_text("cases: [\n")
    done = hookrun(project, "test", "--no-coverage")
    assert done.status == 1
    assert done.stdout.startswith("BROKEN b.hooktest.yaml:2:1: found ")
    assert "1 case: 1 passed, 1 problem with files of cases in " in done.stdout


def test_some_of_the_cases(project: Project) -> None:
    """By path and by a part of the name."""
    project.hooks(GUARD)
    write(project, {**PUSH, "name": "refused", "expect": BLOCKED}, {**LIST, "expect": {"action": "block"}})
    write(project, {**PUSH, "expect": {"action": "ask"}}, name="b.hooktest.json")
    assert hookrun(project, "test", "hooks", "-k", "refus").status == 0
    assert hookrun(project, "test", "-k", "hooks/a*refused").status == 0
    assert hookrun(project, "test", "hooks").status == 1


def test_nothing_to_run_is_an_error(project: Project) -> None:
    """Whoever mistypes a path or a pattern is told, and no CI is green for it."""
    for arguments, said in (
        ((), "found no cases here, expected files that end in .hooktest.yaml"),
        (("gone",), "gone: found nothing, expected a file of cases or a directory"),
        (("coder.json",), "coder.json: found another file"),
    ):
        project.hooks(GUARD)
        done = hookrun(project, "test", *arguments)
        assert (done.status, done.stdout) == (1, "")
        assert said in done.stderr
    write(project, {**PUSH, "expect": BLOCKED})
    assert "found no case that fits 'nope'" in hookrun(project, "test", "-k", "nope").stderr
    write(project)
    assert "found no cases in hooks/a.hooktest.json" in hookrun(project, "test").stderr


def test_too_little_coverage_is_a_failure_where_asked_for(project: Project) -> None:
    """`--fail-under` is in percent."""
    project.hooks(GUARD, {"name": "other", "event": "stop", "command": "exit 0"})
    write(project, {**PUSH, "expect": BLOCKED})
    done = hookrun(project, "test", "--fail-under", "60")
    assert done.status == 1
    assert "  other (" in done.stdout
    assert "no case in which it runs" in done.stdout
    assert done.stdout.endswith("coverage is 37.5 %, expected at least 60 %\n")
    assert hookrun(project, "test", "--fail-under", "37").status == 0
