"""Claude Code's matchers, rule by rule: each test is named after the rule of its documentation that it holds."""

from __future__ import annotations

import pytest

from hookrun.claude.matcher import applies, why_not
from tests.rows import rows


def runs(matcher: str | None, event: str = "PreToolUse", **context: object) -> bool:
    """Return whether a hook with this matcher runs; the tool is `bash` by default."""
    claude = {"event": event} if matcher is None else {"event": event, "matcher": matcher}
    return applies(claude, {"tool_name": "bash", **context})


@rows("matcher", [None, "", "*"])
def test_2_3_1_no_matcher_an_empty_one_and_a_star_match_everything(matcher: str | None) -> None:
    """Rule 1."""
    assert runs(matcher)
    assert runs(matcher, tool_name="mcp__memory__store")
    assert runs(matcher, "SessionStart", source="resume")


@rows("matcher", ["Bash", "Edit|Bash", "Edit,Bash", "Edit, Bash", " Bash ", "||Bash|", "Write | Bash"])
def test_2_3_2_lists_are_split_at_bars_and_commas_and_trimmed(matcher: str) -> None:
    """Rule 2."""
    assert runs(matcher)
    assert not runs(matcher, tool_name="read")


@rows("matcher", ["bash", "BASH", "Bas", "Bash2", "mcp__memory", "MultiEdit", "|", ",", " "])
def test_2_3_2_comma_lists_are_exact(matcher: str) -> None:
    """Rule 2: nothing but the whole name counts, case-sensitively; the server of a tool is not its name."""
    assert not runs(matcher)
    assert not runs(matcher, tool_name="mcp__memory__store")


def test_2_3_2_a_hyphen_keeps_a_list_a_list() -> None:
    """Rule 2, since 2.1.195: `a-b` is a name and not the expression that finds it in `xa-by`."""
    assert runs("mcp__my-server__get", tool_name="mcp__my-server__get")
    assert not runs("my-server", tool_name="mcp__my-server__get")


@rows("matcher, tool", [("Task", "task"), ("KillShell|Brief", "TaskStop"), ("Agent", "Task")])
def test_2_3_2_names_of_older_versions_count(matcher: str, tool: str) -> None:
    """Rule 2: `Task` is `Agent`, and so on."""
    assert runs(matcher, tool_name=tool)


def test_2_3_2_on_file_changed_only_a_bar_separates() -> None:
    """Rule 2: there a comma, a space or a hyphen makes it an expression."""
    changed = {"file_path": "/w/package.json", "working_dir": "/w", "tool_name": None}
    assert runs("package.json|go.mod", "FileChanged", **changed)
    assert not runs("package.json,go.mod", "FileChanged", **changed)


def test_2_3_2_on_stop_failure_only_a_bar_separates() -> None:
    """Rule 2."""
    error = {"agent": "claude", "payload": {"hook_event_name": "StopFailure", "error": "rate_limit"}}
    assert runs("rate_limit|overloaded", "StopFailure", **error)
    assert not runs("rate_limit,overloaded", "StopFailure", **error)


@rows(
    "matcher, tool, expected",
    [
        ("Edit.*", "NotebookEdit", True),
        ("^Edit$", "NotebookEdit", False),
        ("mcp__memory__.*", "mcp__memory__store", True),
        ("mcp__.*__write.*", "mcp__files__write_file", True),
        ("mcp__.*", "bash", False),
        ("bash.*", "bash", False),
        ("Notebook(Edit|Read)", "NotebookEdit", True),
        ("^(?!Bash).*", "bash", False),
        ("Bash(git *)", "bash", False),
        ("my-plugin:reviewer", "bash", False),
    ],
)
def test_2_3_3_anything_else_is_an_expression_that_is_found_anywhere(
    matcher: str, tool: str, *, expected: bool
) -> None:
    """Rule 3: unanchored and case-sensitive."""
    assert runs(matcher, tool_name=tool) is expected


def test_2_3_3_expressions_see_names_of_older_versions_too() -> None:
    """Rule 3."""
    assert runs("^Tas.$", tool_name="task")
    assert runs("^Agen.$", tool_name="task")


@rows("matcher", ["*Bash", "(", "[a", "(?i)bash", "(?P<a>Bash)", "Ba++sh", "Bash\\"])
def test_2_3_4_an_invalid_expression_matches_nothing_and_says_so(matcher: str) -> None:
    """Rule 4."""
    assert not runs(matcher)
    why = why_not({"event": "PreToolUse", "matcher": matcher}, {"tool_name": "bash"})
    assert why is not None
    assert "matches nothing (" in why


@rows("event", ["UserPromptSubmit", "Stop", "MessageDisplay", "PostToolBatch", "TaskCreated", "WorktreeRemove"])
def test_2_3_5_on_events_without_one_a_matcher_is_ignored(event: str) -> None:
    """Rule 5."""
    assert runs("Never", event, tool_name=None)


@rows(
    "event, matcher, context, expected",
    [
        ("SessionStart", "startup", {"source": "startup"}, True),
        ("SessionStart", "startup|clear", {"source": "resume"}, False),
        ("SessionStart", "startup", {"source": "new"}, True),
        ("SessionStart", "startup", {}, True),
        ("SessionEnd", "logout", {"reason": "logout"}, True),
        ("SessionEnd", "other", {}, True),
        ("PreCompact", "manual", {"trigger": "manual"}, True),
        ("PreCompact", "manual", {"trigger": "auto"}, False),
        ("PostCompact", "auto", {"trigger": "auto"}, True),
        ("Notification", "permission_prompt", {"notification_type": "permission_prompt"}, True),
        ("Notification", "permission_prompt", {}, False),
        ("SubagentStart", "Explore", {"agent_name": "Explore"}, True),
        ("SubagentStop", "Explore|Plan", {"agent_name": "other"}, False),
        ("StopFailure", "unknown", {"error_info": {"error_message": "no such model"}}, True),
    ],
)
def test_1_3_each_event_has_its_own_value(
    event: str, matcher: str, context: dict[str, object], *, expected: bool
) -> None:
    """A matcher is tested on a word of the event; where an agent sends none, it is the default word."""
    assert runs(matcher, event, tool_name=None, **context) is expected


@rows("event", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"])
def test_1_3_events_of_a_tool_call_have_the_tool(event: str) -> None:
    """The tool by Claude Code's name, whatever the agent and hookrun call it."""
    assert runs("Bash", event, agent="codex", agent_tool_name="shell")
    assert not runs("bash|shell", event, agent="codex", agent_tool_name="shell")
    assert runs("PowerShell", event, agent="claude", agent_tool_name="PowerShell")


@rows(
    "path, matcher, expected",
    [
        ("/w/.envrc", ".envrc", True),
        ("/w/sub/.envrc", ".envrc", False),
        ("/w/other", ".envrc|.env", False),
        ("/w/.env", ".envrc|.env", True),
        ("/w/.env", "", False),
        ("/w/.env", ".*", False),
    ],
)
def test_1_3_file_changed_watches_names_in_the_working_directory(path: str, matcher: str, *, expected: bool) -> None:
    """The matcher is the list of what is watched, and then a matcher as any other."""
    assert runs(matcher, "FileChanged", file_path=path, working_dir="/w", tool_name=None) is expected


def test_the_reason_names_matcher_and_value() -> None:
    """`why` names the rule."""
    claude = {"event": "PreToolUse", "matcher": "Edit|Write"}
    assert why_not(claude, {"tool_name": "bash"}) == 'matcher: "Edit|Write" does not list the tool "Bash"'
    claude = {"event": "SessionStart", "matcher": "res.*"}
    assert why_not(claude, {"source": "clear"}) == 'matcher: "res.*" does not match the source "clear"'


def test_claude_code_runs_a_project_s_settings_where_it_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Started elsewhere it does not read them: hookrun runs them. What it reads everywhere it always runs itself."""
    here, always = {"event": "Stop", "own": "/repo"}, {"event": "Stop", "own": True}
    context = {"agent": "claude", "working_dir": "/repo/sub"}
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/repo/sub")
    assert (applies(here, context), applies(always, context)) == (True, False)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/repo")
    assert (applies(here, context), applies(always, context)) == (False, False)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    assert not applies(here, context)
    assert applies(here, {**context, "agent": "codex"})
