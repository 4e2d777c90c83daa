"""The recipe `block-destructive-commands`: blocks commands that delete a tree, a disk or the running system."""

from __future__ import annotations

import os

from hookrun.core.files import is_within
from hookrun.core.globs import glob
from hookrun.recipes import further_losses, git_losses, unseen_code
from hookrun.recipes.protected_paths import SYSTEM, ProtectedPaths
from hookrun.recipes.recipe import Option, Recipe, directories, known_words, one_of
from hookrun.recipes.shell_recipe import BARE, SHELL_TOOLS, block, line_of, may, parse, project_directory, unreadable
from hookrun.shell.prefilter import QUOTES, git_programs, may_run
from hookrun.shell.programs import having
from hookrun.shell.words import UNKNOWN, Word, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hookrun.recipes.git_losses import Loss
    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import SimpleCommand

RECIPE = Recipe(
    "block-destructive-commands",
    "Block commands that would delete a whole tree, a disk or the running system.",
    options=(
        Option("protect", "", "More directories to protect from removal, absolute or starting with `~/`.", directories),
        Option(
            "git",
            "",
            "Git commands to block if they discard work: `clean` (with `-f`), `reset` (`--hard`), `restore` (also "
            "`checkout` and `rm -f` of changed files, `switch -f`), `stash` (`drop`, `clear`), `branch` (`-D`), "
            "`worktree` (`remove -f`), `history` (`filter-branch`, `reflog expire`).",
            list_of=git_losses.KINDS,
        ),
        Option(
            "outside_project",
            "ask",
            "How to treat the removal of a tree outside the project and temporary directories: `ask` or `block`.",
            choices=("ask", "block"),
        ),
        Option(
            "ask",
            " ".join((*git_losses.KINDS, "download")),
            "Commands to ask about: any value of `git`, and `download` (code that is downloaded and run at once).",
            list_of=(*git_losses.KINDS, "download"),
        ),
        unseen_code.INTERACTIVE,
    ),
    catches="""
        - `rm -r`, `find -delete`, `find -exec rm`, `mv` and `rsync --delete` on `/`, system directories, your home
          directory and its main subdirectories, the project root and its `.git`, any parent of these, and `*` in them.
        - `git clean` and `tar --remove-files` there, and git aliases for these commands.
        - It asks before git discards uncommitted changes (`checkout .`, `restore`, `reset --hard`, `rm -f`, `switch
          -f`, `git show HEAD:x > x`), files that git does not have (`clean -f`, `git ls-files -o | xargs rm`), stashes,
          commits that only a deleted branch has (`branch -D`), worktrees (`worktree remove -f`) or history
          (`filter-branch`, `filter-repo`, `reflog expire`). Where nothing would be lost, as in a clean work tree, the
          command is allowed; so it is in temporary directories outside the project, and after `git init`.
        - The same with `hg update --clean`, `svn revert`, `jj abandon` and similar.
        - `mkfs`, `wipefs`, `parted`, `sgdisk`, `fdisk` and similar; `dd`, `shred`, `cp`, `tee` and redirections to a
          disk device.
        - `chmod -R`, `chown -R`, `chgrp -R` on `/` and system directories; `chmod -R` on the home; fork bombs.
        - It asks before a tree outside the project is removed (`rm -rf ../x`), and before downloaded code is run (`curl
          ... | sh`, `bash -c "$(curl ...)"`, `wget ... && sh x.sh`). If the agent cannot ask, the command is blocked.
        - It asks before what else only a backup brings back: files anywhere in `/` or the home directory (`find ~ ...
          -delete`), volumes (`zfs destroy`, `lvremove`), accounts, timed jobs (`crontab -r`), settings such as
          `~/.zshrc` that are written anew, databases and backups that are named so, trees moved to where they do not
          last; before `kill -9 -1` and `shutdown`; and before `rm -rf "$DIR"/*` where nothing sets `DIR`.
        - It asks before firewalls and checks of certificates are switched off (`ufw disable`, `setenforce 0`, `npm
          config set strict-ssl false`), and before agents start that ask nothing (`claude
          --dangerously-skip-permissions`).
        - `Remove-Item -Recurse`, `rd /s`, `rimraf`, `trash`, and `rm -r` in a container of a directory that it mounts.
          Caches (`~/.cache`, `~/.npm`) are not asked about.
        - The same commands behind `cd`, `sudo`, `env`, `timeout`, `xargs`, `uv run`, `npx` and similar, in `bash -c`,
          `powershell -Command` (also encoded), `cmd /c`, `eval`, `ssh`, `tmux send-keys`, an editor's or client's
          escape (`vim -c '!...'`), `$(...)`, backticks, functions, aliases, arrays, loops and here-documents, piped
          into a shell (also through `base64 -d`), and with any quoting.
        - The same commands in files that the line runs, with the file and its line in the reason: scripts of at most 64
          KiB (`bash x.sh`, `./x.sh`, `source x`), also one that the line has just written, and those that they run; the
          lines of a target of `make`, `just`, `task` and `rake`, or of a script of `npm`, `pnpm`, `yarn`, `bun`, `deno`
          and `composer` with those before and after it.
        - What code in other languages amounts to, in the line (`python -c`, `node -e`, `perl -e`, `ruby -e`, `php -r`,
          here-documents) or in a script that it runs: `shutil.rmtree(Path.home())`, `rmSync('/etc')`,
          `os.system("...")`, `execSync('...')`, backticks, for paths that are texts, the home directory, or joined from
          these.
        - Lines that may hold one of these commands and are too long or too deeply nested to check; parts that look like
          one and cannot be parsed as shell.
        - Shells and interpreters that read commands from a terminal (`bash`, `sudo -s`, `python3 -i`), under agents
          that hide typed input from hooks.
    """,
    misses="""
        - What other programs do: larger scripts, modules that code imports, databases, clouds, MCP tools, `unzip -o`.
        - Under agents that hide typed input from hooks: commands typed into an editor, a debugger or a container.
        - Paths that only the shell knows: `rm -rf "$DIR"/x`, `${DIR%/*}`; symbolic links to a protected directory.
        - Commits that the reflog keeps: `git rebase`, `git commit --amend`, `git reset --hard HEAD~1` in a clean tree.
        - Commands read by a loop, or run by programs it does not know (`salt`, `knife ssh`).
        - Trees in the project and in temporary directories: `rm -rf src` is allowed, unless `protect` names it.
        - Aliases and functions from your shell's settings; what PowerShell and cmd write otherwise than a shell.
    """,
)

# Prefixes of programs that destroy a disk's content.
FORMATTING = ("blkdiscard", "mke2fs", "mkfs", "mkswap", "newfs", "wipefs")

# Devices in /dev that are not disks.
HARMLESS_DEVICES = ("fd/*", "full", "loop*", "null", "pts/*", "random", "shm/*", "std*", "tty*", "urandom", "zero")

# Programs that change partitions -> words to only show them.
LOOKING = {
    "cfdisk": (),
    "fdisk": ("-l", "--list", "-s"),
    "gdisk": ("-l",),
    "parted": ("print",),
    "sfdisk": ("-J", "-V", "-d", "-l", "-s", "--dump", "--json", "--list", "--verify"),
    "sgdisk": ("-i", "-p", "-v", "--info", "--print", "--verify"),
}

# Words of parted that change partitions.
PARTITIONS = frozenset({
    "disk_set", "mklabel", "mkpart", "mktable", "name", "rescue", "resizepart", "rm", "set", "toggle",
})  # fmt: skip

# Beginnings of other programs' words that erase a disk.
ERASING = (
    "--security-erase", "--trim-sector", "--write-sector", "-w", "erase", "format", "luksErase", "luksFormat",
    "reencrypt", "sanitize", "write-zeroes",
)  # fmt: skip

# Matches an unparsed part of a line that may be dangerous: a program with an option or path.
DANGER = (
    r"(?s)\b(?:s?rm|mv|find|rsync|chmod|chown|chgrp)\b(?=.*\s(?:-\w*[rR]|--recursive|--del|-delete|-exec))"
    r".*\s(?:[/~*$]|\.{1,2}(?:[\s/]|$))"
    r"|\b(?:dd|shred|cp|tee|mkfs\S*|wipefs)\b.*/dev/|>\s*/dev/(?:sd|nvme|hd|vd|disk|mapper|mmc)"
)

# Matches a line that removes its arguments.
REMOVES_IT = r"\brm\s+-\w*[rR]\w*\s.*(?:\{\}|\$)"

ADVICE = "Use a narrower command, or ask the user to run it."


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the line may be blocked or asked about. False is certain."""
    return unseen_code.may_refuse(RECIPE, context) or may(context, may_destroy)


def may_destroy(line: str) -> bool:
    """Return whether a line may remove or overwrite something. False is certain."""
    return (
        may_run(
            line,
            (
                *RULES,
                *REMOVERS,
                *further_losses.PROGRAMS,
                *having("downloads"),
                *git_losses.OTHER_SYSTEMS,
                *git_programs(git_losses.COMMANDS),
            ),
        )
        or further_losses.may_replace(line)
        or "/dev/" in line.translate(QUOTES)
        or any(name in line.translate(BARE).lower() for name in FORMATTING)
        or (("(" in line or "function" in line) and ("|" in line or "&" in line))  # a fork bomb
    )


@RECIPE.hook("pre_tool_use", matcher=SHELL_TOOLS, priority=10, timeout=10, on_failure="block", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a destructive line, or a question if it may be intended."""
    guard = Guard(context, line_of(context) or "")
    blocked = block(guard.reasons())
    if blocked is None and guard.question is not None:
        return {"action": "ask", "message": f"{guard.question}."}
    return blocked


class Guard:
    """Judges a line: it is blocked for `reasons`, else asked about if these found a `question`."""

    def __init__(self, context: Mapping[str, object], line: str) -> None:
        self._context = context
        self._line = line
        self._project = project_directory()
        self._protected = ProtectedPaths(os.environ.get("HOME", "/"), self._project, directories(RECIPE, "protect"))
        self._git = known_words(RECIPE, "git")
        self._ask = known_words(RECIPE, "ask")
        self._blocks_outside = one_of(RECIPE, "outside_project") == "block"
        self._downloads = unseen_code.Downloads()
        self._losses = git_losses.GitLosses(self._protected.is_temporary)
        self.question: str | None = None

    def reasons(self) -> Iterator[str]:
        """Yield why the line is blocked."""
        from hookrun.recipes.git_repository import Configuration, calls

        parsed = parse(self._context, self._line)
        for command, git in calls(self._context, parsed, Configuration()):
            loss = self._losses.of(command, git)
            yield from (f"{reason}{command.place}. {ADVICE}" for reason in self._of_command(command, git, loss))
            asked = next(self._questions(command, git, loss), None)
            self.question = self.question or (f"{asked}{command.place}" if asked is not None else None)
        yield from unreadable(parsed, DANGER)
        yield from unseen_code.refusal(RECIPE, self._context, parsed)

    def _of_command(self, command: SimpleCommand, git: GitCall | None, loss: Loss | None) -> Iterator[str]:
        yield from _overwritten(each.target.text for each in command.redirections if each.writes)
        if command.words:
            yield from self._of_program(command)
            yield from self._of_trees(command, git)
        if loss is not None and loss.kind in self._git:
            yield f"This would discard {loss.text}"

    def _of_program(self, command: SimpleCommand) -> Iterator[str]:
        if command.program in command.within and command.beside and "command" not in command.wrappers:
            yield f"{command.words[0].text} calls itself endlessly: a fork bomb"
        if command.program.startswith(FORMATTING):
            yield from _formats(command)
        elif (name := command.one_of(RULES)) is not None:
            yield from RULES[name](self, command)

    def _of_trees(self, command: SimpleCommand, git: GitCall | None) -> Iterator[str]:
        for path, directory in self._removed(command, git):
            tree, full = self._protected.threatened_by(path, directory), absolute(path, directory)
            # Cleaning a project with git can be intended: ask.
            intended = git is not None and full is not None and is_within(full, self._project)
            if tree is not None and not intended:
                yield f"This would remove {tree}"
            if self._blocks_outside and (outside := self._protected.outside(path, directory)) is not None:
                yield f"This would remove {outside}, which is outside the project"

    def _questions(self, command: SimpleCommand, git: GitCall | None, loss: Loss | None) -> Iterator[str]:
        if self._downloads.runs(command) and "download" in self._ask:
            yield "This downloads code and runs it without review"
        if loss is not None and loss.kind in self._ask:
            kept, decides = snapshot_of(self._context, loss.directory)
            if kept is None or not decides:
                yield f"This discards {loss.text}" + (f"; `hookrun undo {kept}` brings it back" if kept else "")
        for path, directory in self._removed(command, git):
            if (outside := self._protected.outside(path, directory)) is not None:
                yield f"This removes {outside}, which is outside the project"
        yield from further_losses.questions(command, self._line, self._protected)

    def _removed(self, command: SimpleCommand, git: GitCall | None) -> list[tuple[str, str | None]]:
        """Return the trees that a command removes, each with its path's starting directory."""
        if git is not None and command.program != UNKNOWN:
            if git.command != "clean" or not git_losses.cleans(git):
                return []
            from hookrun.shell.simple_command import not_options

            return [(path, git.start) for path in not_options(git.texts) or ["."]]
        name = "rm" if command.program == UNKNOWN and _recursive(command) else command.one_of(REMOVERS)
        return [(path, command.directory) for path in REMOVERS[name](command)] if name is not None else []

    def moved(self, command: SimpleCommand) -> Iterator[str]:
        """Yield the disk that `mv` would overwrite, and the trees it would move away."""
        yield from _overwritten(command.operands[-1:])
        from hookrun.shell.named_files import with_target_last

        *paths, last = [word.text for word in with_target_last(command, [*map(Word, command.operands)])] or [""]
        within = (absolute(last, command.directory) or "").startswith(f"{self._project}/")
        for path in paths:
            tree = self._protected.threatened_by(path, command.directory)
            if tree is not None and not within:
                yield f"This would move {tree} away"
            full = absolute(path.removesuffix("/*") or "/", command.directory)
            if full is not None and self._protected.is_large(full):
                yield f"This would move all of {path}"

    def changed(self, command: SimpleCommand) -> Iterator[str]:
        """Yield the trees that would get other permissions or owners."""
        for path in command.operands[1:] if _recursive(command, "R") else ():
            full = absolute(path, command.directory)
            full = full if full is None else full.removesuffix("/*") or "/"
            if full is not None and self._protected.is_large(full) and (command.program == "chmod" or full in SYSTEM):
                yield f"This would change the permissions or owner of everything in {full}"


def snapshot_of(context: Mapping[str, object], directory: str | None) -> tuple[str | None, bool]:
    """Return the id of the snapshot that snapshot-before has just taken around a directory, and whether it decides."""
    metadata = context.get("metadata")
    taken = metadata.get("snapshots") if isinstance(metadata, dict) else None
    if directory is None or not isinstance(metadata, dict) or not isinstance(taken, dict):
        return None, False
    from hookrun.recipes.work_snapshots import SnapshotError, root_of, take

    try:
        root = root_of(directory)
        now = take(root, "a command that is judged") if taken.get(root) else None  # the same one, unless work is newer
    except SnapshotError:
        return None, False
    if now is None or now.id != taken[root] or now.left_out:
        return None, False
    return now.id, metadata.get("snapshot_decides") is True


def _recursive(command: SimpleCommand, letters: str = "rR") -> bool:
    for word in command.arguments:
        if word[:2] == "--":
            if "--recursive".startswith(word) and len(word) > len("--re"):
                return True
        elif word[:1] == "-" and any(letter in word for letter in letters):
            return True
    return False


def _trees(command: SimpleCommand) -> list[str]:
    """Return the trees that `rm` removes."""
    if "--no-preserve-root" in command.arguments:
        return ["/"]
    recursive = _recursive(command)
    return [path for path in command.operands if recursive or path.rstrip("/").endswith("*")]


def _found(command: SimpleCommand) -> list[str]:
    """Return the trees that `find` removes without a filter."""
    import re

    from hookrun.shell.wrappers import has_filter, start_directories

    words = command.arguments
    removes = "-delete" in words or any(
        word.rpartition("/")[2] in further_losses.REMOVING or re.search(REMOVES_IT, word) for word in words
    )
    return [start.text for start in start_directories(command.words)] if removes and not has_filter(words) else []


def _synchronised(command: SimpleCommand) -> list[str]:
    removes = any(word.startswith(("--del", "--remove-source")) for word in command.arguments)
    return [path for path in command.operands[-1:] if ":" not in path] if removes else []


# Program -> the trees that it removes.
REMOVERS: dict[str, Callable[[SimpleCommand], list[str]]] = {
    "find": _found,
    **further_losses.REMOVERS,
    "rm": _trees,
    "rsync": _synchronised,
    "srm": _trees,
    "tar": lambda command: command.operands if "--remove-files" in command.arguments else [],
}


def _partitioned(command: SimpleCommand) -> Iterator[str]:
    """Yield the disk that a program would change, not only show."""
    words, looking = command.arguments, LOOKING.get(command.program, ())
    disk = next(filter(_disk, command.operands), None)
    changes = PARTITIONS.intersection(words) or (
        command.program == "sgdisk" and any(word[:1] == "-" and word not in looking for word in words)
    )
    if disk is not None and (changes or not any(word in looking for word in words)):
        yield f"`{command.program}` would change the partitions of {disk}"


def _erased(command: SimpleCommand) -> Iterator[str]:
    disk = next(filter(_disk, command.operands), None)
    if disk is not None and any(word.startswith(ERASING) for word in command.arguments):
        yield f"`{command.program}` would erase the disk {disk}"


def _disk(path: str) -> bool:
    name = path.removeprefix("/dev/")
    return name != path and not any(glob(harmless, name) for harmless in HARMLESS_DEVICES)


def _formats(command: SimpleCommand) -> Iterator[str]:
    for path in command.operands:
        if _disk(path) or path == UNKNOWN:
            yield f"`{command.program}` would erase the disk {path.replace(UNKNOWN, 'that it is given')}"


def _overwritten(paths: Iterable[str]) -> Iterator[str]:
    return (f"This would overwrite the disk {path}" for path in paths if _disk(path))


# Program -> the function that yields why it must not run.
RULES: dict[str, Callable[[Guard, SimpleCommand], Iterator[str]]] = {
    "chgrp": Guard.changed,
    "chmod": Guard.changed,
    "chown": Guard.changed,
    **dict.fromkeys(("cp", "install"), lambda _, command: _overwritten(command.operands[-1:])),
    **dict.fromkeys(("shred", "tee", "truncate"), lambda _, command: _overwritten(command.operands)),
    **dict.fromkeys(("badblocks", "cryptsetup", "hdparm", "nvme"), lambda _, command: _erased(command)),
    **dict.fromkeys((*LOOKING, "cgdisk"), lambda _, command: _partitioned(command)),
    "dd": lambda _, command: _overwritten(word[3:] for word in command.arguments if word.startswith("of=")),
    "mv": Guard.moved,
}
