"""Read the arguments of programs that run given code, by the tables in `interpreters`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hookrun.config.discovery import CODE_SUFFIXES
from hookrun.config.interpreters import LIBRARY_VARIABLES, Program
from hookrun.shell.simple_command import SimpleCommand
from hookrun.shell.words import UNKNOWN, Word, absolute
from hookrun.shell.wrappers import STDIN

if TYPE_CHECKING:
    from hookrun.config.executed import CodeReader

NO_FILES = STDIN | {"", ".", "/dev/null", "/dev/tty"}
"""Words that name the command's input or no file of code."""


RUN = re.compile(r"[^\s'\"`$(){}<>|&;=\\,*?\[\]!#]+")
"""Text without the characters that a shell or an option puts around a path."""


def looks_like_code(path: str) -> bool:
    """Return whether a path has the suffix of a program or a library."""
    name, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return bool(dot) and bool(name) and suffix.lower() in CODE_SUFFIXES


def state_that_is_code(code: Iterable[str], state: Iterable[str]) -> list[str]:
    """Return the paths of `state` that a reference names as code, or that contain such a file."""
    named = []
    for reference in code:
        kind, _, value = reference.partition(":")
        directory, _, name = value.rpartition(":")
        if kind in {"module", "up"}:
            value = f"{directory}/{name.replace('.', '/') if kind == 'module' else name}"
        if kind in {"path", "program", "node", "module", "up"} or (kind == "maybe" and looks_like_code(value)):
            value = re.sub(r"^\$\{(?:CLAUDE|HOOKRUN)_PROJECT_DIR\}/", "", value)
            if kind != "program" or "/" in value:
                named.append(absolute(value, "/") or "/")
    found = []
    for each in state:
        path = absolute(each, "/") or "/"
        stem = path.rpartition(".")[0] or path
        if any(name in {path, stem} or name.startswith(f"{path.rstrip('/')}/") for name in named):
            found.append(each)
    return found


def directories(value: str) -> list[str]:
    """Return the known directories of a variable like PATH."""
    return [part.replace("?.lua", "").rstrip("/") for part in re.split("[:;]", value) if part and UNKNOWN not in part]


class Arguments:
    """Reads the arguments of a program with its own code or, without a `command`, of a variable."""

    def __init__(
        self,
        reader: CodeReader,
        program: Program,
        command: SimpleCommand | None,
        name: str,
        directory: str | None = None,
    ) -> None:
        self._reader = reader
        self._program = program
        self._command = command
        self._name = name
        self._directory = command.directory if command is not None else directory
        self._libraries: list[str] = []
        for variable, (language, _) in LIBRARY_VARIABLES.items():
            if command is not None and language and language == program.language:
                self._libraries += directories(command.assignments.get(variable, ""))
        self._inline: list[Word] = []
        self._modules: list[Word] = []
        self._classes: list[str] = []
        self._given = False
        self._named_file = False
        self._from_stdin = False

    def read(self, words: Sequence[Word]) -> None:
        """Add all files that the words name."""
        operands = self._operands(list(words))
        for word in self._inline:
            self._reader.inline(self._program.language, word, self._directory, self._libraries)
        for word in self._modules:
            self._module(word.text)
        if self._command is not None:
            self._take(operands, self._command)

    def _operands(self, words: list[Word]) -> list[Word]:
        program = self._program
        operands: list[Word] = []
        unsure = False
        while words:
            word = words.pop(0)
            text = word.text
            if text == "--":
                return [*operands, *words]
            if text[:1] not in {"-", "+"} or len(text) == 1:
                if self._name in {"bun", "deno"} and text in {"run", "test", "x"}:
                    continue
                operands.append(word)
                if unsure:
                    self._reader.path(word, self._directory)
                elif program.first in {"path", "node", "run"} and not self._given and not self._from_stdin:
                    return [*operands, *words]  # a script and its arguments
                unsure = False
                continue
            option, value = self._option(word)
            if option is None:
                self._reader.maybe(word, self._directory)
                unsure = text[:2] == "--" and "=" not in text
                continue
            kind = program.options[option]
            self._given = self._given or option in program.without
            self._take_value(kind, value or self._value(kind, words))
            if kind in {"inline", "module"} and program.language == "python":
                return [*operands, *words]
        return operands

    @staticmethod
    def _value(kind: str, words: list[Word]) -> Word:
        if kind in {"glued", "stdin"} or not words:
            return Word("")
        value = words.pop(0)
        if kind == "skip2" and words:
            words.pop(0)
        return value

    def _option(self, word: Word) -> tuple[str | None, Word | None]:
        """Return the option that a word is or ends in, and its value in the word, if any."""
        options, text = self._program.options, word.text
        if text in options:
            return text, None
        name, equals, value = text.partition("=")
        if equals and name in options:
            return name, Word(value, globs=word.globs)
        if text[:2] != "--" and self._program.clusters:
            for index in range(1, len(text)):
                option = f"{text[0]}{text[index]}"
                if option in options:
                    return option, Word(text[index + 1 :], globs=word.globs) if text[index + 1 :] else None
        return None, None

    def _take_value(self, kind: str, value: Word) -> None:
        reader, directory = self._reader, self._directory
        if kind == "path":
            self._named_file = True
            reader.path(value, directory)
        elif kind == "node":
            self._node(value)
        elif kind == "inline":
            self._inline.append(value)
        elif kind == "module":
            self._modules.append(value)
        elif kind == "library":
            self._libraries.append(value.text)
        elif kind == "classes":
            self._classes += directories(value.text)
        elif kind == "chdir":
            self._directory = absolute(value.text, directory)
        elif kind == "stdin":
            self._from_stdin = True

    def _node(self, value: Word) -> None:
        text = value.text
        if text[:1] in {".", "/"} or "/" in text:
            self._reader.path(value, self._directory, "node")
        self._reader.module("node", text, self._directory, [".", *self._libraries])

    def _module(self, text: str) -> None:
        language = self._program.language
        name, _, rest = text.partition("=")
        if language == "perl" and name == "lib":
            self._libraries += rest.split(",")
            return
        self._reader.module(language, name.lstrip("-"), self._directory, [".", *self._libraries])

    def _take(self, operands: list[Word], command: SimpleCommand) -> None:
        reader, program = self._reader, self._program
        rest = operands
        if self._from_stdin and not self._given:
            reader.stdin(program, command)
        elif not self._given:
            rest = operands[1:]
            if operands and operands[0].text not in NO_FILES - {"."}:
                self._first(operands[0], operands, command)
            elif program.reads_stdin and program.first != "run":
                reader.stdin(program, command)
        for word in rest:
            if program.rest == "maybe":
                reader.maybe(word, self._directory)
            elif program.rest == "inline":
                reader.inline(program.language, word, self._directory, [])
        self._look_for(operands)

    def _look_for(self, operands: list[Word]) -> None:
        reader, program = self._reader, self._program
        named = bool(operands) and ("/" in operands[0].text or looks_like_code(operands[0].text))
        if not self._named_file and not (named and program.first in {"path", "node"}):
            for name in program.looks_for:
                reader.up(name, self._directory)
        for entry in self._classes:
            reader.path(Word(entry), self._directory)

    def _first(self, word: Word, operands: list[Word], command: SimpleCommand) -> None:
        reader, program = self._reader, self._program
        if program.first == "inline":
            reader.inline(program.language, word, self._directory, self._libraries)
        elif program.first == "node":
            reader.path(word, self._directory, "node")
        elif program.first == "run":
            reader.installed(self._name, operands, command)
        elif program.first == "maybe":
            reader.maybe(word, self._directory)
        elif program.first == "data":
            if program.reads_stdin and (command.beside or any(each.reads for each in command.redirections)):
                reader.stdin(program, command)
        else:
            self._script(word, command)

    def _script(self, word: Word, command: SimpleCommand) -> None:
        reader, program = self._reader, self._program
        reader.path(Word(word.text.removeprefix("@")) if program.language == "java" else word, self._directory)
        if program.language == "java" and not looks_like_code(word.text):
            reader.module("java", word.text, self._directory, self._classes or ["."])
        if program.language == "shell" and "/" not in word.text and word.known:
            reader.on_path(word.text, command)  # a shell also looks for scripts on the PATH
