"""Find and read files of cases, and report every mistake with its position."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

from hookrun.agents import AGENTS
from hookrun.config.discovery import identity_or_none
from hookrun.config.document import EMPTY, Diagnostic, Document, Invalid, Location, SourceError, read
from hookrun.config.schema import EVENT, NOT_BLANK, PATH, WORD
from hookrun.config.shapes import OBJECT, Choice, Field, ListOf, MapOf, Record, Shape, Str, names, validate_into
from hookrun.config.validate import FIELDS
from hookrun.core import context as contexts
from hookrun.core.globs import glob
from hookrun.core.model import FAILURES, PRECEDENCE
from hookrun.core.text import UserError, did_you_mean, one_of, quote
from hookrun.testing import is_case_file


class Either(Shape):
    """A value of a shape, or an unchecked one of another type."""

    def __init__(self, shape: Shape, other: type) -> None:
        super().__init__(shape.says, shape.schema)
        self._shape, self._other = shape, other

    def check(self, value: object, at: Location) -> object:
        """Return the value. Raises Invalid."""
        return value if isinstance(value, self._other) else self._shape.check(value, at)


NAME = Str("a name on one line", r"[^\u0000-\u001f\u007f]*[^\u0000-\u0020\u007f][^\u0000-\u001f\u007f]*")
HOOK = Str("the name of a hook", NAME.pattern)
ACTION = Str("an action", "|".join(PRECEDENCE), known=tuple(PRECEDENCE))
AGENT = Str("an agent: " + ", ".join(AGENTS), "|".join(AGENTS), known=tuple(AGENTS))

# The fields of `expect`.
EXPECT_FIELDS = (
    Field(
        "action",
        ListOf(ACTION, "an action or a list of different actions", alone=ACTION, unique=True),
        "The combined action of all hooks, or a list of accepted ones.",
    ),
    Field("message", Either(WORD, NoneType), "A glob on the message; null: no message."),
    Field("additional_context", Either(WORD, NoneType), "A glob on the text for the model; null: no text."),
    Field("system_message", Either(WORD, NoneType), "A glob on the text for the user; null: no text."),
    Field("args", OBJECT, "All arguments of the tool after the hooks."),
    Field("output", Either(WORD, NoneType), "A glob on the tool's output, or error, after the hooks; null: none."),
    Field("prompt", Either(WORD, NoneType), "A glob on the prompt after the hooks; null: none."),
    Field(
        "failure", Either(Choice(tuple(FAILURES)), NoneType), "How a hook failed; null, the default: no hook failed."
    ),
    Field(
        "fired",
        Either(ListOf(HOOK, "a list of hooks, true or false", least=0), bool),
        "The hooks that ran, in order; true: at least one did; false: none did.",
    ),
    Field(
        "files",
        MapOf(PATH, Either(Str("a glob"), NoneType), "an object of path and glob"),
        "Files in the case's directory afterwards: a glob on the content; null: the file does not exist.",
    ),
)

# The fields of a case.
CASE_FIELDS = (
    Field("name", NAME, "The case's name, unique in its file."),
    Field("event", EVENT, "The event to fire, by any of its names."),
    Field(
        "hook",
        ListOf(HOOK, "the name of a hook or a list of them", alone=HOOK, unique=True),
        "Run only these hooks; default: all.",
    ),
    Field("tool", WORD, "The context's `tool_name`."),
    Field("args", OBJECT, "The context's `tool_args`."),
    Field("context", OBJECT, "Other fields of the context."),
    Field("context_file", PATH, "A JSON file with a context, relative to the file of cases."),
    Field(
        "agents",
        ListOf(AGENT, "an agent or a list of different agents", alone=AGENT, unique=True),
        "Run once as each of these agents.",
    ),
    Field("env", FIELDS["env"].shape, "Variables in the environment of the hooks."),
    Field(
        "files",
        MapOf(PATH, Str("text"), "an object of path and text"),
        "Files in the case's own temporary working directory.",
    ),
    Field("setup", Str("a shell command line", NOT_BLANK), "A command line that /bin/sh runs there before the event."),
    Field("workdir", Choice(("temporary",)), "Use a temporary working directory, even without files."),
    Field(
        "expect",
        Record(EXPECT_FIELDS, f"an object with {one_of(names(EXPECT_FIELDS))}", of="`expect`"),
        "The expected results.",
    ),
)

CASE = Record(CASE_FIELDS, "an object with `name`, `event` and `expect`", of="a case")
DEFAULTS = Record(
    tuple(field for field in CASE_FIELDS if field.name not in {"name", "expect"}),
    "an object with fields of a case",
    "write {}, or remove it",
    of="`defaults`",
)

# The top-level fields of a test file.
FILE_FIELDS = (
    Field("config", PATH, "The config file, relative to this one."),
    Field("defaults", DEFAULTS, "Defaults for the fields of every case."),
    Field("cases", OBJECT, "The cases."),
)

# Objects of a case merged key by key into those of `defaults`.
MERGED_FIELDS = frozenset({"context", "env", "files"})

# The placeholder for the case's directory in context, environment and expectations.
WORKDIR = "${WORKDIR}"

# Fields that give a case a temporary working directory.
OWN_DIRECTORY = frozenset({"files", "setup", "workdir"})

OF_FILE = names(FILE_FIELDS)


@dataclass(eq=False, repr=False, slots=True)
class Case:
    """One case: the event to fire, its context and environment, and the expected result.

    `hooks` limits the run to these hooks, None runs all. The case runs once as each of `agents`, or once as a program.
    `temporary` gives it its own working directory, in which `setup` runs before the event. `reads` are other files it
    was read from. A case with `problems` cannot run.
    """

    file: CaseFile
    index: int
    name: str
    event: str = ""
    context: dict[str, object] = field(default_factory=dict)
    hooks: tuple[str, ...] | None = None
    agents: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    setup: str | None = None
    temporary: bool = False
    expect: dict[str, object] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    @property
    def line(self) -> int:
        """The line of the case, from 1."""
        return self.file.position(self.index)[0]

    @property
    def where(self) -> str:
        """The position of the case as `path:line:column`."""
        line, column = self.file.position(self.index)
        return f"{self.file.shown}:{line}:{column}"

    def place(self, *steps: str | int) -> Location:
        """Return a place in the case for problems."""
        return Location(self.file.document, ("cases", self.index, *steps), self.problems)


@dataclass(eq=False, repr=False, slots=True)
class CaseFile:
    """A file of cases, as far as it could be read.

    `config` is the absolute path of the config file it names, `shown` the path in messages. `document` is empty if it
    cannot be read. `problems` are the file's own; each case has others.
    """

    path: str
    shown: str
    document: Document
    config: str | None = None
    cases: list[Case] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    @property
    def directory(self) -> str:
        """The directory of the file."""
        return os.path.dirname(self.path)

    def position(self, index: int) -> tuple[int, int]:
        """Return the line and column of a case, from 1."""
        return self.document.position(("cases", index))


def load(path: str, shown_as: str | None = None) -> CaseFile:
    """Return a file of cases as far as it is readable, with all problems."""
    shown, path = shown_as or path, os.path.abspath(path)
    file = CaseFile(path, shown, Document.from_data(shown, {}))
    try:
        document = file.document = read(path)
    except SourceError as error:
        problem = dataclasses.replace(error.problem, path=file.shown)
        if problem.message == EMPTY:
            problem = dataclasses.replace(problem, hint="write {cases: [...]}, or remove the file")
        file.problems.append(problem)
        return file
    document.path = file.shown
    at = Location(document, (), file.problems)
    if not isinstance(document.data, dict):
        at.type_error(document.data, "an object with `cases`", "write `cases:` and a list below it")
        return file
    for key in document.data:
        if key not in OF_FILE:
            at.unknown_key(key, "key", OF_FILE, did_you_mean(key, OF_FILE, f"use {one_of(OF_FILE)}"))
    found: dict[str, Any] = {}
    for key in ("config", "defaults"):
        if key in document.data:
            validate_into(found, key, OF_FILE[key].shape, document.data[key], at)
    if isinstance(config := found.get("config"), str):
        file.config = os.path.normpath(os.path.join(file.directory, config))
    _take_cases(file, document.data, at, found.get("defaults", {}))
    return file


def _take_cases(file: CaseFile, data: dict[str, object], at: Location, defaults: dict[str, object]) -> None:
    listed = data.get("cases")
    if not isinstance(listed, list):
        at.at("cases").type_error(listed, "a list of cases", "write `cases:` and a list below it")
        return
    taken: dict[str, int] = {}
    for index, entry in enumerate(listed):
        case = _case(file, index, entry, defaults)
        if case.name in taken:
            first = file.position(taken[case.name])[0]
            message = f"duplicate case name {quote(case.name)}, first used in line {first}"
            case.place("name").report(message, "choose another name")
        taken.setdefault(case.name, index)
        file.cases.append(case)


def _case(file: CaseFile, index: int, entry: object, defaults: dict[str, object]) -> Case:
    case = Case(file, index, f"case {index + 1}")
    at = case.place()
    try:
        own = CASE.check(entry, at)
    except Invalid:
        return case
    fields = entry if isinstance(entry, dict) else {}
    if "name" in own:
        case.name = str(own["name"])
    elif "name" not in fields:
        at.report("the case has no name", "add a `name` that says what the hook should do")
    values: dict[str, Any] = {**defaults, **own}
    for name in MERGED_FIELDS:
        before, after = defaults.get(name), own.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            values[name] = {**before, **after}
    if "event" in values:
        case.event = str(values["event"])
    elif "event" not in fields:
        at.report("the case has no event", "add `event: pre_tool_use` or another event")
    case.expect = values.get("expect", {})
    _set_environment(case, values)
    case.context = _context(case, values)
    if not case.temporary:
        _needs_no_directory(case, fields.get("expect"))
    return case


def _needs_no_directory(case: Case, expect: object) -> None:
    hint = "add `workdir: temporary`"
    if isinstance(expect, dict) and isinstance(expect.get("files"), dict):
        case.place("expect", "files").report("`files` needs a temporary directory", hint)
    if WORKDIR in json.dumps([case.context, case.env]):
        case.place().report(f"`{WORKDIR}` needs a temporary directory", hint)


def _set_environment(case: Case, values: dict[str, Any]) -> None:
    case.hooks = tuple(values["hook"]) if "hook" in values else None
    case.agents = tuple(values.get("agents", ()))
    case.env, case.files = values.get("env", {}), values.get("files", {})
    case.setup = values.get("setup")
    case.temporary = not OWN_DIRECTORY.isdisjoint(values)
    for path in case.files:
        if os.path.isabs(path) or ".." in path.split("/") or os.path.normpath(path) == ".":
            message = f"{quote(path)} is outside the working directory"
            case.place("files", path).report(message, "write a relative path")


def _context(case: Case, values: dict[str, object]) -> dict[str, object]:
    """Return the context: `context_file`, overridden by `context`, overridden by `tool` and `args`."""
    context: dict[str, object] = {}
    if isinstance(path := values.get("context_file"), str):
        case.reads.append(os.path.join(case.file.directory, path))
        try:
            context = contexts.read(case.reads[0], deadline=float("inf"))
        except contexts.ContextError as error:
            message, _, hint = str(error).partition("\nhint: ")
            case.place("context_file").report(
                message, hint.removesuffix(", or - for stdin") or "correct the file or its path"
            )
    if isinstance(more := values.get("context"), dict):
        context = {**context, **more}
    for name, short in (("tool_name", "tool"), ("tool_args", "args")):
        if short in values:
            context[name] = values[short]
    for name, value in context.items():
        if value is not None and not isinstance(value, contexts.FIELDS.get(name, object)):
            expected = "a string or null" if contexts.FIELDS[name] is str else "an object or null"
            case.place("context", name).type_error(value, expected)
    return context


# Seconds between checks of the files for a change.
POLL_INTERVAL = 0.3
# Nanoseconds by which a file's time may lag behind the clock.
TIMESTAMP_LAG = 10_000_000
# Directories without files of the project itself, not searched.
SKIPPED_DIRECTORIES = frozenset({".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__"})


class NoCaseFileError(UserError, LookupError):
    """A path is missing or no file of cases."""


def find_case_files(paths: Iterable[str]) -> list[str]:
    """Return the files of cases at these paths, each once, in order. Raises NoCaseFileError."""
    found: dict[str, str] = {}
    for path in paths:
        if os.path.isdir(path):
            for each in _below(path):
                found.setdefault(os.path.realpath(each), each)
        elif not os.path.exists(path):
            raise NoCaseFileError(
                f"{path}: no such file or directory\nhint: name a test file, or a directory with tests"
            )
        elif not is_case_file(path):
            hint = "test files end in .hooktest.yaml, .hooktest.yml or .hooktest.json"
            raise NoCaseFileError(f"{path}: not a test file\nhint: {hint}")
        else:
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _below(directory: str) -> Iterator[str]:
    for where, directories, files in os.walk(directory):
        own = [each for each in directories if each not in SKIPPED_DIRECTORIES]
        # One with `.git` is another project's: a nested checkout or a submodule.
        directories[:] = sorted(each for each in own if not os.path.lexists(os.path.join(where, each, ".git")))
        for name in sorted(files):
            if is_case_file(name):
                yield os.path.normpath(os.path.join(where, name))


def select_cases(files: Iterable[CaseFile], pattern: str | None) -> list[Case]:
    """Return the cases whose name, `file: name` or a hook of which matches a substring or glob, or all."""
    cases = [case for file in files for case in file.cases]
    if pattern is None:
        return cases
    whole = pattern if any(char in pattern for char in "*?[") else f"*{pattern}*"
    names = {case: (case.name, f"{case.file.shown}: {case.name}", *(case.hooks or ())) for case in cases}
    return [case for case in cases if any(glob(whole, each) for each in names[case])]


def until_changed(paths: Sequence[str], files: Iterable[str], since: int) -> list[str]:
    """Return the paths changed since a time (nanoseconds), waiting for a change.

    A new or removed test file at these paths counts.
    """
    before = _state(paths, files)
    changed = [path for path, each in before.items() if each is not None and each[-1] > since - TIMESTAMP_LAG]
    while not changed:
        time.sleep(POLL_INTERVAL)
        now = _state(paths, files)
        changed = [path for path in {**before, **now} if before.get(path) != now.get(path)]
    return changed


def _state(paths: Sequence[str], files: Iterable[str]) -> dict[str, tuple[int, ...] | None]:
    try:
        cases = find_case_files(paths)
    except NoCaseFileError:
        cases = []
    return {path: identity_or_none(path) for path in (*cases, *files)}
