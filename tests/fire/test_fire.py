"""`hookrun fire` as a caller sees it: the verdict on stdout, the exit status, stderr, where hooks are found."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.terminal import at_terminal
from tests.conftest import Project
from tests.fire.agents import call, run, says
from tests.rows import rows

CONTEXT = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "git push"}}


@rows(
    "answer, status",
    [
        ({"action": "continue"}, 0),
        ({"action": "allow"}, 0),
        ({"action": "modify", "modified_args": {"command": "ls"}}, 0),
        ({"action": "ask", "message": "sure?"}, 2),
        ({"action": "skip", "message": "later"}, 2),
        ({"action": "block", "message": "no"}, 2),
        ({"action": "stop", "message": "enough"}, 2),
    ],
)
def test_the_verdict_is_one_line_and_the_exit_status_says_go_or_not(
    answer: dict[str, object], status: int, project: Project
) -> None:
    """The verdict is on stdout, whole; 0 means go on, 2 means do not, and then the message is on stderr too."""
    project.hooks({"command": says(**answer)})
    fired = project.fire(CONTEXT)
    assert fired.status == status
    assert {key: fired.verdict[key] for key in answer} == answer
    assert str(answer.get("message", "")) in fired.stderr
    assert len(str(fired.verdict["request_id"])) == 16
    assert fired.hook("hook")["action"] == answer["action"]


def test_context_comes_from_a_file_or_from_stdin(project: Project) -> None:
    """`--ctx FILE`, `--ctx -`, `--ctx=FILE` and plain stdin give the same verdict."""
    project.hooks({"command": 'cat > seen; echo \'{"action": "block", "message": "R"}\''})
    (project.root / "ctx.json").write_text(json.dumps(CONTEXT))
    for arguments in ((), ("--ctx", "-"), ("--ctx", "ctx.json"), ("--ctx=ctx.json",)):
        fired = project.fire(CONTEXT, *arguments)
        assert (fired.status, fired.verdict["message"]) == (2, "R")
        assert json.loads((project.root / "seen").read_text())["tool_args"] == {"command": "git push"}


def test_declarations_are_found_from_a_directory_below(project: Project) -> None:
    """From a subdirectory of the repository the project's declarations hold, and its hooks run at its root."""
    project.hooks({"command": "pwd > here"})
    below = project.root / "a" / "b"
    below.mkdir(parents=True)
    assert project.fire(CONTEXT, cwd=below).hook("hook")["failure"] is None
    assert (project.root / "here").read_text().strip() == str(project.root)


def test_the_search_ends_at_the_repository(project: Project) -> None:
    """Config above the repository's root is ignored; without a repository only the directory itself counts."""
    (project.root.parent / "coder.json").write_text(
        json.dumps({"hooks": [{"event": "stop", "command": says(action="block")}]})
    )
    assert project.fire(CONTEXT, event="stop").verdict["hooks"] == []
    outside = project.root.parent / "outside"
    outside.mkdir()
    assert project.fire(CONTEXT, event="stop", cwd=outside).verdict["hooks"] == []


def test_without_any_declaration_it_goes_on(project: Project) -> None:
    """No declaration file at all: continue, exit 0."""
    fired = project.fire(CONTEXT)
    assert (fired.status, fired.action, fired.verdict["hooks"], fired.stderr) == (0, "continue", [], "")


def test_a_hook_reads_every_promised_field(project: Project) -> None:
    """The context a hook reads has all fields of the first engine, null where unknown, and those hookrun adds."""
    project.hooks({"command": "cat > seen"})
    project.fire({"session_id": "s1", "tool_name": "write", "tool_args": {"file_path": "src/../a.py"}, "extra": [1]})
    text = (project.root / "seen").read_text()
    seen = json.loads(text)
    assert text.endswith("}\n")
    assert text.count("\n") == 1
    assert seen.pop("timestamp").endswith("Z")
    assert len(seen.pop("request_id")) == 16
    assert seen == {
        "version": 1,
        "hook": "hook",
        "event": "pre_tool_use",
        "session_id": "s1",
        "tool_name": "write",
        "tool_args": {"file_path": "src/../a.py"},
        "tool_result_output": None,
        "tool_result_error": None,
        "user_prompt": None,
        "assistant_response": None,
        "root_session_id": None,
        "file_path": str(project.root / "a.py"),
        "working_dir": str(project.root),
        "agent": None,
        "agent_event": None,
        "agent_tool_name": None,
        "metadata": {},
        "extra": [1],
    }


@rows("alias", ["PreToolUse", "BeforeTool", "preToolUse", "pre_tool_execution", "tool.execute.before"])
def test_an_event_goes_by_any_of_its_names(alias: str, project: Project) -> None:
    """Fired or declared by an alias, it is the same event, and hooks read its canonical name."""
    project.hooks({"event": alias, "command": "cat > seen"})
    assert project.fire(CONTEXT, event=alias).hook("hook")["failure"] is None
    assert json.loads((project.root / "seen").read_text())["event"] == "pre_tool_use"


def test_a_declared_event_of_the_host_program_can_be_fired(project: Project) -> None:
    """An event under hookrun.events is known, and one that carries arguments lets a hook change them."""
    project.hooks(
        {"event": "deploy", "command": says(action="modify", args_patch={"to": "staging"})}, events=["deploy"]
    )
    fired = project.fire({"tool_args": {"to": "production"}}, event="deploy")
    assert (fired.status, fired.verdict["modified_args"]) == (0, {"to": "staging"})


USAGE = {
    "no event": ((), "no event given"),
    "an unknown event": (("pre_tool_usee",), 'did you mean "pre_tool_use"?'),
    "an unknown option": (("stop", "--agnet", "x"), 'unknown option "--agnet"'),
    "an option without its value": (("stop", "--ctx"), "--ctx needs a value"),
    "a home without a name": (("stop", "--home", ""), '--home "" is not a directory'),
    "two events": (("stop", "stop"), "unexpected argument `stop`: the event is stop"),
    "a deadline that is no number": (("stop", "--deadline", "soon"), 'seconds greater than 0, not "soon"'),
    "a deadline that is not ahead": (("stop", "--deadline", "0"), 'greater than 0, not "0"'),
    "a deadline that never comes": (("stop", "--deadline=inf"), 'greater than 0, not "inf"'),
    "a context that is not there": (("stop", "--ctx", "no.json"), 'cannot read "no.json": No such file or directory'),
    "a context that is a directory": (("stop", "--ctx", "."), 'cannot read ".": Is a directory'),
    "a declaration file that is not there": (("stop", "--config", "no.json"), "no.json"),
}


@rows("name", USAGE)
def test_a_usage_error_exits_with_1_and_one_line(name: str, project: Project) -> None:
    """The error is one `error:` line; the exit status is 1, never 2, and stdout stays empty."""
    arguments, expected = USAGE[name]
    done = call(project, "fire", *arguments)
    assert (done.returncode, done.stdout) == (1, b"")
    lines = done.stderr.decode().splitlines()
    assert [line.partition(":")[0] for line in lines] in (["error"], ["error", "hint"])
    assert expected in "\n".join(lines)


def test_help_is_on_stdout_and_exits_with_0(project: Project) -> None:
    """`hookrun fire --help` explains options, exit statuses and shows examples."""
    done = call(project, "fire", "--help")
    assert done.returncode == 0
    assert b"--ctx FILE" in done.stdout
    assert b"Examples:" in done.stdout


def test_declarations_that_cannot_be_read_are_trouble(project: Project) -> None:
    """A file that is not JSON: exit 1, one line with its location; nothing on stdout."""
    (project.root / "coder.json").write_text('{"hooks": [\n  {"event": stop}]}')
    fired = project.fire(CONTEXT)
    assert (fired.status, fired.stdout) == (1, b"")
    assert fired.stderr.startswith("error: coder.json:2:13: ")
    assert fired.audit[-1]["problems"]


def test_a_block_of_another_layer_outweighs_unreadable_declarations(project: Project) -> None:
    """With the project's file broken, the user's guard still runs: its block is exit 2, its continue is exit 1."""
    (project.root / "coder.json").write_text("{")
    project.user_hooks({"command": says(action="block", message="R")})
    fired = project.fire(CONTEXT)
    assert (fired.status, fired.verdict["message"]) == (2, "R")
    assert "coder.json" in fired.stderr
    project.user_hooks({"command": says(action="continue")})
    assert project.fire(CONTEXT).status == 1


def test_a_working_directory_that_is_gone_is_trouble(project: Project) -> None:
    """Fired from a deleted directory: the project's hooks are unknown, so exit 1, unless a user hook blocks."""
    gone = project.root / "gone"
    gone.mkdir()
    shell = ("sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh")
    fired = project.fire(CONTEXT, cwd=gone, wrap=shell)
    assert (fired.status, fired.stdout) == (1, b"")
    assert "the working directory no longer exists" in fired.stderr
    gone.mkdir()
    project.user_hooks({"command": says(action="block", message="R")})
    assert project.fire(CONTEXT, cwd=gone, wrap=shell).status == 2


def test_hooks_can_be_switched_off_and_that_is_seen(project: Project) -> None:
    """HOOKRUN=0 disables all hooks, HOOKRUN_SKIP the named ones, and the audit records it."""
    project.hooks({"name": "a", "command": says(action="block")}, {"name": "b", "command": says(action="ask")})
    off = project.fire(CONTEXT, env={"HOOKRUN": "0"})
    assert (off.status, off.action, off.audit[-1]["off"]) == (0, "continue", True)
    assert "HOOKRUN=0" in off.stderr
    some = project.fire(CONTEXT, env={"HOOKRUN_SKIP": "a,x"})
    assert (some.action, some.audit[-1]["skipped"]) == ("ask", "a,x")


def test_explain_tells_of_every_hook_why_it_ran_or_not(project: Project) -> None:
    """`--explain` names, on stderr, each hook considered, the condition that kept it out, its answer and its time."""
    project.hooks(
        {"name": "ran", "command": says(action="block", message="R")},
        {"name": "other-tool", "matcher": "write|edit", "command": "true"},
        {"name": "other-command", "when": {"tool_args.command": "rm *"}, "command": "true"},
        {"name": "unless", "unless": {"session_id": "s*"}, "command": "true"},
        {"name": "off", "mode": "off", "command": "true"},
        {"name": "ended", "command": "true"},
        {"name": "watcher", "always": True, "command": "true"},
    )
    fired = project.fire(CONTEXT, "--explain")
    assert fired.status == 2
    told = fired.stderr
    for expected in (
        'matcher: "write" | "edit" does not match the tool "bash"',
        'when: tool_args.command is "git push", which "rm *" does not match',
        'unless: session_id is "s1"',
        "not run: ran already ended the chain",
        'ms: block, message "R"',
        f"{project.root}/coder.json:1",
    ):
        assert expected in told, told
    assert [hook["name"] for hook in fired.verdict["hooks"]] == ["ran", "watcher"]  # type: ignore[attr-defined]


def test_control_characters_do_not_reach_the_terminal(project: Project) -> None:
    """A hook's output is shown on stderr with terminal escapes made visible."""
    project.hooks({"command": "printf '\\033[2Jowned' >&2; exit 2"})
    fired = project.fire(CONTEXT)
    assert "\x1b" not in fired.stderr
    assert "\\x1b[2Jowned" in fired.stderr


CALL: dict[str, object] = {"command": "ls"}
MESSAGES: list[dict[str, object]] = [
    {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": CALL},
    {"sessionId": "s", "timestamp": 1795190195234, "cwd": "/a", "toolName": "bash", "toolArgs": CALL},
    {"sessionId": "s", "toolName": "bash", "toolArgs": json.dumps(CALL)},
    {"hookName": "tool_call", "taskId": "s", "tool_call": {"name": "run_commands", "input": {"commands": ["ls"]}}},
    {"hook": "tool.execute.before", "input": {"tool": "bash"}, "output": {"args": CALL}},
    {"hook": "event", "event": {"type": "permission.asked", "properties": {"id": "per_1"}}},
]


@rows("on_failure, status", [("continue", 1), ("block", 2)])
def test_an_agent_s_own_message_is_no_context(project: Project, on_failure: str, status: int) -> None:
    """Its fields have other names: no guard could see what it should look at."""
    project.hooks({"matcher": "bash", "command": "true", "on_failure": on_failure})
    for message in MESSAGES:
        fired = project.fire(message)
        assert (fired.status, fired.stdout) == (status, b""), message
        assert "is an agent's own message" in fired.stderr
        assert "--agent NAME" in fired.stderr


def test_a_call_that_names_no_tool_is_refused_where_a_guard_may_be_for_it(project: Project) -> None:
    """One for any tool has judged it, and a hook that continues where it cannot judge is none."""
    guard = {"name": "guard", "matcher": "bash", "command": "true", "on_failure": "block"}
    for tool in ({}, {"tool_name": None}):
        for event in ("pre_tool_use", "permission_request"):
            project.hooks({**guard, "event": event})
            refused = project.fire({**tool, "tool_args": {"command": "rm"}}, event=event)
            assert (refused.status, "hooks (guard) could not judge this" in refused.stderr) == (2, True), refused
            of_any: dict[str, object] = {"name": "any", "event": event, "command": "true", "on_failure": "block"}
            project.hooks({**guard, "event": event}, of_any)  # both in one line of the file
            assert project.fire({**tool, "tool_args": {"command": "rm"}}, event=event).status == 2
            project.hooks({**guard, "event": event, "on_failure": "continue"}, of_any)
            assert project.fire({**tool, "tool_args": {"command": "rm"}}, event=event).status == 0


@pytest.mark.only_cold("starts the console script")
def test_the_module_and_the_console_script_are_one_program(project: Project) -> None:
    """`python -m hookrun` and the installed script answer alike."""
    project.hooks({"command": says(action="block", message="R")})
    script = f"{sys.prefix}/bin/hookrun"
    done = run(project, [script, "fire", "stop"])
    assert (done.returncode, json.loads(done.stdout)["action"]) == (0, "continue")


def test_at_a_terminal_a_sentence_follows_the_verdict(project: Project) -> None:
    """On stderr, so that stdout stays one JSON object; nothing of it where either stream is piped."""
    project.hooks({"name": "guard", "command": says(action="block", message="not today")})
    (project.root / "c.json").write_text(json.dumps(CONTEXT))
    fire = ("fire", "pre_tool_use", "--ctx", "c.json")
    first, *rest = at_terminal(project, *fire).screen.splitlines()
    assert json.loads(first)["message"] == "not today"
    waits = "note: guard runs here; agents need your approval: `hookrun trust`"
    assert rest == ["pre_tool_use: block by guard: not today (ran: guard)", waits]
    assert project.fire(CONTEXT).stderr == "not today\n"
    (project.root / "coder.json").unlink()
    screen = at_terminal(project, *fire).screen
    assert screen.endswith("pre_tool_use: continue: no hook ran; `hookrun explain pre_tool_use` shows why\n")
