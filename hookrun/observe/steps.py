"""What a tool call does, in a few words: its step in a sequence, and what it changes."""

from __future__ import annotations

import os.path
import re
from _collections_abc import Mapping

from hookrun.core.text import truncate

# Characters of a change's description, of a piece of code in it, and of a command that is looked at.
MAX_CHANGE, MAX_SNIPPET, MAX_COMMAND = 160, 40, 4000
# Words before a program: they run it as it is.
BEFORE = re.compile(
    r"(?:\w+=\S*|sudo|env|time|nohup|command|exec|npx|bunx|pnpm exec|pnpm dlx|yarn dlx|uvx|bundle exec|mise exec --"
    r"|(?:uv|poetry|pdm|pipenv|hatch|rye) run|timeout \S+|python[\d.]* -m|py -m)\s+"
)
# What ends a command. A quoted one ends it, too, which makes a step more and no step less.
ENDS = re.compile(r"&&|\|\||[;|\n]")
# Pieces of a line that are no step of their own.
ASIDE = re.compile(r"\s*(?:cd|pushd|popd|export|set|source|true|echo|printf|sleep|head|tail|tee|cat)\b|\s*\.\s|\s*$")
# What only shows or shortens the output of the command before it.
SHOWN = re.compile(r"(?:\s+\d?>&\d|\s*\|\s*(?:head|tail|tee|cat|grep|less)\b[^|&;]*|\s+2>\s*/dev/null)+\s*$")
GOES = re.compile(r"^\s*cd\s+\S+\s*&&\s*")
WORD = re.compile(r"[a-z][\w:-]*$")
# Programs that change what they are given, and words of others that say that they change something: a package, a
# branch, a service, a schema, a login. Only what is known to change something can be a fix.
CHANGES = re.compile(
    r"(?:chmod|chown|cp|createdb|dos2unix|dropdb|fallocate|gunzip|install|kill|killall|ln|mkdir|mkfifo|mv|patch|pkill"
    r"|rm|rmdir|rsync|ssh-add|ssh-keygen|tar|touch|truncate|unzip|corepack|direnv)\b"
    r"|(?:sed|perl)\b.*\s-\w*i"
    r"|git\s+(?:-\S+\s+\S+\s+)?(?:add|apply|checkout|cherry-pick|clean|clone|commit|config|fetch|init|lfs|merge|mv|pull"
    r"|rebase|remote|reset|restore|revert|rm|stash|submodule|switch|tag|worktree)\b"
    r"|(?:[\w.@/-]+\s+)(?:\S+\s+){0,3}?(?:add|allow|apply|bootstrap|build|ci|clean|codegen|create|db:\w+|enable|generate|get"
    r"|i|import|init|install|link|load|lock|login|makemigrations|migrate|prune|pull|push|rebuild|remove|reset|restart"
    r"|restore|rm|seed|setup|start|stop|sync|tidy|trust|uninstall|up|update|upgrade|use|vendor)(?=\s|$)"
    r"|(?:ruff|eslint|prettier|black|gofmt|rustfmt|isort|clang-format)\b.*(?:\s--(?:fix|write)\b|\s-w\b|\sformat\b)"
    r"|(?:black|isort|rustfmt)\s(?!.*--check)"
)
# Programs whose words are no verbs of theirs, however they read.
READS = re.compile(
    r"(?:grep|rg|ag|find|fd|ls|man|which|type|awk|jq|diff|less|wc|sort|ps|stat|file|du|df|test|psql|sqlite3|mysql"
    r"|curl|wget|python[\d.]*(?!\s+\S+\.py\s)|node|ruby|php)\b"
    r"|git\s+(?:log|show|diff|grep|status|blame|stash (?:list|show))\b"
    r"|\S+ (?:help|info|list|search|show|view|outdated|why)\b"
)
WRITES = re.compile(r"(?<![0-9&<>=-])>{1,2}\s*(?!/dev/|&)[\w./~$\"'-]")


def _pieces(command: str) -> dict[str, str]:
    """Return the commands of a line: what follows the words before a program -> the whole."""
    found = {}
    for piece in map(str.strip, ENDS.split(command[:MAX_COMMAND])):
        bare = piece
        while match := BEFORE.match(bare):
            bare = bare[match.end() :]
        if not ASIDE.match(bare):
            found[bare] = piece
    return found


def essential(tool: str, args: Mapping[str, object]) -> object:
    """Return what makes two calls the same: a command without `cd` before it and pagers after it, or all arguments."""
    command = args.get("command")
    if tool == "bash" and isinstance(command, str):
        return " ".join(SHOWN.sub("", GOES.sub("", command)).split())
    return _single_spaced(args)


def _single_spaced(value: object) -> object:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return sorted((repr(key), _single_spaced(each)) for key, each in value.items())
    return [_single_spaced(each) for each in value] if isinstance(value, list) else repr(value)


def label(tool: str, args: Mapping[str, object]) -> str:
    """Return a call's step in a sequence: the tool, of a command its last program and subcommand."""
    command = args.get("command")
    pieces = [*_pieces(command)] if tool == "bash" and isinstance(command, str) else []
    if not pieces:
        return "search" if tool in ("grep", "glob") else tool
    program, *rest = pieces[-1].split()
    name = os.path.basename(program.strip("\"'"))
    verb = f" {rest[0]}" if rest and WORD.match(rest[0]) and len(rest[0]) <= len("makemigrations") else ""
    return "search" if name in ("rg", "grep", "ag") else truncate(name, MAX_SNIPPET) + verb


def change(tool: str, args: Mapping[str, object], directory: object) -> str | None:
    """Return what a call changes, on one line without credentials; None for one that is not known to change anything.

    >>> change("bash", {"command": "cd app && uv run pip install -e . | tail -3"}, None)
    'running `uv run pip install -e .`'
    >>> change("bash", {"command": "grep -rn install docs"}, None) is None
    True
    """
    if tool == "bash":
        command = str(args.get("command", ""))
        found = [whole for bare, whole in _pieces(command).items() if CHANGES.match(bare) and not READS.match(bare)]
        if not found and WRITES.search(command) and len(command) < MAX_COMMAND:
            found = [" ".join(command.split())]
        return f"running `{_line(' && '.join(found), MAX_CHANGE)}`" if found else None
    path = args.get("file_path")
    name = path if isinstance(path, str) else "a file"
    if isinstance(directory, str) and directory and name.startswith(directory.rstrip("/") + "/"):
        name = os.path.relpath(name, directory)
    if tool == "edit":
        old, new = args.get("old_string"), args.get("new_string")
        both = isinstance(old, str) and isinstance(new, str)
        return f"editing {name}" + (f" ({_snippet(str(old))} -> {_snippet(str(new))})" if both else "")
    verb = {"write": "writing", "delete": "deleting"}.get(tool)
    return f"{verb} {_line(name, MAX_CHANGE)}" if verb else None


def _snippet(text: str) -> str:
    return f'"{_line(text, MAX_SNIPPET)}"'


def _line(text: str, longest: int) -> str:
    from hookrun.observe.stored_texts import clean_line  # only for what changes something

    return clean_line(text, longest)
