"""The result of reading a line: its simple commands, each with all that is known about it. Plain data."""

from __future__ import annotations

from hookrun.globs import glob
from hookrun.shell.words import UNKNOWN, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.shell.evaluate import Streams
    from hookrun.shell.scope import ShellScope

WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
READING = frozenset({"<", "<>"})

_NAMING_CODE = (
    "PATH BASH_ENV ENV PYTHONSTARTUP LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES MAKEFILES R_PROFILE_USER "
    "R_ENVIRON_USER PHPRC LUA_INIT NODE_OPTIONS PERL5OPT RUBYOPT BUN_OPTIONS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS "
    "_JAVA_OPTIONS PYTHONPATH NODE_PATH PERL5LIB PERLLIB RUBYLIB AWKPATH LUA_PATH CLASSPATH LD_LIBRARY_PATH "
    "DYLD_LIBRARY_PATH ZDOTDIR"
)
NAMING_CODE = frozenset(_NAMING_CODE.split())
"""Variables that name code which programs run or load."""


class Redirection:
    """One redirection: its operator, the file that it names, and the descriptor before it ("" if none)."""

    __slots__ = ("descriptor", "operator", "target")

    def __init__(self, operator: str, target: Word, descriptor: str = "") -> None:
        self.operator = operator
        self.target = target
        self.descriptor = descriptor

    @property
    def writes(self) -> bool:
        """Whether it opens a file for writing: `2>&1` opens none."""
        return self.operator in WRITING and not (self.operator == ">&" and self.target.text.rstrip("-").isdigit())

    @property
    def reads(self) -> bool:
        """Whether it opens a file for reading."""
        return self.operator in READING


class SimpleCommand:
    """One simple command: the program and its arguments are `words`, without the programs that wrap it.

    `directory` is where it runs, None if that is not known. `wrappers` are the programs that run it, the outermost
    first: `sudo timeout 5 rm x` has `rm x` wrapped in sudo and timeout. `assignments` precede it,
    those of git's variables, and of NAMING_CODE, anywhere before. `within` are the functions of the line that it is
    called in, and `beside` tells that it runs beside other commands, in a pipeline or in the background. `stdin` is
    what it reads, where known; `piped` tells that it reads the output of another one.
    """

    # No NamedTuple: the first of a process takes 11 million instructions, a fifth of reading a line.
    __slots__ = ("assignments", "beside", "directory", "piped", "redirections", "stdin", "within", "words", "wrappers")

    def __init__(
        self, words: list[Word], streams: Streams, scope: ShellScope, assignments: Mapping[str, str] | None = None
    ) -> None:
        self.words = words
        self.redirections = tuple(streams.redirections)
        self.stdin = streams.stdin
        exported = {name: value for name, value in scope.variables.items() if name[:4] == "GIT_" or name in NAMING_CODE}
        self.assignments = {**exported, **(assignments or {})}
        self.directory = scope.directory
        self.wrappers = scope.wrappers
        self.within = scope.within
        self.beside = scope.beside
        self.piped = scope.piped

    @property
    def program(self) -> str:
        """The name of the program without its directory, in lower case: `RM` is `rm` where names have no case."""
        return program_name(self.words[0].text) if self.words else ""

    @property
    def arguments(self) -> list[str]:
        """The texts of the words after the program."""
        return [word.text for word in self.words[1:]]

    def one_of(self, names: Iterable[str]) -> str | None:
        """Return which of these programs it is, None if none. `/bin/r?` is any that it may become."""
        program = self.program
        if self.words and self.words[0].globs:
            return next((each for each in names if glob(program, each)), None)
        return program if program in names else None


class ParsedLine:
    """All commands of a line, in the order in which they would run, and why it was not read to its end, if it was not.

    `problem` is `syntax` where some of it is not understood as shell, `too long`, or `too deep`: then `commands` are
    those that were found all the same. `unparsed` are the parts of the line that are not understood. `wrappers` are the
    commands that run others, which are among `commands`: `sudo rm x` for `rm x`.
    """

    __slots__ = ("commands", "problem", "unparsed", "wrappers")

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.wrappers: list[SimpleCommand] = []
        self.problem: str | None = None
        self.unparsed: list[str] = []


def program_name(word: str) -> str:
    """Return a program's name from the word that runs it; one that is not known is `UNKNOWN`."""
    return UNKNOWN if UNKNOWN in word else word.rstrip("/").rpartition("/")[2].lower()
