"""`hookrun test` from the command line: its output and its exit status."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.testing.cases import GUARD, LIST, PUSH, interrupted, until_there, write
from tests.waiting import ended

if TYPE_CHECKING:
    from tests.conftest import Project

BLOCKED: dict[str, object] = {"action": "block", "message": "no force push here"}


def test_all_passed_is_zero(project: Project) -> None:
    """The sum and the coverage are printed; nothing is written into the home."""
    project.hooks(GUARD)
    write(project, {**PUSH, "expect": BLOCKED}, {**LIST, "expect": {"action": "continue"}})
    done = hookrun(project, "test", "-v")
    assert (done.status, done.stderr) == (0, "note: no-force runs here; agents need your approval: `hookrun trust`\n")
    *passed, coverage, missing, total = done.stdout.splitlines()
    assert [line[:5] for line in passed] == ["PASS ", "PASS "]
    assert coverage == "coverage: 80 % (4 of 5)"
    assert missing == "  no-force: no test with shell"
    assert total.startswith("2 tests: 2 passed in ")
    assert list(project.home.iterdir()) == []
    shorter = hookrun(project, "test").stdout.splitlines()
    assert shorter[0] == "coverage: 80 % (4 of 5; -v lists the rest)"
    assert len(shorter) == 2


def test_a_failure_is_told_as_a_difference(project: Project) -> None:
    """Where the case is, expected and actual results, the hooks that ran, stderr, and a command that reproduces it."""
    project.hooks(GUARD)
    write(project, {**PUSH, "name": "lets it pass", "expect": {"action": "continue", "args": {"command": "x"}}})
    done = hookrun(project, "test", "hooks")
    assert done.status == 1
    shown = done.stdout.splitlines()
    assert shown[0] == "FAIL hooks/a.hooktest.json:3:5: lets it pass"
    assert shown[1:9] == [
        "  - expected  + actual",
        "  - action: continue",
        "  + action: block",
        "    args:",
        "      {",
        '  -     "command": "x"',
        '  +     "command": "git push --force"',
        "      }",
    ]
    assert shown[9].startswith("  ran: no-force (block, ")
    assert shown[10:12] == ["  stderr of no-force:", "    no force push here"]
    assert shown[12] == (
        """  reproduce: printf %s '{"tool_name": "bash", "tool_args": {"command": "git push --force"}}' """
        "| hookrun fire pre_tool_use --explain"
    )
    assert shown[14].startswith("1 test: 0 passed, 1 failed in ")


def test_the_line_to_try_a_case_does_the_same(project: Project) -> None:
    """Whatever is in the context, and with the environment of the case, in any shell."""
    project.hooks({"command": 'cat >&2; echo " $WORD" >&2; exit 2'})
    path = project.root / "other" / "place"
    path.mkdir(parents=True)
    write(project, {**PUSH, "args": {"command": "a\n'\\t' $(b)"}, "env": {"WORD": "it's"}, "expect": {"action": "ask"}})
    done = subprocess.run(
        project.command("test", "../../hooks"),
        cwd=path,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("  reproduce: "))
    command = line.removeprefix("  reproduce: ").replace("hookrun fire", " ".join(project.command("fire")))
    tried = subprocess.run(["sh", "-c", command], cwd=path, env=project.environment(), capture_output=True, check=False)
    assert tried.returncode == 2, tried.stderr
    verdict = json.loads(tried.stdout)
    seen, _, word = str(verdict["message"]).rpartition("\n")
    assert (json.loads(seen)["tool_args"], word) == ({"command": "a\n'\\t' $(b)"}, " it's")


def test_the_line_to_try_a_case_of_one_hook_runs_that_hook_alone(project: Project) -> None:
    """Else it would show the answer of another one, as where that blocks everything."""
    project.hooks({"name": "first", "command": "exit 2"}, {"name": "second", "command": "true"})
    write(project, {**PUSH, "hook": "second", "expect": BLOCKED})
    shown = hookrun(project, "test").stdout
    assert "| HOOKRUN_SKIP=first hookrun fire pre_tool_use --explain\n" in shown


def test_a_broken_file_is_told_and_the_others_are_run(project: Project) -> None:
    """It is no success either."""
    project.hooks(GUARD)
    write(project, {**PUSH, "expect": BLOCKED})
    (project.root / "b.hooktest.yaml").write_text("cases: [\n")
    done = hookrun(project, "test")
    assert done.status == 1
    assert done.stdout.startswith("ERROR b.hooktest.yaml:2:1: ")
    assert "1 test: 1 passed, 1 invalid file in " in done.stdout


def test_an_error_of_the_config_is_printed_once(project: Project) -> None:
    """With its hint, however many tests cannot run; nothing is covered, so there is no coverage."""
    project.hooks({**GUARD, "event": "pre_tool_us"})
    write(project, {**PUSH, "expect": BLOCKED}, {**LIST, "expect": {"action": "continue"}})
    done = hookrun(project, "test")
    (error, hint), (total,) = done.stderr.splitlines(), done.stdout.splitlines()
    assert done.status == 1
    assert error.startswith("error: coder.json:")
    assert error.endswith(': unknown event "pre_tool_us"')
    assert hint == 'hint: did you mean "pre_tool_use"?'
    assert total.startswith("2 tests: 0 passed, 2 failed in ")


def test_some_of_the_cases(project: Project) -> None:
    """By path and by a part of the name."""
    project.hooks(GUARD)
    write(project, {**PUSH, "name": "refused", "expect": BLOCKED}, {**LIST, "expect": {"action": "block"}})
    write(project, {**PUSH, "expect": {"action": "ask"}}, name="b.hooktest.json")
    assert hookrun(project, "test", "hooks", "-k", "refus").status == 0
    assert hookrun(project, "test", "-k", "hooks/a*refused").status == 0
    assert hookrun(project, "test", "hooks").status == 1


def test_nothing_to_run_is_an_error(project: Project) -> None:
    """A mistyped path or pattern is an error, and no CI is green for it."""
    for arguments, expected in (
        ((), "no tests here\nhint: "),
        (("gone",), "gone: no such file or directory"),
        (("coder.json",), "coder.json: not a test file"),
    ):
        project.hooks(GUARD)
        done = hookrun(project, "test", *arguments)
        assert (done.status, done.stdout) == (1, "")
        assert expected in done.stderr
    write(project, {**PUSH, "expect": BLOCKED})
    assert 'no tests match -k "nope"' in hookrun(project, "test", "-k", "nope").stderr
    write(project)
    assert "no tests in hooks/a.hooktest.json" in hookrun(project, "test").stderr


def test_too_little_coverage_is_a_failure_where_asked_for(project: Project) -> None:
    """`--fail-under` is in percent."""
    project.hooks(GUARD, {"name": "other", "event": "stop", "command": "exit 0"})
    write(project, {**PUSH, "expect": BLOCKED})
    done = hookrun(project, "test", "--fail-under", "60")
    assert done.status == 1
    assert "  other: " in done.stdout
    assert "no test runs it" in done.stdout
    assert done.stderr == "error: coverage is 37.5 %, below 60 %\n"
    assert hookrun(project, "test", "--fail-under", "37").status == 0


def test_all_of_it_as_json(project: Project) -> None:
    """The same information, for programs."""
    project.hooks(GUARD)
    write(project, {**PUSH, "expect": BLOCKED}, {**LIST, "agents": ["claude"], "expect": {"action": "block"}})
    done = hookrun(project, "test", "--json")
    assert done.status == 1
    report: dict[str, Any] = done.json
    assert (report["ok"], report["passed"], report["failed"], report["problems"]) == (False, 1, 1, [])
    first, second = report["cases"]
    assert (first["passed"], first["came"]["fired"], first["hooks"][0]["name"]) == (True, ["no-force"], "no-force")
    assert (second["file"], second["agent"]) == ("hooks/a.hooktest.json", "claude")
    assert second["differences"] == [{"key": "action", "expected": "block", "came": "continue"}]
    assert report["coverage"]["total"] == 5


def test_all_of_it_as_junit(project: Project) -> None:
    """A suite for each file, failures and errors apart, and no character that XML does not take."""
    project.hooks(GUARD, {"name": "bell", "event": "stop", "command": "printf 'a\\a\\033[1m' >&2; exit 2"})
    write(
        project,
        {**PUSH, "expect": BLOCKED},
        {"event": "stop", "expect": {"message": None}},
        {"event": "stopp", "expect": {"action": "block"}},
    )
    (project.root / "z.hooktest.yaml").write_text("cases: [\n")
    done = hookrun(project, "test", "--junit", "report.xml")
    assert done.status == 1
    root = ET.parse(project.root / "report.xml").getroot()  # noqa: S314  # our own
    suites = [(each.get("name"), each.get("tests"), each.get("failures"), each.get("errors")) for each in root]
    assert suites == [("hooks/a.hooktest.json", "3", "1", "1"), ("z.hooktest.yaml", "1", "0", "1")]
    failure = root.find(".//failure")
    assert failure is not None
    assert "+ message: a\\x07\\x1b[1m" in str(failure.text)
    assert [case.get("line") for case in root.iter("testcase")][:3] == ["3", "15", "22"]


def test_what_came_is_accepted_by_update(project: Project) -> None:
    """Afterwards the file has the actual results, and all tests pass; nothing else in it changes."""
    project.hooks(GUARD)
    path = project.root / "a.hooktest.yaml"
    path.write_text(
        "cases:  # all\n"
        "  - name: a\n"
        "    event: pre_tool_use\n"
        "    tool: bash\n"
        "    args: {command: git push --force}\n"
        "    # not yet\n"
        "    expect: {action: continue}  # really?\n"
    )
    before = path.read_text()
    done = hookrun(project, "test", "--update")
    assert done.status == 0
    assert "\n1 test: 0 passed, 1 updated in " in done.stdout
    assert path.read_text() == before.replace("{action: continue}", "{action: block}")
    assert hookrun(project, "test").status == 0


def test_what_a_hook_prints_does_nothing_to_a_terminal(project: Project) -> None:
    """Escapes are shown, not obeyed; differences are coloured at a terminal, and NO_COLOR is obeyed."""
    project.hooks({"command": "printf '\\033]0;owned\\007' >&2; exit 3"})
    write(project, {**LIST, "expect": {"action": "block"}})
    shown = at_terminal(project, "test", env={"TERM": "xterm"})
    assert shown.status == 1
    assert "\x1b[31m  - action: block" in shown.screen
    assert "\x1b]0;" not in shown.screen
    assert "\\x1b]0;owned\\x07" in shown.screen
    assert "\x1b[31m" not in at_terminal(project, "test", env={"TERM": "xterm", "NO_COLOR": "1"}).screen


def test_a_recorded_fire_becomes_a_case(project: Project) -> None:
    """The actual results become the expected ones; it passes unchanged."""
    project.hooks(GUARD)
    project.user_hooks(audit={"details": "full"})
    fired = project.fire({"tool_name": "bash", "tool_args": {"command": "git push --force"}, "session_id": "s1"})
    number = str(fired.verdict["request_id"])
    shown = hookrun(project, "test", "--from-log", number[:6])
    assert (shown.status, shown.stderr) == (0, "")
    assert shown.stdout == (
        "cases:\n"
        f"  - name: bash as in {number}\n"
        "    event: pre_tool_use\n"
        "    tool: bash\n"
        "    args:\n"
        "      command: git push --force\n"
        "    context:\n"
        "      session_id: s1\n"
        "    expect:\n"
        "      action: block\n"
        "      fired:\n"
        "        - no-force\n"
    )
    for name in ("a.hooktest.yaml", "b.hooktest.json"):
        assert hookrun(project, "test", "--from-log", "last", name).status == 0
        project.fire()
        assert hookrun(project, "test", "--from-log", "last", name).status == 0
        again = hookrun(project, "test", "--from-log", "last", name)
        assert (again.status, again.stdout) == (1, "")
        assert "already exists" in again.stderr
    done = hookrun(project, "test")
    assert "\n4 tests: 4 passed in " in done.stdout


def test_what_goes_with_a_recorded_fire(project: Project) -> None:
    """As JSON it is a file of cases too; an option about a run is refused, as nothing is run."""
    project.hooks(GUARD)
    project.user_hooks(audit={"details": "full"})
    project.fire()
    done = hookrun(project, "test", "--from-log", "last", "--json")
    assert '"event": "pre_tool_use"' in done.stdout
    (project.root / "a.hooktest.json").write_text(done.stdout)
    assert hookrun(project, "test").status == 0
    for words in ("--update",), ("--junit", "x.xml"), ("-k", "x"), ("--watch",), ("--fail-under", "1"):
        refused = hookrun(project, "test", "--from-log", "last", *words)
        assert (refused.status, refused.stdout) == (1, "")
        assert f"--from-log runs nothing: leave {words[0]} out" in refused.stderr
    both = hookrun(project, "test", "--from-log", "last", "--json", "b.hooktest.json")
    assert "prints the test, or adds it to one PATH" in both.stderr


def test_a_fire_without_its_context_is_no_case(project: Project) -> None:
    """The message names the setting to enable."""
    project.hooks(GUARD)
    number = str(project.fire().verdict["request_id"])
    done = hookrun(project, "test", "--from-log", number)
    assert done.status == 1
    assert "was recorded without its context" in done.stderr
    assert '"audit": {"details": "full"}' in done.stderr
    assert "no run with the id zzz" in hookrun(project, "test", "--from-log", "zzz").stderr
    assert "no run was recorded with its context" in hookrun(project, "test", "--from-log", "last").stderr


@pytest.mark.slow
def test_watching_runs_again_when_a_script_changes(project: Project) -> None:
    """Until Ctrl-C, which ends it with the status of an interrupt."""
    script = project.script("guard.sh", "#!/bin/sh\nexit 2\n")
    project.hooks({"command": script})
    write(project, {**LIST, "expect": {"action": "block"}})
    process = subprocess.Popen(
        project.command("test", "--watch"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=project.root,
        env=project.environment(PYTHONUNBUFFERED="1"),
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        assert next(line for line in process.stdout if line.startswith("1 test")).startswith("1 test: 1 passed")
        assert process.stderr.readline() == "watching for changes; Ctrl-C stops\n"
        project.script("guard.sh", "#!/bin/sh\nexit 0\n")
        lines = iter(process.stdout.readline, "")
        assert re.fullmatch(r"\d\d:\d\d:\d\d changed: guard\.sh\n", next(lines))
        assert next(line for line in lines if line.startswith("FAIL")) == "FAIL hooks/a.hooktest.json:3:5: case 1\n"
        assert next(line for line in lines if line.startswith("1 test")).startswith("1 test: 0 passed, 1 failed")
        process.send_signal(signal.SIGINT)
        assert ended(process) == 130
    finally:
        process.kill()
        process.communicate()


def test_filters_and_the_tests_that_pass(project: Project) -> None:
    """`-k` leaves some of the tests, by name or hook; `-v` lists those that pass."""
    project.hooks(GUARD, {"name": "stopper", "event": "stop", "command": "exit 0"})
    agents: dict[str, object] = {
        **PUSH,
        "name": "as agents",
        "agents": ["claude", "codex"],
        "expect": {"action": "block"},
    }
    stop: dict[str, object] = {"name": "ends", "event": "stop", "hook": "stopper", "expect": {"action": "continue"}}
    write(project, agents, {**LIST, "name": "lists", "expect": {"action": "continue"}}, stop)

    def names(*options: str) -> list[str]:
        lines = hookrun(project, "test", "-v", *options).stdout.splitlines()
        return [line.partition(": ")[2].partition(" (")[0] for line in lines if line.startswith("PASS ")]

    assert names() == ["as agents [claude]", "as agents [codex]", "lists", "ends"]
    assert names("-k", "stopper") == ["ends"]
    assert names("-k", "as agents") == ["as agents [claude]", "as agents [codex]"]
    done = hookrun(project, "test", "-k", "gone")
    assert (done.status, done.stderr) == (
        1,
        'error: no tests match -k "gone"\nhint: `hookrun test` runs all tests\n',
    )


def test_stderr_is_shown_once(project: Project) -> None:
    """A failing hook's stderr is part of its failure's detail, and may be of the message."""
    project.hooks({"name": "loud", "command": "echo beware >&2; exit 3"})
    write(project, {**PUSH, "expect": {"action": "continue"}})
    assert hookrun(project, "test").stdout.count("beware") == 1
    project.hooks({"name": "loud", "command": "echo beware >&2; exit 2"})
    write(project, {**PUSH, "expect": {"message": "calm"}})
    assert hookrun(project, "test").stdout.count("beware") == 1


def test_outside_of_a_repository_the_working_directory_counts(project: Project) -> None:
    """Outside a repository a config is searched for only in the working directory."""
    (project.root / ".git").rmdir()
    project.hooks(GUARD)
    write(project, {**PUSH, "expect": BLOCKED})
    assert hookrun(project, "test").status == 0
    (project.root / "coder.json").unlink()
    done = hookrun(project, "test")
    assert done.status == 1
    assert "hooks: no config file here" in done.stderr


def test_ctrl_c_ends_every_hook(project: Project) -> None:
    """None is left, nor anything of what was made for the cases."""
    mark = project.home / "pid"
    project.hooks({"command": f"echo $$ > {mark}.new; mv {mark}.new {mark}; sleep 60"})
    write(project, {**LIST, "expect": {"fired": True}})
    interrupted(project, when=lambda: until_there(mark))
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


@pytest.mark.slow
def test_a_progress_bar_at_a_terminal_only(project: Project) -> None:
    """While many tests run, and while many hooks are approved; nothing of it where output is piped."""
    project.hooks(
        GUARD,
        {"name": "two", "event": "stop", "command": "true"},
        {"name": "three", "command": "true"},
        {"name": "four", "command": "true"},
    )
    write(project, *({**LIST, "name": f"n{number}", "expect": {"action": "continue"}} for number in range(5)))
    screen = at_terminal(project, "test", answers=("q",), question="[y", env={"TERM": "xterm"}).screen
    assert "0/5" in screen
    assert "tests" in screen.partition("0/5")[0]
    done = hookrun(project, "test")
    assert (done.status, "/5" in done.stdout + done.stderr) == (0, False)
    screen = at_terminal(project, "trust", answers=("a", "y"), question="[y", env={"TERM": "xterm"}).screen
    assert "approving" in screen.partition("0/3")[0]
