"""Evaluate a simple command: what it runs, and what it changes for later commands."""

from __future__ import annotations

import functools
from itertools import pairwise

from hookrun.shell.code import Code, code_of
from hookrun.shell.code_calls import TEMPORARY, amounts
from hookrun.shell.expand import ansi_c
from hookrun.shell.programs import having, values
from hookrun.shell.scripts import MAX_NESTING
from hookrun.shell.simple_command import ParsedLine, SimpleCommand, Streams, program_name
from hookrun.shell.syntax_tree import Source, source_of
from hookrun.shell.task_lines import opened
from hookrun.shell.words import MAX_LENGTH, UNKNOWN, LimitExceededError, Word, absolute, quoted
from hookrun.shell.wrappers import (
    EXECUTING,
    FILTERS,
    NestedLine,
    Wrapped,
    find_commands,
    found_paths,
    nested_line,
    unwrap,
    xargs_command,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from hookrun.shell.scripts import ScriptFiles
    from hookrun.shell.simple_command import ShellScope

    Apart = Callable[[Callable[[], object]], None]
    ReadLine = Callable[[Source, ShellScope, Streams], Word | None]
    Walk = Callable[[Node, Source, ShellScope, Streams], Word | None]

# Commands of a line that are noted; a line with more is not read to its end.
MAX_COMMANDS = 1000

# Lines within lines that are read.
MAX_LINE_DEPTH = 8

# The variable that holds this command's output, if known.
TOPLEVEL = "git rev-parse --show-toplevel"

# Represents a printed NUL: it also separates, and no word can hold it.
SEPARATOR = "\n"


class Evaluator:
    """Adds commands to a parsed line. `line` reads a line within it, `walk` a function's body.

    `apart` reads a script, one of the `files` that the line runs; with None none is read.
    """

    def __init__(self, parsed: ParsedLine, apart: Apart, line: ReadLine, walk: Walk, files: ScriptFiles | None) -> None:
        self._parsed = parsed
        self._apart = apart
        self._line = line
        self._walk = walk
        self._files = files
        self._most = MAX_COMMANDS

    def note(self, command: SimpleCommand) -> None:
        """Add a command to the line's."""
        if len(self._parsed.commands) >= self._most:
            raise LimitExceededError("too long")
        self._parsed.commands.append(command)

    def evaluate(
        self, words: list[Word], scope: ShellScope, streams: Streams, assignments: dict[str, str] | None = None
    ) -> Word | None:
        """Note the command of these words and those it runs; return its output if known."""
        words = [*words, *streams.words]
        if words[0].text == "{" and len(words) > 1:  # `! { rm x; }`: the parser takes it for a program
            words = words[1:]
        if scope.variables.get(f"alias {words[0].text}"):
            return self._run_alias(words, scope, streams, assignments)
        function = scope.functions.get(words[0].text)
        if function is not None and words[0].text not in scope.within:
            return self._call(words, scope, streams)
        program = program_name(words[0].text)
        read = [each.target.text for each in streams.redirections if each.operator == "<" and not each.target.output]
        if read and streams.stdin is None:
            streams.stdin = self._text_of(read[-1:], scope)
        command = SimpleCommand(words, streams, scope, assignments)
        line = nested_line(program, words, streams.stdin)
        wrapped = unwrap(program, words) if line is None else None
        if wrapped is not None and program not in having("adds_words"):
            self._parsed.wrappers.append(command)
            return self._run_wrapped(wrapped, command, scope, streams)
        self.note(command)
        given = code_of(program, words, streams.stdin)
        command.code = given if isinstance(given, Code) else None
        if self._files is not None:
            self._run_code(command, scope)
            self._run_files(command, scope, self._files)
        if line is not None:
            return self._kept(self._run_line(line, command, scope), streams, scope)
        for argv in filter(None, self._commands_of(command, wrapped, scope)):
            inner = scope.copy()
            inner.wrappers = (*scope.wrappers, program)
            inner.variables.update(command.assignments)
            launched = program in having("launches")
            self.evaluate(argv, inner, Streams(streams.redirections, streams.stdin) if launched else Streams())
        if _changes_shell(program, words, scope, streams.stdin):
            return Word("")
        return self._kept(self._printed(command, scope), streams, scope)

    def _commands_of(self, command: SimpleCommand, wrapped: Wrapped | None, scope: ShellScope) -> list[list[Word]]:
        """Return the commands that a program makes of its words and of what it reads."""
        program, words = command.program, command.words
        if program == "find":
            return find_commands(words)
        if wrapped is None:
            return _launched(program, words)
        names = [after for before, after in pairwise(word.text for word in words) if before in {"-a", "--arg-file"}]
        within = xargs_command(wrapped, self._text_of(names, scope) if names else command.stdin)
        if program == "parallel" and any(" " in word.text for word in within[:1]):
            # a line for a shell, or several
            between = "\n" if "{}" in wrapped.words[0].text or wrapped.words[0].text[:3] == ":::" else " "
            return [[Word("eval"), Word(between.join(word.text for word in within))]]
        return [within]

    def _printed(self, command: SimpleCommand, scope: ShellScope) -> Word | None:
        """Return what a command prints, if known."""
        program = command.program
        prints = having("prints").get(program)
        printed = (
            _directory_of(command, scope) if prints == "directory" else output_of(program, command.words, command.stdin)
        )
        if prints == "path" and printed is not None and printed.text in scope.functions:
            return None  # the program, not the function of that name
        if prints == "input" and printed is None:
            return self._text_of(command.operands, scope)
        if prints == "copy":
            self._write(command.operands, printed, scope, adds="-a" in command.arguments)
        return printed

    def _run_alias(
        self, words: list[Word], scope: ShellScope, streams: Streams, assignments: dict[str, str] | None
    ) -> Word | None:
        """Run the text of an alias of the line. Within that text it is no alias."""
        name = f"alias {words[0].text}"
        alias = scope.variables[name]
        scope.variables[name] = ""
        text = self.evaluate([Word("eval"), Word(f"{alias} {quoted(words[1:])}")], scope, streams, assignments)
        scope.variables[name] = alias
        return text

    def _run_wrapped(
        self, wrapped: Wrapped, command: SimpleCommand, scope: ShellScope, streams: Streams
    ) -> Word | None:
        """Run a wrapper's command, which reads and writes what the wrapper does."""
        program = command.program
        inner = scope if program in having("in_shell") else scope.copy()
        before = scope.wrappers
        inner.wrappers = (*scope.wrappers, program)
        if program in having("apart"):
            inner.directory = None
        elif wrapped.directory is not None:
            inner.enter(wrapped.directory.text)
        given = Streams(streams.redirections, streams.stdin)
        text = self.evaluate(wrapped.words, inner, given, {**command.assignments, **wrapped.assignments})
        scope.wrappers = before
        return text

    def _run_line(self, line: NestedLine, command: SimpleCommand, scope: ShellScope) -> Word | None:
        """Read the line that a program gives to a shell: this one or its own."""
        if line.text is None:
            return None
        if scope.depth >= MAX_LINE_DEPTH:
            raise LimitExceededError("too deep")
        program = command.program
        before = (scope.depth, scope.wrappers)
        inner = scope
        if program not in having("in_shell"):
            inner = scope.copy()
            inner.variables.update(command.assignments)
            inner.positional = [*line.positional]
            inner.variables.update(("0", word.text) for word in line.zero)
            inner.functions = {}
        inner.depth += 1
        inner.wrappers = (*scope.wrappers, program)
        if program in having("apart"):
            inner.directory = None
        given = Streams(stdin=command.stdin if line.text is not command.stdin else None)
        text = self._line(source_of(line.text.text, line.text.at), inner, given)
        scope.depth, scope.wrappers = before
        return text

    def _run_files(self, command: SimpleCommand, scope: ShellScope, files: ScriptFiles) -> None:
        """Read the scripts that a command runs, in this shell or one of their own."""
        if scope.scripts >= MAX_NESTING:
            return
        for script in opened(command.words, scope.directory, files):
            if script.family:
                command.code = Code(script.text, script.family, script.place)
                self._run_code(command, scope)
                continue
            shared, inner = command.program in having("in_shell"), scope.copy()
            if not shared:
                inner.functions, inner.directory = {}, script.directory
                inner.variables.update(command.assignments)
            if script.words or not shared:
                inner.positional = script.words or []
            inner.variables["0"] = script.place
            inner.script, inner.row, inner.scripts = script.place, script.row, scope.scripts + 1
            inner.depth, inner.wrappers = 0, (*scope.wrappers, command.program)
            source, streams, first = source_of(script.text, None, script.row), Streams(), len(self._parsed.commands)
            most, self._most = self._most, first + MAX_COMMANDS
            self._apart(functools.partial(self._line, source, inner, streams))
            self._most = most + len(self._parsed.commands) - first
            if shared:
                scope.become(inner)

    def _run_code(self, command: SimpleCommand, scope: ShellScope) -> None:
        """Run what a command's code amounts to in shell."""
        if command.code is None or scope.scripts >= MAX_NESTING:
            return
        code = command.code
        for found, row in amounts(code, scope.home, scope.directory):
            inner = scope.copy()
            inner.functions = {}
            inner.script = code.place or f"the code of {command.program}"
            inner.row, inner.scripts = row, scope.scripts + 1
            inner.wrappers = (*scope.wrappers, command.program)
            if isinstance(found, str):
                read = functools.partial(self._line, source_of(found), inner, Streams())
            else:
                words = [Word(text, globs="*" in text) for text in found]
                read = functools.partial(self.evaluate, words, inner, Streams(stdin=Word("")))
            self._apart(read)

    def _text_of(self, names: list[str], scope: ShellScope) -> Word | None:
        """Return the text of files, None if unknown."""
        paths = [absolute(name, scope.directory) for name in names]
        texts = [self._files.read(path) for path in paths if path is not None] if self._files is not None else []
        known = [text for text in texts if text is not None]
        return Word("".join(known)) if known and len(known) == len(names) else None

    def _kept(self, text: Word | None, streams: Streams, scope: ShellScope) -> Word | None:
        """Return what is printed, unless to a file, which has it then."""
        return Word("") if self.write(text, streams, scope) else text

    def write(self, text: Word | None, streams: Streams, scope: ShellScope) -> bool:
        """Take note of what the line writes into files; return whether it does."""
        into = [each for each in streams.redirections if each.writes and each.descriptor in {"", "1"}]
        for each in into:
            self._write([each.target.text], text, scope, adds=each.operator in {">>", "&>>"})
        return bool(into)

    def _write(self, names: list[str], text: Word | None, scope: ShellScope, *, adds: bool) -> None:
        for path in filter(None, (absolute(name, scope.directory) for name in names)):
            if self._files is not None:
                self._files.write(path, text.text if text is not None else None, adds=adds)

    def _call(self, words: list[Word], scope: ShellScope, streams: Streams) -> Word | None:
        """Walk a function's body as part of the line. Within itself it is an ordinary command."""
        function = words[0].text
        body, source = scope.functions[function]
        before = scope.positional, scope.within
        scope.positional, scope.within = words[1:], (*scope.within, function)
        text = self._walk(body, source, scope, Streams(streams.redirections, streams.stdin))
        scope.positional, scope.within = before
        return text


def _launched(program: str, words: list[Word]) -> list[list[Word]]:
    """Return what a program that launches others may run: a word after an option may be its value or the command."""
    if program not in having("launches"):
        return []
    starts = values(program, "launches")
    texts = [word.text for word in words]
    first = 1 + next((index for index, text in enumerate(texts) if text in starts), len(texts) if starts else 0)
    found = []
    for index in range(first, len(words)):
        after_option = index > first and texts[index - 1][:1] == "-" and texts[index - 1] != "--"
        if texts[index][:1] != "-":
            found.append(words[index:])
            if not after_option:
                break
    if "--" in texts[first:-1]:
        found.append(words[texts.index("--", first) + 1 :])
    return found


def _directory_of(command: SimpleCommand, scope: ShellScope) -> Word | None:
    if command.program == "pwd":
        return None if scope.directory is None else Word(scope.directory)
    line = " ".join(word.text for word in command.words)
    if line == "mktemp -d" and {"PATH", "TMPDIR"}.isdisjoint({*scope.variables, *command.assignments}):
        return Word(TEMPORARY)
    return Word(scope.variables[TOPLEVEL]) if line == TOPLEVEL and TOPLEVEL in scope.variables else None


def _changes_shell(program: str, words: list[Word], scope: ShellScope, stdin: Word | None) -> bool:
    """Change the scope as a command changes its shell; return whether it did."""
    texts = [word.text for word in words]
    if program in having("enters"):
        home = scope.home if texts[0] == "cd" else None
        operand = next((text for text in texts[1:] if text[:1] != "-" or text == "-"), home)
        scope.enter(scope.previous if operand == "-" else operand)
    elif program == "popd":
        scope.enter(None)
    elif program == "read":
        _read(texts[1:], scope, stdin)
    elif program == "set":
        if "--" in texts:
            scope.positional = words[texts.index("--") + 1 :]
    elif program == "shift":
        if scope.positional is not None:
            number = texts[1] if len(texts) > 1 else "1"
            scope.positional = scope.positional[int(number) :] if number.isdecimal() else None
    elif program == "alias":
        scope.variables.update((f"alias {name}", value) for name, _, value in (each.partition("=") for each in texts))
    elif texts[:2] == ["printf", "-v"] and len(texts) > len(("printf", "-v", "NAME")):
        printed = output_of("printf", [words[0], *words[3:]], None)
        scope.variables[texts[2]] = UNKNOWN if printed is None else printed.text
    else:
        return False
    return True


def _read(texts: list[str], scope: ShellScope, stdin: Word | None) -> None:
    """Set the variables of `read`; one alone is the first line, if known."""
    scope.variables.update(dict.fromkeys(texts, UNKNOWN))
    names = [text for text in texts if text[:1] != "-"]
    if stdin is not None and len(names) == 1:
        scope.variables[names[0]] = stdin.text.partition("\n")[0].strip()


# --- what a few programs print, to read input piped into a shell or inserted by `$(...)`


def output_of(program: str, argv: list[Word], stdin: Word | None) -> Word | None:
    """Return what a program prints, if that is known."""
    prints = having("prints").get(program)
    return OUTPUTS[prints](argv[1:], stdin) if prints in OUTPUTS else None


def _echo(words: list[Word], _stdin: Word | None) -> Word:
    escapes = ends = False
    while words and words[0].text in {"-n", "-e", "-E", "-ne", "-en", "-nE", "-En"}:
        escapes = escapes or "e" in words[0].text
        ends = ends or "n" in words[0].text
        words = words[1:]
    text = " ".join(word.text for word in words)
    at = words[0].at if len(words) == 1 and not (escapes and "\\" in text) else None
    return Word((ansi_c(text, SEPARATOR) if escapes else text) + ("" if ends else "\n"), at)


def _printf(words: list[Word], _stdin: Word | None) -> Word | None:
    if words and words[0].text == "--":
        words = words[1:]
    if not words or words[0].text == "-v":
        return None
    form, values = ansi_c(words[0].text, SEPARATOR), [word.text for word in words[1:]]
    places = form.replace("%%", "").count("%")
    if places != form.count("%s") + form.count("%b"):
        return None
    text = ""
    while True:
        given, values = values[:places], values[places:]
        parts = form.replace("%%", "\1").replace("%b", "%s").split("%s")
        text += "".join(part + value for part, value in zip(parts, [*given, *[""] * len(parts)], strict=False))
        if len(text) > MAX_LENGTH:
            return None
        if not values or not places:
            return Word(text.replace("\1", "%"))


def _find(words: list[Word], _stdin: Word | None) -> Word | None:
    if any(word.text in EXECUTING or word.text == "-delete" for word in words):
        return None
    paths = [word.text for word in found_paths([Word("find"), *words])]
    if not any(word.text in FILTERS for word in words):
        paths = [path.replace(UNKNOWN, "*") for path in paths]  # everything in a directory
    return Word("".join(f"{path}\n" for path in paths))


def _base64(words: list[Word], stdin: Word | None) -> Word | None:
    decodes = [word.text for word in words] in (["-d"], ["--decode"], ["-D"], ["-di"])
    if stdin is None or not stdin.known or not decodes:
        return None
    import base64
    import binascii

    try:
        return Word(base64.b64decode(stdin.text).decode("utf-8", "replace").replace("\0", UNKNOWN))
    except (binascii.Error, ValueError):
        return None


def _which(words: list[Word], _stdin: Word | None) -> Word | None:
    """`which PROGRAM`, `command -v PROGRAM`, `type -P PROGRAM`: its name stands for its path."""
    *options, name = words or [Word("-")]
    return name if all(word.text in {"-v", "-P", "-p"} for word in options) and name.text[:1] != "-" else None


# What a program prints (`prints` of its row) -> its text, by its words and what it reads.
OUTPUTS: dict[str, Callable[[list[Word], Word | None], Word | None]] = {
    "decoded": _base64,
    "input": lambda words, stdin: stdin if all(word.text in {"-", "-u"} for word in words) else None,
    "echo": _echo,
    "found": _find,
    "listing": lambda words, _: Word("*") if all(word.text in {"-1", "-A", "-a"} for word in words) else None,
    "form": _printf,
    "copy": lambda _, stdin: stdin,
    "path": _which,
}
