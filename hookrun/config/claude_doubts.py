"""What Claude Code takes without a word and what is hardly meant: matchers and `if` rules that never fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.claude import matched, permission
from hookrun.claude.javascript import Expression, RegexError
from hookrun.claude.matcher import EVERYTHING, names_in
from hookrun.config.problem import nearest, shown

if TYPE_CHECKING:
    from hookrun.config.values import Place

BUILT_IN = frozenset(
    [
        "Agent",
        "Artifact",
        "AskUserQuestion",
        "Bash",
        "ClaudeDesign",
        "CronCreate",
        "CronDelete",
        "CronList",
        "Edit",
        "EndConversation",
        "EnterPlanMode",
        "EnterWorktree",
        "ExitPlanMode",
        "ExitWorktree",
        "Glob",
        "Grep",
        "ListAgents",
        "ListMcpResourcesTool",
        "LSP",
        "Monitor",
        "NotebookEdit",
        "OfferChromeSetup",
        "PowerShell",
        "Projects",
        "propose_skills",
        "PushNotification",
        "Read",
        "ReadMcpResourceDirTool",
        "ReadMcpResourceTool",
        "ReadNotifications",
        "RemoteTrigger",
        "ReportFindings",
        "ScheduleWakeup",
        "SendFeedback",
        "SendMessage",
        "SendUserFile",
        "SendUserMessage",
        "SetGoal",
        "ShareOnboardingGuide",
        "ShowOnboardingRolePicker",
        "Skill",
        "SubagentHandback",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskStop",
        "TaskUpdate",
        "TodoWrite",
        "ToolSearch",
        "WaitForMcpServers",
        "WebFetch",
        "WebSearch",
        "Workflow",
        "Write",
    ]
)
"""The tools that Claude Code is known to have. The list is not complete: a name without a near one is left alone."""

GONE = {"MultiEdit": "Edit", "LS": "Glob"}
"""Tools that Claude Code had once, and what does their work now."""

WORDS = {
    "SessionStart": ("startup", "resume", "clear", "compact", "fork"),
    "SessionEnd": ("clear", "resume", "logout", "prompt_input_exit", "other"),
    "PreCompact": ("manual", "auto"),
    "PostCompact": ("manual", "auto"),
}
"""An event -> everything that its matcher can be tested on."""

MCP = "mcp__"


def doubt_matcher(matcher: str, event: str, at: Place) -> None:
    """Warn of a matcher that does nothing, or that never fits."""
    if matcher in EVERYTHING:
        return
    if event in matched.WITHOUT_MATCHER:
        at.warn(f"a matcher on {event}", "none (it is ignored: the hook always runs)", "remove it")
        return
    listed = names_in(matcher, event)
    if listed is None:
        _doubt_expression(matcher, event, at)
        return
    for name in listed:
        if event in matched.TOOL_EVENTS:
            _doubt_tool(name, at)
        elif event in WORDS and name not in WORDS[event]:
            expected = f"one of {', '.join(WORDS[event])} (this never matches)"
            at.warn(shown(name), expected, "correct it", nearest=nearest(name, WORDS[event]))


def _doubt_tool(name: str, at: Place) -> None:
    if name in BUILT_IN or name in matched.LEGACY or name.count("__") > 1:
        return
    if name in GONE:
        expected = f"a tool that there is (Claude Code has no {name} any more; {GONE[name]} does that)"
        at.warn(shown(name), expected, f"write {GONE[name]}")
    elif name.startswith(MCP):
        at.warn(shown(name), "the whole name of a tool (a server's name matches nothing)", f'write "{name}__.*"')
    elif near := nearest(name, BUILT_IN):
        expected = "a tool's name as Claude Code has it, letter by letter (this never matches)"
        at.warn(shown(name), expected, "correct it", nearest=near)


def _doubt_expression(matcher: str, event: str, at: Place) -> None:
    tool, words = permission.parse(matcher)
    if event in matched.TOOL_EVENTS and words is not None and tool in BUILT_IN:
        advice = f'write "matcher": "{tool}", and "if": {shown(matcher)} in the hook'
        at.warn(f"the permission rule {shown(matcher)}", "a tool's name (as an expression this never matches)", advice)
        return
    try:
        Expression(matcher)
    except RegexError as error:
        at.warn(shown(matcher), f"a regular expression that can be read ({error}: it matches nothing)", "correct it")


def doubt_rule(rule: str, at: Place) -> None:
    """Warn of an `if` that is no rule, that never fits, or that is not read here."""
    tool, words = permission.parse(rule)
    if not tool or "(" in tool:
        what = "the hook runs on every call" if not rule else "this never fits"
        at.warn(shown(rule), f"one permission rule such as Bash(git *), and nothing else ({what})", "correct it")
        return
    known = {*BUILT_IN, *matched.LEGACY}
    if tool not in known and not tool.startswith(MCP):
        expected = "a tool's name before the parenthesis (this never fits)"
        at.warn(shown(tool), expected, "correct it", nearest=nearest(tool, known))
    elif words not in (None, *EVERYTHING) and tool in permission.WITHOUT_WORDS:
        expected = f"{tool} alone (Claude Code looks at no words in parentheses there: this never fits)"
        at.warn(shown(rule), expected, "let the hook look itself")
    elif words not in (None, *EVERYTHING) and tool not in permission.COMMANDS | permission.FILES:
        expected = f"a rule of Bash, Edit, Write or Read (others are not read here: the hook runs on every {tool})"
        at.warn(shown(rule), expected, "let the hook look itself")
