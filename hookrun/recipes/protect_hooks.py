"""The hook `protect-hooks`: keeps an agent from editing what guards it, and from deciding about hooks for the person.

It stops what is plain to see. What a program does that it does not know, or a name that only a shell makes up, passes.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from hookrun import guarded_files
from hookrun.files import is_within
from hookrun.globs import glob
from hookrun.recipes.paths import PATH_ARGUMENTS
from hookrun.recipes.recipe import Recipe
from hookrun.recipes.shell_recipe import parse, unreadable
from hookrun.shell.named_files import CHANGING, IN_PLACE, ONTO_LAST, WRITING_OPTIONS, named_files
from hookrun.shell.prefilter import ENDS, QUOTES, may_run
from hookrun.shell.words import UNKNOWN, absolute

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.model import Hook
    from hookrun.shell.git_call import GitCall
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
        - Shell commands that redirect into one of these, or give it to a program that changes files (`rm`, `mv`, `cp`,
          `tee`, `chmod`, `sed -i`, `curl -o`, `git checkout`, ...), also by a pattern; patches in a here-document.
        - Shell commands that remove or move a directory in which one of these is, such as `~/.config`: `rm -r`, `find
          -delete`, `rsync --delete`, `tar --remove-files`, and `git clean` where git does not track it.
        - Shell commands that run those of hookrun's commands that are the user's, such as `hookrun trust`, and those
          that write declarations, such as `hookrun recipes remove` (with `--dry-run` or `--list` they pass).
        - All of it also behind `cd`, `sudo`, `uvx`, `xargs` and the like, in `bash -c`, `$(...)`, functions, loops and
          here-documents for a shell, and however it is quoted. Text that is only printed, committed or sent passes.
    """,
    misses="""
        - Other programs that write files: `python3 -c`, `make`, `patch < FILE`, an archive that is unpacked.
        - Names that only the shell knows: `$f` that the line does not set, what a program prints.
        - A script that the agent writes first and runs then.
        - Tools of MCP servers, unless you add them to the matcher.
        - A project that declares it can remove it again: declare it for yourself, with `--user`.
    """,
)

DECIDING = frozenset({"trust", "untrust", "deny", "disable", "enable", "pause", "resume", "install", "uninstall"})
"""Commands of hookrun that are the user's."""

CHANGING_DECLARATIONS = frozenset({"add", "init", "migrate", "new"})
CHANGING_RECIPES = frozenset({"add", "remove", "update"})
"""Commands of hookrun that write declarations, and those behind `hookrun recipes`."""

HARMLESS = frozenset({"--digest", "--dry-run", "--help", "--list", "-h"})
"""Options with which these change nothing."""

RUNNING = frozenset({"-m", "-Im", "dlx", "exec", "run", "x"})
"""Words behind which another program runs the next one."""

STARTERS = frozenset({"npx", "pipx", "script", "uvx"})
"""Programs that run another one, which may be any of their words."""

INTERPRETERS = re.compile(
    r"(?:python|pypy)[\d.]*|perl|ruby|node|nodejs|deno|bun|php|lua|g?awk|mawk|expect|tclsh|ex|vim?|emacs|sqlite3|gdb"
)
"""Programs that run code which is one of their words, or a file."""

IN_CODE = re.compile(rf"\bhookrun\b\W+(?:{'|'.join(sorted(DECIDING))})\b")

OF_MODES = frozenset({"chattr", "chflags", "chgrp", "chmod", "chown", "setfacl", "setfattr", "xattr"})
"""Programs that change whether and by whom a file can be run and written."""

PROGRAMS = (*CHANGING, *ONTO_LAST, *IN_PLACE, *WRITING_OPTIONS, *OF_MODES, "dd", "find", "git", "hub", "tar")
"""Programs that can change files which the line names."""

EXPANSIONS = ("$", "`", "{", "*", "?", "[", ">")
"""Signs of an expansion, which may make up words, and of a redirection."""


def guard(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block for a call that would change what guards the agent, None for any other."""
    args = context.get("tool_args")
    if not isinstance(args, dict):
        return None
    watch = Watch(context)
    command = args.get("command")
    reason = watch.of_command(context, command) if isinstance(command, str) else None
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

    def of_command(self, context: Mapping[str, object], line: str) -> str | None:
        """Return why a shell line is not to be run, None if it may be."""
        if not any(sign in line for sign in EXPANSIONS) and not may_run(line, (*PROGRAMS, "hookrun")):
            bare = line.replace("\\\n", "").translate(QUOTES)
            if "hookrun" not in bare:
                return None
        from hookrun.recipes.git_repository import Configuration, calls

        parsed = parse(context, line)
        for command, git in calls(context, parsed, Configuration()):
            if _decides(command):
                return "what runs as a hook is the person's to decide"
            reason = self._of_changes(command) or (self._of_cleaning(git) if git is not None else None)
            if reason is not None:
                return reason
        return unreadable(parsed, self._may_change)

    def _of_changes(self, command: SimpleCommand) -> str | None:
        directory = command.directory or self._directory
        for file in named_files(command):
            path = absolute(file.path, directory)
            if not file.written or path is None:
                continue
            # What find looks for may be further down.
            deep = command.program == "find" or "find" in command.wrappers
            reason = self._of_pattern(path, deep=deep) if file.word.globs else self.of_file(path)
            if reason is None and (file.removed or (file.restored and path != self._root)):
                reason = self._of_tree(path.removesuffix("/*") or "/")
            if reason is not None:
                return reason
        changed = command.words[1:] if command.program in OF_MODES else []
        paths = [path for word in changed if (path := absolute(word.text, directory)) is not None]
        return next(filter(None, map(self.of_file, paths)), None)

    def _of_pattern(self, pattern: str, *, deep: bool) -> str | None:
        """Return why what a pattern matches is not to be changed."""
        directory, _, name = pattern.rpartition("/")
        for path in self._held():
            if deep:
                matches = glob(name, path.rpartition("/")[2]) and is_within(path, directory)
            else:
                matches = path.count("/") == pattern.count("/") and glob(pattern, path)
            if matches and os.path.lexists(path):
                reason = self.of_file(path)
                if reason is not None:
                    return reason
        return None

    def _of_tree(self, full: str) -> str | None:
        """Return why a directory is not to be removed or replaced."""
        for each in self._held():
            if is_within(each, full):
                return f"{full} holds {each}, which an agent does not change"
        return None

    def _of_cleaning(self, git: GitCall) -> str | None:
        """Return why `git clean` is not to be run: what it removes is not tracked."""
        if git.command != "clean" or any(each[:1] == "-" and each[1:2] != "-" and "n" in each for each in git.texts):
            return None
        from hookrun.recipes.git_repository import run

        for path in [each for each in git.texts if each[:1] != "-"] or ["."]:
            full = absolute(path, git.directory or self._directory)
            held = [each for each in self._held() if full is not None and is_within(each, full)]
            here = [each for each in held if is_within(each, self._root)]
            if len(held) > len(here) or (here and run(self._root, "ls-files", "--others", "--", *here)):
                return f"{full} holds {held[0]}, which an agent does not change"
        return None

    def _may_change(self, text: str) -> bool:
        """Return whether a part of a line that cannot be read as shell may be one of those that are blocked."""
        words = text.translate(ENDS).split()
        named = any(self.of_file(word) is not None for word in words if "." in word or "/" in word)
        return IN_CODE.search(text) is not None or (named and (">" in text or may_run(text, PROGRAMS)))

    def _held(self) -> Iterable[str]:
        """Yield what must not be removed with its directory; in the project only what exists."""
        anywhere = [each[2:].partition("*")[0].rstrip("/") for each in self._guarded if each.startswith("*/")]
        absolute = [each.partition("*")[0].rstrip("/") for each in self._guarded if not each.startswith("*/")]
        yield from (each for each in absolute if each.startswith(f"{self._home}/."))
        yield from (f"{self._home}/{each}" for each in anywhere)
        here = (*(f"{self._root}/{each}" for each in anywhere), *absolute)
        yield from (each for each in here if os.path.lexists(each))


def _decides(command: SimpleCommand) -> bool:
    """Return whether hookrun is run with a command that is the user's, by whatever runs it."""
    texts = [word.text for word in command.words]
    if not texts:
        return False
    interprets = INTERPRETERS.fullmatch(command.program) is not None
    if interprets and any(IN_CODE.search(text) for text in texts):
        return True
    if command.one_of(("hookrun",)) is not None:
        return _decisive(texts[1:])
    for index, (before, text) in enumerate(pairwise(texts), 2):
        runs = before in RUNNING or (interprets and before[:1] != "-") or command.program in STARTERS
        if runs and _is_hookrun(text) and _decisive(texts[index:]):
            return True
    return False


def _is_hookrun(text: str) -> bool:
    return text.removesuffix("/__main__.py").rstrip("/").rpartition("/")[2] == "hookrun"


def _decisive(words: list[str]) -> bool:
    """Return whether these words let hookrun decide about hooks or write declarations."""
    cut = words.index("--") if "--" in words else len(words)
    first, second, *_ = [*(word for word in words if word[:1] != "-"), "", ""]
    if not HARMLESS.isdisjoint(words[:cut]) and "--yes" not in words:
        return False
    decides = first in DECIDING or first in CHANGING_DECLARATIONS or UNKNOWN in first
    return decides or (first == "recipes" and second in CHANGING_RECIPES)


def missing(hooks: Iterable[Hook]) -> bool:
    """Return whether no layer above the project declares this hook so that it counts: what `hookrun doctor` says."""
    return not any(
        hook.target == TARGET and hook.layer in {"managed", "user"} and hook.mode == "enforce" and hook.error is None
        for hook in hooks
    )
