"""Hold the state of the shell at one place of a line: variables, functions, working directory and wrappers."""

from __future__ import annotations

from hookrun.shell.words import QUOTED, SPACES, UNKNOWN, Piece, Word, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tree_sitter import Node

    from hookrun.shell.syntax_tree import Source


class ShellScope:
    """The state at one place. An unknown part of a variable is `UNKNOWN`, an unknown directory None."""

    __slots__ = (
        "beside", "depth", "directory", "functions", "piped", "positional", "previous", "reads", "variables", "within",
        "wrappers",
    )  # fmt: skip

    def __init__(
        self, variables: Mapping[str, str], directory: str | None, reads: Callable[[str, ShellScope], Word | None]
    ) -> None:
        self.variables = {"IFS": SPACES, **variables}
        self.directory = directory
        self.previous: str | None = None
        self.functions: dict[str, tuple[Node, Source]] = {}
        self.positional: list[Word] | None = None
        self.wrappers: tuple[str, ...] = ()
        self.within: tuple[str, ...] = ()
        self.beside = False
        self.piped = False
        self.depth = 0
        self.reads = reads

    def copy(self) -> ShellScope:
        """Return the same place, for what must not change it: a subshell, a branch, a stage of a pipeline."""
        other = ShellScope.__new__(ShellScope)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other.variables, other.functions = {**self.variables}, {**self.functions}
        return other

    @property
    def home(self) -> str:
        """The value of `~`."""
        return self.variables.get("HOME", UNKNOWN)

    def value(self, name: str) -> str:
        """Return the value of `$NAME`."""
        if name == "PWD":
            return self.directory or UNKNOWN
        if name == "OLDPWD":
            return self.previous or UNKNOWN
        if self.positional is not None:
            if name in {"@", "*"}:
                return " ".join(word.text for word in self.positional)
            if name == "#":
                return str(len(self.positional))
            if name.isdecimal() and name != "0":
                number = int(name)
                return self.positional[number - 1].text if number <= len(self.positional) else ""
        return self.variables.get(name, UNKNOWN)

    def substituted(self, line: str) -> Piece:
        """Return the output of a line between backticks."""
        printed = self.reads(line, self.copy())
        return Piece(UNKNOWN if printed is None else printed.text.rstrip("\n"), QUOTED)

    def enter(self, target: str | None) -> None:
        """Change the directory as `cd` does; None for one that is not known."""
        directory = None if target is None else absolute(target or ".", self.directory)
        self.previous, self.directory = self.directory, directory

    def become(self, other: ShellScope) -> None:
        """Take over everything that holds at another place of the same shell."""
        self.variables = other.variables
        self.directory = other.directory
        self.previous = other.previous
        self.functions = other.functions

    def merge(self, *branches: ShellScope) -> None:
        """Take over what branches have changed that may or may not have been taken.

        What one of them has changed counts as changed, for that is the case that matters; where two differ, it is not
        known.
        """
        changed = [branch.directory for branch in branches if branch.directory != self.directory]
        if changed:
            self.directory = changed[0] if len(set(changed)) == 1 else None
        for branch in branches:
            self.functions.update(branch.functions)
        for name in {name for branch in branches for name in branch.variables}:
            before = self.variables.get(name)
            values = {branch.variables.get(name) for branch in branches} - {before}
            if values:
                (value,) = values if len(values) == 1 else (UNKNOWN,)
                self.variables[name] = UNKNOWN if value is None else value
