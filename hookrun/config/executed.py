"""Find the files that a hook's command executes or reads as code: an approval covers them.

Declarations are compiled with references `KIND:VALUE`, whose files `trust.hook_files` finds before each run. KIND is
`path` (a file, or a directory that a program enters), `program` (a file to start; without a slash, one on the PATH),
`node` (what `require` takes), `module` (`DIRECTORY:NAME`, for Python), `up` (`DIRECTORY:NAME`, in the directory or one
above), `glob`, `maybe` and `maybeglob` (covered only if a file looks like code or configuration), or `unread` (why the
command cannot be read, so not approved).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import NamedTuple

from hookrun.config import interpreters
from hookrun.config.code_arguments import NO_FILES, RUN, Arguments, directories, looks_like_code
from hookrun.config.command_words import (
    BUILTINS,
    HERE,
    KNOWN_VALUES,
    LONGEST_LINE,
    MAX_SLOW,
    NAMED,
    is_slow_to_parse,
)
from hookrun.config.discovery import UNREAD
from hookrun.shell.evaluate import TOPLEVEL
from hookrun.shell.parse_line import parse_line
from hookrun.shell.simple_command import ParsedLine, SimpleCommand
from hookrun.shell.words import UNKNOWN, Word
from hookrun.shell.wrappers import WRAPPERS, nested_line

DEPTH = 16
"""Levels that a line may leave the working directory by `cd ..`."""

WORKING_DIRECTORY = f"/{HERE}" * DEPTH
KNOWN = {**KNOWN_VALUES, "PATH": UNKNOWN, TOPLEVEL: KNOWN_VALUES["HOOKRUN_PROJECT_DIR"]}
"""The variables of which something is known while a line is read."""

MAX_REFERENCES = 2000
"""References of a hook; with more, a command cannot be approved."""

SYSTEM = ("/bin/", "/usr/", "/sbin/", "/opt/")
LITERAL = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"|`([^`]*)`", re.DOTALL)
RUNS_LINES = re.compile(r"(?:^|[0-9$/;{}\s])e\s+\S")
"""The sed command that runs a line."""

MAX_NESTED_LINES, MAX_ROOTS = 8, 8
"""Limits on nested lines, and on directories searched for inline code's modules."""


class Executed(NamedTuple):
    """The references of a hook's `code`, and the command's parts known only at run time (`unknown`)."""

    code: list[str]
    unknown: list[str]


def _unread(reason: str) -> Executed:
    return Executed([f"{UNREAD}its command {reason}"], [])


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
    if line:
        reader.line(line)
    if len(reader.code) > MAX_REFERENCES:
        return _unread(f"names more than {MAX_REFERENCES} files")._replace(unknown=[*reader.unknown])
    return Executed([*reader.code], [*reader.unknown])


def file_words(kind: str, target: str | Sequence[str], dialect: str = "hookrun") -> list[str]:
    """Return the paths that a hook's command may name, of code and data, each once and in order.

    They are words and their pieces, as in references. A wrong one costs little: it counts only if a file has that name.
    Files that the command writes, such as logs, are left out.
    """
    reader = CodeReader({})
    parsed = parse_line(_line_of(kind, target, dialect), directory=WORKING_DIRECTORY, variables=KNOWN)
    for command in parsed.commands:
        for word in (*command.words, *(each.target for each in command.redirections if each.reads)):
            reader.maybe(word, command.directory)
    for part in parsed.unparsed:
        reader.maybe(Word(part), WORKING_DIRECTORY)
    found = (reference.partition(":") for reference in reader.code)
    return [path for kind, _, path in found if kind == "maybe"]


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


class CodeReader:
    """Collects references. Paths begin with WORKING_DIRECTORY or a variable's name until added."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.code: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self._values = values
        self._depth = 0
        self._runs_what_is_made = False
        self._below = False

    # --- lines and commands

    def line(self, line: str, directory: str | None = WORKING_DIRECTORY) -> None:
        """Read a line."""
        if self._depth > MAX_NESTED_LINES or (HERE in line.replace(WORKING_DIRECTORY, "")):
            self._add("unread", "its command has lines within lines, or characters, that are not read")
            return
        self._depth += 1
        parsed = parse_line(line, directory=directory, variables={**KNOWN, **self._values})
        if parsed.problem in {"too long", "too deep"}:
            self._add("unread", f"its command is {parsed.problem} to be read")
        elif parsed.problem:
            self.unknown[line] = None
            for part in parsed.unparsed:
                self._pieces(part, directory)
        self._commands(parsed)
        self._depth -= 1

    def _commands(self, parsed: ParsedLine) -> None:
        self._runs_what_is_made = False
        for command in (*parsed.commands, *parsed.wrappers):
            self._command(command)
        written = {
            self._located(each.target.text, command.directory)
            for command in parsed.commands
            for each in command.redirections
            if each.writes
        }
        written |= {
            self._located(command.words[-1].text, command.directory)
            for command in parsed.commands
            if command.program in {"cp", "mv", "ln", "install", "tee", "dd"}
        }
        if self._runs_what_is_made or any(
            f"{kind}:{path}" in self.code for path in written for kind in ("path", "program")
        ):
            for command in parsed.commands:
                self._contents(command)

    def _contents(self, command: SimpleCommand) -> None:
        """Add the files that a command prints or copies: the line runs its output."""
        self._redirected(command)
        if command.program in interpreters.CONTENTS:
            for word in command.words[1:]:
                if word.text[:1] != "-":
                    self.path(word, command.directory)

    def _command(self, command: SimpleCommand) -> None:
        if not command.words:
            return
        self.variables(command.assignments, command.directory, exported=True)
        words = command.words
        self._below = "find" in command.wrappers[-1:]  # it searches all directories below
        self._program(words[0], command)
        self._run(words, command)
        line = nested_line(command.program, words, command.stdin)
        if line is not None and line.text is None and not self._redirected(command):  # it runs its input
            self._runs_what_is_made = True

    def _program(self, word: Word, command: SimpleCommand) -> None:
        text = word.text
        if UNKNOWN in text or word.globs:
            self._runs_what_is_made = self._runs_what_is_made or text == UNKNOWN
            self.path(word, command.directory, "program")
        elif "/" in text:
            self.path(word, command.directory, "program")
        elif text not in BUILTINS:
            self.on_path(text, command)
            if not interpreters.INSTALLED.isdisjoint(command.wrappers):  # `npx -c LINE`
                self.up(f"node_modules/.bin/{text}", command.directory)

    def on_path(self, name: str, command: SimpleCommand) -> None:
        """Add a program looked up on the PATH, which the line may set."""
        self._add("program", name)
        for directory in command.assignments.get("PATH", UNKNOWN).split(":"):
            if UNKNOWN not in directory and not f"{directory}/".startswith(SYSTEM):
                self.path(Word(f"{directory or '.'}/{name}"), command.directory, "program")

    def _run(self, words: Sequence[Word], command: SimpleCommand) -> None:
        text = words[0].text
        name = interpreters.versionless(text.rpartition("/")[2].lower())
        rest = words[1:]
        if "/" in text and not text.startswith(SYSTEM):
            self._maybe_all(rest, command)  # a project's program may be anything, whatever its name
        if name in interpreters.RUNNERS:
            self._runner(name, rest, command)
        if name in interpreters.PROGRAMS:
            Arguments(self, interpreters.PROGRAMS[name], command, interpreters.versionless(name)).read(rest)
        elif name in interpreters.NAMING:
            self._named(name, rest, command)
        elif name in interpreters.NO_CODE or name in WRAPPERS:
            self._options(rest, command)
        elif name not in interpreters.RUNNERS:
            self._maybe_all(rest, command)

    def _named(self, name: str, words: Sequence[Word], command: SimpleCommand) -> None:
        if name in {".", "source"}:
            if words and words[0].output is None:
                self.path(words[0], command.directory)
                if "/" not in words[0].text:
                    self.on_path(words[0].text, command)
                self._maybe_all(words[1:], command)
        elif name in {"go", "run-parts"}:
            for word in words:  # all in these directories
                self.path(Word(f"{word.text}/{'*.go' if name == 'go' else '*'}", globs=True), command.directory)
            self._maybe_all(words, command)
        else:
            for word in words:
                self._nested(word.text.partition("=")[2], command.directory)

    def _runner(self, name: str, words: Sequence[Word], command: SimpleCommand) -> None:
        at = next((i for i, word in enumerate(words) if word.text in interpreters.RUNNERS[name]), len(words))
        rest = [word for i, word in enumerate(words) if i > at]
        while rest and rest[0].text[:1] == "-":
            self.maybe(rest[0], command.directory)
            rest = rest[1:]
        if rest:
            self.installed(name, rest, command)
        self._maybe_all(words[at + 1 :], command)

    def installed(self, name: str, words: Sequence[Word], command: SimpleCommand) -> None:
        """Run a program that a package manager finds, as in node_modules/.bin."""
        if looks_like_code(words[0].text):
            self.path(words[0], command.directory)
            self._maybe_all(words[1:], command)
            return
        self._program(words[0], command)
        if name in interpreters.INSTALLED and "/" not in words[0].text:
            self.up(f"node_modules/.bin/{words[0].text.rpartition('@')[0] or words[0].text}", command.directory)
        if interpreters.versionless(words[0].text.lower()) not in {"npm", "pnpm", "yarn", "npx"}:
            self._run(words, command)

    def _options(self, words: Sequence[Word], command: SimpleCommand) -> None:
        """Add the program that an option runs: `git -c core.hooksPath=hooks`."""
        for before, word in zip(("", *(each.text for each in words)), words, strict=False):
            if interpreters.EXECUTING_OPTIONS.search(word.text):
                value = word.text.rpartition("=")[2]
                self._pieces(value, command.directory)
                if "hookspath=" in word.text.lower():
                    self.path(Word(f"{value}/*", globs=True), command.directory)
                elif command.program == "git" and value[:1] != "!":
                    self._nested(value, command.directory)
            elif before in {"-I", "--use-compress-program", "--to-command", "-e", "--rsh"} and command.program in {
                "tar",
                "rsync",
            }:
                self._nested(word.text, command.directory)
            elif before in interpreters.CONFIG_OPTIONS and (command.program == "curl" or looks_like_code(word.text)):
                self.path(word, command.directory)

    def _nested(self, line: str, directory: str | None) -> None:
        runs = self._runs_what_is_made
        self.line(line.replace(UNKNOWN, "$UNKNOWN"), directory)
        self._runs_what_is_made = self._runs_what_is_made or runs

    # --- variables

    def variables(self, values: Mapping[str, str], directory: str | None, *, exported: bool = False) -> None:
        """Add the code that variables name; of `exported` ones, only those that programs read."""
        for name, value in values.items():
            if not value or value == UNKNOWN or name == "PATH":
                continue
            if name in interpreters.CODE_PATHS:
                for part in value.lstrip("@").replace(":", " ").split():
                    self.path(Word(part), directory)
                self.path(Word(value.lstrip("@")), directory)
            elif name in interpreters.OPTION_VARIABLES:
                program = interpreters.OPTION_VARIABLES[name]
                words = [Word(part) for part in value.split()]
                Arguments(self, interpreters.PROGRAMS[program], None, program, directory).read(words)
                self._pieces(value, directory)
            elif name in interpreters.LIBRARY_VARIABLES:
                for part in directories(value):
                    self._library(part, interpreters.LIBRARY_VARIABLES[name][1], directory)
            elif not exported and interpreters.LINE_VARIABLES.fullmatch(name):
                self._nested(value, directory)
            elif not exported and ("/" in value or "." in value):
                self._pieces(value, directory)

    def _library(self, library: str, pattern: str, directory: str | None) -> None:
        if self._located(library, directory).strip("./") not in {"", "${HOOKRUN_PROJECT_DIR}", "${CLAUDE_PROJECT_DIR}"}:
            self.path(Word(f"{library}/{pattern}", globs=True), directory)
        elif pattern == "*.py":
            self.path(Word(f"{library}/sitecustomize.py"), directory)

    # --- words

    def _maybe_all(self, words: Iterable[Word], command: SimpleCommand) -> None:
        for word in words:
            self.maybe(word, command.directory)

    def maybe(self, word: Word, directory: str | None) -> None:
        """Add a word that is code only if its file looks like it, and pieces that may be paths."""
        text = word.text
        if word.globs:
            self.path(word, directory, "maybe")
        else:
            if text[:1] == "-":
                text = text.partition("=")[2] if "=" in text else text[2:]
            self._pieces(text, directory)

    def _pieces(self, text: str, directory: str | None) -> None:
        found = RUN.findall(text)
        for piece in dict.fromkeys((text, *found, *(part for each in found for part in each.split(":")))):
            for part in piece.split(UNKNOWN):
                if part.strip("./-") and "\n" not in part and (piece == text or "/" in part or "." in part[:-1]):
                    self.path(Word(part.removeprefix("@")), directory, "maybe")

    def inline(self, language: str, word: Word, directory: str | None, libraries: Sequence[str]) -> None:
        """Add the files that inline code names in literals and imports."""
        text = word.text
        if UNKNOWN in text:
            self.unknown[text] = None
            self._runs_what_is_made = self._runs_what_is_made or not text.strip(UNKNOWN + " \n")
        literals = self._literals(language, text, directory)
        if language in interpreters.MODULES:
            roots = [".", *libraries]
            if language == "python":
                roots += [each for each in literals if each and "\n" not in each and not looks_like_code(each)]
            for found in interpreters.MODULES[language][0].finditer(text):
                for name in re.split(r"\s*,\s*", next(filter(None, found.groups()), "")):
                    self.module(language, name, directory, roots[:MAX_ROOTS])

    def _literals(self, language: str, text: str, directory: str | None) -> list[str]:
        """Add the files that inline code names, and return its literals."""
        if language in {"sed", "shell", "jq", "sql"}:  # their literals name no files that run
            if language == "sed" and RUNS_LINES.search(text):
                self._pieces(text, directory)
            return []
        literals = ["".join(each) for each in LITERAL.findall(text)]
        for literal in literals:
            self._pieces(literal, directory)
        if language != "awk":
            self._pieces(text, directory)
            if not text.strip().isdecimal():
                self.unknown["inline code"] = None
        return literals

    def module(self, language: str, name: str, directory: str | None, roots: Sequence[str]) -> None:
        """Add a module that a language finds in one of the `roots`."""
        if UNKNOWN in name:
            self.unknown[name] = None
        elif language == "python":
            for root in roots:
                self._add("module", f"{self._located(root, directory)}:{name.partition(':')[0]}")
        elif language == "node" and name[:1] in {".", "/"}:
            self.path(Word(name), directory, "node")
        elif language == "node":
            for root in roots[1:]:
                self.path(Word(f"{root}/{name}"), directory, "node")
            self.up(f"node_modules/{name}", directory)
        else:
            suffix = interpreters.MODULES[language][1] if language in interpreters.MODULES else ""
            plain = name.replace("::", "/") if language == "perl" else name
            plain = plain.replace(".", "/") if language in {"java", "lua"} and "/" not in plain else plain
            for root in roots:
                for path in (f"{plain}{suffix}", plain, *([f"{plain}/{plain}.jq"] if language == "jq" else [])):
                    self.path(Word(path if path[:1] == "/" else f"{root}/{path}"), directory)

    def up(self, name: str, directory: str | None) -> None:
        """Add a file searched for in a directory and those above it."""
        self._add("up", f"{self._located('.', directory)}:{name}")

    def stdin(self, program: interpreters.Program, command: SimpleCommand) -> None:
        """Add the code that a program reads from standard input."""
        redirected = self._redirected(command)
        if command.stdin is not None:
            self.inline(program.language, command.stdin, command.directory, [])
        elif not redirected:
            self._runs_what_is_made = True

    def _redirected(self, command: SimpleCommand) -> bool:
        """Add the files redirected to a command's input; return whether there are any."""
        read = [each.target for each in command.redirections if each.reads]
        for target in read:
            self.path(target, command.directory)
        return bool(read)

    # --- paths

    def path(self, word: Word, directory: str | None, kind: str = "path") -> None:
        """Add a file; an unknown part may be any name."""
        text = word.text.removeprefix("file://")
        if text in NO_FILES:
            return
        if kind != "maybe" and not text.strip(UNKNOWN):
            self._runs_what_is_made = True
        known = text[0] == "/" or directory is not None
        if UNKNOWN not in text and known:
            located = self._located(text, directory)
            pattern = self._below or any(sign in text for sign in "*?[")
            if not (word.globs and pattern):
                self._add(kind, located if kind != "program" or "/" in located else f"./{located}")
            if pattern:  # a loop variable stands for names, quoted or not
                self._glob(located, kind)
            return
        self.unknown[text] = None
        tail = text.rpartition(UNKNOWN)[2]
        if "/" in text.partition(UNKNOWN)[0] and known:
            self._glob(self._located(text.replace(UNKNOWN, "*"), directory), kind)
        elif tail.strip("/"):  # most likely from the project's root
            for base in (f"/{NAMED}HOOKRUN_PROJECT_DIR", WORKING_DIRECTORY):
                self.path(Word(tail.lstrip("/")), base, kind)

    def _glob(self, pattern: str, kind: str) -> None:
        above, slash, name = pattern.rpartition("/")
        for each in (pattern, *([f"{above}{slash}**/{name}"] if self._below else [])):
            self._add("maybeglob" if kind == "maybe" else "glob", each)

    def _located(self, text: str, directory: str | None) -> str:
        """Return a path as declared: relative to the working directory, or from a variable."""
        path = text if text[:1] == "/" else f"{directory or WORKING_DIRECTORY}/{text}"
        parts = [part for part in path.split("/") if part not in {"", "."}]
        if parts and parts[0][0] == NAMED:
            name, rest = parts[0][1:], "/".join(parts[1:])
            return f"~/{rest}" if name == "HOME" else f"${{{name}}}/{rest}".rstrip("/")
        levels = next((i for i, part in enumerate(parts) if part != HERE), len(parts))
        if not levels:
            return "/" + "/".join(parts)
        relative = "/".join([*[".."] * (DEPTH - levels), *parts[levels:]])
        return f"./{relative}" if relative[:1] == "~" or relative[:2] == "${" else relative or "."

    def _add(self, kind: str, value: str) -> None:
        if HERE in value or NAMED in value:  # a name joined to a directory
            self.unknown[value.replace(HERE, "...").replace(NAMED, "$")] = None
        else:
            self.code[f"{kind}:{value}"] = None
