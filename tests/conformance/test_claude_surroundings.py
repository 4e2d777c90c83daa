"""Where a hook in Claude's dialect runs and what else it is given: Claude Code's rules 2.6 and 3.5 to 3.8."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun import Engine
from tests.conformance.claude import answers, failure, hook_line, own
from tests.fire.agents import Agent, AgentOf
from tests.process.test_url_hooks import serving
from tests.rows import rows
from tests.waiting import until

if TYPE_CHECKING:
    from tests.conftest import Project


# --- 2.6: the environment


def test_2_6_the_project_is_in_the_environment(project: Project) -> None:
    """And no other variable by which a script would take the agent for Claude Code."""
    project.hooks({"dialect": "claude", "command": 'env | grep "^CLAUDE" >&2; exit 2'})
    assert project.fire().verdict["message"] == f"CLAUDE_PROJECT_DIR={project.root}"


def test_2_6_everything_is_inherited(project: Project) -> None:
    """A project's hook, too, has what looks like a credential: Claude Code gives it."""
    project.hooks({"dialect": "claude", "command": 'echo "$MY_TOKEN" >&2; exit 2'})
    project.approve()
    agent = Agent("codex", project)
    assert agent.fire(agent.shell(), env={"MY_TOKEN": "t"}).reason == "t"


def test_2_6_a_hook_runs_where_the_agent_is(project: Project) -> None:
    """Not at the project's root."""
    (project.root / "src").mkdir()
    project.hooks({"dialect": "claude", "command": "pwd >&2; exit 2"})
    context = {"tool_name": "bash", "tool_args": {}, "working_dir": str(project.root / "src")}
    assert project.fire(context).verdict["message"] == str(project.root / "src")


def test_2_6_where_the_agent_is_no_more_a_hook_runs_in_the_project(project: Project) -> None:
    """A directory that was deleted fails no hook."""
    project.hooks({"dialect": "claude", "command": "pwd >&2; exit 2"})
    context = {"tool_name": "bash", "tool_args": {}, "working_dir": str(project.root / "gone")}
    assert project.fire(context).verdict["message"] == str(project.root)


def test_2_2_placeholders_in_args_are_filled_in_as_plain_text(project: Project) -> None:
    """No shell is involved, a space in the path does no harm, and text that is no placeholder stays."""
    script = "import sys; print(sys.argv[1:], file=sys.stderr); sys.exit(2)"
    args = ["python3", "-c", script, "--in=${CLAUDE_PROJECT_DIR}/a b", "$CLAUDE_PROJECT_DIR", "${HOME}"]
    project.hooks({"dialect": "claude", "args": args})
    seen = [f"--in={project.root}/a b", "$CLAUDE_PROJECT_DIR", "${HOME}"]
    assert project.fire().verdict["message"] == str(seen)


def test_2_2_the_program_in_args_may_be_in_the_project(project: Project) -> None:
    """The script that it names is looked up before it is run."""
    project.hooks({"dialect": "claude", "args": ["${CLAUDE_PROJECT_DIR}/hooks/guard.sh"]})
    assert failure(project.fire()) == "missing"
    project.script("hooks/guard.sh", "#!/bin/sh\necho guarded >&2\nexit 2\n")
    assert project.fire().verdict["message"] == "guarded"


@rows(
    "command",
    ['"$CLAUDE_PROJECT_DIR"/.claude/hooks/x.sh', "$CLAUDE_PROJECT_DIR/.claude/hooks/x.sh", "sh .claude/hooks/x.sh"],
)
def test_2_6_a_project_s_script_is_approved_with_its_bytes(project: Project, command: str) -> None:
    """As users name it; after a change of its bytes it is no longer approved."""
    project.script(".claude/hooks/x.sh", "#!/bin/sh\necho first >&2\nexit 2\n")
    project.hooks({"dialect": "claude", "command": command, "on_failure": "block"})
    agent = Agent("codex", project)
    assert agent.fire(agent.shell()).reason == "first"
    project.script(".claude/hooks/x.sh", "#!/bin/sh\nexit 0\n")
    told = project.fire(agent.shell(), "--agent", "codex", "--home", str(project.home), event="PreToolUse")
    assert b"changed since it was approved" in told.stdout


def test_2_6_a_relative_script_is_missing_where_the_agent_has_gone_elsewhere(project: Project) -> None:
    """It stays approved, and what fails is named; as under Claude Code it does not run there."""
    project.script(".claude/hooks/x.sh", "#!/bin/sh\nexit 2\n")
    project.hooks({"dialect": "claude", "command": ".claude/hooks/x.sh"})
    (project.root / "src").mkdir()
    agent = Agent("codex", project)
    told = agent.fire({**agent.shell(), "cwd": str(project.root / "src")})
    assert "(missing)" in told.json["systemMessage"]
    assert str(project.root / "src/.claude/hooks/x.sh") in told.json["systemMessage"]


def test_2_6_what_a_script_that_was_swapped_refused_stays_refused(project: Project) -> None:
    """Also where it refused in Claude's words."""
    answer = json.dumps(own("PreToolUse", permissionDecision="deny"))
    project.script("x.sh", f"#!/bin/sh\necho '# more' >> \"$0\"\necho '{answer}'\n")
    project.hooks({"dialect": "claude", "command": "./x.sh"})
    agent = Agent("codex", project)
    assert "changed while it ran" in str(agent.fire(agent.shell()).reason)


# --- 3.5: several hooks


def side_by_side(*outputs: dict[str, object], naps: tuple[float, ...] = ()) -> list[dict[str, object]]:
    """Return declarations of hooks that run side by side; by default the first sleeps the longest."""
    naps = naps or tuple(0.1 * n for n in range(len(outputs) - 1, -1, -1))
    return [
        {"name": f"h{n}", "dialect": "claude", "parallel": True, "command": f"sleep {nap}; {hook_line(output)}"}
        for n, (output, nap) in enumerate(zip(outputs, naps, strict=True), 1)
    ]


@rows(
    "decisions, action",
    [
        (("allow", "deny"), "block"),
        (("deny", "defer"), "block"),
        (("ask", "deny", "allow"), "block"),
        (("allow", "defer"), "ask"),
        (("ask", "allow"), "ask"),
        (("allow", None), "allow"),
    ],
)
def test_3_5_deny_before_defer_before_ask_before_allow(
    project: Project, decisions: tuple[str | None, ...], action: str
) -> None:
    """Whichever ends first."""
    outputs = [own("PreToolUse", permissionDecision=each) if each else {} for each in decisions]
    project.hooks(*side_by_side(*outputs, naps=(0.0,) * len(outputs)))
    assert project.fire().action == action


@pytest.mark.only_cold("runs hooks in the test's own process")
@pytest.mark.slow
def test_3_5_of_two_changes_the_later_declared_wins_as_a_whole_a_hundred_times(project: Project) -> None:
    """Whichever ends first: both saw the same input, and nothing of the earlier change is left."""
    first = own("PreToolUse", updatedInput={"command": "first", "timeout": 1})
    later = own("PreToolUse", updatedInput={"command": "later"})
    project.hooks(*side_by_side(first, later, naps=(0.0, 0.0)))
    with Engine.load(str(project.root), home=str(project.home), trust_project=True) as engine:
        args = {"command": "ls", "description": "d"}
        results = [engine.fire_sync("pre_tool_use", tool_name="bash", tool_args=args) for _ in range(100)]
    assert [result.modified_args for result in results] == [{"command": "later"}] * 100


@rows("naps", [(0.2, 0.0), (0.0, 0.2)], ids=["first is slow", "later is slow"])
def test_3_5_the_conflict_of_two_changes_is_told(project: Project, naps: tuple[float, ...]) -> None:
    """In the audit and for the user; a hook without changes is in no conflict."""
    outputs = [own("PreToolUse", updatedInput={"command": each}) for each in ("first", "ls", "later")]
    project.hooks(*side_by_side(*outputs, naps=(*naps, 0.0)))
    fired = project.fire()
    assert fired.verdict["modified_args"] == {"command": "later"}
    assert fired.verdict["system_message"] == "hooks h1 and h3 both changed tool_args; h3, the later, wins"


def test_3_5_both_dialects_in_one_chain(project: Project) -> None:
    """A hook in Claude's dialect sees earlier hooks' changes, and later hooks see its own."""
    change = json.dumps(own("PreToolUse", updatedInput={"command": "two"}))
    project.hooks(
        {"name": "a", "command": """echo '{"action": "modify", "args_patch": {"command": "one"}}'"""},
        {"name": "b", "dialect": "claude", "command": f"sed 's/.*\"command\":\"one\".*/{change}/'"},
        {"name": "c", "command": """grep -q '"command":"two"' && { echo seen >&2; exit 2; }; exit 0"""},
    )  # fmt: skip
    assert project.fire().verdict["message"] == "seen"


# --- 3.6: onFailure


@rows(
    "stdout, code, kind",
    [
        ("", 1, "exit_code"),
        ("text", 127, "exit_code"),
        ("{bad}", 0, "bad_verdict"),
        ({"decision": "no"}, 0, "bad_verdict"),
    ],
)
def test_3_6_a_failure_blocks_where_that_is_declared(place: Project, stdout: object, code: int, kind: str) -> None:
    """An exit status other than 0 and 2, and an answer that does not fit."""
    fired = answers(place, stdout, stderr="why", code=code, on_failure="block")
    assert (fired.action, failure(fired)) == ("block", kind)
    assert "why" in str(fired.verdict["message"])


def test_3_6_a_timeout_and_a_missing_program_block_too(project: Project) -> None:
    """They are failures."""
    project.hooks({"dialect": "claude", "command": "sleep 30", "timeout": 0.1, "on_failure": "block"})
    assert project.fire().action == "block"
    project.hooks({"dialect": "claude", "command": "./not-there.sh", "on_failure": "block"})
    assert project.fire().action == "block"


def test_3_6_plain_text_is_no_failure(place: Project) -> None:
    """The hook has ended well."""
    assert answers(place, "all is well", on_failure="block").action == "continue"


@rows("event", ["stop", "subagent_stop", "session_start", "permission_request", "notification"])
def test_3_6_it_is_ignored_at_the_end_of_a_turn_and_where_nothing_can_be_refused(place: Project, event: str) -> None:
    """The user sees the failure."""
    fired = answers(place, code=1, event=event, on_failure="block")  # type: ignore[arg-type]
    assert (fired.action, failure(fired)) == ("continue", "exit_code")
    assert "exit_code" in str(fired.verdict["system_message"])


def test_3_6_it_is_ignored_in_the_background(place: Project) -> None:
    """Its result is not awaited: declaring that would be an error, and a started hook has no effect."""
    fired = answers(place, {"decision": "block"}, code=2, background=True)
    assert (fired.action, failure(fired)) == ("continue", None)


# --- 3.7: long texts


def test_3_7_what_exit_2_wrote_to_stderr_is_given_whole_up_to_the_same_length(place: Project) -> None:
    """The first error as well as the last; longer text is in a file."""
    fired = answers(place, stderr="first " + "e" * 5000, code=2, event="post_tool_use")
    assert fired.verdict["message"] == "first " + "e" * 5000
    fired = answers(place, stderr="first " + "e" * 20_000, code=2, event="post_tool_use")
    assert str(fired.verdict["message"]).startswith("[20006 characters, more than the 10000")
    [path] = (place.home / ".local/state/hookrun/texts").iterdir()
    assert path.read_text() == "first " + "e" * 20_000


def test_3_7_of_a_text_that_was_cut_the_file_is_not_said_to_hold_all(project: Project) -> None:
    """Output beyond `max_output` is dropped."""
    project.hooks(
        {"dialect": "claude", "command": "head -c 3000000 /dev/zero | tr '\\0' x", "event": "user_prompt_submit"}
    )
    fired = project.fire(event="user_prompt_submit")
    assert "what was kept of it is in" in str(fired.verdict["additional_context"])


@rows(
    "event, output, field",
    [
        ("user_prompt_submit", "{}", "additional_context"),
        ("pre_tool_use", json.dumps(own("PreToolUse", additionalContext="{}")), "additional_context"),
        ("pre_tool_use", json.dumps({"systemMessage": "{}"}), "system_message"),
    ],
    ids=["plain", "context", "person"],
)
def test_3_7_a_long_text_is_kept_in_a_file_and_its_beginning_is_given(
    place: Project, event: str, output: str, field: str
) -> None:
    """Beyond 10,000 characters."""
    fired = answers(place, output.replace("{}", "x" * 10_000, 1), event=event)  # type: ignore[arg-type]
    assert fired.verdict[field] == "x" * 10_000
    fired = answers(place, output.replace("{}", "y" * 10_001, 1), event=event)  # type: ignore[arg-type]
    told = str(fired.verdict[field])
    assert "10001 characters" in told
    assert told.endswith("\n" + "y" * 2_000)
    [path] = (place.home / ".local/state/hookrun/texts").iterdir()
    assert str(path) in told
    assert path.read_text() == "y" * 10_001
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()


# --- 3.8: HTTP


@rows(
    "status, body, action, kind",
    [
        (200, b"", "continue", None),
        (
            200,
            json.dumps(own("PreToolUse", permissionDecision="deny", permissionDecisionReason="R")).encode(),
            "block",
            None,
        ),
        (200, b"fine", "continue", "bad_verdict"),
        (200, b'{"decision": "deny"}', "block", None),
        (200, b'{"decision": "go"}', "continue", "bad_verdict"),
        (403, b'{"decision": "block"}', "continue", "http"),
    ],
)
def test_3_8_what_a_url_answers(project: Project, status: int, body: bytes, action: str, kind: str | None) -> None:
    """Only the body can refuse, and it has to be an object or nothing."""
    with serving(lambda handler: handler.answer(body, status)) as server:
        project.hooks({"dialect": "claude", "url": server.url})
        fired = project.fire()
    assert (fired.action, failure(fired)) == (action, kind)
    assert json.loads(server.requests[0][3])["hook_event_name"] == "PreToolUse"


# --- the library


@pytest.mark.only_cold("runs hooks in the test's own process")
def test_a_program_s_fires_read_and_answer_the_same(project: Project) -> None:
    """One place decides for the command and for the library."""
    line = """grep -q '"tool_name":"Bash"' && echo '{"decision":"block","reason":"R"}'"""
    project.hooks({"dialect": "claude", "command": line})
    with Engine.load(str(project.root), home=str(project.home), trust_project=True) as engine:
        result = engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": "ls"})
    assert (result.action, result.message) == ("block", "R")


@rows(
    "said, failed",
    [('{"systemMessage": "done"}', None), ('{"decision": "perhaps"}', "bad_verdict"), ("all is well", None)],
)
def test_3_9_what_a_background_hook_prints_is_recorded_by_claude_s_rules(
    agent_of: AgentOf, said: str, failed: str | None
) -> None:
    """It has no effect, but it is no failure where Claude Code would take it for an answer."""
    project = agent_of("claude").project
    project.hooks({"command": f"cat >/dev/null; echo '{said}'", "dialect": "claude", "background": True})
    assert project.fire({"tool_name": "bash"}).action == "continue"

    def of_the_background() -> list[dict[str, object]]:
        return [record for record in project.audit() if record["kind"] == "background"]

    [record] = until(of_the_background, "the record of a background hook")
    assert record.get("failure") == failed
