"""Find the files that a hook's command executes or reads as code: an approval covers them.

Declarations are compiled with references `KIND:VALUE`, whose files `trust.hook_files` finds before each run. KIND is
`path` (a file, or a directory that a program enters), `program` (a file to start; without a slash, one on the PATH),
`node` (what `require` takes), `maybe` (covered only if a file looks like code or configuration), `module`
(`DIRECTORY:NAME`, for Python), `up` (`DIRECTORY:NAME`, in the directory or one above), `option` (a directory whose code
is), `git` (a directory in a repository whose settings may name programs), or `unread` (why the command cannot be read,
so not approved). The first four may be globs.

A word is code if its file looks like code, unless the program only handles data. The tables of `interpreters` say what
a look cannot tell: which words are code whatever their names, and which files a program finds itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from shlex import quote
from typing import NamedTuple

from hookrun.config import interpreters
from hookrun.config.command_words import BUILTINS, HERE, KNOWN_VALUES, LONGEST_LINE, MAX_SLOW, is_slow_to_parse
from hookrun.config.discovery import UNREAD
from hookrun.config.interpreters import PLAIN, TAKES_CODE, argument, directories, looks_like_code
from hookrun.config.references import WORKING_DIRECTORY, References, literals, located
from hookrun.shell.evaluate import TOPLEVEL
from hookrun.shell.parse_line import parse_line
from hookrun.shell.programs import having, values
from hookrun.shell.simple_command import NAMING_CODE, ParsedLine, SimpleCommand
from hookrun.shell.words import UNKNOWN, Word
from hookrun.shell.wrappers import nested_line

# The variables of which something is known while a line is read.
KNOWN = {**KNOWN_VALUES, "PATH": UNKNOWN, TOPLEVEL: KNOWN_VALUES["HOOKRUN_PROJECT_DIR"]}
SYSTEM = ("/bin/", "/usr/", "/sbin/", "/opt/")
MAX_REFERENCES = 2000  # of a hook; with more, a command cannot be approved
MAX_NESTED_LINES = 8
MAX_ROOTS = 8  # texts of inline code that may be directories of its modules


class Executed(NamedTuple):
    """The references of a hook's `code`, and the command's parts known only at run time (`unknown`)."""

    code: list[str]
    unknown: list[str]


def executed(
    kind: str, target: str | Sequence[str], env: Mapping[str, str] | None = None, dialect: str = "hookrun"
) -> Executed:
    """Return the files that a hook's command executes; `kind` is its field, `env` its variables."""
    values = dict(env or {})
    line = _line_of(kind, target, dialect)
    if is_slow_to_parse(line):
        return _unread(f"has more than {MAX_SLOW} pipes, here documents or arrays")
    if len(line) + sum(map(len, values.values())) > LONGEST_LINE:
        return _unread(f"is longer than {LONGEST_LINE >> 10} KiB: put it into a script")
    reader = CodeReader(values)
    reader.variables(values, WORKING_DIRECTORY)
    reader.line(line)
    if len(reader.code) > MAX_REFERENCES:
        return _unread(f"names more than {MAX_REFERENCES} files")._replace(unknown=[*reader.unknown])
    return Executed([*reader.code], [*reader.unknown])


def _unread(reason: str) -> Executed:
    return Executed([f"{UNREAD}its command {reason}"], [])


def file_words(kind: str, target: str | Sequence[str], dialect: str = "hookrun") -> list[str]:
    """Return the paths that a hook's command may name, of code and data, each once and in order.

    They are words and their pieces, as in references. A wrong one costs little: it counts only if a file has that name.
    Files that the command writes, such as logs, are left out.
    """
    found = References()
    parsed = parse_line(_line_of(kind, target, dialect), directory=WORKING_DIRECTORY, variables=KNOWN)
    for command in parsed.commands:
        for word in (*command.words, *(each.target for each in command.redirections if each.reads)):
            found.maybe(word, command.directory)
    for part in parsed.unparsed:
        found.maybe(Word(part), WORKING_DIRECTORY)
    references = (reference.partition(":") for reference in found.code)
    return [path for kind, _, path in references if kind == "maybe"]


def _line_of(kind: str, target: str | Sequence[str], dialect: str) -> str:
    if kind == "command" and isinstance(target, str):
        return target
    if kind != "args" or isinstance(target, str):
        return ""
    words = list(target)
    if dialect == "claude":
        for name in ("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"):
            words = [word.replace(f"${{{name}}}", KNOWN_VALUES[name]) for word in words]
    return " ".join(map(quote, words))


class CodeReader(References):
    """Collects the references of lines and of variables."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__()
        self._values = values
        self._depth = 0

    # --- lines and commands

    def line(self, line: str, directory: str | None = WORKING_DIRECTORY) -> None:
        """Read a line."""
        if self._depth > MAX_NESTED_LINES or (HERE in line.replace(WORKING_DIRECTORY, "")):
            self.add("unread", "its command has lines within lines, or characters, that are not read")
            return
        self._depth += 1
        parsed = parse_line(line, directory=directory, variables={**KNOWN, **self._values})
        if parsed.problem in {"too long", "too deep"}:
            self.add("unread", f"its command is {parsed.problem} to be read")
        elif parsed.problem:
            self.unknown[line] = None
            for part in parsed.unparsed:
                self.pieces(part, directory)
        self._commands(parsed)
        self._depth -= 1

    def _commands(self, parsed: ParsedLine) -> None:
        before, self.runs_output = self.runs_output, False
        for command in (*parsed.commands, *parsed.wrappers):
            if command.words:
                self._command(command)
        written = {
            located(word.text, command.directory) for command in parsed.commands for word in _written_by(command)
        }
        if self.runs_output or any(f"{kind}:{path}" in self.code for path in written for kind in ("path", "program")):
            for command in parsed.commands:
                self._contents(command)
        self.runs_output = self.runs_output or before

    def _contents(self, command: SimpleCommand) -> None:
        """Add the files that a command prints or copies: the line runs its output."""
        self._redirected(command)
        if command.program in interpreters.PRINTING or command.program in interpreters.TEXTS:
            for word in command.words[1:]:
                if word.text[:1] != "-":
                    self.path(word.text, command.directory)

    def _command(self, command: SimpleCommand) -> None:
        words, directory = command.words, command.directory
        self.variables(command.assignments, directory)
        self.below = "find" in command.wrappers[-1:]  # it searches all directories below
        self._program(words[0], command)
        name = interpreters.versionless(words[0].text.rpartition("/")[2].lower())
        data = name in interpreters.DATA or name in having("wraps")
        if name in TAKES_CODE:
            data = TAKES_CODE[name].operand != "script"
            self._takes_code(name, command)
        if data:
            self._options(name, words, directory)
        if not data or ("/" in words[0].text and not words[0].text.startswith(SYSTEM)):
            for before, word in pairwise(words):  # a project's program may be anything, whatever its name
                self.maybe(word, directory)
                if word.text[:1] == "-" or before.text[:1] == "-":
                    self.path(argument(word.text), directory, "option")
        if name == "git":
            self.add("git", located(".", directory))
        self._finds(name, words[1:], directory)
        line = nested_line(command.program, words, command.stdin)
        if line is not None and line.text is None and not self._redirected(command):  # it runs its input
            self.runs_output = True

    def _program(self, word: Word, command: SimpleCommand) -> None:
        text = word.text
        if "/" in text or UNKNOWN in text or word.globs:
            self.path(word.text, command.directory, "program")
        elif text not in BUILTINS:
            self._on_path(text, command.directory, command.assignments)
            if not interpreters.INSTALLED.isdisjoint(command.wrappers):
                self.up(f"node_modules/.bin/{text.rpartition('@')[0] or text}", command.directory)

    def _on_path(self, name: str, directory: str | None, variables: Mapping[str, str]) -> None:
        """Add a program looked up on the PATH, which the line may set."""
        self.add("program", name)
        for each in variables.get("PATH", UNKNOWN).split(":"):
            if UNKNOWN not in each and not f"{each}/".startswith(SYSTEM):
                self.path(f"{each or '.'}/{name}", directory, "program")

    def _finds(self, name: str, words: Sequence[Word], directory: str | None) -> None:
        """Add the files that a program finds: in its directory, which any of its words may change."""
        for file in values(name, "finds"):
            if "*" not in file:
                self.up(file, directory)
            for text in (argument(word.text) for word in words):
                if not text.strip(UNKNOWN):
                    self.unknown[text] = None
                elif PLAIN.fullmatch(text):
                    self.path(f"{text}/{file}", directory)

    def _options(self, name: str, words: Sequence[Word], directory: str | None) -> None:
        """Add the program that an option runs: `git -c core.hooksPath=hooks`."""
        before = ""
        for word in words[1:]:
            option = f"{name} {word.text}" if "=" in word.text else f"{name} {before}={word.text}"
            before = word.text
            value = option.partition("=")[2]
            if found := interpreters.EXECUTING.search(option):
                value = option[found.end() :]
                self.pieces(value, directory)
                self.line(value.removeprefix("!").replace(UNKNOWN, "$UNKNOWN"), directory)
                self.path(f"{value}/*", directory)
            elif interpreters.CONFIGURED.search(option) and (name == "curl" or looks_like_code(value)):
                self.path(value, directory)

    # --- programs that take code

    def _takes_code(self, name: str, command: SimpleCommand) -> None:
        operand = TAKES_CODE[name].operand
        given = self._arguments(name, command.words[1:], command.directory, command.assignments)
        if (not given and operand == "script") or (operand == "data" and name not in interpreters.FINDS):
            if command.stdin is not None:
                self._inline(name, command.stdin, command.directory, ["."])
            elif not self._redirected(command):
                self.runs_output = self.runs_output or operand == "script" or command.piped

    def _arguments(self, name: str, words: Sequence[Word], directory: str | None, variables: Mapping[str, str]) -> bool:
        """Add the code that arguments name; return whether the program leaves its input as data."""
        found, given = interpreters.code_words(name, words)
        values = [variables[each] for each in interpreters.DIRECTORIES if each in variables]
        values += [word.text.removeprefix("lib=") for kind, word in found if kind == "option"]
        roots = [*dict.fromkeys((".", *(part for value in values for part in directories(value))))]
        for root in roots[1:]:
            self.path(root, directory)  # a JAR file
        for kind, word in found:
            text = word.text
            plain = PLAIN.fullmatch(text.partition("=")[0])
            if kind == "script" or (kind == "option" and plain):
                self.path(text, directory, "node" if name in interpreters.NODE else "path")
            if kind == "text" or (kind == "option" and not plain):
                self._inline(name, word, directory, roots)
            elif name in interpreters.SHELLS:
                if "/" not in text and word.known:  # a shell also looks for scripts on the PATH
                    self._on_path(text, directory, variables)
            elif kind == "option" or name == "java":
                self.module(text.partition("=")[0].lstrip("-"), directory, roots)
        return given

    def _inline(self, name: str, word: Word, directory: str | None, roots: Sequence[str]) -> None:
        """Add the files that inline code names in literals and imports."""
        text = word.text
        if UNKNOWN in text:
            self.unknown[text] = None
            self.runs_output = self.runs_output or not text.strip(UNKNOWN + " \n")
        if name in interpreters.SHELLS:
            return  # the parser has read its line
        quoted = literals(text)
        if TAKES_CODE[name].operand != "script":
            for literal in quoted if interpreters.SPAWNS.search(text) else ():
                self.pieces(literal, directory)
            for found in interpreters.RUNS.finditer(text):
                self.path(found[1] or found[2], directory)
                self.pieces(found[1] or found[2], directory)
        else:
            self.pieces(text, directory)
            directories_named = [each for each in quoted if UNKNOWN not in each and not looks_like_code(each)]
            roots = [*roots, *directories_named[:MAX_ROOTS]]
            if not text.strip().isdecimal():
                self.unknown["inline code"] = None
        for found in interpreters.IMPORTS.finditer(text):
            for each in dict.fromkeys(re.split(r"\s*,\s*", found[1] or found[2])):
                self.module(each, directory, roots, quoted=bool(found[2]))

    def _redirected(self, command: SimpleCommand) -> bool:
        """Add the files redirected to a command's input; return whether there are any."""
        read = [each.target for each in command.redirections if each.reads]
        for target in read:
            self.path(target.text, command.directory)
        return bool(read)

    # --- variables

    def variables(self, values: Mapping[str, str], directory: str | None) -> None:
        """Add the code that variables name."""
        for name, value in values.items():
            if not value or value == UNKNOWN or name == "PATH":
                continue
            if name in interpreters.DIRECTORIES:
                for part in directories(value):
                    self._library(part, interpreters.DIRECTORIES[name], directory)
            elif name in interpreters.OPTIONS:
                self._arguments(interpreters.OPTIONS[name], [Word(part) for part in value.split()], directory, {})
                self.pieces(value, directory)
            elif name in NAMING_CODE or name.startswith("GIT_CONFIG"):
                for part in (value, *value.lstrip("@").replace(":", " ").split()):
                    self.path(part, directory)
            elif interpreters.LINE_VARIABLES.fullmatch(name):
                self.line(value.replace(UNKNOWN, "$UNKNOWN"), directory)
            elif "/" in value or "." in value:
                self.pieces(value, directory)

    def _library(self, library: str, patterns: str, directory: str | None) -> None:
        first, *others = patterns.split()
        for pattern in others:
            self._library(library, pattern, directory)
        pattern = first
        if located(library, directory).strip("./") not in {"", "${HOOKRUN_PROJECT_DIR}", "${CLAUDE_PROJECT_DIR}"}:
            self.path(library, directory)
            self.path(f"{library}/{pattern}", directory)
        elif pattern == "*.py":
            self.path(f"{library}/sitecustomize.py", directory)


def _written_by(command: SimpleCommand) -> list[Word]:
    """Return the files that a command writes."""
    written = [each.target for each in command.redirections if each.writes]
    if command.program in having("writes_last"):
        written.append(command.words[-1])
    return written
