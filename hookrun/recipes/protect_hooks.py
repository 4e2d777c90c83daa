"""The recipe `protect-hooks`: keeps agents from editing hooks and agent settings, and from approving hooks.

What an unknown program does, or a name that only the shell knows, is not checked.
"""

from __future__ import annotations

import os
from functools import cached_property
from itertools import pairwise

from hookrun.core.files import is_within
from hookrun.core.globs import glob
from hookrun.recipes.recipe import Recipe
from hookrun.recipes.shell_recipe import (
    CHANGING_TOOLS,
    LinkedFiles,
    block,
    line_directory,
    line_of,
    may,
    may_become,
    named_paths,
    parse,
    physical,
    project_directory,
    reads_only,
    spellings,
    unreadable,
)
from hookrun.shell.prefilter import ENDS, MADE_UP, OF_GIT, QUOTES, git_programs, may_run
from hookrun.shell.programs import having
from hookrun.shell.words import UNKNOWN, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookrun.core.model import Hook
    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import SimpleCommand

TARGET = "hookrun.recipes.protect_hooks:guard"

RECIPE = Recipe(
    name="protect-hooks",
    summary="Keep agents from editing hooks, agent settings and approvals.",
    catches="""
        - Writing, editing and deleting hook configs, the scripts and files of all active hooks, the settings in which
          agents keep their hooks, and hookrun's own files. Symbolic links are followed.
        - Shell commands that redirect into one of these files or pass it to a program that changes files (`rm`, `mv`,
          `cp`, `tee`, `chmod`, `sed -i`, `curl -o`, `git checkout`, ...), also by pattern; patches in a here-document,
          also those for `apply_patch`.
        - Shell commands that remove or move a directory with one of these files, such as `~/.config`: `rm -r`, `find
          -delete`, `rsync --delete`, `tar --remove-files`, and `git clean` if git does not track it.
        - `git stash` and `git reset --hard`, if they would take away changes in one of these files.
        - Mounts over these files, and commands that kill or uninstall hookrun, such as `pkill` and `pip uninstall`.
        - `hookrun` commands that only the user may run, such as `hookrun trust`, and those that change the config, such
          as `hookrun remove` and `hookrun update` (allowed with `--dry-run` or `--list`).
        - The same behind `cd`, `sudo`, `uvx`, `xargs` and similar, in `bash -c`, `$(...)`, functions, loops and
          here-documents for a shell, and with any quoting. Text that is only printed, committed or sent is allowed.
    """,
    misses="""
        - Other programs that write files: `python3 -c`, `make`, `patch < FILE`, unpacking an archive.
        - Names that only the shell knows: `$f` where the line does not set it, command output.
        - A script that the agent first writes and then runs.
        - MCP tools, unless you add them to the matcher.
        - If a project's config has it, the project can remove it: add it to your own, with `--user`.
    """,
)

# Commands of hookrun for the user only.
DECIDING = frozenset(
    {"allow", "trust", "untrust", "deny", "disable", "enable", "pause", "resume", "install", "uninstall"}
)

# Commands of hookrun that change the config, some after `config` or `recipes`.
CHANGING_CONFIG = frozenset({"add", "init", "migrate", "new", "remove", "update"})

# Options with which they change nothing.
HARMLESS = frozenset({"--digest", "--dry-run", "--help", "--list", "-h"})

# Words after which a program runs the next word.
RUNNING = frozenset({"-m", "-Im", "dlx", "exec", "run", "x"})

# Programs that run another one, any of their words.
STARTERS = frozenset((*(name for name, after in having("launches").items() if not after), *having("opens")))

# Programs that run code in a word or file.
INTERPRETERS = frozenset((*having("interprets"), *having("evaluates")))

IN_CODE = rf"\bhookrun\b\W+(?:{'|'.join(sorted(DECIDING))})\b"

CHANGES = ("changes", "onto_last", "writes_last", "in_place", "output", "modes", "covers")

# Programs that can change files named in the line.
PROGRAMS = (
    *(each for fact in CHANGES for each in having(fact)), "find", "tar", *git_programs((*OF_GIT, "clean", "reset")),
)  # fmt: skip

# Words of package managers that take a program away.
UNINSTALLING = frozenset({"uninstall", "remove", "purge", "erase"})

# Options of `git reset` that change files, and of `git stash` for untracked ones; its commands that take no file away.
RESETTING = frozenset({"--hard", "--merge", "--keep"})
UNTRACKED = frozenset({"-u", "-a", "--include-untracked", "--all"})
NOT_TAKING = frozenset({"list", "show", "drop", "clear", "branch", "create", "store", "pop", "apply"})


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the call may change a file, or decide about hooks. False is certain."""
    return bool(named_paths(context)) or may(context, _may_decide)


def _may_decide(line: str) -> bool:
    return (
        any(sign in line for sign in (">", *MADE_UP, "*", "?", "["))
        or may_run(line, (*PROGRAMS, "hookrun"))
        or "hookrun" in line.replace("\\\n", "").translate(QUOTES)
    )


@RECIPE.hook("pre_tool_use", matcher=CHANGING_TOOLS, priority=0, on_failure="block", concerns=concerns)
def guard(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a call that would change hooks, settings or approvals, else None."""
    return block(f"{reason}. Ask the user to do it in their own terminal." for reason in Watch(context).reasons())


class Watch:
    """The protected files of one run."""

    def __init__(self, context: Mapping[str, object]) -> None:
        self._context = context
        self._home = os.environ.get("HOME", "/")
        self._root = project_directory()
        self._links = LinkedFiles()
        self._directory = line_directory(context)

    def reasons(self) -> Iterator[str]:
        """Yield why the call must not run."""
        line = line_of(self._context)
        if line is not None:
            yield from self._of_line(line)
        for path in named_paths(self._context) if not reads_only(self._context) else ():
            yield from self._of_file(path)

    def _of_file(self, path: str) -> Iterator[str]:
        given = os.path.join(self._directory, self._from_home(path))
        for each in spellings(given):
            if (what := self._what(each)) is not None:
                yield f"{os.path.normpath(given)} is {what}, which only the user may change"

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
        from hookrun.trust.guarded import guarded_files  # loads the config: only for calls with files

        return guarded_files(self._root)

    def _of_line(self, line: str) -> Iterator[str]:
        from hookrun.recipes.git_repository import Configuration, calls

        parsed = parse(self._context, line)
        for command, git in calls(self._context, parsed, Configuration()):
            if _decides(command):
                yield f"Only the user may decide which hooks run{command.place}"
            yield from (f"{reason}{command.place}" for reason in self._of_changes(command))
            if git is not None:
                yield from self._of_cleaning(git)
                yield from self._of_taking(git)
            elif _ends(command, line):
                yield "Only the user may end or uninstall hookrun"
        yield from unreadable(parsed, self._may_change)

    def _of_changes(self, command: SimpleCommand) -> Iterator[str]:
        from hookrun.shell.named_files import named_files

        directory = command.directory or self._directory
        for file in named_files(command):
            path = absolute(file.path, directory)
            if not file.written or path is None:
                continue
            if file.globs:  # find's matches may be further down
                deep = command.program == "find" or "find" in command.wrappers
                yield from self._of_pattern(path, deep=deep, removed=file.removed)
            else:
                yield from self._of_file(os.path.join(directory, file.path))
            if file.removed or (file.restored and path != self._root):
                yield from self._of_tree(path)
                yield from self._of_tree(physical(file.path, directory) or path)
        for word in command.words[1:] if command.program in having("modes") else ():
            if (path := absolute(word.text, directory)) is not None:
                yield from self._of_file(path)
        for word in command.words[1:] if command.program in having("covers") else ():
            if (path := absolute(self._from_home(word.text), directory)) is not None:
                yield from self._of_tree(path)
                yield from self._of_file(f"{path}/*" if os.path.isdir(path) else path)

    def _of_pattern(self, pattern: str, *, deep: bool, removed: bool) -> Iterator[str]:
        """Yield why a pattern's files must not be changed, or their directories `removed`."""
        directory, _, name = pattern.rpartition("/")
        for path in self._held():
            if deep:
                below = (f"{at}/{each}" for at, _, files in os.walk(path) for each in files)
                names = [each for each in (path, *below) if is_within(os.path.dirname(each) or "/", directory)]
                reached = any(glob(name, each.rpartition("/")[2]) for each in names)
            else:
                parts, own = pattern.split("/"), path.split("/")
                reached = len(parts) >= len(own) or removed
                reached = reached and all(may_become(part, each) for part, each in zip(parts, own, strict=False))
            if reached and os.path.lexists(path):
                yield f"{pattern} reaches {path}, which only the user may change"
        for path in self._links.of(pattern):
            yield from self._of_file(path)

    def _of_tree(self, full: str) -> Iterator[str]:
        """Yield why a directory, or its content (`/*`), must not be removed or replaced."""
        full = full.removesuffix("/*") or "/"
        for each in self._held():
            if is_within(each, full):
                yield f"{full} contains {each}, which only the user may change"

    def _of_cleaning(self, git: GitCall) -> Iterator[str]:
        """Yield why `git clean` must not run: it removes untracked files."""
        if git.command != "clean" or any(each[:1] == "-" and each[1:2] != "-" and "n" in each for each in git.texts):
            return
        from hookrun.process.git_query import run

        for path in [each for each in git.texts if each[:1] != "-"] or ["."]:
            full = absolute(path, git.start or self._directory)
            held = [each for each in self._held() if full is not None and is_within(each, full)]
            here = [each for each in held if is_within(each, self._root)]
            if len(held) > len(here) or (here and run(self._root, "ls-files", "--others", "--", *here)):
                yield f"{full} contains {held[0]}, which only the user may change"

    def _of_taking(self, git: GitCall) -> Iterator[str]:
        """Yield why `git stash` and `git reset --hard` must not run: they take changes of files away."""
        words = [*dict.fromkeys(git.texts)]
        operands = [each for each in words if each[:1] != "-" and each != "push"]
        commit = operands[0] if git.command == "reset" and operands else "HEAD"
        takes = git.command == "reset" and not RESETTING.isdisjoint(words)
        takes = takes or (git.command == "stash" and NOT_TAKING.isdisjoint(words[:1]))
        top = git.start or self._directory
        if not takes or not (is_within(top, self._root) or is_within(self._root, top)):
            return
        from hookrun.process.git_query import run

        here = [each for each in self._held() if is_within(each, self._root)]
        others = "normal" if not UNTRACKED.isdisjoint(words) else "no"
        changed = here and run(self._root, "status", "--porcelain", f"--untracked-files={others}", "--", *here)
        if here and not changed and commit != "HEAD":
            changed = run(self._root, "diff-tree", "-r", "--name-only", commit, "HEAD", "--", *here)
        if changed:
            yield f"git {git.command} would take away changes of {changed.split()[-1]}, which only the user may change"

    def _may_change(self, text: str) -> bool:
        """Return whether an unparsed part of a line may be one to block."""
        import re

        words = text.translate(ENDS).split()
        named = any(any(self._of_file(word)) for word in words if "." in word or "/" in word)
        return re.search(IN_CODE, text) is not None or (named and (">" in text or may_run(text, PROGRAMS)))

    def _held(self) -> Iterable[str]:
        """Yield paths not to be removed with their directory; in the project only existing ones."""
        anywhere = [each[2:].partition("*")[0].rstrip("/") for each in self._guarded if each.startswith("*/")]
        absolute = [each.partition("*")[0].rstrip("/") for each in self._guarded if not each.startswith("*/")]
        yield from (each for each in absolute if each.startswith(f"{self._home}/."))
        yield from (f"{self._home}/{each}" for each in anywhere)
        here = (*(f"{self._root}/{each}" for each in anywhere), *absolute)
        yield from (each for each in here if os.path.lexists(each))


def _ends(command: SimpleCommand, line: str) -> bool:
    """Return whether a command ends processes of hookrun, or uninstalls it."""
    texts = [word.text for word in command.words]
    if command.program in having("ends"):
        made_up = bool(command.wrappers) or any(UNKNOWN in text for text in texts)
        return any("hookrun" in text for text in texts) or (made_up and "hookrun" in line)
    named = any(text.partition("[")[0].rpartition("/")[2] == "hookrun" for text in texts[1:])
    return named and command.program != "git" and (command.program == "rm" or not UNINSTALLING.isdisjoint(texts[1:]))


def _decides(command: SimpleCommand) -> bool:
    """Return whether a command runs hookrun, directly or not, with a subcommand for the user only."""
    texts = [word.text for word in command.words]
    code = [*texts, command.stdin.text] if command.stdin is not None else texts
    if not any("hookrun" in text.lower() for text in code) and not (texts and command.words[0].globs):
        return False
    import re

    interprets = (command.program.rstrip(".0123456789") or command.program) in INTERPRETERS
    if interprets and any(re.search(IN_CODE, text) for text in code):
        return True
    if command.one_of(("hookrun",)) is not None:
        return _decisive(texts[1:])
    for index, (before, text) in enumerate(pairwise(texts), 2):
        runs = before in RUNNING or (interprets and before[:1] != "-") or command.program in STARTERS
        is_hookrun = text.removesuffix("/__main__.py").rstrip("/").rpartition("/")[2] == "hookrun"
        if runs and is_hookrun and _decisive(texts[index:]):
            return True
    return False


def _decisive(words: list[str]) -> bool:
    """Return whether these arguments of hookrun approve hooks or change the config."""
    cut = words.index("--") if "--" in words else len(words)
    given = (word for before, word in pairwise(["", *words]) if word[:1] != "-" and before != "--color")
    first, second, *_ = [*given, "", ""]
    if not HARMLESS.isdisjoint(words[:cut]) and "--yes" not in words:
        return False
    decides = first in DECIDING or first in CHANGING_CONFIG or UNKNOWN in first
    return decides or (first in {"config", "recipes"} and second in CHANGING_CONFIG)


def enforcing_layers(hooks: Iterable[Hook]) -> set[str]:
    """Return the layers that enforce this hook, as `hookrun doctor` reports."""
    return {hook.layer for hook in hooks if hook.target == TARGET and hook.mode == "enforce" and hook.error is None}
