"""Does a permission rule under `if` let a hook run? Rules of commands, of files, and of tools as such.

Where something cannot be read as Claude Code would, the hook runs: a guard rather looks once too often.
"""

from __future__ import annotations

from hookrun.claude import matched, names
from hookrun.claude.paths import file_of, names_file
from hookrun.claude.shell_commands import UnclearError, forms, is_expanded, simple_commands
from hookrun.match import glob, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

COVERS = {
    "Edit": ("Edit", "MultiEdit", "NotebookEdit", "Write"),
    "Read": ("Read", "Glob", "Grep"),
}
"""A rule's tool -> the tools that it covers, where they are several."""

COMMANDS = frozenset({"Bash"})
FILES = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Read", "Write"})
"""The tools of a rule whose words in parentheses are read here. All others are not: their hooks run."""

EVERYTHING = ("", "*")
NO_QUOTES = str.maketrans("", "", "\"'")


def parse(rule: str) -> tuple[str, str | None] | None:
    """Return the tool of a rule and the words in its parentheses, None for none of them; None for no rule."""
    tool, bracket, rest = rule.strip().partition("(")
    if not tool.strip() or (bracket and not rest.endswith(")")):
        return None
    return tool.strip(), rest[:-1] if bracket else None


def why_not(rule: str, event: str, claude: Mapping[str, object], context: Mapping[str, object]) -> str | None:
    """Return why a hook with this rule does not run, None when it does.

    `claude` is as in `model.Hook`: its `base` is where paths from `/` begin, its `home` where those from `~/` do.
    """
    if event not in matched.TOOL_EVENTS:
        return f"if: {shown(rule)} is only looked at on events of a tool call; on {event} such a hook never runs"
    parsed = parse(rule)
    if parsed is None:
        return None
    tool, words = parsed
    actual = names.tool(context) or ""
    if not _is_for(tool, actual):
        return f"if: {shown(rule)} is not about the tool {shown(actual)}"
    if words is None or words in EVERYTHING:
        return None
    if tool in COMMANDS:
        return _not_about(rule, words, context)
    return _not_named(rule, words, claude, context) if tool in FILES else None


def _not_about(rule: str, pattern: str, context: Mapping[str, object]) -> str | None:
    args = context.get("tool_args")
    command = args.get("command") if isinstance(args, dict) else None
    if not isinstance(command, str) or runs(pattern, command):
        return None
    return f"if: {shown(rule)} is about no command of {shown(command)}"


def _not_named(rule: str, pattern: str, claude: Mapping[str, object], context: Mapping[str, object]) -> str | None:
    cwd = str(context.get("working_dir") or "/")
    path = file_of(context.get("file_path"), context.get("tool_args"), cwd)
    base, home = str(claude.get("base", cwd)), str(claude.get("home", cwd))
    if path is None or names_file(pattern, path, base=base, cwd=cwd, home=home):
        return None
    return f"if: {shown(rule)} does not name the file {shown(path)}"


def _is_for(tool: str, actual: str) -> bool:
    tool = matched.LEGACY.get(tool, tool)
    if tool.startswith("mcp__"):
        return actual == tool or glob(tool, actual) or (tool.count("__") == 1 and actual.startswith(f"{tool}__"))
    return matched.LEGACY.get(actual, actual) in COVERS.get(tool, (tool,))


def runs(pattern: str, command: str) -> bool:
    """Tell whether a pattern is about one of the commands of a shell line, or that cannot be told."""
    if pattern.endswith(":*"):
        pattern = f"{pattern[:-2]} *"
    if _says_more_than_a_name(pattern) and is_expanded(command):
        return True
    try:
        commands = simple_commands(command)
    except (UnclearError, RecursionError):
        return True
    patterns = (pattern, pattern.translate(NO_QUOTES))
    return any(_describes(each, text) for words in commands for text in forms(words) for each in patterns)


def _says_more_than_a_name(pattern: str) -> bool:
    return " " in pattern.removesuffix(" *").strip()


def _describes(pattern: str, text: str) -> bool:
    """Tell whether a pattern describes a command. A star after a space at its end also stands for nothing at all."""
    literal = pattern.replace("[", "[[]").replace("?", "[?]")
    if glob(literal, text):
        return True
    return literal.endswith(" *") and glob(literal[:-2], text)
