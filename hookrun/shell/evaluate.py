"""One simple command, its words made: what wraps it, what it changes for those after it, and what it runs in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.shell.echo_printf import printed
from hookrun.shell.find_xargs import of_find, of_xargs
from hookrun.shell.simple_command import SimpleCommand, name
from hookrun.shell.syntax_tree import source_of
from hookrun.shell.words import UNKNOWN, Word
from hookrun.shell.wrappers import APART, line_of, unwrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from hookrun.shell.scope import Scope
    from hookrun.shell.simple_command import ParsedLine, Redirection
    from hookrun.shell.syntax_tree import Source
    from hookrun.shell.wrappers import Line, Wrapped

    ReadLine = Callable[[Source, Scope, "Streams"], Word | None]
    Walk = Callable[[Node, Source, Scope, "Streams"], Word | None]

MOST_COMMANDS = 1000
"""Commands of a line that are noted; with more it was not read to its end."""

DEEPEST_LINE = 8
"""Lines within lines that are read."""

SAME_SHELL = frozenset({"builtin", "command", "time"})
"""Wrappers in which `cd` changes the directory of what comes after them."""


IN_THIS_SHELL = frozenset({".", "eval", "source", "trap"})
"""What runs its line where it stands, and not in a shell of its own."""

WITH_WORDS = frozenset({"parallel", "xargs"})
"""Wrappers that add words to what they run, and read those."""


class TooMuchError(Exception):
    """A line is nested too deep, or runs too many commands. It says what becomes the reading's `problem`."""


class Streams:
    """What a command reads and where it writes. `words` are words of it that stand behind a redirection.

    `later` are the words of another command that the parser has put there.
    `own_stdin`: what it reads is its own, not what the command before it in a pipeline prints.
    """

    __slots__ = ("later", "own_stdin", "redirections", "stdin", "words")

    def __init__(self, redirections: list[Redirection] | None = None, stdin: Word | None = None) -> None:
        self.redirections = redirections or []
        self.stdin = stdin
        self.words: list[Word] = []
        self.later: list[Word] = []
        self.own_stdin = False

    @property
    def inherited(self) -> Word | None:
        """What those read that these streams are not meant for: the first of several in a row."""
        return None if self.own_stdin else self.stdin


class Runner:
    """Notes commands in a reading. `line` reads a line within it, `walk` the body of a function."""

    def __init__(self, reading: ParsedLine, line: ReadLine, walk: Walk) -> None:
        self._reading = reading
        self._line = line
        self._walk = walk
        self._changes: dict[str, Callable[[list[Word], Scope], None]] = {
            "cd": _cd,
            "popd": _popd,
            "printf -v": _printf,
            "pushd": _cd,
            "read": _read,
            "set": _set,
            "shift": _shift,
        }

    def note(self, command: SimpleCommand) -> None:
        """Add a command to the reading."""
        if len(self._reading.commands) >= MOST_COMMANDS:
            raise TooMuchError("too long")
        self._reading.commands.append(command)

    def run(
        self, words: list[Word], scope: Scope, streams: Streams, assignments: dict[str, str] | None = None
    ) -> Word | None:
        """Note the command that these words are, and what it runs; return what it prints, where that is known."""
        words = [*words, *streams.words]
        if words[0].text == "{" and len(words) > 1:  # `! { rm x; }`: the parser takes it for a program
            words = words[1:]
        function = scope.functions.get(words[0].text)
        if function is not None and words[0].text not in scope.within:
            return self._call(words, scope, streams)
        program = name(words[0].text)
        command = SimpleCommand(
            words,
            redirections=streams.redirections,
            assignments=assignments,
            directory=scope.directory,
            wrappers=scope.wrappers,
            within=scope.within,
            beside=scope.beside,
            stdin=streams.stdin,
        )
        line = line_of(program, words, streams.stdin)
        wrapped = unwrapped(program, words) if line is None else None
        if wrapped is not None and program not in WITH_WORDS:
            return self._run_wrapped(wrapped, command, scope, streams)
        self.note(command)
        if line is not None:
            return _kept(self._run_line(line, command, scope), streams)
        within = [of_xargs(wrapped, streams.stdin)] if wrapped is not None else []
        for argv in of_find(words) if program == "find" else within:
            inner = scope.copy()
            inner.wrappers = (*scope.wrappers, program)
            self.run(argv, inner, Streams())
        change = self._changes.get("printf -v" if _prints_into(words) else program)
        if change is not None:
            change(words, scope)
            if program == "read":
                _read_from(words, scope, streams.stdin)
            return Word("")
        if program == "pwd":
            return _kept(None if scope.directory is None else Word(scope.directory), streams)
        return _kept(printed(program, words, streams.stdin), streams)

    def _run_wrapped(self, wrapped: Wrapped, command: SimpleCommand, scope: Scope, streams: Streams) -> Word | None:
        """Run what a wrapper runs: it reads and writes what the wrapper does."""
        program = command.program
        inner = scope if program in SAME_SHELL else scope.copy()
        before = scope.wrappers
        inner.wrappers = (*scope.wrappers, program)
        if program in APART:
            inner.directory = None
        elif wrapped.directory is not None:
            inner.enter(wrapped.directory.text)
        given = Streams(streams.redirections, streams.stdin)
        text = self.run(wrapped.words, inner, given, {**command.assignments, **wrapped.assignments})
        scope.wrappers = before
        return text

    def _run_line(self, line: Line, command: SimpleCommand, scope: Scope) -> Word | None:
        """Read the line that a program gives to a shell: to this one, or to one of its own."""
        if line.text is None:
            return None
        if scope.depth >= DEEPEST_LINE:
            raise TooMuchError("too deep")
        program = command.program
        before = (scope.depth, scope.wrappers)
        inner = scope
        if program not in IN_THIS_SHELL:
            inner = scope.copy()
            inner.variables.update(command.assignments)
            inner.positional = line.positional
            inner.variables.update(("0", word.text) for word in line.zero)
            inner.functions = {}
        inner.depth += 1
        inner.wrappers = (*scope.wrappers, program)
        if program in APART:
            inner.directory = None
        given = Streams(stdin=command.stdin if line.text is not command.stdin else None)
        text = self._line(source_of(line.text.text, line.text.at), inner, given)
        scope.depth, scope.wrappers = before
        return text

    def _call(self, words: list[Word], scope: Scope, streams: Streams) -> Word | None:
        """Walk the body of a function as part of the line. Within itself it is a command like any other."""
        function = words[0].text
        body, source = scope.functions[function]
        before = scope.positional, scope.within
        scope.positional, scope.within = words[1:], (*scope.within, function)
        text = self._walk(body, source, scope, Streams(streams.redirections, streams.stdin))
        scope.positional, scope.within = before
        return text


def _kept(text: Word | None, streams: Streams) -> Word | None:
    """Return what is printed, unless it goes into a file."""
    elsewhere = any(each.writes and each.descriptor in {"", "1"} for each in streams.redirections)
    return Word("") if elsewhere else text


def _cd(words: list[Word], scope: Scope) -> None:
    operands = [word.text for word in words[1:] if word.text[:1] != "-" or word.text == "-"]
    if not operands:
        scope.enter(scope.home if words[0].text == "cd" else None)
    else:
        scope.enter(scope.previous if operands[0] == "-" else operands[0])


def _popd(words: list[Word], scope: Scope) -> None:  # noqa: ARG001  # one of a table
    scope.enter(None)


def _read(words: list[Word], scope: Scope) -> None:
    for word in words[1:]:
        scope.variables[word.text] = UNKNOWN


def _prints_into(words: list[Word]) -> bool:
    return [word.text for word in words[:2]] == ["printf", "-v"] and len(words) > len(("printf", "-v", "NAME"))


def _printf(words: list[Word], scope: Scope) -> None:
    text = printed("printf", [words[0], *words[3:]], None)
    scope.variables[words[2].text] = UNKNOWN if text is None else text.text


def _read_from(words: list[Word], scope: Scope, stdin: Word | None) -> None:
    """Set what `read` is given where it is known: the only variable is the first line."""
    names = [word.text for word in words[1:] if word.text[:1] != "-"]
    if stdin is not None and len(names) == 1:
        scope.variables[names[0]] = stdin.text.partition("\n")[0].strip()


def _set(words: list[Word], scope: Scope) -> None:
    texts = [word.text for word in words]
    if "--" in texts:
        scope.positional = words[texts.index("--") + 1 :]


def _shift(words: list[Word], scope: Scope) -> None:
    if scope.positional is not None:
        number = words[1].text if len(words) > 1 else "1"
        scope.positional = scope.positional[int(number) :] if number.isdecimal() else None
