"""The recipe `block-destructive-commands`: blocks shell lines that would destroy a whole tree, disk or system."""

from __future__ import annotations

import os
import re

from hookrun.files import is_within
from hookrun.globs import glob
from hookrun.recipes import typed_input
from hookrun.recipes.downloads import DOWNLOADERS, Downloads
from hookrun.recipes.protected_paths import SYSTEM, ProtectedPaths
from hookrun.recipes.recipe import Option, Recipe, choice_of, directories, one_of, words_from
from hookrun.recipes.shell_recipe import block, parse, project_directory, shell_line, unreadable
from hookrun.shell.prefilter import may_run
from hookrun.shell.words import UNKNOWN, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import SimpleCommand

WORDS = ("clean", "reset", "restore", "stash", "branch")

RECIPE = Recipe(
    "block-destructive-commands",
    "Blocks commands that would destroy a whole tree, a disk or the running system.",
    options=(
        Option(
            "protect",
            "",
            "Further directories that are not to be removed as a whole, absolute or from `~/`.",
            directories,
        ),
        Option(
            "git",
            "",
            "What of git throws work away and is blocked too: any of `clean` (with `-f`), `reset` (`--hard`), "
            "`restore` (also `checkout` of paths), `stash` (`drop` and `clear`) and `branch` (`-D`).",
            words_from(WORDS),
        ),
        Option(
            "outside_project",
            "ask",
            "What is done where a tree outside the project and outside temporary directories is removed: `ask` you, or "
            "`block`.",
            choice_of("ask", "block"),
        ),
        Option(
            "ask",
            "clean reset download",
            "What you are asked about: any of the words of `git`, and `download` (what is downloaded and run at once).",
            words_from((*WORDS, "download")),
        ),
        typed_input.OPTION,
    ),
    catches="""
        - `rm -r`, `find -delete`, `find -exec rm`, `mv` and `rsync --delete` on `/`, the system's directories, your
          home directory and the best known ones in it, the project's root with its `.git`, whatever is above one of
          these, and `*` in one of them.
        - `git clean` and `tar --remove-files` there, and aliases of git that come to one of these.
        - `mkfs`, `wipefs`, `parted`, `sgdisk`, `fdisk` and their like, `dd`, `shred`, `cp`, `tee` and redirections onto
          a disk's device.
        - You are asked before a tree outside the project is removed (`rm -rf ../x`), before `git reset --hard` and `git
          clean -f`, and before what is downloaded is run (`curl ... | sh`, `bash -c "$(curl ...)"`, `wget ... && sh
          x.sh`). An agent that cannot ask is blocked.
        - `chmod -R`, `chown -R` and `chgrp -R` on `/` and the system's directories; `chmod -R` on the home directory.
        - Fork bombs.
        - All of it also behind `cd`, `sudo`, `env`, `timeout`, `xargs` and the like, in `bash -c`, `eval`, `ssh`,
          `$(...)`, backticks, functions, loops and here-documents, piped into a shell (also through `base64 -d`), and
          however it is quoted.
        - A line that is too long or nested too deep to be read is blocked, if it may hold one of these commands; so is
          one of which a part is no shell that is understood, and looks like one of them.
        - Shells and interpreters that read commands from a terminal (`bash`, `sudo -s`, `python3 -i`), under
          agents that send hooks nothing of what is typed there.
    """,
    misses="""
        - What another program does: a script, `make`, `python -c`, `perl -e`, a container, a tool of an MCP server.
        - Under such an agent what is typed into another program: an editor, a debugger, a shell in a container.
        - Paths that only the shell will know: `rm -rf "$DIR"/*` with a `DIR` that the line does not set, what a command
          prints, arrays, `${DIR%/*}`.
        - A link that leads to one of the directories.
        - What stands in arrays or is read by a loop, and what other programs run that it does not know, such as
          `expect`, `nix-shell --run` or an editor.
        - Trees in the project and in temporary directories: `rm -rf src` passes, unless `protect` names it.
        - Programs by a name of their own: an alias or a function of your shell's settings.
    """,
)

HARMLESS_DEVICES = ("fd/*", "full", "loop*", "null", "pts/*", "random", "shm/*", "std*", "tty*", "urandom", "zero")
"""Devices in /dev that are not disks."""

FORMATTING = ("blkdiscard", "mke2fs", "mkfs", "mkswap", "newfs", "wipefs")
"""Prefixes of programs that make a disk's content unreadable."""

LOOKING = {
    "cfdisk": (),
    "fdisk": ("-l", "--list", "-s"),
    "gdisk": ("-l",),
    "parted": ("print",),
    "sfdisk": ("-J", "-V", "-d", "-l", "-s", "--dump", "--json", "--list", "--verify"),
    "sgdisk": ("-i", "-p", "-v", "--info", "--print", "--verify"),
}
"""Programs that change the partitions of a disk -> words with which they only show them."""

PARTITIONS = frozenset({
    "disk_set", "mklabel", "mkpart", "mktable", "name", "rescue", "resizepart", "rm", "set", "toggle",
})  # fmt: skip
"""Words of parted that change the partitions."""

ERASING = (
    "--security-erase", "--trim-sector", "--write-sector", "-w", "erase", "format", "luksErase", "luksFormat",
    "reencrypt", "sanitize", "write-zeroes",
)  # fmt: skip
"""Beginnings of words with which other programs erase a disk."""

REMOVING = frozenset({"rm", "shred", "srm", "unlink"})

DANGER = re.compile(
    r"\b(?:s?rm|mv|find|rsync|chmod|chown|chgrp)\b(?=.*\s(?:-\w*[rR]|--recursive|--del|-delete|-exec))"
    r".*\s(?:[/~*$]|\.{1,2}(?:[\s/]|$))"
    r"|\b(?:dd|shred|cp|tee|mkfs\S*|wipefs)\b.*/dev/|>\s*/dev/(?:sd|nvme|hd|vd|disk|mapper|mmc)",
    re.DOTALL,
)
"""Matches an unparsed part of a line that may be dangerous: a program with an option or a place."""

REMOVES_IT = re.compile(r"\brm\s+-\w*[rR]\w*\s.*(?:\{\}|\$)")
"""Matches a line that removes its arguments."""

ADVICE = "Name exactly what is to go, or ask the person to do it themselves."


@RECIPE.hook("pre_tool_use", matcher="bash", priority=10, timeout=10, on_failure="block")
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block for a line that would destroy something protected, the question before one that may be meant."""
    line = shell_line(context)
    if line is None or not (_may_matter(line) or typed_input.may_open(RECIPE, context, line)):
        return None
    from hookrun.recipes.git_repository import Configuration, calls

    parsed = parse(context, line)
    guard = Guard(os.environ.get("HOME", "/"), project_directory())
    question = None
    for command, git in calls(context, parsed, Configuration()):
        reason = guard.reason(command, git)
        if reason is not None:
            return block(f"{reason}. {ADVICE}")
        question = question or guard.question(command, git)
    reason = unreadable(parsed, DANGER.search) or typed_input.refusal(RECIPE, context, line, parsed)
    if reason is not None:
        return block(reason)
    return {"action": "ask", "message": f"{question}."} if question is not None else None


def _may_matter(line: str) -> bool:
    return (
        may_run(line, (*RULES, *REMOVERS, *DOWNLOADERS, "git", "hub"))
        or "/dev/" in line.translate({ord(sign): None for sign in "'\"\\"})
        or any(name in line.lower() for name in FORMATTING)
        or ("(" in line and "|" in line)
    )


class Guard:
    """Decides which commands are blocked, and which are asked about, in one project."""

    def __init__(self, home: str, project: str) -> None:
        self._protected = ProtectedPaths(home, project, directories(RECIPE, "protect"))
        self._project = project
        self._git = words_from(WORDS)(RECIPE, "git")
        self._ask = words_from((*WORDS, "download"))(RECIPE, "ask")
        self._blocks_outside = one_of(RECIPE, "outside_project", ("ask", "block")) == "block"
        self._downloads = Downloads()

    def reason(self, command: SimpleCommand, git: GitCall | None) -> str | None:
        """Return why a command is blocked, None if it is not."""
        reason = _overwritten(each.target.text for each in command.redirections if each.writes)
        if reason is None and command.words:
            reason = self._of_program(command) or self._of_trees(command, git)
        if reason is None and git is not None and command.program != UNKNOWN and self._throws_away(git, self._git):
            return f"git {git.command} would throw work away that nothing brings back"
        return reason

    def _of_program(self, command: SimpleCommand) -> str | None:
        if command.program in command.within and command.beside:
            return f"{command.words[0].text} starts itself again and again: a fork bomb"
        if command.program.startswith(FORMATTING):
            return _formats(command)
        name = command.one_of(RULES)
        return RULES[name](self, command) if name is not None else None

    def _of_trees(self, command: SimpleCommand, git: GitCall | None) -> str | None:
        for path, directory in self._removed(command, git):
            tree = self._protected.threatened_by(path, directory)
            # What git cleans in a project can be meant: it is asked about.
            if tree is not None and not (git is not None and self._in_project(path, directory)):
                return f"This would remove {tree}"
            outside = self._protected.outside(path, directory) if self._blocks_outside else None
            if outside is not None:
                return f"This would remove {outside}, which is outside the project"
        return None

    def question(self, command: SimpleCommand, git: GitCall | None) -> str | None:
        """Return what is asked about a command, None if it is not asked about."""
        downloaded = self._downloads.runs(command)
        if downloaded and "download" in self._ask:
            return "This runs what it downloads, unseen"
        if git is not None and command.program != UNKNOWN and self._throws_away(git, self._ask):
            return f"git {git.command} throws work away that nothing brings back"
        for path, directory in self._removed(command, git):
            outside = self._protected.outside(path, directory)
            if outside is not None:
                return f"This removes {outside}, which is outside the project"
        return None

    def _removed(self, command: SimpleCommand, git: GitCall | None) -> list[tuple[str, str | None]]:
        """Return the trees that a command removes, each with the directory that its path starts from."""
        if git is not None and command.program != UNKNOWN:
            if git.command != "clean" or not _cleans(git.texts):
                return []
            return [(path, git.directory) for path in _not_options(git.texts) or ["."]]
        name = "rm" if command.program == UNKNOWN and _recursive(command) else command.one_of(REMOVERS)
        return [(path, command.directory) for path in REMOVERS[name](command)] if name is not None else []

    def _in_project(self, path: str, directory: str | None) -> bool:
        full = absolute(path, directory)
        return full is not None and is_within(full, self._project)

    @staticmethod
    def _throws_away(git: GitCall, wanted: list[str]) -> bool:
        what = THROWS_AWAY.get(git.command)
        return what is not None and what[0] in wanted and what[1](git.texts)

    def moved(self, command: SimpleCommand) -> str | None:
        """Say which tree `mv` would move away, or which disk it would write over."""
        reason = _overwritten(operands(command)[-1:])
        *paths, target = operands(command) or [""]
        target = absolute(target, command.directory) or ""
        for path in paths:
            tree = self._protected.threatened_by(path, command.directory)
            within = target.startswith(f"{project_directory()}/")
            if reason is None and tree is not None and not within:
                reason = f"This would move {tree} away"
            full = absolute(path.removesuffix("/*") or "/", command.directory)
            if reason is None and full is not None and self._protected.is_large(full):
                reason = f"This would move {path} away as a whole"
        return reason

    def changed(self, command: SimpleCommand) -> str | None:
        """Say of which tree the permissions or owners would be changed."""
        if not _recursive(command, "R"):
            return None
        for path in operands(command)[1:]:
            full = absolute(path.removesuffix("/*") or "/", command.directory)
            if full is not None and self._protected.is_large(full) and (command.program == "chmod" or full in SYSTEM):
                return f"This would change the permissions of all of {full}"
        return None


def _not_options(words: list[str]) -> list[str]:
    cut = words.index("--") if "--" in words else len(words)
    return [word for word in words[:cut] if word[:1] != "-" or word == "-"] + words[cut + 1 :]


def operands(command: SimpleCommand) -> list[str]:
    """Return a command's words that are no options."""
    return _not_options(command.arguments)


def _recursive(command: SimpleCommand, letters: str = "rR") -> bool:
    for word in command.arguments:
        if word[:2] == "--":
            if "--recursive".startswith(word) and len(word) > len("--re"):
                return True
        elif word[:1] == "-" and any(letter in word for letter in letters):
            return True
    return False


def _trees(command: SimpleCommand) -> list[str]:
    """Return what `rm` removes with all that is in it."""
    if "--no-preserve-root" in command.arguments:
        return ["/"]
    recursive = _recursive(command)
    return [path for path in operands(command) if recursive or path.rstrip("/").endswith("*")]


def _found(command: SimpleCommand) -> list[str]:
    """Return the trees that `find` removes, unless it removes only some of it."""
    from hookrun.shell.find_xargs import has_filter, start_directories

    words = command.arguments
    removes = "-delete" in words or any(
        word.rpartition("/")[2] in REMOVING or REMOVES_IT.search(word) for word in words
    )
    return [start.text for start in start_directories(command.words)] if removes and not has_filter(words) else []


def _synchronised(command: SimpleCommand) -> list[str]:
    removes = any(word.startswith(("--del", "--remove-source")) for word in command.arguments)
    return [path for path in operands(command)[-1:] if ":" not in path] if removes else []


def _packed(command: SimpleCommand) -> list[str]:
    return operands(command) if "--remove-files" in command.arguments else []


REMOVERS: dict[str, Callable[[SimpleCommand], list[str]]] = {
    "find": _found,
    "rm": _trees,
    "rsync": _synchronised,
    "srm": _trees,
    "tar": _packed,
}
"""Programs, and which trees one of them removes."""


def _partitioned(command: SimpleCommand) -> str | None:
    """Return which disk a program would change, unless it only shows it."""
    words, looking = command.arguments, LOOKING.get(command.program, ())
    disk = next((word for word in operands(command) if _disk(word)), None)
    changes = PARTITIONS.intersection(words) or (
        command.program == "sgdisk" and any(word[:1] == "-" and word not in looking for word in words)
    )
    if disk is None or (any(word in looking for word in words) and not changes):
        return None
    return f"{command.program} would change what is on the disk {disk}"


def _erased(command: SimpleCommand) -> str | None:
    disk = next((word for word in operands(command) if _disk(word)), None)
    erases = any(word.startswith(ERASING) for word in command.arguments)
    return f"{command.program} would erase the disk {disk}" if disk is not None and erases else None


def _disk(path: str) -> bool:
    name = path.removeprefix("/dev/")
    return name != path and not any(glob(harmless, name) for harmless in HARMLESS_DEVICES)


def _formats(command: SimpleCommand) -> str | None:
    for path in operands(command):
        if _disk(path) or path == UNKNOWN:
            return f"{command.program} would destroy what is on the disk {path.replace(UNKNOWN, 'it is given')}"
    return None


def _overwritten(paths: Iterable[str]) -> str | None:
    return next((f"This would write over the disk {path}" for path in paths if _disk(path)), None)


def _short(words: Iterable[str], letter: str) -> bool:
    return any(word[:1] == "-" and word[:2] != "--" and letter in word for word in words)


def _cleans(words: list[str]) -> bool:
    return (_short(words, "f") or "--force" in words) and not (_short(words, "n") or "--dry-run" in words)


def _restores(words: list[str]) -> bool:
    return "--" in words or any(word in {".", ":/", "*"} for word in words)


THROWS_AWAY: dict[str, tuple[str, Callable[[list[str]], bool]]] = {
    "branch": ("branch", lambda words: _short(words, "D") or {"--delete", "--force"} <= set(words)),
    "checkout": ("restore", lambda words: _restores(words) or "-f" in words or "--force" in words),
    "clean": ("clean", _cleans),
    "reset": ("reset", lambda words: "--hard" in words),
    "restore": ("restore", lambda words: "--staged" not in words or "--worktree" in words),
    "stash": ("stash", lambda words: words[:1] in (["drop"], ["clear"])),
}
"""Commands of git -> the word of the option that blocks them, and whether they throw something away."""

RULES: dict[str, Callable[[Guard, SimpleCommand], str | None]] = {
    "chgrp": Guard.changed,
    "chmod": Guard.changed,
    "chown": Guard.changed,
    "cp": lambda _, command: _overwritten(operands(command)[-1:]),
    **dict.fromkeys(("badblocks", "cryptsetup", "hdparm", "nvme"), lambda _, command: _erased(command)),
    **dict.fromkeys((*LOOKING, "cgdisk"), lambda _, command: _partitioned(command)),
    "dd": lambda _, command: _overwritten(word[3:] for word in command.arguments if word.startswith("of=")),
    "install": lambda _, command: _overwritten(operands(command)[-1:]),
    "mv": Guard.moved,
    "shred": lambda _, command: _overwritten(operands(command)),
    "tee": lambda _, command: _overwritten(operands(command)),
    "truncate": lambda _, command: _overwritten(operands(command)),
}
"""Programs, and what says why one of them is not to be run."""
