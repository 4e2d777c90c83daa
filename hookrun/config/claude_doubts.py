"""What Claude Code takes without a word and what is hardly meant: matchers and `if` rules that never fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrun.claude import matched, permission
from hookrun.claude.matcher import EVERYTHING, names_in
from hookrun.claude.regex import Expression, RegexError
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

VOID = "(Claude Code takes nothing from the whole file; here its other hooks run)"
"""What is said of what Claude Code cannot read (measured with 2.1.329)."""

RULES = re.compile(r"\b([A-Z][A-Za-z]+)\(([^()|]*[ *:/][^()|]*)\)")
"""How permission rules stand in a matcher, where they do not belong: `Bash(git *)`."""


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
    if event in matched.TOOL_EVENTS:
        rules = [match[0] for match in RULES.finditer(matcher) if match[1] in BUILT_IN and match[2] not in (".*", ".+")]
        if rules:
            _doubt_rules(matcher, rules, at)
            return
    try:
        expression = Expression(matcher)
    except RegexError as error:
        at.warn(shown(matcher), f"a regular expression that can be read ({error}: it matches nothing)", "correct it")
        return
    if event not in matched.TOOL_EVENTS:
        return
    for name, instead in GONE.items():
        if re.search(rf"\b{name}\b", matcher):
            expected = f"a tool that there is (Claude Code has no {name} any more; {instead} does that)"
            at.warn(shown(name), expected, f"write {instead}")
    known = {*BUILT_IN, *matched.LEGACY}
    if "__" not in matcher and not any(expression.search(name) for name in known):
        near = next((near for word in re.findall(r"\w{3,}", matcher) if (near := nearest(word, BUILT_IN))), None)
        expected = "an expression that fits a tool, letter by letter (this fits none that Claude Code is known to have)"
        at.warn(shown(matcher), expected, "correct it", nearest=near)


def _doubt_rules(matcher: str, rules: list[str], at: Place) -> None:
    """Say where permission rules belong that stand in a matcher."""
    tools = "|".join(dict.fromkeys(rule.partition("(")[0] for rule in rules))
    advice = f'write "matcher": {shown(tools)}, and "if": {shown(rules[0])} in the hook'
    if len(rules) > 1:
        listed = ", ".join(shown(rule) for rule in rules)
        advice = f'write "matcher": {shown(tools)}, and a hook for each of "if": {listed}'
    at.warn(
        f"the permission rule {shown(rules[0] if len(rules) == 1 and rules[0] != matcher else matcher)}",
        "a tool's name (as an expression this never matches)",
        advice,
    )


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
