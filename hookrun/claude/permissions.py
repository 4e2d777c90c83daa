"""Evaluate permission rules under `if`: on commands, files, and whole tools.

Behaves as measured with Claude Code 2.1.329 (tests/conformance/claude_chosen.json): a hook runs if a command is too
complex, and never if its rule is malformed.
"""

from __future__ import annotations

import os

from hookrun.claude import hook_protocol
from hookrun.claude.hook_protocol import LEGACY_TOOLS, MATCHES_ALL, TOOL_EVENTS
from hookrun.claude.split_commands import UnsupportedSyntaxError, matchable_texts, split_commands
from hookrun.core.fastjson import format_value
from hookrun.core.globs import glob
from hookrun.core.model import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrun.core.model import ClaudeForm

ANY = "**"


def path_matches(pattern: str, path: str, *, base: str, cwd: str, home: str) -> bool:
    """Return whether a gitignore pattern matches an absolute path or one of its directories.

    A pattern with `//` is absolute, with `~/` relative to the home directory, with `/` to `base`, the settings'
    directory, others to the working directory. Case is ignored below these.
    """
    start, rest = _anchored(pattern, base, cwd, home)
    prefix = start.rstrip("/") + "/"
    if not path.startswith(prefix):
        return False
    only_directories = rest.endswith("/")
    parts = [part for part in rest.lower().split("/") if part not in ("", ".")]
    free = "/" not in pattern.rstrip("/")
    steps = path[len(prefix) :].lower().split("/")
    ends = _ends([ANY, *parts] if free else parts, steps)
    return not ends.isdisjoint(range(1, len(steps) + (not only_directories)))


def _anchored(pattern: str, base: str, cwd: str, home: str) -> tuple[str, str]:
    if pattern.startswith("//"):
        return "/", pattern[2:]
    if pattern.startswith("~/"):
        return home, pattern[2:]
    if pattern.startswith("/"):
        return base, pattern[1:]
    return cwd, pattern.removeprefix("./")


def _ends(parts: Sequence[str], steps: Sequence[str]) -> set[int]:
    """Return how many leading parts of a path a pattern can match; `**` is any number."""
    reached = {0}
    for index, part in enumerate(parts):
        if part == ANY and reached:
            least = 1 if index == len(parts) - 1 else 0  # at the end it matches only what is in a directory
            reached = set(range(min(reached) + least, len(steps) + 1))
        else:
            reached = {step + 1 for step in reached if step < len(steps) and glob(part, steps[step])}
    return reached


def file_of(context_path: object, args: object, cwd: str) -> str | None:
    """Return the absolute path of a tool call's file, or None."""
    if isinstance(context_path, str) and context_path:
        return os.path.normpath(os.path.join(cwd, context_path))
    path = args.get("file_path", args.get("path")) if isinstance(args, dict) else None
    return os.path.normpath(os.path.join(cwd, path)) if isinstance(path, str) and path else None


COMMANDS = frozenset({"Bash"})
FILES = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Read", "Write"})
# Tools whose rules are evaluated with parentheses, and those where parentheses never match.
#
# For any other tool the effect is unknown: the hook runs.
WITHOUT_WORDS = frozenset({"Agent", "WebFetch"})


def parse_rule(rule: str) -> tuple[str, str | None]:
    """Return a rule's tool and the text in its parentheses, None without any.

    A rule that does not end with its parenthesis names, as a whole, a tool that does not exist.
    """
    tool, bracket, rest = rule.partition("(")
    return (tool, rest[:-1]) if bracket and rest.endswith(")") else (rule, None)


def rule_mismatch(rule: str, claude: ClaudeForm, context: Mapping[str, object]) -> str | None:
    """Return why a hook with this rule does not run, or None if it does.

    The `base` of `claude` starts paths with `/`, its `home` those with `~/`.
    """
    if (event := claude.event) not in TOOL_EVENTS:
        return f"if: {format_value(rule)} is only looked at on events of a tool call; on {event} such a hook never runs"
    tool, words = parse_rule(rule)
    actual = hook_protocol.native_tools(context) or [""]
    if rule and not any(_names_tool(tool, each) for each in actual):
        return f"if: {format_value(rule)} is not about the tool {format_value(actual[0])}"
    if words is None or words in MATCHES_ALL:
        return None
    if tool in WITHOUT_WORDS:
        return f"if: {format_value(rule)} fits no call: of {tool}, Claude Code looks at no words in parentheses"
    if tool in COMMANDS:
        return _command_mismatch(rule, words, context)
    return _file_mismatch(rule, words, claude, context) if tool in FILES else None


def _command_mismatch(rule: str, pattern: str, context: Mapping[str, object]) -> str | None:
    command = as_object(context.get("tool_args")).get("command")
    if not isinstance(command, str) or runs(pattern, command):
        return None
    return f"if: {format_value(rule)} is about no command of {format_value(command)}"


def _file_mismatch(rule: str, pattern: str, claude: ClaudeForm, context: Mapping[str, object]) -> str | None:
    cwd = str(context.get("working_dir") or "/")
    path = file_of(context.get("file_path"), context.get("tool_args"), cwd)
    if path is None or path_matches(pattern, path, base=claude.base or cwd, cwd=cwd, home=claude.home or cwd):
        return None
    return f"if: {format_value(rule)} does not name the file {format_value(path)}"


def _names_tool(tool: str, actual: str) -> bool:
    tool = LEGACY_TOOLS.get(tool, tool)
    if tool.startswith("mcp__"):
        return actual == tool or glob(tool, actual) or (tool.count("__") == 1 and actual.startswith(f"{tool}__"))
    return LEGACY_TOOLS.get(actual, actual) == tool


def runs(pattern: str, command: str) -> bool:
    """Return whether a pattern matches a command of a shell line, or the line is too complex."""
    if pattern.endswith(":*"):
        pattern = f"{pattern[:-2]} *"
    try:
        line = split_commands(command)
    except (UnsupportedSyntaxError, RecursionError):
        return True
    if line.has_expansions and not _is_name(pattern):
        return True
    patterns = _globs(" ".join(pattern.split()))
    texts = {text for words in line.commands for text in matchable_texts(words)}
    return any(glob(each, text) for text in texts for each in patterns)


def _is_name(pattern: str) -> bool:
    """Return whether a pattern is a command name's prefix, or the name with any arguments."""
    name = pattern[:-1].removesuffix(" ")
    return pattern.endswith("*") and not any(char in name for char in " *?")


def _globs(pattern: str) -> list[str]:
    """Return a pattern as globs. A final ` *` also matches no arguments."""
    literal = pattern.replace("[", "[[]").replace("?", "[?]").replace("\\*", "[*]")
    return [literal, literal[:-2]] if literal.endswith(" *") else [literal]
