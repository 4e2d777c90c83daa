"""`hookrun log` and `hookrun why`: the runs they select, and the details they show."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from hookrun.cli.log_filter import parse_time
from hookrun.core import audit_reader
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.conftest import Project
from tests.fire.agents import Agent, says
from tests.rows import rows
from tests.waiting import ended, limit

TOKEN = "ghp_" + "a1B2c3D4" * 5
LS = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}


def three_fires(project: Project) -> list[str]:
    """Fire three times: a change, a failure, a refusal; return the ids."""
    ids = []
    declared: tuple[list[dict[str, object]], ...] = (
        [{"name": "dry", "command": says(action="modify", args_patch={"command": "ls -l"})}],
        [{"name": "bad", "command": "exit 3"}, {"name": "fine", "command": "true"}],
        [{"name": "guard", "command": says(action="block", message="R")}, {"name": "late", "command": "true"}],
    )
    for hooks in declared:
        project.hooks(*hooks)
        ids.append(str(project.fire(LS).verdict["request_id"]))
    return ids


@pytest.fixture(scope="module")
def fired(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, list[str]]:
    """Return a project with three runs, for read-only tests, and their ids."""
    project = Project(tmp_path_factory.mktemp("fired"))
    return project, three_fires(project)


def heads(output: str) -> list[str]:
    """Return the first line of each run that `hookrun log` shows."""
    return [line for line in output.splitlines() if not line.startswith(" ")]


def test_the_latest_runs_and_what_each_hook_did(project: Project) -> None:
    """The newest last: time, id, project, call, result, command; then each hook's answer, failure and change."""
    ids = three_fires(project)
    done = hookrun(project, "log", "-n", "2")
    assert (done.status, done.stderr) == (0, "")
    assert [head.split("  ")[1:] for head in heads(done.stdout)] == [
        [ids[1][:8], project.root.name, "pre_tool_use bash", "continue", "ls"],
        [ids[2][:8], project.root.name, "pre_tool_use bash", "block", "ls"],
    ]
    assert re.match(r"\d\d:\d\d:\d\d  ", done.stdout)
    assert re.search(r"^  bad: failed \(exit_code\) in [\d.]+ ms: it exited with status 3", done.stdout, re.MULTILINE)
    assert re.search(r"^  guard: block in [\d.]+ ms: R$", done.stdout, re.MULTILINE)
    assert "    changed command:\n      -ls\n      +ls -l\n" in hookrun(project, "log").stdout


def test_texts_changes_and_credentials(project: Project) -> None:
    """Texts for model and user are shown, a changed command as a diff, another argument by its path, no credential."""
    answer = says(
        action="modify", args_patch={"command": "b", "x": 1}, additional_context="C", system_message=f"S {TOKEN}"
    )
    project.hooks({"name": "h", "command": answer})
    project.fire({"tool_name": "bash", "tool_args": {"command": f"a {TOKEN}"}})
    shown = hookrun(project, "log").stdout
    assert TOKEN not in shown
    for line in (
        "    to the model: C",
        "    to the user: S [redacted]",
        "      -a [redacted]",
        "      +b",
        "    changed x",
    ):
        assert f"{line}\n" in shown


FILTERS: list[tuple[tuple[str, ...], list[int]]] = [
    (("--hook", "guard"), [2]),
    (("--hook", "g*"), [2]),
    (("--failures",), [1]),
    (("--action", "modify"), [0]),
    (("--event", "PreToolUse"), [0, 1, 2]),
    (("--event", "stop"), []),
    (("--tool", "read|ba*"), [0, 1, 2]),
    (("--tool", "read"), []),
    (("--session", "s"), [0, 1, 2]),
    (("--session", "t"), []),
    (("--agent", "claude"), []),
    (("--since", "1h"), [0, 1, 2]),
    (("--since", "today", "--until", "now"), [0, 1, 2]),
    (("--until", "1h30m"), []),
    (("--since", "2999-01-01"), []),
    (("--project", "."), [0, 1, 2]),
    (("--project", "elsewhere"), []),
]
"""Options, and which of the three runs they select."""


@rows("options, selected", FILTERS)
def test_filters(fired: tuple[Project, list[str]], options: tuple[str, ...], selected: list[int]) -> None:
    """Each option leaves the runs that match, as written."""
    project, ids = fired
    shown = [json.loads(line) for line in hookrun(project, "log", *options, "--json").stdout.splitlines()]
    assert list(dict.fromkeys(record["request_id"] for record in shown)) == [ids[index] for index in selected]
    assert [each for each in shown if each["kind"] != "start"] == [  # which a run on a slow machine has too
        record for record in project.audit() if record["request_id"] in [ids[index] for index in selected]
    ]


@pytest.mark.slow
def test_runs_of_other_projects_are_shown_on_request(project: Project) -> None:
    """By `--all-projects`, by directory or by name; without it the hint has the command that shows them."""
    [*_, last] = three_fires(project)
    other = project.root.parent / "other"
    (other / "src").mkdir(parents=True)
    (other / ".git").mkdir()
    done = hookrun(project, "log", "--action", "block", cwd=other)
    assert done.stdout.splitlines() == [
        "no matching entries",
        "hint: other projects have some: `hookrun log --action block --all-projects`",
    ]
    why = hookrun(project, "why", cwd=other)
    assert (why.status, why.stderr.splitlines()) == (
        1,
        ["error: no matching entries", "hint: other projects have some: `hookrun log --all-projects`"],
    )
    for options in (("--all-projects",), ("--project", str(project.root)), ("--project", project.root.name)):
        assert heads(hookrun(project, "log", *options, cwd=other / "src").stdout)[-1].split("  ")[1] == last[:8]
    assert hookrun(project, "why", last[:6], cwd=other).status == 0


def test_nothing_found_says_why(project: Project) -> None:
    """No run yet, the audit switched off, and names that are nearly right."""
    assert hookrun(project, "log").stdout.splitlines()[1].startswith("hint: nothing is recorded yet; `hookrun doctor`")
    three_fires(project)
    hint = "hint: `hookrun log` shows the latest runs"
    assert hookrun(project, "log", "--tool", "read").stdout.splitlines() == ["no matching entries", hint]
    project.user_hooks(audit=False)
    assert "the setting `audit` is false" in hookrun(project, "log", "--tool", "none").stdout


@rows(
    "arguments, message",
    [
        (("log", "--since", "soon"), '"soon" is not a time'),
        (("log", "--since", "99999999999w"), "is not a time"),
        (("log", "--event", "pretoolusee"), "unknown event"),
        (("log", "--action", "deny"), "deny"),
        (("log", "--project", "./missing"), "no such directory"),
        (("log", "--project", "x", "--all-projects"), "exclude each other"),
        (("log", "-n", "0"), "0"),
        (("why", "01"), "give at least 4 characters"),
        (("why", "0123456789"), 'no run "0123456789" in the audit log'),
    ],
)
def test_wrong_options(fired: tuple[Project, list[str]], arguments: tuple[str, ...], message: str) -> None:
    """The error names the value; the exit status is 1."""
    project, _ = fired
    done = hookrun(project, *arguments)
    assert (done.status, done.stdout) == (1, "")
    assert message in done.stderr
    assert done.stderr.count("\n") <= 3


@rows(
    "text, expected",
    [
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        ("3d", timedelta(days=3)),
        ("2w", timedelta(days=14)),
        ("now", timedelta()),
    ],
)
def test_durations(text: str, expected: timedelta) -> None:
    """They count back from now."""
    assert abs(datetime.now(UTC) - parse_time(text) - expected) < timedelta(seconds=limit())


def test_dates_and_clock_times_are_local() -> None:
    """A date is its midnight, a clock time is today's, an offset is kept."""
    assert parse_time("2026-11-22").replace(tzinfo=None) == datetime.fromisoformat("2026-11-22")
    assert parse_time("2026-11-22 14:30").replace(tzinfo=None) == datetime.fromisoformat("2026-11-22T14:30")
    assert parse_time("2026-11-22T14:30Z") == datetime(2026, 11, 22, 14, 30, tzinfo=UTC)
    today = datetime.now(UTC).astimezone().date()
    assert parse_time("9:05").replace(tzinfo=None) == datetime(today.year, today.month, today.day, 9, 5)  # noqa: DTZ001  # local
    assert parse_time("today") - parse_time("yesterday") == timedelta(days=1)


def test_at_a_terminal_lines_are_wrapped_and_coloured(project: Project) -> None:
    """No line is wider than the terminal, further ones are indented, a block is red."""
    project.hooks({"name": "guard", "command": says(action="block", message="because " * 40)})
    project.fire(LS)
    screen = at_terminal(project, "log", env={"TERM": "xterm-256color", "COLUMNS": "80"}).screen
    assert "\x1b[31m" in screen
    lines = re.sub(r"\x1b\[[0-9;]*m", "", screen).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].startswith("    because")


@pytest.mark.slow
def test_what_is_torn_foreign_or_newer_is_passed_over(project: Project) -> None:
    """A line that this version cannot read is skipped, and rotated files are included."""
    ids = three_fires(project)
    project.audit_path.rename(project.audit_path.with_name("audit.jsonl.1"))
    project.hooks({"name": "guard", "command": "true"})
    ids.append(str(project.fire(LS).verdict["request_id"]))
    with project.audit_path.open("a") as file:
        file.write('{"v":1,"kind":"fi\n[]\n{"v":99,"kind":"fire","request_id":"new"}\n')
    found = audit_reader.latest_fires(str(project.home), lambda _: True, 100)
    assert [fired.request_id for fired in found] == ids
    assert [len(fired.hooks) for fired in found] == [1, 2, 1, 1]


@pytest.mark.slow
def test_following_shows_what_is_fired_from_now_on(project: Project) -> None:
    """Each fire once, until it is interrupted."""
    first = three_fires(project)[-1]
    command = project.command("log", "--follow", "-n", "1", "--json")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=project.root, env=project.environment()
    ) as process:
        assert process.stdout is not None
        lines = (json.loads(line) for line in process.stdout)
        records = (line for line in lines if line["kind"] != "start")  # which a run on a slow machine has too
        shown = [next(records)["request_id"] for _ in range(2)]
        second = project.fire(LS).verdict["request_id"]
        shown += [next(records)["request_id"] for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert ended(process) == 130
        assert process.stdout.read() == b""
    assert shown == [first, first, second, second]


def test_one_line_for_each_run(project: Project) -> None:
    """With the hook that decided."""
    three_fires(project)
    lines = hookrun(project, "log", "--oneline").stdout.splitlines()
    results = [re.split(r"  +", line)[4] for line in lines]
    assert results == ["modify by dry", "continue", "block by guard"]
    assert hookrun(project, "log", "--oneline", "-n", "1").stdout.splitlines() == lines[-1:]


def test_why_has_a_line_for_each_hook_as_it_was_then(project: Project) -> None:
    """Also where none ran, and after the config has changed."""
    project.hooks(
        {"name": "other tool", "matcher": "write", "command": "true"},
        {"name": "deploys", "when": {"tool_args.command": "*deploy*"}, "command": "true"},
        {"name": "lists", "unless": {"tool_args.command": "l*"}, "command": "true"},
        {"name": "elsewhere", "agents": "claude", "command": "true"},
        {"name": "off", "mode": "off", "command": "true"},
        {"name": "guard", "command": "exit 2"},
        {"name": "late", "command": "true"},
    )
    project.fire()
    project.hooks({"name": "new", "command": "true"})
    shown = hookrun(project, "why").stdout
    for line in (
        "other tool: did not run: it is for other tools (`matcher`)",
        "deploys: did not run: `when` did not match: tool_args.command",
        "lists: did not run: `unless` matched",
        "elsewhere: did not run: it is for other agents",
        "off: did not run: mode is off",
        "late: did not run: guard already ended the chain",
    ):
        assert f"  {line}\n" in shown
    assert shown.count("  guard: block") == 1
    assert "explain" not in shown
    project.hooks({"name": "other tool", "matcher": "write", "command": "true"})
    project.fire()
    assert "other tool: did not run: it is for other tools" in hookrun(project, "why").stdout


def test_why_names_who_decided_in_its_first_line(project: Project) -> None:
    """The hook that blocked, with its reason, and those that changed or failed; by id, its beginning, or the last."""
    ids = three_fires(project)
    shown = [hookrun(project, "why", each[:8]).stdout.splitlines() for each in ids]
    assert shown[0][0] == "pre_tool_use bash: modified by dry: command"
    assert shown[1][0] == "pre_tool_use bash: continued: bad failed (exit_code)"
    assert shown[2][0] == "pre_tool_use bash: blocked by guard: R"
    assert "  command  ls" in shown[2]
    assert f"  project  {project.root}" in shown[2]
    assert shown[2][-3].endswith(" ms: R (coder.json:1)")
    assert shown[2][-2].startswith("    to let this call through once: `hookrun allow ")
    assert shown[2][-1] == "  late: did not run: guard already ended the chain"
    assert hookrun(project, "why").stdout.splitlines() == shown[2]
    assert hookrun(project, "why", "last", "--json").json["answer"] == shown[2][0]


def test_why_passes_over_the_end_of_a_session_for_which_there_are_no_hooks(project: Project) -> None:
    """Every agent sends it last; a session without any hooks is shown as it ended, not an older one."""
    project.hooks({"name": "guard", "event": "pre_tool_use", "command": "echo R >&2; exit 2"})
    for event in ("pre_tool_use", "stop", "session_end"):
        project.fire(LS, event=event)
    assert hookrun(project, "why").stdout.splitlines()[0] == "pre_tool_use bash: blocked by guard: R"
    project.fire({"session_id": "s2"}, event="session_end")
    assert hookrun(project, "why").stdout.splitlines()[0] == "session_end: continued: no hooks"


def test_the_first_line_of_why_is_short(project: Project) -> None:
    """At most 120 characters and one line, whatever the reason is; the whole reason follows."""
    project.hooks({"name": "guard", "command": says(action="block", message="one\ntwo " * 50)})
    project.fire(LS)
    first, *more = hookrun(project, "why").stdout.splitlines()
    assert len(first) == 120
    assert first.startswith("pre_tool_use bash: blocked by guard: one two one two")
    assert any("one two " * 49 in line for line in more)


def test_why_of_runs_without_a_hook_that_decides(project: Project) -> None:
    """No hooks at all, none that matches, none that objects, and one that could not start, so it has no time."""
    cases: list[tuple[list[dict[str, object]], str]] = [
        ([], "continued: no hooks"),
        ([{"command": "true", "matcher": "write"}], "continued: none of 1 hook ran"),
        ([{"name": "fine", "command": "true"}], "continued (ran: fine)"),
        ([{"name": "gone", "command": "./gone"}], "continued: gone did not run: cannot start"),
    ]
    for hooks, answer in cases:
        project.hooks(*hooks)
        project.fire({"tool_name": "bash", "tool_args": {"file_path": f"{project.root}/src/a.py"}})
        assert heads(hookrun(project, "log").stdout)[-1].endswith("  continue  src/a.py"), "relative to the project"
        shown = hookrun(project, "why").stdout.splitlines()
        assert shown[0] == f"pre_tool_use bash: {answer}"
    line = next(line for line in shown if line.startswith("  gone"))
    assert line.startswith("  gone: not run: cannot start: ")
    assert " ms" not in line


def test_a_hook_that_did_not_run_has_not_failed(project: Project) -> None:
    """One that is not approved did not run; one whose script changed meanwhile did."""
    changing = project.script("guard.sh", '#!/bin/sh\necho "#" >> "$0"\n')
    agent = Agent("claude", project)
    project.hooks({"name": "guard", "command": changing})
    agent.fire(agent.shell(), approved=False)
    first = hookrun(project, "why").stdout.splitlines()[0]
    assert first == "pre_tool_use bash: continued: guard did not run: not approved"
    project.hooks({"name": "guard", "command": changing, "on_failure": "block"})
    agent.fire(agent.shell(), approved=False)
    first = hookrun(project, "why").stdout.splitlines()[0]
    assert first.startswith("pre_tool_use bash: blocked by guard: it did not run: not approved: review with ")
    agent.fire(agent.shell())
    first, *more = hookrun(project, "why").stdout.splitlines()
    assert first.startswith("pre_tool_use bash: blocked by guard: it failed (untrusted): ")
    line = next(line for line in more if line.startswith("  guard"))
    assert line.startswith("  guard: failed (untrusted) in ")
    assert "changed while it ran, so its answer was ignored, so the call was blocked" in line


def test_what_the_agent_got_is_what_counts(project: Project) -> None:
    """Gemini cannot ask: it gets a block, and `why` shows that."""
    project.user_hooks({"name": "careful", "event": "pre_tool_use", "command": says(action="ask", message="R")})
    gemini = Agent("gemini", project)
    gemini.fire(gemini.shell())
    assert heads(hookrun(project, "log").stdout)[0].split("  ")[4] == "ask -> block"
    assert hookrun(project, "why").stdout.splitlines()[0].endswith(": blocked by careful: R")


def test_a_run_that_was_killed_and_one_of_another_day(project: Project) -> None:
    """One that has begun, and has no end, is not finished. Times are local, with the date of another day."""
    start = {"v": 1, "kind": "start", "time": "2026-01-02T03:04:05.000Z", "request_id": "abcdef", "event": "stop"}
    project.audit_path.parent.mkdir(parents=True)
    project.audit_path.write_text(json.dumps({**start, "project": str(project.root), "command": "sleep 9"}) + "\n")
    shown = hookrun(project, "why", TZ="UTC").stdout.splitlines()
    assert shown[0] == "stop: not finished: it began at 2026-01-02 03:04:05 and still runs, or was killed"
    assert shown[1] == "  command  sleep 9"
    project.audit_path.write_text(json.dumps({**start, "kind": "fire", "action": "continue", "ms": 2}) + "\n")
    shown = hookrun(project, "log", "--all-projects", TZ="Asia/Tokyo").stdout.splitlines()
    assert shown == ["2026-01-02 12:04:05  abcdef  stop  continue"]
