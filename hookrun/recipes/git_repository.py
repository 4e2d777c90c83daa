"""Find a line's calls of git, with the aliases, remotes and branches of the repository's settings."""

from __future__ import annotations

import os

from hookrun.core.files import read_or_none
from hookrun.process.git_query import run
from hookrun.recipes.shell_recipe import UNKNOWN_ALIAS, parse, project_directory
from hookrun.shell.git_call import OWN, first_line, git_directory, parse_git_call, setting
from hookrun.shell.words import UNKNOWN

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


_SETTINGS: dict[tuple[str, str], list[tuple[str, str]] | None] = {}


def _settings(directory: str | None) -> list[tuple[str, str]] | None:
    """Return the settings of aliases, remotes and branches, None without git; read once for all hooks of a call."""
    request = os.environ.get("HOOKRUN_REQUEST_ID", "")
    where = directory if directory is not None and os.path.isdir(directory) else project_directory()
    key = (request, where)
    if key not in _SETTINGS or not request:
        listed = run(where, "config", "-z", "--list")
        entries = [each.partition("\n") for each in (listed or "").split("\0") if each.startswith(READ)]
        found = [(name, value if is_given else "true") for name, is_given, value in entries]
        _SETTINGS[key] = None if listed is None else found
    return _SETTINGS[key]


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
                inner = parse({**context, "working_dir": git.directory or context.get("working_dir")}, git.line)
                yield from calls(context, inner, configuration, depth + 1)
                parsed.problem = parsed.problem or inner.problem
                parsed.unparsed += inner.unparsed
            known = git.line is not None or git.command in OWN or UNKNOWN in command.program + git.command
            if not known and _settings(git.directory) is None:
                parsed.problem = UNKNOWN_ALIAS
        yield command, git


def branch(directory: str) -> str | None:
    """Return a directory's checked-out branch, None without one. Reads files, without git."""
    own = git_directory(directory)
    head = first_line(os.path.join(own, "HEAD")) if own is not None else ""
    start = "ref: refs/heads/"
    if head == f"{start}.invalid":  # the format reftable has it elsewhere
        return (run(directory, "symbolic-ref", "-q", "--short", "HEAD") or "").strip() or None
    return head[len(start) :] if head.startswith(start) else None


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
