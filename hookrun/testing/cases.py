"""Reads files of cases: every case with its place in the file, and everything that is wrong, with its place too."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass, field

from hookrun import context as contexts
from hookrun.config.fields import names
from hookrun.config.problem import Problem, shown
from hookrun.config.source import Document, SourceError, read
from hookrun.config.values import Place, keep
from hookrun.testing.case_fields import (
    CASE_FIELDS,
    EXPECT_FIELDS,
    FILE_FIELDS,
    LAID_OVER,
    NOT_IN_DEFAULTS,
    NULLABLE,
)

WORKDIR = "${WORKDIR}"
"""What stands for the case's own directory, in texts of its context, environment and expectations."""

OWN_DIRECTORY = frozenset({"files", "setup", "workdir"})
"""Fields with which a case has a temporary working directory."""

NO_DATA = frozenset({"an empty file", "a file without data"})
NEVER = float("inf")

OF_CASE, OF_EXPECT, OF_FILE = names(CASE_FIELDS), names(EXPECT_FIELDS), names(FILE_FIELDS)


@dataclass(eq=False, repr=False, slots=True)
class Case:
    """One case: the event that is fired on a context, in what surroundings, and what is expected of it.

    `hooks` are the only ones that are asked, None for all. `agents` are those as which it is run, none for a program.
    `temporary` tells that it has a working directory of its own, where `setup` is run before the event. `reads` are
    other files that it is made of.
    `problems` is what is wrong with it: such a case cannot be run.
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
    problems: list[Problem] = field(default_factory=list)

    @property
    def line(self) -> int:
        """The line at which the case begins, from 1."""
        return self.file.position(self.index)[0]

    @property
    def where(self) -> str:
        """`path:line:column`."""
        line, column = self.file.position(self.index)
        return f"{self.file.shown}:{line}:{column}"

    def place(self, *steps: str | int) -> Place:
        """Return a place in the case, for what is wrong there."""
        if self.file.document is None:
            raise LookupError(f"{self.file.path} was not read")
        return Place(self.file.document, ("cases", self.index, *steps), self.problems)


@dataclass(eq=False, repr=False, slots=True)
class CaseFile:
    """One file of cases as far as it could be read. `config` is the declaration file that it names, absolute.

    `problems` is what is wrong with the file as such; its cases have their own. `shown` is how messages call it.
    """

    path: str
    shown: str
    document: Document | None = None
    config: str | None = None
    cases: list[Case] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def directory(self) -> str:
        """Where it lies."""
        return os.path.dirname(self.path)

    def position(self, index: int) -> tuple[int, int]:
        """Return line and column, from 1, of a case."""
        return self.document.position(("cases", index)) if self.document is not None else (1, 1)


def load(path: str, shown_as: str | None = None) -> CaseFile:
    """Return a file of cases as far as it can be read; what is wrong is in its `problems` and those of its cases."""
    file = CaseFile(os.path.abspath(path), shown_as or path)
    try:
        document = file.document = read(file.path)
    except SourceError as error:
        problem = dataclasses.replace(error.problem, path=file.shown)
        if problem.found in NO_DATA:
            advice = "write {cases: [...]}, or remove the file"
            problem = dataclasses.replace(problem, expected="an object with cases", advice=advice)
        file.problems.append(problem)
        return file
    document.path = file.shown
    at = Place(document, (), file.problems)
    if not isinstance(document.data, dict):
        at.mistaken(document.data, "an object with cases", "write cases: and below it a list")
        return file
    for key in document.data:
        if key not in OF_FILE:
            at.unknown_key(key, "config, defaults or cases", list(OF_FILE))
    found: dict[str, object] = {}
    if "config" in document.data:
        keep(found, OF_FILE["config"], document.data["config"], at)
    if isinstance(config := found.get("config"), str):
        file.config = os.path.normpath(os.path.join(file.directory, config))
    defaults = _fields(document.data.get("defaults", {}), at.at("defaults"), in_defaults=True)
    _take_cases(file, document.data, at, defaults)
    return file


def _take_cases(file: CaseFile, data: dict[str, object], at: Place, defaults: dict[str, object]) -> None:
    listed = data.get("cases")
    if not isinstance(listed, list):
        at.at("cases").mistaken(listed, "a list of cases", "write cases: and below it a list")
        return
    taken: dict[str, int] = {}
    for index, entry in enumerate(listed):
        case = _case(file, index, entry, defaults)
        if case.name in taken:
            found = f"the name {shown(case.name)} a second time"
            first = file.position(taken[case.name])[0]
            case.place("name").report(found, f"each name once in a file (line {first} has it)", "choose another name")
        taken.setdefault(case.name, index)
        file.cases.append(case)


def _case(file: CaseFile, index: int, entry: object, defaults: dict[str, object]) -> Case:
    case = Case(file, index, f"case {index + 1}")
    at = case.place()
    if not isinstance(entry, dict):
        at.mistaken(entry, "an object with name, event and expect", "write a case, or remove the item")
        return case
    own = _fields(entry, at)
    if "name" in own:
        case.name = str(own["name"])
    elif "name" not in entry:
        at.report("no name", "every case to have one", "add a name that says what the hook is to do")
    values = {**defaults, **own}
    for name in LAID_OVER:
        before, after = defaults.get(name), own.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            values[name] = {**before, **after}
    if "event" in values:
        case.event = str(values["event"])
    elif "event" not in entry:
        at.report("no event", "every case to name its event", "add event: pre_tool_use or another event")
    if "expect" in entry:
        case.expect = _expect(entry["expect"], at.at("expect"))
    _surround(case, values)
    case.context = _context(case, values)
    if not case.temporary:
        _needs_no_directory(case)
    return case


def _needs_no_directory(case: Case) -> None:
    """Report what only makes sense in a directory of the case's own."""
    advice = "add workdir: temporary, or write something else"
    expected = "a case with a temporary directory, which it is about"
    if "files" in case.expect:
        case.place("expect", "files").report("files", expected, advice)
    if WORKDIR in json.dumps([case.context, case.env]):
        case.place().report(WORKDIR, expected, advice)


def _fields(entry: object, at: Place, *, in_defaults: bool = False) -> dict[str, object]:
    """Return every field of a case, or of the defaults, that fits its shape; report the others."""
    found: dict[str, object] = {}
    if not isinstance(entry, dict):
        at.mistaken(entry, "an object of fields for every case", "write {}, or remove it")
        return found
    for key, value in entry.items():
        if key not in OF_CASE or (in_defaults and key in NOT_IN_DEFAULTS):
            valid = [name for name in OF_CASE if not in_defaults or name not in NOT_IN_DEFAULTS]
            at.unknown_key(key, "a field for every case" if in_defaults else "a field of a case", valid)
        elif key != "expect":
            keep(found, OF_CASE[key], value, at)
    return found


def _expect(value: object, at: Place) -> dict[str, object]:
    """Return what is expected, as far as it fits."""
    found: dict[str, object] = {}
    if not isinstance(value, dict):
        at.mistaken(value, "an object with at least one of " + ", ".join(OF_EXPECT))
        return found
    for key, item in value.items():
        if key not in OF_EXPECT:
            at.unknown_key(key, "something that can be expected", list(OF_EXPECT))
        elif key == "files" and isinstance(item, dict):
            found[key] = _files_expected(item, at.at(key))
        elif (item is None and key in NULLABLE) or (key == "fired" and isinstance(item, bool)):
            found[key] = item
        else:
            keep(found, OF_EXPECT[key], item, at)
    return found


def _files_expected(files: dict[str, object], at: Place) -> dict[str, object]:
    """Return the globs that files have to fit, None for those that are not to be there."""
    there = {path: glob for path, glob in files.items() if glob is not None}
    found: dict[str, object] = dict.fromkeys(files)
    checked: dict[str, object] = {}
    keep(checked, OF_EXPECT["files"], there, Place(at.document, at.path[:-1], at.problems))
    fits = checked.get("files")
    return {**found, **fits} if isinstance(fits, dict) else {}


def _surround(case: Case, values: dict[str, object]) -> None:
    """Give a case what it runs in."""
    case.hooks = _texts(values.get("hook")) if "hook" in values else None
    case.agents = _texts(values.get("agents"))
    case.env = _table(values.get("env"))
    case.files = _table(values.get("files"))
    case.setup = str(values["setup"]) if "setup" in values else None
    case.temporary = not OWN_DIRECTORY.isdisjoint(values)
    for path in case.files:
        if os.path.isabs(path) or ".." in path.split("/") or os.path.normpath(path) == ".":
            found = f"the path {shown(path)}"
            case.place("files", path).report(found, "a path within the working directory", "write a relative path")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _table(value: object) -> dict[str, str]:
    return {name: str(text) for name, text in value.items()} if isinstance(value, dict) else {}


def _context(case: Case, values: dict[str, object]) -> dict[str, object]:
    """Return the context: that of a file, over it the other fields, over them `tool` and `args`."""
    context: dict[str, object] = {}
    if isinstance(path := values.get("context_file"), str):
        case.reads.append(os.path.join(case.file.directory, path))
        try:
            context = contexts.from_file(case.reads[0], NEVER)
        except contexts.ContextError as error:
            found, _, expected = str(error).partition(": expected ")
            wanted = expected.removesuffix(", or - for stdin") or "a context that can be read"
            case.place("context_file").report(found, wanted, "correct the file or its path")
    if isinstance(given := values.get("context"), dict):
        context = {**context, **given}
    for name, short in (("tool_name", "tool"), ("tool_args", "args")):
        if short in values:
            context[name] = values[short]
    for name, value in context.items():
        if value is not None and not isinstance(value, contexts.FIELDS.get(name, object)):
            expected = "a string or null" if contexts.FIELDS[name] is str else "an object or null"
            case.place("context", name).mistaken(value, expected)
    return context
