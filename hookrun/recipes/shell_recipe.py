"""Read the shell line of a tool call, for recipes that check commands."""

from __future__ import annotations

import os

from hookrun.core.globs import glob
from hookrun.shell.prefilter import QUOTES, shell_line
from hookrun.shell.words import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, TypeVar

    from hookrun.shell.simple_command import ParsedLine, SimpleCommand

    Found = TypeVar("Found")

# Variables with the same value in an agent's shell and this process.
KNOWN_VARIABLES = ("HOME", "USER", "LOGNAME", "SHELL")
# What the recipes of a call have found, and its request.
_KEPT: dict[object, Any] = {}
# Removes what a shell may remove within a word.
BARE = str.maketrans("", "", "'\"\\\n")
# Arguments of tools that name a file.
PATH_ARGUMENTS = ("file_path", "path", "notebook_path")
# Arguments of MCP tools with a shell line, and those with its further words.
LINE_ARGUMENTS = ("command", "cmd", "cli_command", "commandLine", "command_line", "script")
WORD_ARGUMENTS = ("args", "arguments", "argv")
# Arguments of MCP tools with the directory in which the line runs.
DIRECTORY_ARGUMENTS = ("cwd", "workdir", "working_dir", "working_directory", "workingDirectory", "repo_path")
MCP = "mcp__"
# What is in the names of an MCP tool's arguments that name files.
NAMING = ("dest", "file", "path", "source", "target", "uri")
# Tools that change no file; and what is in the names of an MCP server's tools that do not, and of those that do.
READING = frozenset({"read", "grep", "glob"})
READING_VERBS = (
    *("cat", "check", "describe", "diagnos", "explain", "fetch", "find", "get", "glob", "grep", "inspect", "list"),
    *("lookup", "open", "outline", "query", "read", "search", "show", "stat", "summar", "symbol", "tree", "view"),
)
WRITING_VERBS = (
    *("append", "copy", "create", "delete", "edit", "insert", "modify", "move", "patch", "put", "remove", "rename"),
    *("replace", "save", "set", "store", "update", "upload", "write"),
)
# For the matchers of guards that judge a line.
SHELL_TOOLS = f"bash|{MCP}*"
CHANGING_TOOLS = f"write|edit|delete|{SHELL_TOOLS}"
BRACES = str.maketrans("{,}", "   ")
# ScriptFiles compared with a line's patterns, to follow links: some tens of milliseconds.
MAX_LISTED = 20_000
UNKNOWN_ALIAS = "Git cannot be run here to look up an alias of this line. Write the command that it stands for"
# Characters shown of an unreadable part of a line.
MAX_SHOWN = 60


def line_of(context: Mapping[str, object]) -> str | None:
    """Return the shell line of a call, also of an MCP server's tool; None without one."""
    args = context.get("tool_args")
    if not isinstance(args, dict) or not mcp_tool(context):
        return shell_line(args)
    words: list[object] = next((args[each] for each in WORD_ARGUMENTS if isinstance(args.get(each), list)), [])
    given = (args[name] for name in LINE_ARGUMENTS if name in args)
    lines = (shell_line({"command": [each, *words] if words and isinstance(each, str) else each}) for each in given)
    return "\n".join(each for each in lines if each is not None) or None


def mcp_tool(context: Mapping[str, object]) -> str:
    """Return the name of an MCP server's tool, "" for another tool."""
    possible = context.get("possible_tool_names")
    names = (
        context.get("tool_name"),
        context.get("agent_tool_name"),
        *(possible if isinstance(possible, list) else ()),
    )
    return next((each for each in names if isinstance(each, str) and each.startswith(MCP)), "")


def named_paths(context: Mapping[str, object], arguments: Iterable[str] = ()) -> list[str]:
    """Return the paths in a call's `arguments`; by default in all that name files, with an MCP server's own names."""
    args = context.get("tool_args")
    if not isinstance(args, dict):
        return []
    if not arguments:
        mcp = mcp_tool(context)
        arguments = [each for each in args if mcp and any(part in str(each).lower() for part in NAMING)]
        arguments = arguments or PATH_ARGUMENTS
    given = [args.get(name) for name in arguments]
    found = [path for each in given for path in (each if isinstance(each, list) else [each])]
    return [each for each in found if isinstance(each, str)]


def reads_only(context: Mapping[str, object]) -> bool:
    """Return whether a tool changes no file; of an MCP server's tool its name must say so."""
    tool = mcp_tool(context).rpartition("__")[2].lower()
    if not tool:
        return context.get("tool_name") in READING
    return any(verb in tool for verb in READING_VERBS) and not any(verb in tool for verb in WRITING_VERBS)


def line_directory(context: Mapping[str, object]) -> str:
    """Return the directory in which the line runs: that of the agent, or an argument of an MCP server's tool."""
    working, args = context.get("working_dir"), context.get("tool_args")
    here = working if isinstance(working, str) and working.startswith("/") else project_directory()
    if not isinstance(args, dict) or not mcp_tool(context):
        return here
    given = next((args[each] for each in DIRECTORY_ARGUMENTS if isinstance(args.get(each), str)), "")
    return os.path.join(here, os.path.expanduser(given.removeprefix("file://"))) if given else here


def project_directory() -> str:
    """Return the project's root."""
    return os.environ.get("HOOKRUN_PROJECT_DIR", "/")


def may(context: Mapping[str, object], test: Callable[[str], bool]) -> bool:
    """Return whether a cheap test holds for the line, or for one that it runs from a file. False is certain."""
    line = line_of(context)
    if line is None or test(line):
        return line is not None
    from hookrun.shell.opening import run_from_files
    from hookrun.shell.scripts import ScriptFiles

    directory = line_directory(context)
    texts = kept(("opened", line, directory), lambda: run_from_files(line, directory, ScriptFiles()))
    text = "\n".join(texts or ())
    return texts is None or (text != "" and test(text))


def kept(key: tuple[object, ...], find: Callable[[], Found]) -> Found:
    """Return what a function finds, which is asked once for all recipes of a call: files change between calls."""
    request = os.environ.get("HOOKRUN_REQUEST_ID")
    if not request or _KEPT.get("request") != request:
        _KEPT.clear()
        _KEPT["request"] = request
    if key not in _KEPT:
        _KEPT[key] = find()
    found: Found = _KEPT[key]
    return found


def parse(context: Mapping[str, object], line: str, known: Mapping[str, str] | None = None) -> ParsedLine:
    """Return the commands that the line runs. `known` are more variables."""
    from hookrun.shell.evaluate import TOPLEVEL
    from hookrun.shell.parse_line import parse_line  # loads tree-sitter: only for lines that may matter
    from hookrun.shell.scripts import ScriptFiles
    from hookrun.shell.simple_command import ParsedLine

    variables = {name: os.environ[name] for name in KNOWN_VARIABLES if name in os.environ}
    variables.update({TOPLEVEL: project_directory(), **(known or {})})
    directory, files, parsed = line_directory(context), ScriptFiles(), ParsedLine()
    key = ("parsed", line, directory, *variables.items())
    read = kept(key, lambda: parse_line(line, directory=directory, variables=variables, files=files))
    parsed.commands, parsed.wrappers = read.commands, read.wrappers
    parsed.problem, parsed.unparsed = read.problem, read.unparsed[:]  # those of aliases are added
    return parsed


def physical(path: str, directory: str | None) -> str | None:
    """Return `absolute` with the links in the path's directory resolved: what a program removes."""
    if absolute(path, directory) is None:
        return None
    parent, _, last = os.path.join(directory or "/", path).rpartition("/")
    return os.path.normpath(os.path.join(os.path.realpath(parent or "/"), last))


def spellings(path: str) -> Iterable[str]:
    """Return what an absolute path may name: programs follow a link before its `..`, some agents shorten first."""
    path = path.replace("\0", "")  # no name has one
    shortened = os.path.normpath(path)
    return dict.fromkeys((shortened, os.path.realpath(path), os.path.realpath(shortened)))


class LinkedFiles:
    """Targets of links matched by a line's patterns, among the first MAX_LISTED files on their way."""

    def __init__(self) -> None:
        self._left = MAX_LISTED

    def of(self, pattern: str) -> Iterator[str]:
        """Yield the targets for an absolute pattern of the shell."""
        waiting = [("", pattern.split("/")[1:])]
        while waiting:
            directory, parts = waiting.pop()
            plain = next((at for at, part in enumerate(parts) if any(sign in part for sign in "*?[")), len(parts))
            path = "/".join((directory, *parts[:plain]))
            if plain < len(parts):
                waiting += [(f"{path}/{name}", parts[plain + 1 :]) for name in self._names(path, parts[plain])]
            elif os.path.lexists(path) and (resolved := os.path.realpath(path)) != path:
                yield resolved

    def _names(self, directory: str, pattern: str) -> list[str]:
        names = names_in(directory or "/", self._left) if self._left > 0 else []
        self._left -= len(names)
        return [name for name in names if may_become(pattern, name)]


def names_in(directory: str, most: int) -> list[str]:
    """Return the names in a directory, at most so many; none of what is no directory, or no name of one."""
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry, _ in zip(entries, range(most), strict=False)]
    except (OSError, ValueError):
        return []


def may_become(pattern: str, name: str) -> bool:
    """Return whether a part of a path matches a shell's pattern, which begins hidden names with a dot."""
    return glob(pattern, name) and (name[:1] != "." or pattern[:1] == ".")


def rows_of(text: str) -> dict[str, list[list[list[str]]]]:
    """Return for each program the rows of a table: `PROGRAM|PROGRAM OPERAND|OPERAND --option|-o`, with globs."""
    rows: dict[str, list[list[list[str]]]] = {}
    for programs, *words in (line.split() for line in text.strip().split("\n")):
        for program in programs.split("|"):
            rows.setdefault(program, []).append([word.split("|") for word in words])
    return rows


def is_in(command: SimpleCommand, rows: Mapping[str, list[list[list[str]]]]) -> bool:
    """Return whether a command has the operands, in order, and the options of one of the rows."""
    for row in rows.get(command.program, ()):
        waiting = iter(command.operands)
        places = (command.arguments if word[0][0] == "-" else waiting for word in row)
        if all(
            any(glob(each, text) for text in place for each in word) for word, place in zip(row, places, strict=True)
        ):
            return True
    return False


def unreadable(parsed: ParsedLine, dangerous: Callable[[str], object] | str) -> Iterator[str]:
    """Yield why a line cannot be checked.

    It is too long, nested too deeply, or has an unknown alias of git; or a part cannot be parsed as shell and is
    `dangerous`: a function of that part without quotes, or a regular expression found in it.
    """
    if isinstance(dangerous, str):
        import re

        dangerous = re.compile(dangerous).search
    if parsed.problem in {"too deep", "too long"}:
        yield f"This line is {parsed.problem} to check. Split it, or put it in a script"
    if parsed.problem == UNKNOWN_ALIAS:
        yield UNKNOWN_ALIAS
    for part in parsed.unparsed:
        bare = part.replace("\\\n", "").translate(QUOTES)
        if dangerous(bare) or dangerous(bare.translate(BRACES)):  # `{rm,-rf,/}`
            near = " ".join(part.split())
            near = near if len(near) <= MAX_SHOWN else f"{near[:MAX_SHOWN]}..."
            yield f"This line cannot be read as shell (near `{near}`). Write it more simply"


def block(reasons: Iterator[str]) -> dict[str, object] | None:
    """Return the verdict that blocks a call for the first reason, if any."""
    reason = next(reasons, None)
    return None if reason is None else {"action": "block", "message": reason}
