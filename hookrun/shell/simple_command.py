"""The result of reading a line: its simple commands with all that is known about each, and its parts.

Those are the shell's state, and the input and output, at each place.
"""

from __future__ import annotations

from hookrun.core.globs import glob
from hookrun.shell.words import SPACES, UNKNOWN, Word, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tree_sitter import Node

    from hookrun.shell.code import Code
    from hookrun.shell.syntax_tree import Source

WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
READING = frozenset({"<", "<>"})

_NAMING_CODE = (
    "PATH AWKFLAGS AWKPATH BASH_ENV BUN_OPTIONS CLASSPATH DOCKER_CONFIG DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH ENV "
    "GCONV_PATH INPUTRC JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS LD_AUDIT LD_LIBRARY_PATH LD_PRELOAD LUA_INIT LUA_PATH "
    "MAKEFILES NODE_OPTIONS NODE_PATH NPM_CONFIG_USERCONFIG OPENSSL_CONF PERL5DB PERL5LIB PERL5OPT PERLLIB PHPRC "
    "PIP_CONFIG_FILE PYTHONPATH PYTHONSTARTUP RUBYLIB RUBYOPT R_ENVIRON_USER R_PROFILE_USER ZDOTDIR _JAVA_OPTIONS"
)
# Variables that name code for programs to run or load.
NAMING_CODE = frozenset(_NAMING_CODE.split())
# Variables with which managers of git's hooks run none or fewer: Husky, Lefthook, pre-commit, prek, Overcommit.
SKIPPING_HOOKS = (
    *("HUSKY", "HUSKY_SKIP_HOOKS", "LEFTHOOK", "LEFTHOOK_EXCLUDE", "SKIP", "PRE_COMMIT_ALLOW_NO_CONFIG"),
    *("PREK_SKIP", "PREK_ALLOW_NO_CONFIG", "OVERCOMMIT_DISABLE", "SKIP_SIMPLE_GIT_HOOKS"),
)
_KEPT = NAMING_CODE.union(SKIPPING_HOOKS)


class Redirection:
    """A redirection: its operator, its file, and the descriptor before it ("" if none)."""

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
    """A simple command: `words` are the program and its arguments, without wrappers.

    `directory` is where it runs, None if unknown. `wrappers` are the programs that run it, outermost first: `sudo
    timeout 5 rm x` has `rm x` wrapped in sudo and timeout. `assignments` precede it, those of git's variables, of
    NAMING_CODE and of SKIPPING_HOOKS anywhere before; `variables` are all that are set, exported or not. `within` are
    the line's functions around it; `beside`: it runs beside other commands, in a pipeline or the background. `stdin` is
    what it reads, if known; `piped`: it reads another one's output; `captured`: `$(...)` takes what it prints.
    `code` is what it runs in a language other than shell, if known. `script` names the file that it stands in, "" for
    the line, and `row` its line there, 0 if unknown.
    """

    code: Code | None = None

    # No NamedTuple: the first of a process takes 11 million instructions, a fifth of reading a line.
    def __init__(
        self, words: list[Word], streams: Streams, scope: ShellScope, assignments: Mapping[str, str] | None = None
    ) -> None:
        self.words = words
        self.redirections = tuple(streams.redirections)
        self.stdin = streams.stdin
        exported = {name: value for name, value in scope.variables.items() if name[:4] == "GIT_" or name in _KEPT}
        self.assignments = {**exported, **(assignments or {})}
        self.variables = {**scope.variables, **(assignments or {})}
        self.directory = scope.directory
        self.wrappers = scope.wrappers
        self.within = scope.within
        self.beside = scope.beside
        self.piped = scope.piped
        self.captured = scope.captured
        self.script = scope.script
        self.row = scope.row

    @property
    def place(self) -> str:
        """Where it stands, to end a reason with, if not in the line: ` (x.sh, line 3)`."""
        return "" if not self.script else f" ({self.script}, line {self.row})" if self.row else f" ({self.script})"

    @property
    def program(self) -> str:
        """The program's name without directory, in lower case: `RM` is `rm` where names have no case."""
        return program_name(self.words[0].text) if self.words else ""

    @property
    def arguments(self) -> list[str]:
        """The words after the program, as texts."""
        return [word.text for word in self.words[1:]]

    @property
    def operands(self) -> list[str]:
        """The arguments that are not options."""
        return not_options(self.arguments)

    def one_of(self, names: Iterable[str]) -> str | None:
        """Return which of these programs it is, if any. `/bin/r?` is any it may become."""
        program = self.program
        if self.words and self.words[0].globs:
            return next((each for each in names if glob(program, each)), None)
        return program if program in names else None


def not_options(words: list[str]) -> list[str]:
    """Return the words that are not options: `-` is none, nor is anything after `--`."""
    cut = words.index("--") if "--" in words else len(words)
    return [word for word in words[:cut] if word[:1] != "-" or word == "-"] + words[cut + 1 :]


class ParsedLine:
    """All commands of a line, in running order, and why it was not read to its end, if so.

    `problem` is `syntax` if some of it is not understood as shell, `too long`, or `too deep`: then `commands` are those
    found nevertheless. `unparsed` are the parts not understood. `wrappers` are the commands that run others of
    `commands`: `sudo rm x` for `rm x`.
    """

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.wrappers: list[SimpleCommand] = []
        self.problem: str | None = None
        self.unparsed: list[str] = []


def program_name(word: str) -> str:
    """Return a program's name from the word that runs it, `UNKNOWN` if unknown."""
    return UNKNOWN if UNKNOWN in word else word.rstrip("/").rpartition("/")[2].lower().removesuffix(".exe")


class Streams:
    """A command's input and output. `words` are those after a redirection.

    `later` are another command's words that the parser has put there. `own_stdin`: `stdin` is its own, not the previous
    command's output in a pipeline.
    """

    def __init__(self, redirections: list[Redirection] | None = None, stdin: Word | None = None) -> None:
        self.redirections = redirections or []
        self.stdin = stdin
        self.words: list[Word] = []
        self.later: list[Word] = []
        self.own_stdin = False

    @property
    def inherited(self) -> Word | None:
        """The input for the first of several commands, None if the stream is the last one's."""
        return None if self.own_stdin else self.stdin


class ShellScope:
    """The state at a place. An unknown part of a variable is `UNKNOWN`, an unknown directory None."""

    previous: str | None = None
    positional: list[Word] | None = None
    wrappers: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    beside = piped = captured = False
    depth = row = scripts = 0
    script = ""

    def __init__(
        self, variables: Mapping[str, str], directory: str | None, reads: Callable[[str, ShellScope], Word | None]
    ) -> None:
        self.variables = {"IFS": SPACES, **variables}
        self.directory = directory
        self.functions: dict[str, tuple[Node, Source]] = {}
        self.reads = reads

    def copy(self) -> ShellScope:
        """Return a copy for what must not change this: a subshell, a branch, a stage of a pipeline."""
        other = ShellScope.__new__(ShellScope)
        other.__dict__.update(self.__dict__, variables={**self.variables}, functions={**self.functions})
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

    def enter(self, target: str | None) -> None:
        """Change the directory as `cd` does; None if unknown."""
        directory = None if target is None else absolute(target or ".", self.directory)
        self.previous, self.directory = self.directory, directory

    def become(self, other: ShellScope) -> None:
        """Take over what commands have changed at another place of the same shell, but for `$1`... of a script."""
        self.variables = other.variables
        self.directory = other.directory
        self.previous = other.previous
        self.functions = other.functions

    def merge(self, *branches: ShellScope) -> None:
        """Take over the changes of branches that may have been taken.

        What one of them has changed counts as changed, the case that matters; where two differ, it is unknown.
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
