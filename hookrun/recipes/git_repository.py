"""Find a line's calls of git, with the aliases, remotes and branches of the repository's settings."""

from __future__ import annotations

import os

from hookrun.core.files import read_or_none, upwards
from hookrun.process.git_query import run
from hookrun.recipes.shell_recipe import UNKNOWN_ALIAS, kept, line_directory, parse, project_directory
from hookrun.shell.git_call import OWN, first_line, git_directory, parse_git_call, setting
from hookrun.shell.simple_command import not_options
from hookrun.shell.words import UNKNOWN, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import ParsedLine, SimpleCommand

# Maximum nesting of aliases that are shell lines.
MAX_ALIASES = 3
# Beginnings of the settings that count.
READ = ("alias.", "branch.", "push.", "remote.")
# Bytes read of the file with a repository's packed branches.
MAX_PACKED = 1 << 24
# Digits of a commit's name in HEAD, at least.
SHORTEST_ID = 40
# Options that create a branch and check it out.
CREATING = ("-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan")
# Git's commands that may check out a branch without naming it, and what says that they do so; None: they always do.
LEAVING: dict[str, frozenset[str] | None] = {
    "bisect": None,
    "clone": None,
    "rebase": frozenset({"--abort", "--continue", "--quit", "--skip"}),
    "stash": frozenset({"branch"}),
    "symbolic-ref": frozenset({"HEAD"}),
}


def _settings(directory: str | None) -> list[tuple[str, str]] | None:
    """Return the settings of aliases, remotes and branches, None without git."""
    where = directory if directory is not None and os.path.isdir(directory) else project_directory()
    listed = kept(("settings", where), lambda: run(where, "config", "-z", "--list"))
    if listed is None:
        return None
    entries = (each.partition("\n") for each in listed.split("\0") if each.startswith(READ))
    return [(name, value if is_given else "true") for name, is_given, value in entries]


class Configuration:
    """Git's settings of aliases, remotes and branches; those set in the line count everywhere after it."""

    def __init__(self) -> None:
        self._set: list[tuple[str, str]] = []

    def __call__(self, directory: str | None) -> dict[str, str]:
        """Return a directory's settings (None: the project root's) by name; the last value counts."""
        return dict(self.all(directory))

    def all(self, directory: str | None) -> list[tuple[str, str]]:
        """Return names and values in order, names possibly repeated; empty without git.

        A name's section and key are in lower case, the part between is unchanged.
        """
        return [*(_settings(directory) or ()), *self._set]

    @staticmethod
    def is_known(directory: str | None) -> bool:
        """Return whether git can be asked for a directory's settings."""
        return _settings(directory) is not None

    def learn(self, git: GitCall) -> None:
        """Apply the setting of a `git config` or `git remote` call."""
        set_here = setting(git) if git.command in {"config", "remote"} else None
        if set_here is not None:
            self._set.append(set_here)

    def remote(self, directory: str | None) -> str:
        """Return a push's default remote (see git-config, remote.pushDefault)."""
        settings = self(directory)
        here = branch(directory or project_directory())
        names = (f"branch.{here}.pushremote", "remote.pushdefault", f"branch.{here}.remote")
        return next((settings[name] for name in names if name in settings), "origin")


def calls(
    context: Mapping[str, object], parsed: ParsedLine, configuration: Configuration, depth: int = 0
) -> Iterator[tuple[SimpleCommand, GitCall | None]]:
    """Yield a line's commands, each with its call of git, if any, and before it those of its alias's line.

    Those lines' unparsed parts join the first line's.
    """
    for command in parsed.commands:
        git = parse_git_call(command, configuration) if command.words else None
        if git is not None:
            configuration.learn(git)
            if git.line is not None and depth < MAX_ALIASES:
                inner = parse({"working_dir": git.directory or line_directory(context)}, git.line)
                yield from calls(context, inner, configuration, depth + 1)
                parsed.problem = parsed.problem or inner.problem
                parsed.unparsed += inner.unparsed
            known = git.line is not None or git.command in OWN or UNKNOWN in command.program + git.command
            if not known and _settings(git.directory) is None:
                parsed.problem = UNKNOWN_ALIAS
        yield command, git


def branch(directory: str) -> str | None:
    """Return a directory's checked-out branch, None without one. Reads files, without git."""
    head, start = _head(directory), "ref: refs/heads/"
    if head == f"{start}.invalid":  # the format reftable has it elsewhere
        return (run(directory, "symbolic-ref", "-q", "--short", "HEAD") or "").strip() or None
    return head[len(start) :] if head.startswith(start) else None


def _head(directory: str) -> str:
    own = git_directory(directory)
    return first_line(os.path.join(own, "HEAD")) if own is not None else ""


def has_branch(directory: str, name: str) -> bool:
    """Return whether a repository has a branch of this name, with a commit. Reads files, without git."""
    own = git_directory(directory) or ""
    shared = os.path.join(own, first_line(os.path.join(own, "commondir")))  # of a worktree
    if os.path.exists(os.path.join(shared, "refs", "heads", name)) or os.path.exists(os.path.join(shared, "reftable")):
        return True
    packed = os.path.join(shared, "packed-refs")
    text = read_or_none(packed, MAX_PACKED)
    if text is None or len(text) == MAX_PACKED:
        return os.path.lexists(packed)  # it may be in what cannot be read
    return f" refs/heads/{name}\n".encode() in text


class Branches:
    """The branches that are checked out, as a line changes them."""

    def __init__(self) -> None:
        self._by_root: dict[str, list[str]] = {}

    def at(self, directory: str | None) -> str:
        """Return the branch in a directory, UNKNOWN if it is not known; "" for none, or one without a commit."""
        return self.so_far(directory)[-1]

    def so_far(self, directory: str | None) -> list[str]:
        """Return all that the branch may have been in the line, which need not run every command; the last is `at`."""
        root = self._root(directory)
        if root not in self._by_root:
            on, head = branch(root), _head(root)
            is_detached = len(head) >= SHORTEST_ID and head.isalnum()
            is_none = on is None or not has_branch(root, on)  # none yet, if HEAD is not detached
            self._by_root[root] = [*([] if is_detached else [on or UNKNOWN]), *([""] if is_none else [])]
        return self._by_root[root]

    def _root(self, directory: str | None) -> str:
        start = directory or project_directory()
        known = (each for each in upwards(start, os.sep) if each in self._by_root or os.path.lexists(f"{each}/.git"))
        return next(known, start)

    def follow(self, git: GitCall) -> None:
        """Take over what a call checks out."""
        given, seen, says = not_options(git.texts), self.so_far(git.directory), LEAVING.get(git.command, frozenset())
        if git.command in {"checkout", "switch"}:
            seen.append(_checked_out(git, given, seen[-1]))
        elif git.command == "branch" and len(given) == 1 and not {"-m", "-M", "--move"}.isdisjoint(git.texts):
            seen.append(given[0])
        elif git.command == "worktree" and given[:1] == ["add"]:
            created = _created(git.texts)
            where = [each for each in given[1:] if each != created]
            path = absolute(where[0], git.directory) if where else None
            if path is not None:
                self._by_root[path] = [created or where[-1].rpartition("/" if len(where) == 1 else "\0")[2]]
        elif git.command == "init":
            path = absolute(given[0] if given else ".", git.directory)
            if path is not None and not os.path.lexists(f"{path}/.git"):
                self._by_root[path] = [UNKNOWN, ""]
        elif says is None or not says.isdisjoint(git.texts) or (git.command == "rebase" and len(given) > 1):
            seen.insert(0, UNKNOWN)


def _created(texts: list[str]) -> str:
    """Return the branch that a call creates, "" if none."""
    for at, text in enumerate(texts):
        option, _, value = text.partition("=")
        if option in CREATING:
            return value or "".join(texts[at + 1 : at + 2])
        if text[:2] in CREATING and text[2:]:
            return text[2:]
    return ""


def _checked_out(git: GitCall, given: list[str], before: str) -> str:
    """Return the branch after `git checkout` or `git switch`."""
    if created := _created(git.texts):
        return "" if UNKNOWN in created else created  # a new one, and main is there
    if not {"--detach", "-d"}.isdisjoint(git.texts):
        return ""
    where = git.directory or project_directory()
    after = git.texts[git.texts.index("--") + 1 :] if "--" in git.texts else []
    if after or len(given) != 1:
        return before  # files of another commit
    name = given[0]
    if not {"-t", "--track"}.isdisjoint(git.texts):
        return name.partition("/")[2]
    if git.command == "checkout" and os.path.lexists(os.path.join(where, name)) and not has_branch(where, name):
        return before
    return UNKNOWN if name in {"-", "@{-1}"} else name
