"""Warn about valid config that cannot work as intended: names that no tool, argument or field has.

Also check Claude Code's hooks: matchers, `if` rules and exit statuses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from glob import glob as files_in
from typing import NamedTuple

from hookrun.agents import AGENTS, SETTINGS_GLOBS, load_sender
from hookrun.agents.known_tools import ARGUMENTS, OTHER_CALLERS, PASSED_THROUGH, canonical_tools, native_tools
from hookrun.claude import permissions
from hookrun.claude.hook_protocol import LEGACY_TOOLS, MATCHES_ALL, TOOL_EVENTS, WORDS
from hookrun.claude.matcher import WITHOUT_MATCHER, names_in
from hookrun.claude.regex import Expression, RegexError
from hookrun.config import command_words
from hookrun.config.discovery import LAYER_FILES, LOCAL_FILE, MANAGED_DIRECTORY, PROJECT_FILES, ConfigFiles
from hookrun.config.document import MAX_BYTES, Diagnostic, Location
from hookrun.config.schema import CONTEXT_FIELDS
from hookrun.config.shapes import texts
from hookrun.core.context import FIELDS, MISNAMED
from hookrun.core.events import ALIASES, CLAUDE_TOOLS, WITH_TOOL
from hookrun.core.files import read_or_none, relative_path
from hookrun.core.globs import glob
from hookrun.core.model import Hook
from hookrun.core.state import CONFIG_DIR
from hookrun.core.text import closest, did_you_mean, one_of, quote, suggest

# Agents that a hook can name without a warning, also if they run another agent's hooks.
KNOWN_AGENTS = tuple(dict.fromkeys((*AGENTS, *SETTINGS_GLOBS, *OTHER_CALLERS)))

# Regular expression syntax that no tool name has.
EXPRESSION = re.compile(r"\.[*+]|[\\^$(){}+]")

NO_GLOB, NO_FIELD = "a matcher is a glob, not a regular expression", "unknown context field"  # errors in a program
NO_TOOL, NO_AGENT = "no agent has a tool", "unknown agent"  # a program may have its own

# A permission rule such as `Bash(rm:*)`, whole or cut at a `|`.
RULE = re.compile(r"([A-Za-z_]+)\((.*?)(?::?\*)?\)?")

# A name that may be an MCP tool in some agents' notation.
SEPARATED = re.compile(r".+[_/-].+", re.DOTALL)

# Similarity from which a possible MCP tool name counts as misspelled.
NEAR = 0.85


def warn_suspicious(
    values: dict[str, object], events: list[str], entry: dict[str, object], at: Location, own: Collection[str]
) -> None:
    """Warn about valid but rarely intended values; `own` are a program's events."""
    if "timeout" in entry:
        at.at("timeout").warn_milliseconds(values.get("timeout"))
    agents = texts(values, "agents")
    for agent in agents if "agents" in entry else ():
        if agent not in KNOWN_AGENTS:
            at.at("agents").warn(*_unknown_agent(agent))
    if "," in str(values.get("name", "")):
        at.at("name").warn("`HOOKRUN_SKIP` cannot list a name with a comma", "use another character")
    if values.get("on_block") == "ask" and {"pre_tool_use", "permission_request"}.isdisjoint(events):
        at.at("on_block").warn(
            f"`on_block` has no effect: {', '.join(events)} has no tool call to ask about", "remove it"
        )
    matcher = texts(values, "matcher")
    # A program's own events have their own tools and fields, and so does an unknown agent.
    foreign = any(event in own for event in events) or any(agent not in KNOWN_AGENTS for agent in agents)
    _lint_matcher(matcher, events, at.at("matcher"), None if foreign else agents or AGENTS)
    hook = _Scope(events, agents or AGENTS, matcher)
    for name in ("when", "unless"):
        conditions = values.get(name)
        if isinstance(conditions, dict) and not foreign:
            for path in conditions:
                _lint_condition(path, texts(conditions, path), at.at(name, path), hook)


def _unknown_agent(name: str) -> tuple[str, str]:
    hint = did_you_mean(name, KNOWN_AGENTS) or f"use {one_of(AGENTS)}"
    return f"{NO_AGENT} {quote(name)}", hint


# --- matchers


def _lint_matcher(matcher: list[str], events: list[str], at: Location, agents: Collection[str] | None) -> None:
    if matcher and agents is not None and not any(event in WITH_TOOL for event in events):
        at.warn(f"{', '.join(events)} has no tool, so the matcher never matches", "remove it")
        return
    for each in matcher:
        if each != each.strip():
            at.warn(f"{quote(each)} never matches because of its spaces", f"write {quote(each.strip())}")
        elif agents is not None and not canonical_tools(each):  # those of any agent mean that tool in all
            _lint_tool(each, at, {*ARGUMENTS, *_names(agents)})


def _names(agents: Iterable[str]) -> Iterator[str]:
    for agent in agents:
        yield from native_tools(agent)


def _lint_tool(pattern: str, at: Location, known: Collection[str]) -> None:
    """Warn about a glob that matches no known tool name and no possible MCP tool."""
    if any(glob(pattern, name) for name in known) or can_be_mcp(pattern):
        return
    shown = quote(pattern)
    rule = RULE.fullmatch(pattern)
    if rule is not None:
        tool = min(_canonical(rule[1]))
        condition = {"tool_args." + ARGUMENTS.get(tool, ("command",))[0]: f"{rule[2]}*"}
        hint = f'write "matcher": {quote(tool)}, and "when": {quote(condition)}'
        at.warn(f"a permission rule is not a matcher: {shown} never matches", hint)
        return
    if EXPRESSION.search(pattern):
        plain = re.sub(r"\.[*+]", "*", pattern).strip("^$()")
        hint = f"write {quote(plain)}" if not EXPRESSION.search(plain) else "write globs, with | between them"
        message = f"{NO_GLOB}: {shown} never matches"
        at.warn(message, hint if plain != "*" else 'write "*", or remove the matcher')
        return
    if pattern.startswith(MCP):
        hint = f"write {quote(pattern.rstrip('_*') + '__*')}"
        at.warn(f"{shown} names an MCP server and no tool: it never matches", hint)
        return
    owners = [each for each in KNOWN_AGENTS if any(glob(pattern, name) for name in native_tools(each))]
    if owners:
        tables = [native_tools(each) for each in owners]
        tools = dict.fromkeys(f"`{ours}`" for table in tables for name, ours in table.items() if glob(pattern, name))
        message = f"{shown} matches only in {one_of((load_sender(each).DISPLAY_NAME for each in owners), 'and')}"
        at.warn(message, f"write {' or '.join(tools)} to match the tool in every agent")
        return
    word = re.sub(r"[*?]|\[[^]]*\]", "", pattern)
    is_separated = SEPARATED.fullmatch(word) is not None
    could_be = "*" in pattern or is_separated
    near = closest(word, (*_names(AGENTS), *ARGUMENTS), NEAR if is_separated else 0.7 if could_be else 0.6)
    if near or not could_be:
        at.warn(
            f"{NO_TOOL} {shown}: it never matches",
            suggest(near, f"hookrun's names are {', '.join(ARGUMENTS)}"),
        )


MCP = "mcp__"
EXAMPLE = f"{MCP}a__a"
# `mcp__SERVER__TOOL` of any names, with `?` for any character.
MCP_TOOL = re.compile(r"[m?][c?][p?][_?]{2}[\w?-]+[_?]{2}[\w?-][\w?./-]*", re.ASCII)


def can_be_mcp(pattern: str) -> bool:
    """Return whether a glob can match any `mcp__SERVER__TOOL`.

    >>> can_be_mcp("mcp__git*"), can_be_mcp("mcp__.*"), can_be_mcp("mcp__git")
    (True, False, False)
    """
    begins, star, ends = re.sub(r"\[.[^]]*\]", "?", pattern, flags=re.DOTALL).partition("*")
    # The first `*` can complete a name and the others be empty: the rest is then in the tool's name.
    fillings = [EXAMPLE[index:] for index in range(len(EXAMPLE) + 1)] if star else [""]
    return any(MCP_TOOL.fullmatch(begins + filling + ends.replace("*", "")) for filling in fillings)


# --- conditions


class _Scope(NamedTuple):
    events: list[str]
    agents: Collection[str]
    matcher: list[str]


def _lint_condition(path: str, patterns: list[str], at: Location, hook: _Scope) -> None:
    """Warn about a condition on an unknown field or argument, or an impossible value."""
    first, _, rest = path.partition(".")
    if first not in CONTEXT_FIELDS:
        instead = MISNAMED.get(first)
        hint = f"write {quote(instead)}" if instead else did_you_mean(first, CONTEXT_FIELDS)
        if hint:
            at.warn(f"{NO_FIELD} {quote(first)}", hint)
    elif not rest and FIELDS.get(first) is dict:
        at.warn(f"{quote(first)} is an object, which never matches", f'write "{first}.NAME"')
    elif first == "tool_args":
        _lint_argument(rest.partition(".")[0], at, hook.matcher)
    for pattern in patterns:
        if path == "tool_name":
            canonical = {ours for agent in hook.agents for ours in native_tools(agent).values()}
            _lint_tool(pattern, at, {*ARGUMENTS, *canonical})
        elif path == "agent_tool_name":
            _lint_tool(pattern, at, set(_names(hook.agents)))
        elif path == "agent" and not any(glob(pattern, each) for each in KNOWN_AGENTS):
            at.warn(*_unknown_agent(pattern))
        elif path == "event" and not any(glob(pattern, each) for each in hook.events):
            events = did_you_mean(pattern, [*hook.events, *ALIASES], f"the hook runs on {', '.join(hook.events)}")
            at.warn(f"{quote(pattern)} matches no event of this hook", events)


def _lint_argument(name: str, at: Location, matcher: list[str]) -> None:
    """Warn about an argument that none of the matcher's tools has, if all their arguments are known."""
    tools = {ours for each in matcher for ours in _canonical(each)} or set(ARGUMENTS)
    if any(tool not in ARGUMENTS for tool in tools):
        return
    shared = list(dict.fromkeys(each for tool in sorted(tools) for each in ARGUMENTS[tool]))
    if name in shared or any(name in PASSED_THROUGH[tool] for tool in tools) or name.isdecimal():
        return
    hint = did_you_mean(name, shared, f"use {one_of(shared)}" if matcher else None)
    if hint:  # without a matcher, tools that hookrun does not know may have it
        never = f"{one_of(sorted(tools))} has no argument {quote(name)}: the condition never matches"
        at.warn(never if matcher else f"no known tool has the argument {quote(name)}", hint)


def _canonical(alternative: str) -> set[str]:
    """Return hookrun's names for a matcher's alternative; itself if it is a glob or unknown."""
    ours = {native_tools(agent)[alternative] for agent in KNOWN_AGENTS if alternative in native_tools(agent)}
    return {alternative} if alternative in ARGUMENTS or not ours else ours


# --- files

SUFFIX = r"(?:\.local)?\.(?:json[5c]?|toml|ya?ml)"
# Misspelled file names in a project, or the user's and administrator's directories, and the correct ones.
MISTAKEN: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(rf"\.?(?:coder|hookrun){SUFFIX}", re.IGNORECASE), (*PROJECT_FILES, LOCAL_FILE)),
    (re.compile(rf"\.?(?:coder|hookrun|hooks?){SUFFIX}", re.IGNORECASE), LAYER_FILES),
)


def unread_files(found: ConfigFiles, read: Collection[str]) -> Iterator[Diagnostic]:
    """Yield a warning for each unread file whose name nearly matches one that is read.

    Other programs' files are left out: they are not named after hookrun and hold no hooks.
    """
    project, others = MISTAKEN
    places = dict.fromkeys(found.searched, project)
    places |= dict.fromkeys((MANAGED_DIRECTORY, found.home + CONFIG_DIR), others)
    for directory, (mistaken, names) in places.items():
        for name in sorted(files_in("*", root_dir=directory, include_hidden=True)):
            path = f"{directory.rstrip('/')}/{name}"
            if mistaken.fullmatch(name) and name not in names and path not in read and _has_hooks(path):
                message = f"hookrun does not read a file named {quote(name)}"
                ending = name.rpartition(".")[2]
                right = next((each for each in names if each.endswith(ending)), names[0])
                yield Diagnostic(path, 1, 1, "", message, f"rename it to {right}", "warning")


def _has_hooks(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    data = read_or_none(path, MAX_BYTES)
    return data is None or "hookrun" in os.path.basename(path).lower() or b"hooks" in data


# --- hooks in Claude Code's form

# Removed tools -> their replacements.
GONE = {"MultiEdit": "Edit", "LS": "Glob"}

# Claude Code's known tools. The list is incomplete: only near misses are reported.
BUILT_IN = frozenset(native_tools("claude")) - GONE.keys() - LEGACY_TOOLS.keys()

NEVER = ": it never matches"

# A permission rule in a matcher, meaningless there: `Bash(git *)`.
RULES = re.compile(r"\b([A-Z][A-Za-z]+)\(([^()|]*[ *:/][^()|]*)\)")


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
            if name not in GONE or BUILT_IN.isdisjoint(listed):  # beside others it is there for older versions
                _doubt_tool(name, at)
        elif event in WORDS and name not in (known := WORDS[event][2]):
            hint = did_you_mean(name, known, f"use {one_of(known)}")
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
        at.warn(
            f"{quote(name)} is {title}'s name of the tool, not Claude Code's", f"write `{CLAUDE_TOOLS[tools[name]]}`"
        )
    elif hint := did_you_mean(name, BUILT_IN):
        at.warn(f"Claude Code has no tool {quote(name)}{NEVER}", hint)


def _doubt_expression(matcher: str, event: str, at: Location) -> None:
    if event in TOOL_EVENTS:
        found = [match for match in RULES.finditer(matcher) if match[1] in BUILT_IN]
        rules = [match[0] for match in found if match[2] not in (".*", ".+")]
        if rules:
            _doubt_rules(matcher, rules, at)
            return
    try:
        expression = Expression(matcher)
    except RegexError as error:
        at.warn(f"invalid regular expression {quote(matcher)}{NEVER}", str(error))
        return
    lives = any(map(expression.search, (*BUILT_IN, *LEGACY_TOOLS)))
    if event not in TOOL_EVENTS or "__" in matcher or lives:
        return
    gone = next((name for name in GONE if expression.search(name)), None)
    if gone is not None:
        at.warn(f"Claude Code no longer has the tool {quote(gone)}", f"write {quote(GONE[gone])}")
        return
    hints = (hint for word in re.findall(r"\w{3,}", matcher) if (hint := did_you_mean(word, BUILT_IN)))
    at.warn(f"{quote(matcher)} matches no known tool of Claude Code", next(hints, "names are case-sensitive"))


def _doubt_rules(matcher: str, rules: list[str], at: Location) -> None:
    tools = "|".join(dict.fromkeys(rule.partition("(")[0] for rule in rules))
    hint = f'write "matcher": {quote(tools)}, and "if": {quote(rules[0])} in the hook'
    if len(rules) > 1:
        listed = ", ".join(quote(rule) for rule in rules)
        hint = f'write "matcher": {quote(tools)}, and a hook for each of "if": {listed}'
    shown = quote(rules[0] if len(rules) == 1 else matcher)
    at.warn(f"a permission rule is not a matcher: {shown} never matches", hint)


def lint_rule(rule: str, at: Location) -> None:
    """Warn about an `if` that is not a rule, never matches, or is not supported."""
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


# Limit on the bytes read from a script.
MAX_SCRIPT = 65_536

# Calls that end a script, with their exit status.
ENDS = re.compile(
    r"\b(?:exit|sys\.exit|process\.exit|raise SystemExit)[ (]+([0-9]+)\b|\b(?:exit|process\.exit)\((1|2)\)"
)

# Calls that end Python with status 1 and a message on stderr.
ENDS_WITH_TEXT = re.compile(r"\b(?:sys\.exit|raise SystemExit)\(\s*[frbu]*[\"']")

COMMENT = re.compile(r"(?m)(?:^|(?<=\s))(?:#|//)\s.*$")

# Variables that scripts use but Claude Code does not set, without `CLAUDE_` -> the data's place on stdin.
ON_STDIN = {
    **dict.fromkeys(("FILE_PATH", "FILE_PATHS", "FILE"), ".tool_input.file_path"),
    **dict.fromkeys(("HOOK_EVENT", "HOOK_EVENT_NAME", "EVENT_NAME"), ".hook_event_name"),
    **dict.fromkeys(("TOOL_OUTPUT", "TOOL_RESULT", "TOOL_RESPONSE"), ".tool_response"),
    **dict.fromkeys(("PROMPT", "USER_PROMPT"), ".prompt"),
    **dict.fromkeys(("MESSAGE", "NOTIFICATION", "NOTIFICATION_MESSAGE"), ".message"),
    "CWD": ".cwd",
    "SESSION_ID": ".session_id",
    "TOOL_INPUT": ".tool_input",
    "TOOL_NAME": ".tool_name",
    "TRANSCRIPT_PATH": ".transcript_path",
}
# Names that others may set, too: only with `CLAUDE_` they are Claude Code's.
ANYBODYS = frozenset({"CWD", "FILE", "MESSAGE", "NOTIFICATION", "PROMPT", "SESSION_ID", "USER_PROMPT"})
NOT_SET = re.compile(rf"\$\{{?((CLAUDE_)?(?:({'|'.join(ON_STDIN)})|TOOL_INPUT_([A-Za-z_]+)))\b")
# Any variable with Claude Code's prefix, without a default of the line's own, and those that Claude Code sets.
CLAUDES = re.compile(r"\$(?:\{(CLAUDE_\w+)\}|(CLAUDE_\w+))")
CLAUDE_SETS = re.compile(r"CLAUDE_(PROJECT_DIR|PLUGIN_(ROOT|DATA|OPTION_\w+)|ENV_FILE|EFFORT|PID|CONFIG_DIR|CODE_\w+)")

# Signs of a script that blocks by its output.
ANSWERS = re.compile(r"permissionDecision|[\"']decision[\"']|hookSpecificOutput")

# Events at which a nonzero exit status is meant to block.
REFUSES = frozenset({"PreToolUse", "UserPromptSubmit"})


def lint_script(hook: Hook, root: str, env: Collection[str]) -> Iterator[Diagnostic]:
    """Yield warnings about a script of a hook in the project at `root`, without running it; `env` are set variables."""
    if hook.error is not None or hook.kind not in ("command", "args") or hook.layer == "managed":
        return
    for word in command_words.relative_words(hook.kind, hook.target):
        if "/" in word and not word.startswith("${CLAUDE_"):
            message = f"{quote(word)} is relative to the agent's working directory, which changes"
            yield Diagnostic.of_hook(hook, message, f'write "$CLAUDE_PROJECT_DIR"/{word}')
    line = hook.target if isinstance(hook.target, str) else ""
    for name, place in sorted(_not_set(line, {*env, *(hook.env or ())}).items()):
        message = f"Claude Code does not set `${name}`: the input is JSON on stdin"
        hint = f"read it with `jq -r {place}`" if place else "read that, or set the variable in `env` of the settings"
        yield Diagnostic.of_hook(hook, message, hint)
    event = hook.claude.event if hook.claude is not None else None
    if event in REFUSES and hook.on_failure != "block" and not hook.background:
        for name, text in _scripts(hook, root):
            if _ends_with_one(text):
                message = f"{name} exits with 1, which does not block the call"
                yield Diagnostic.of_hook(hook, message, "exit with 2 and print the reason on stderr to block")


def _not_set(line: str, env: Collection[str]) -> dict[str, str]:
    """Return the variables of a line that neither Claude Code nor the line or `env` sets, with the data's place."""
    found = {}
    for name, prefix, known, argument in NOT_SET.findall(line):
        if prefix or known not in ANYBODYS:
            found[name] = ON_STDIN[known] if known else f".tool_input.{argument.lower()}"
    for names in CLAUDES.findall(line):
        if (name := names[0] or names[1]) not in found and CLAUDE_SETS.fullmatch(name) is None:
            found[name] = ""
    own = r"\b{0}=|\b(?:read|for|mapfile)\b[^;|&\n]*\b{0}\b"
    return {name: at for name, at in found.items() if name not in env and re.search(own.format(name), line) is None}


def _scripts(hook: Hook, root: str) -> Iterator[tuple[str, str]]:
    if isinstance(hook.target, str):
        yield "the command", hook.target
    for word in hook.look:
        path = os.path.join(root, word.replace("${CLAUDE_PROJECT_DIR}", root))
        data = read_or_none(path, MAX_SCRIPT)
        if data is not None and b"\0" not in data:
            yield f"`{relative_path(path)}`", data.decode("utf-8", "replace")


def _ends_with_one(text: str) -> bool:
    text = COMMENT.sub("", text)
    codes = {match.group(1) or match.group(2) for match in ENDS.finditer(text)}
    with_one = "1" in codes or ENDS_WITH_TEXT.search(text) is not None
    return with_one and "2" not in codes and not ANSWERS.search(text)
