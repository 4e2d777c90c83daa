"""Warn about hooks that Claude Code accepts but that cannot work: matchers, `if` rules and exit statuses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from hookrun.agents.known_tools import OTHER_CALLERS, native_tools
from hookrun.claude import permissions
from hookrun.claude.matcher import WITHOUT_MATCHER, names_in
from hookrun.claude.regex import Expression, RegexError
from hookrun.claude.tables import LEGACY_TOOLS, MATCHES_ALL, TOOL_EVENTS, TOOLS
from hookrun.config import command_words
from hookrun.config.diagnostics import Diagnostic, Location, did_you_mean
from hookrun.files import relative_path
from hookrun.model import Hook
from hookrun.text import one_of, quote

GONE = {"MultiEdit": "Edit", "LS": "Glob"}
"""Removed tools -> their replacements."""

BUILT_IN = frozenset(native_tools("claude")) - GONE.keys() - LEGACY_TOOLS.keys()
"""Known tools of Claude Code. The list is incomplete: only near misses are reported."""

WORDS = {
    "SessionStart": ("startup", "resume", "clear", "compact", "fork"),
    "SessionEnd": ("clear", "resume", "logout", "prompt_input_exit", "other"),
    "PreCompact": ("manual", "auto"),
    "PostCompact": ("manual", "auto"),
}
"""Event -> all values that its matcher can be compared with."""

MCP = "mcp__"

VOID = " (Claude Code rejects the whole file)"
"""What Claude Code does with a file that it cannot read (measured with 2.1.329); hookrun runs its other hooks."""

NEVER = ": it never matches"

RULES = re.compile(r"\b([A-Z][A-Za-z]+)\(([^()|]*[ *:/][^()|]*)\)")
"""A permission rule in a matcher, where it has no meaning: `Bash(git *)`."""


def lint_matcher(matcher: str, event: str, at: Location) -> None:
    """Warn about a matcher that has no effect or never matches."""
    if matcher in MATCHES_ALL:
        return
    if event in WITHOUT_MATCHER:
        at.warn(f"Claude Code ignores the matcher of {event}: the hook always runs", "remove it")
        return
    listed = names_in(matcher, event)
    if listed is None:
        _doubt_expression(matcher, event, at)
        return
    for name in listed:
        if event in TOOL_EVENTS:
            _doubt_tool(name, at)
        elif event in WORDS and name not in WORDS[event]:
            hint = did_you_mean(name, WORDS[event], f"use {one_of(WORDS[event])}")
            at.warn(f"{event} has no {quote(name)}{NEVER}", hint)


def _doubt_tool(name: str, at: Location) -> None:
    if name in BUILT_IN or name in LEGACY_TOOLS or name.count("__") > 1:
        return
    if name in GONE:
        at.warn(f"Claude Code no longer has the tool {quote(name)}", f"write {quote(GONE[name])}")
    elif name.startswith(MCP):
        at.warn(f"{quote(name)} names an MCP server and no tool{NEVER}", f'write "{name}__.*"')
    elif owner := next((each for each in OTHER_CALLERS.values() if name in each[1]), None):
        title, tools = owner
        at.warn(f"{quote(name)} is {title}'s name of the tool, not Claude Code's", f"write `{TOOLS[tools[name]]}`")
    elif hint := did_you_mean(name, BUILT_IN):
        at.warn(f"Claude Code has no tool {quote(name)}{NEVER}", hint)


def _doubt_expression(matcher: str, event: str, at: Location) -> None:
    if event in TOOL_EVENTS:
        rules = [match[0] for match in RULES.finditer(matcher) if match[1] in BUILT_IN and match[2] not in (".*", ".+")]
        if rules:
            _doubt_rules(matcher, rules, at)
            return
    try:
        expression = Expression(matcher)
    except RegexError as error:
        at.warn(f"invalid regular expression {quote(matcher)}{NEVER}", str(error))
        return
    if event not in TOOL_EVENTS:
        return
    for name, instead in GONE.items():
        if re.search(rf"\b{name}\b", matcher):
            at.warn(f"Claude Code no longer has the tool {quote(name)}", f"write {quote(instead)}")
    known = {*BUILT_IN, *LEGACY_TOOLS}
    if "__" not in matcher and not any(expression.search(name) for name in known):
        hints = (hint for word in re.findall(r"\w{3,}", matcher) if (hint := did_you_mean(word, BUILT_IN)))
        at.warn(f"{quote(matcher)} matches no known tool of Claude Code", next(hints, "names are case-sensitive"))


def _doubt_rules(matcher: str, rules: list[str], at: Location) -> None:
    """Warn about permission rules in a matcher and show where they belong."""
    tools = "|".join(dict.fromkeys(rule.partition("(")[0] for rule in rules))
    hint = f'write "matcher": {quote(tools)}, and "if": {quote(rules[0])} in the hook'
    if len(rules) > 1:
        listed = ", ".join(quote(rule) for rule in rules)
        hint = f'write "matcher": {quote(tools)}, and a hook for each of "if": {listed}'
    shown = quote(rules[0] if len(rules) == 1 else matcher)
    at.warn(f"a permission rule is not a matcher: {shown} never matches", hint)


def lint_rule(rule: str, at: Location) -> None:
    """Warn about an `if` that is no rule, never matches, or is not supported."""
    tool, words = permissions.parse_rule(rule)
    if not tool or "(" in tool:
        what = "never matches" if rule else "is ignored: the hook runs on every call"
        at.warn(f"invalid permission rule {quote(rule)} {what}", "write one rule such as Bash(git *)")
        return
    known = {*BUILT_IN, *LEGACY_TOOLS}
    if tool not in known and not tool.startswith(MCP):
        hint = did_you_mean(tool, known, "write a tool's name before the parenthesis")
        at.warn(f"Claude Code has no tool {quote(tool)}: the rule never matches", hint)
    elif words not in (None, *MATCHES_ALL) and tool in permissions.WITHOUT_WORDS:
        message = f"Claude Code matches {tool} only without arguments: {quote(rule)} never matches"
        at.warn(message, f'write "if": "{tool}", and check the arguments in the hook')
    elif words not in (None, *MATCHES_ALL) and tool not in permissions.COMMANDS | permissions.FILES:
        message = f"hookrun ignores the arguments of {quote(rule)}: the hook runs on every {tool}"
        at.warn(message, "check the arguments in the hook")


LARGEST = 65_536
"""Limit on the bytes of a script that is read."""

ENDS = re.compile(
    r"\b(?:exit|sys\.exit|process\.exit|raise SystemExit)[ (]+([0-9]+)\b|\b(?:exit|process\.exit)\((1|2)\)"
)
"""Calls that end a script, with their exit status."""

ENDS_WITH_TEXT = re.compile(r"\b(?:sys\.exit|raise SystemExit)\(\s*[frbu]*[\"']")
"""Calls that end a Python script with status 1 and a message on stderr."""

COMMENT = re.compile(r"(?m)(?:^|(?<=\s))(?:#|//)\s.*$")

NOT_SET = re.compile(r"\$\{?((?:CLAUDE_)?(?:TOOL_(?:NAME|INPUT|OUTPUT|RESULT)|FILE_PATHS?|HOOK_EVENT(?:_NAME)?))\b")
"""Variables that Claude Code does not set, although scripts use them; the data is on stdin."""

ANSWERS = re.compile(r"permissionDecision|[\"']decision[\"']|hookSpecificOutput")
"""Text in scripts that block with their output."""

REFUSES = frozenset({"PreToolUse", "UserPromptSubmit"})
"""Events at which a nonzero exit status is meant to block."""


def lint_script(hook: Hook, root: str) -> Iterator[Diagnostic]:
    """Yield warnings about the script of a hook of the project at `root`, without running it."""
    claude = hook.claude or {}
    if hook.error is not None or hook.kind not in ("command", "args") or hook.layer == "managed":
        return
    for word in command_words.relative_words(hook.kind, hook.target):
        if "/" in word and not word.startswith("${CLAUDE_"):
            message = f"{quote(word)} is relative to the agent's working directory, which changes"
            yield Diagnostic.of_hook(hook, message, f'write "$CLAUDE_PROJECT_DIR"/{word}')
    for name in sorted({match[1] for match in NOT_SET.finditer(hook.target if isinstance(hook.target, str) else "")}):
        message = f"Claude Code does not set `${name}`: the input is JSON on stdin"
        yield Diagnostic.of_hook(hook, message, "read it with `jq -r .tool_input.command`")
    if claude.get("event") in REFUSES and hook.on_failure != "block" and not hook.background:
        for name, text in _texts(hook, root):
            if _ends_with_one(text):
                message = f"{name} exits with 1, which does not block the call"
                yield Diagnostic.of_hook(hook, message, "exit with 2 and print the reason on stderr to block")


def _texts(hook: Hook, root: str) -> Iterator[tuple[str, str]]:
    if isinstance(hook.target, str):
        yield "the command", hook.target
    for word in hook.look:
        path = os.path.join(root, word.replace("${CLAUDE_PROJECT_DIR}", root))
        try:
            with open(path, "rb") as file:
                data = file.read(LARGEST)
        except (OSError, ValueError):
            continue
        if b"\0" not in data:
            yield f"`{relative_path(path)}`", data.decode("utf-8", "replace")


def _ends_with_one(text: str) -> bool:
    text = COMMENT.sub("", text)
    codes = {match.group(1) or match.group(2) for match in ENDS.finditer(text)}
    with_one = "1" in codes or ENDS_WITH_TEXT.search(text) is not None
    return with_one and "2" not in codes and not ANSWERS.search(text)
