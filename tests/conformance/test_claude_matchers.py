"""Claude Code's matchers, rule by rule: each test is named after the rule of its documentation that it holds."""

from __future__ import annotations

import pytest

from tests.applies import applies_for_claude as applies, why_not
from tests.rows import rows


def runs(matcher: str | None, event: str = "PreToolUse", **context: object) -> bool:
    """Return whether a hook with this matcher runs; the tool is `bash` by default."""
    claude = {"event": event} if matcher is None else {"event": event, "matcher": matcher}
    return applies(claude, {"tool_name": "bash", **context})


STORE, HYPHEN = "mcp__memory__store", "mcp__my-server__get"

TOOLS: dict[str, tuple[tuple[str | None, ...], tuple[str, ...], tuple[str, ...]]] = {
    "1: none, an empty one and a star match everything": ((None, "", "*"), ("bash", STORE), ()),
    "2: lists are split at bars and commas": (("Edit|Bash", "Edit,Bash", "Write | Bash"), ("bash",), ("read",)),
    "2: they are trimmed": (("Bash", "Edit, Bash", " Bash ", "||Bash|"), ("bash",), ("read",)),
    "2: nothing but the whole name counts": (("Bas", "Bash2", "MultiEdit", "|", ",", " "), (), ("bash", STORE)),
    "2: case counts": (("bash", "BASH"), (), ("bash",)),
    "2: the server of a tool is not its name": (("mcp__memory",), (), ("bash", STORE)),
    "2: a hyphen keeps a list a list, since 2.1.195": ((HYPHEN,), (HYPHEN,), ()),
    "2: so a part of a name does not match": (("my-server",), (), (HYPHEN,)),
    "2: names of older versions count": (("Task", "Agent"), ("task", "Task"), ()),
    "2: and of tools that were renamed": (("KillShell|Brief",), ("TaskStop",), ()),
    "3: expressions are found anywhere": (("Edit.*", "Notebook(Edit|Read)"), ("NotebookEdit",), ()),
    "3: unless they are anchored": (("^Edit$",), (), ("NotebookEdit",)),
    "3: a server's tools": (("mcp__memory__.*", "mcp__.*"), (STORE,), ("bash",)),
    "3: the tools of some servers": (("mcp__.*__write.*",), ("mcp__files__write_file",), ("bash", STORE)),
    "3: case counts there, too": (("bash.*", "Bash(git *)"), (), ("bash",)),
    "3: not everything": (("^(?!Bash).*", "my-plugin:reviewer"), (), ("bash",)),
    "3: they see names of older versions, too": (("^Tas.$", "^Agen.$"), ("task",), ()),
}
"""Rule 1, 2 or 3: the matchers, the tools on which each of them runs, and those on which none does."""


@rows("matchers, fits, others", TOOLS.values(), ids=TOOLS)
def test_2_3_a_matcher_of_tools(
    matchers: tuple[str | None, ...], fits: tuple[str, ...], others: tuple[str, ...]
) -> None:
    """By rule 1, 2 or 3, case-sensitively."""
    assert [(matcher, tool) for matcher in matchers for tool in fits if not runs(matcher, tool_name=tool)] == []
    assert [(matcher, tool) for matcher in matchers for tool in others if runs(matcher, tool_name=tool)] == []


@rows("matcher", ["*Bash", "(", "[a", "(?i)bash", "(?P<a>Bash)", "Ba++sh", "Bash\\"])
def test_2_3_4_an_invalid_expression_matches_nothing_and_says_so(matcher: str) -> None:
    """Rule 4."""
    assert not runs(matcher)
    why = why_not({"event": "PreToolUse", "matcher": matcher}, {"tool_name": "bash"})
    assert why is not None
    assert "matches nothing (" in why


FAILED: dict[str, object] = {"agent": "claude", "payload": {"hook_event_name": "StopFailure", "error": "rate_limit"}}


@rows(
    "event, matcher, context, expected",
    [
        ("SessionStart", None, {"source": "resume"}, True),
        ("SessionStart", "", {"source": "resume"}, True),
        ("SessionStart", "*", {"source": "resume"}, True),
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
        # there and on FileChanged only a bar separates: a comma, a space or a hyphen makes it an expression
        ("StopFailure", "rate_limit|overloaded", FAILED, True),
        ("StopFailure", "rate_limit,overloaded", FAILED, False),
        ("FileChanged", "package.json|go.mod", {"file_path": "/w/package.json"}, True),
        ("FileChanged", "package.json,go.mod", {"file_path": "/w/package.json"}, False),
        # the matcher is the list of what is watched in the working directory, and then one as any other
        ("FileChanged", ".envrc", {"file_path": "/w/.envrc"}, True),
        ("FileChanged", ".envrc", {"file_path": "/w/sub/.envrc"}, False),
        ("FileChanged", ".envrc|.env", {"file_path": "/w/other"}, False),
        ("FileChanged", ".envrc|.env", {"file_path": "/w/.env"}, True),
        ("FileChanged", "", {"file_path": "/w/.env"}, False),
        ("FileChanged", ".*", {"file_path": "/w/.env"}, False),
        # rule 5: on events without a value a matcher is ignored
        *((event, "Never", {}, True) for event in ("UserPromptSubmit", "Stop", "MessageDisplay")),
        *((event, "Never", {}, True) for event in ("PostToolBatch", "TaskCreated", "WorktreeRemove")),
    ],
)
def test_1_3_each_event_has_its_own_value(
    event: str, matcher: str | None, context: dict[str, object], *, expected: bool
) -> None:
    """A matcher is tested on a word of the event; where an agent sends none, it is the default word."""
    assert runs(matcher, event, tool_name=None, **{"working_dir": "/w", **context}) is expected


@rows("event", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"])
def test_1_3_events_of_a_tool_call_have_the_tool(event: str) -> None:
    """The tool by Claude Code's name, whatever the agent and hookrun call it."""
    assert runs("Bash", event, agent="codex", agent_tool_name="shell")
    assert not runs("bash|shell", event, agent="codex", agent_tool_name="shell")
    assert runs("PowerShell", event, agent="claude", agent_tool_name="PowerShell")


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
