"""The hook `protect-hooks`: keeps an agent from editing what guards it, and from deciding about hooks for the person.

It stops what is plain to see. What a program does that it does not know, or a name that only a shell makes up, passes.
"""

from __future__ import annotations

import os
import shlex
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from hookrun import guarded_files
from hookrun.files import is_within
from hookrun.globs import glob
from hookrun.recipes.paths import PATH_ARGUMENTS
from hookrun.recipes.recipe import Recipe
from hookrun.shell.find_xargs import has_filter
from hookrun.shell.named_files import option_targets
from hookrun.shell.prefilter import may_run
from hookrun.shell.words import absolute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookrun.model import Hook
    from hookrun.shell.simple_command import SimpleCommand

TARGET = "hookrun.recipes.protect_hooks:guard"

DECLARATION: dict[str, object] = {
    "name": "protect-hooks",
    "description": "Keeps agents from editing hooks, agent settings and what was decided about them",
    "event": "pre_tool_use",
    "matcher": "write|edit|delete|bash",
    "python": TARGET,
    "cwd": "/",
    "priority": 0,
    "on_failure": "block",
}
"""What stands in the user's or the machine's hooks.json."""

RECIPE = Recipe(
    name="protect-hooks",
    summary="Keeps agents from editing hooks, agent settings and what was decided about them.",
    hooks=(DECLARATION,),
    catches="""
        - Writing, editing and deleting declarations, and the scripts and files of all hooks in force.
        - The same of the settings in which agents keep their hooks, and of hookrun's own files. Links are followed.
        - Shell commands that redirect into one of these, or give it to a program that changes files (`curl -o` too).
        - Shell commands that remove or move a directory in which one of these is, such as `~/.config`.
        - Shell commands that run those of hookrun's commands that are a person's, such as `hookrun trust`, and those
          that write declarations, such as `hookrun recipes remove` (with `--dry-run` they pass).
    """,
    misses="""
        - Other programs that write files: `python3 -c`, `make`, `git clean`, `find -name ... -delete`.
        - Names that only the shell makes up: `$f`, `*`, what follows a `cd`.
        - A script that the agent writes first and runs then.
        - Tools of MCP servers, unless you add them to the matcher.
        - A project that declares it can take it out again: declare it for yourself, with `--user`.
    """,
)

DECIDING = frozenset({"trust", "untrust", "deny", "disable", "enable", "pause", "resume", "install", "uninstall"})
"""Commands of hookrun that are the person's."""

CHANGING = frozenset({"add", "init", "migrate", "new"})
CHANGING_RECIPES = frozenset({"add", "remove", "update"})
"""Commands of hookrun that write declarations, and those behind `hookrun recipes`."""

REMOVERS = frozenset({"find", "mv", "rm", "rmdir", "srm", "trash"})
"""Programs with which all goes that is in a directory they are given."""

WRITERS = frozenset(
    {"chmod", "chown", "cp", "dd", "ed", "ex", "install", "ln", "mv", "nano", "patch", "rm", "rsync", "shred", "sponge"}
    | {"tee", "touch", "truncate", "unlink", "vi", "vim"}
)
"""Programs that change the files they are given."""

WRITERS_WITH = {
    "git": ("apply", "checkout", "clean", "mv", "restore", "rm", "stash"),
    "perl": ("-i", "-pi", "-ni", "-i.bak", "-pi.bak", "-p0i"),
    "ruby": ("-i", "-pi"),
    "sed": ("-i", "--in-place", "-i.bak", "-ri", "-Ei", "-ni"),
}
"""Programs that do so when one of these words is among their arguments."""

TALKERS = frozenset({"cat", "echo", "git", "grep", "head", "less", "man", "printf", "rg", "tail", "type", "which"})
"""Programs that run nothing of what their words say."""

MAX_LINE_DEPTH = 3
"""Lines within words that are searched: `sh -c "..."` has one."""

REDIRECTIONS = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
PUNCTUATION = frozenset("();<>|&")


def guard(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block for a call that would change what guards the agent, None for any other."""
    args = context.get("tool_args")
    if not isinstance(args, dict):
        return None
    watch = Watch(context)
    command = args.get("command")
    reason = watch.of_command(command) if isinstance(command, str) else None
    for name in PATH_ARGUMENTS:
        path = args.get(name)
        if isinstance(path, str) and context.get("tool_name") != "read":
            reason = reason or watch.of_file(path)
    if reason is None:
        return None
    return {"action": "block", "message": f"{reason}: ask the person to do it themselves, in a terminal of their own."}


class Watch:
    """What is protected in one fire."""

    def __init__(self, context: Mapping[str, object]) -> None:
        self._home = os.environ.get("HOME", "/")
        self._root = os.environ.get("HOOKRUN_PROJECT_DIR", "/")
        working = context.get("working_dir")
        self._directory = working if isinstance(working, str) and working.startswith("/") else self._root

    def of_file(self, path: str) -> str | None:
        """Return why a file is not to be changed, None if it may be."""
        path = os.path.normpath(os.path.join(self._directory, self._from_home(path)))
        for each in dict.fromkeys((path, os.path.realpath(path))):
            what = self._what(each)
            if what is not None:
                return f"{path} is {what}, which an agent does not change"
        return None

    def _from_home(self, path: str) -> str:
        for start in ("~/", "$HOME/", "${HOME}/"):
            if path.startswith(start):
                return f"{self._home}/{path[len(start) :]}"
        return path

    def _what(self, path: str) -> str | None:
        directory, _, name = path.rpartition("/")
        forms = (path, f"{directory}/{name.casefold()}")  # where names have no case
        for pattern, what in self._guarded.items():
            if path == pattern or any(glob(pattern, each) for each in forms):
                return what
        return None

    @cached_property
    def _guarded(self) -> dict[str, str]:
        return guarded_files(self._root)

    def of_command(self, line: str) -> str | None:
        """Return why a shell line is not to be run, None if it may be."""
        for command in rough_commands(line):
            if _decides(command.words):
                return "what runs as a hook is the person's to decide"
            changed = command.targets + (command.words if _writes(command.words) else [])
            for index, word in enumerate(command.words):  # `curl -o FILE`, with whatever is before it
                changed = [*changed, *option_targets(os.path.basename(word), command.words[index + 1 :])]
            for word in changed:
                if (reason := self.of_file(word.rpartition("=")[2])) is not None:  # `dd of=FILE`
                    return reason
        return self._of_removals(line) if may_run(line, REMOVERS) else None

    def _of_removals(self, line: str) -> str | None:
        """Return why a directory is not to be removed or moved that the line does so to; text in it is no command."""
        from hookrun.shell.parse_line import parse_line

        for command in parse_line(line, directory=self._directory, variables={"HOME": self._home}).commands:
            for path in _removed(command):
                full = absolute(path.removesuffix("/*") or "/", command.directory)
                if full is None:
                    continue
                for each in self._held():
                    if is_within(each, full):
                        return f"{full} holds {each}, which an agent does not change"
        return None

    def _held(self) -> Iterable[str]:
        """Yield what must not be removed with its directory; in the project only what exists."""
        anywhere = [each[2:].partition("*")[0].rstrip("/") for each in self._guarded if each.startswith("*/")]
        absolute = [each.partition("*")[0].rstrip("/") for each in self._guarded if not each.startswith("*/")]
        yield from (each for each in absolute if each.startswith(f"{self._home}/."))
        yield from (f"{self._home}/{each}" for each in anywhere)
        here = (*(f"{self._root}/{each}" for each in anywhere), *absolute)
        yield from (each for each in here if os.path.lexists(each))


class RoughCommand(NamedTuple):
    """One simple command: its `words`, the program first, and the files that it writes, its `targets`."""

    words: list[str]
    targets: list[str]


def rough_commands(line: str, depth: int = MAX_LINE_DEPTH) -> Iterator[RoughCommand]:
    """Yield the simple commands of a line as they are written, and those of the lines that its words may be.

    Rather one too many: any word with a space may be run, unless a talker is given it. Nothing is expanded.
    """
    command = RoughCommand([], [])
    redirected = False
    for token in _tokens(line):
        if token in REDIRECTIONS:
            redirected = True
        elif PUNCTUATION.issuperset(token):
            yield command
            command, redirected = RoughCommand([], []), False
        elif redirected:
            command.targets.append(token)
            redirected = False
        else:
            command.words.append(token)
            if depth and " " in token and command.words[0] not in TALKERS:
                yield from rough_commands(token, depth - 1)
    yield command


def _tokens(line: str) -> list[str]:
    """Return words and operators; a line with an unclosed quote is split at every space."""
    line = line.replace("\\\n", " ").replace("\n", " ; ").replace("$(", " ( ").replace("`", " ; ")
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return line.replace("'", " ").replace('"', " ").split()


def _decides(words: list[str]) -> bool:
    """Return whether hookrun is run with a command that is the person's, by whatever runs it."""
    if words and os.path.basename(words[0]) in TALKERS:
        return False
    for index, word in enumerate(words):
        if os.path.basename(word) == "hookrun":
            later = words[index + 1 :]
            return any(each in DECIDING for each in later) or _changes(later)
    return False


def _changes(words: list[str]) -> bool:
    """Return whether these words let hookrun write declarations."""
    first, second, *_ = [*(word for word in words if word[:1] != "-"), "", ""]
    writes = first in CHANGING or (first == "recipes" and second in CHANGING_RECIPES)
    return writes and "--dry-run" not in words and "--help" not in words


def _writes(words: list[str]) -> bool:
    """Return whether one of the words is a program that changes the files it is given: `sudo rm` has it second."""
    names = [os.path.basename(word) for word in words]
    return any(
        name in WRITERS or any(word in WRITERS_WITH.get(name, ()) for word in words[index + 1 :])
        for index, name in enumerate(names)
    )


def _removed(command: SimpleCommand) -> list[str]:
    """Return what a command removes or moves away: `mv` not the last of what it is given."""
    given = [each for each in command.arguments if each[:1] != "-"]
    if command.program not in REMOVERS or (command.program == "find" and not _empties(command.arguments)):
        return []
    return given[:-1] if command.program == "mv" else given


def _empties(words: list[str]) -> bool:
    """Return whether `find` with these words removes everything it comes by."""
    removes = "-delete" in words or any(os.path.basename(word) in REMOVERS for word in words)
    return removes and not has_filter(words)


def missing(hooks: Iterable[Hook]) -> bool:
    """Return whether no layer above the project declares this hook so that it counts: what `hookrun doctor` says."""
    return not any(
        hook.target == TARGET and hook.layer in {"managed", "user"} and hook.mode == "enforce" and hook.error is None
        for hook in hooks
    )
