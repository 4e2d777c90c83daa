"""Find what a command runs from files: a script, or the lines of a target of make, just, task, npm and their like."""

from __future__ import annotations

import os
import re
from itertools import islice

from hookrun.core.fastjson import loads
from hookrun.core.files import upwards
from hookrun.core.model import as_object
from hookrun.shell.code import code_of, family_of
from hookrun.shell.programs import having, values
from hookrun.shell.scripts import OpenedScript, language_of, script_in
from hookrun.shell.words import UNKNOWN, Word, absolute, quoted
from hookrun.shell.wrappers import shell_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookrun.shell.scripts import ScriptFiles

    Recipes = dict[str, tuple[list[str], list[str], int, list[str]]]
    """Name -> the parameters, the recipes that it needs, its row, and its lines."""

_VALUED = (
    "-C -f -d -I -o -W --directory --file --makefile --justfile --working-directory --taskfile --dir --prefix --cwd "
    "--filter --workspace -w -F --rakefile"
)
_DRY = "-n --dry --just-print --dry-run --recon -q --question -t --touch -v --version -h --help -l --list"
# Options whose value is the next word, and those to run nothing.
VALUED, DRY = frozenset(_VALUED.split()), frozenset(_DRY.split())
# Targets that are read for one command.
MAX_TARGETS = 100


def opened(words: list[Word], directory: str | None, files: ScriptFiles) -> Iterator[OpenedScript]:
    """Yield what a command runs from files, or from what the line has written into them."""
    program = words[0].text.rstrip("/").rpartition("/")[2].lower()
    texts = [word.text for word in words[1:]]
    how = having("line").get(program)
    tasks = having("tasks").get(program)
    if tasks is not None and directory is not None:
        yield from TASKS[tasks](Given(program, texts, directory, files))
    if how == "shell":
        yield from script_in(shell_script(words), directory, files)
    elif how == "sourced":
        yield from script_in(words[1:], directory, files)
    elif family_of(program) is not None:
        file = code_of(program, words, None)
        if isinstance(file, Word):
            yield from script_in([file], directory, files, family_of(program))
    elif "/" in words[0].text or program.endswith(".py"):  # `uv run x.py`
        yield from script_in(words, directory, files, None if "/" in words[0].text else "py")


class Given:
    """A call of a runner: its `options` with their values, its operands, and those after `--`."""

    def __init__(self, program: str, texts: list[str], directory: str, files: ScriptFiles) -> None:
        self.program = program
        self.files = files
        self._directory = directory
        self.options: dict[str, str] = {}
        self.operands: list[str] = []
        waiting = iter(texts)
        for text in waiting:
            name, equals, value = text.partition("=")
            if text == "--":
                self.operands += waiting
            elif text[:1] != "-" or text == "-":
                self.operands.append(text)
            elif name[:2] != "--" and text[:2] in VALUED and len(text) > len("-C"):
                self.options[text[:2]] = text[2:]
            else:
                self.options[name] = next(waiting, "") if name in VALUED and not equals else value

    def option(self, *names: str) -> str:
        """Return an option's value, "" without it."""
        return next((self.options[name] for name in names if name in self.options), "")

    @property
    def dry(self) -> bool:
        """Whether it runs nothing."""
        return not DRY.isdisjoint(self.options)

    def found(
        self, at: str = "", by: str = "", *, endings: tuple[str, ...] = ("",), above: bool = True
    ) -> tuple[str, str, str] | None:
        """Return where it starts, and the path and the text of its nearest file, None without one.

        `at` are the options for that directory, `by` those for the file; else its name has one of the endings.
        """
        start = absolute(self.option(*at.split()) or ".", self._directory)
        named = self.option(*by.split())
        names = [named] if named else [each for each in values(self.program, "finds") if each.endswith(endings)]
        if start is None:
            return None
        for place in upwards(start, "/") if above else [start]:
            for name in names:
                path = os.path.join(place, name)
                if (text := self.files.read(path)) is not None:
                    return start, path, text
        return None


def _script(text: str, path: str, row: int, family: str = "") -> OpenedScript:
    """Return a part of a runner's file, which runs in the directory of that."""
    return OpenedScript(text, os.path.basename(path), os.path.dirname(path), row, family=family)


# --- make

RULE = r"([^\s#:=][^:=#]*)::?(?!=)([^=;#]*)(?:;(.*))?(?:#.*)?$"
SET = r"(?:override\s+|export\s+)*([\w.-]+)\s*(\?|\+|::?)?=\s*(.*)$"
REFERENCE = r"\$(?:\(([^()$]*)\)|\{([^{}$]*)\}|([^\s(){$]))"
# Represents the `$` of a recipe's shell.
DOLLAR = "\1"


class Makefile:
    """A makefile's variables and rules."""

    def __init__(self, directory: str, given: dict[str, str], files: ScriptFiles) -> None:
        self._directory = directory
        self._given = given
        self._files = files
        self._set: dict[str, str] = {"MAKE": "make", "RM": "rm -f", "CURDIR": directory}
        self._rules: dict[str, list[tuple[list[str], list[OpenedScript]]]] = {}
        self.first = ""

    def read(self, path: str, text: str) -> None:
        """Read a file, and those that it includes."""
        lines: list[OpenedScript] = []
        waiting = ""
        for row, line in enumerate(text.split("\n"), 1):
            whole = waiting + line
            recipe = whole[:1] == "\t"
            if line.endswith("\\"):
                waiting = f"{whole}\n" if recipe else f"{whole[:-1]} "
                continue
            waiting = ""
            if recipe:
                lines.append(
                    OpenedScript(whole.lstrip("\t"), os.path.basename(path), self._directory, row - whole.count("\n"))
                )
            elif (assigned := re.match(SET, whole)) is not None:
                self._assign(*assigned.groups())
            elif whole.lstrip("-s").startswith("include "):
                for name in self.expanded(whole.partition(" ")[2]).split():
                    included = absolute(name, self._directory)
                    if included is not None and included != path and (more := self._files.read(included)) is not None:
                        self.read(included, more)
            elif (rule := re.match(RULE, whole)) is not None:
                lines = [OpenedScript(rule[3].strip(), os.path.basename(path), self._directory, row)] if rule[3] else []
                for target in self.expanded(rule[1]).split():
                    self.first = self.first or (target if target[0] != "." and "%" not in target else "")
                    self._rules.setdefault(target, []).append((self.expanded(rule[2]).split(), lines))

    def _assign(self, name: str, how: str | None, value: str) -> None:
        if how == "+":
            self._set[name] = f"{self._set.get(name, '')} {value}"
        elif how != "?" or name not in self._set:
            self._set[name] = value

    def expanded(self, text: str, target: str = "", needs: list[str] | None = None) -> str:
        """Return a text with the variables that are known; others are left to the shell."""
        own = {"@": target, "<": " ".join((needs or [])[:1]), "^": " ".join(needs or []), **self._set, **self._given}
        text = text.replace("$$", DOLLAR)
        for _ in range(10):
            text, count = re.subn(
                REFERENCE, lambda found: self._value(found[1] or found[2] or found[3] or "", own), text
            )
            if not count or len(text) > len(UNKNOWN) << 16:
                break
        return text.replace(DOLLAR, "$")

    @staticmethod
    def _value(name: str, own: dict[str, str]) -> str:
        function, _, rest = name.partition(" ")
        if function == "shell":
            return f"{DOLLAR}({rest})"
        return own.get(name.partition(":")[0], f"{DOLLAR}{{{name}}}" if name.isidentifier() else f"{DOLLAR}{{_}}")

    def _of_patterns(self, target: str) -> Iterator[tuple[list[str], list[OpenedScript]]]:
        """Yield the rules of patterns that the target matches."""
        for pattern, rules in self._rules.items():
            stem = re.fullmatch(re.escape(pattern).replace("%", "(.+)"), target) if "%" in pattern else None
            if stem is not None:
                yield from (([need.replace("%", stem[1]) for need in needs], lines) for needs, lines in rules)

    def run(self, target: str, seen: set[str]) -> Iterator[OpenedScript]:
        """Yield the lines of a target and of what it needs."""
        if target in seen or len(seen) > MAX_TARGETS:
            return
        seen.add(target)
        rules = self._rules.get(target, [])
        if not any(lines for _, lines in rules):
            rules = [*islice(self._of_patterns(target), 1), *rules]
        for needs, _ in rules:
            for need in needs:
                yield from self.run(need, seen)
        for needs, lines in rules:
            for line in lines:
                text = self.expanded(line.text, target, needs).lstrip("@-+ ")
                yield OpenedScript(text, line.place, self._directory, line.row)


def _make(given: Given) -> Iterator[OpenedScript]:
    found = given.found("-C --directory", "-f --file --makefile", above=False)
    if found is None or given.dry:
        return
    start, path, text = found
    variables = dict(each.split("=", 1) for each in given.operands if "=" in each)
    makefile = Makefile(start, variables, given.files)
    makefile.read(path, text)
    seen: set[str] = set()
    for target in [each for each in given.operands if "=" not in each and UNKNOWN not in each] or [makefile.first]:
        yield from makefile.run(target, seen)


# --- just and task

JUST_RECIPE = r"@?([A-Za-z_][\w-]*)((?:\s+[^:]+)?):(?!=)\s*(.*)$"
JUST_SET = r"(?:export\s+)?(\w+)\s*:=\s*(['\"]?)(.*?)\2\s*$"


def _just(given: Given) -> Iterator[OpenedScript]:
    found = given.found("-d --working-directory", "-f --justfile")
    if found is None or given.dry:
        return
    _, path, text = found
    recipes: Recipes = {}
    known: dict[str, str] = {}
    body: list[str] = []
    for row, line in enumerate(text.split("\n"), 1):
        if line[:1].isspace():
            body.append(line)
        elif (assigned := re.match(JUST_SET, line)) is not None:
            known[assigned[1]] = assigned[3]
        elif (recipe := re.match(JUST_RECIPE, line)) is not None:
            body = []
            recipes[recipe[1]] = (recipe[2].split(), re.findall(r"[\w-]+", recipe[3]), row, body)
    waiting = given.operands or [*recipes][:1]
    while waiting and waiting[0] in recipes:
        parameters = recipes[waiting[0]][0]
        taken = dict(zip((each.partition("=")[0].lstrip("+*$") for each in parameters), waiting[1:], strict=False))
        yield from _of_just(recipes, waiting[0], {**known, **taken}, path, set())
        waiting = waiting[1 + len(taken) :]


def _of_just(recipes: Recipes, name: str, known: dict[str, str], path: str, seen: set[str]) -> Iterator[OpenedScript]:
    if name in seen or name not in recipes:
        return
    seen.add(name)
    parameters, needs, row, body = recipes[name]
    known = {
        **{each[0].lstrip("+*$"): each[2].strip("'\"") for each in (p.partition("=") for p in parameters)},
        **known,
    }
    for need in needs:
        yield from _of_just(recipes, need, known, path, seen)
    lines = [
        re.sub(r"\{\{\s*(\w+)?.*?\}\}", lambda found: known.get(found[1] or "", "${_}"), line.strip()) for line in body
    ]
    if lines and lines[0].startswith("#!"):
        yield _script("\n".join(lines), path, row + 1, language_of(lines[0]) or "")
        return
    yield from (_script(line.lstrip("@-"), path, row + at) for at, line in enumerate(lines, 1) if line)


def _task(given: Given) -> Iterator[OpenedScript]:
    found = given.found("-d --dir", "--taskfile")
    if found is not None and not given.dry:
        seen: set[str] = set()
        for name in [each for each in given.operands if "=" not in each] or ["default"]:
            yield from _of_task(name, *found[1:], seen)


def _of_task(name: str, path: str, text: str, seen: set[str]) -> Iterator[OpenedScript]:
    """Yield a task's lines: those of a list, and the tasks that it names."""
    lines = text.split("\n")
    head = re.compile(rf"""(\s+)['"]?{re.escape(name)}['"]?:\s*(.*)$""")
    at = next((index for index, line in enumerate(lines) if head.match(line)), None)
    begins = head.match(lines[at]) if at is not None else None
    if at is None or begins is None or name in seen or len(seen) > MAX_TARGETS:
        return
    seen.add(name)
    block = [begins[2]] if begins[2] else []
    for line in lines[at + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= len(begins[1]):
            break
        block.append(line)
    for row, line in enumerate(block, at + 1 + (not begins[2])):
        own = re.sub(r"\{\{.*?\}\}", "${_}", line.strip())
        other = re.match(r"(?:-\s*)?task:\s*['\"]?([\w:.-]+)|deps:\s*\[(.*)\]", own)
        for each in re.findall(r"[\w:.-]+", (other[1] or other[2]) if other is not None else ""):
            yield from _of_task(each, path, text, seen)
        listed = re.match(r"(?:-\s*)?(?:cmd:\s*)?(?![\w-]+:(?:\s|$))(.+)$", own)
        if other is None and listed is not None:
            command = listed[1].strip()
            plain = command[1:-1] if command[0] in "'\"" and command[-1] == command[0] else command
            yield _script(plain, path, row)


# --- scripts of packages

# Commands of package managers that run scripts of these names, too.
INSTALLED = "preinstall install postinstall prepublish preprepare prepare postprepare"
LIFE = {
    **dict.fromkeys(("install", "i", "ci", "add", "clean-install", "it", "install-test"), INSTALLED),
    "publish": "prepublishOnly prepack prepare postpack publish postpublish",
    "pack": "prepack prepare postpack",
    "version": "preversion version postversion",
    "t": "pretest test posttest",
    "tst": "pretest test posttest",
    "restart": "prerestart prestop stop poststop prestart start poststart postrestart",
}
RUN = frozenset({"run", "run-script", "rum", "urn", "task"})


def _package(given: Given) -> Iterator[OpenedScript]:
    """Yield the scripts of package.json, deno.json or composer.json that a command of a package manager runs."""
    found = given.found("--prefix -C --cwd --dir --working-dir", endings=(".json", ".jsonc"))
    first, after = given.operands[:1], given.operands[1:]
    if "run" in given.program:  # `run-s`, `npm-run-all`
        wanted, after = given.operands, []
    elif not RUN.isdisjoint(first):
        wanted, after = after[:1], after[1:]
    else:
        wanted = LIFE[first[0]].split() if first and first[0] in LIFE else first
        found = None if first == ["workspace"] else found
    if found is None:
        return
    _, path, text = found
    try:
        read = as_object(loads(text))
    except ValueError:
        return
    scripts = {**as_object(read.get("tasks")), **as_object(read.get("scripts"))}
    for name in wanted:
        for each in dict.fromkeys((f"pre{name}", name, f"post{name}", f"pre-{name}-cmd", f"post-{name}-cmd")):
            given_words = " ".join(["", quoted(map(Word, after))]) if each == name and after else ""
            yield from _of_package(scripts, each, given_words, path, text)


def _of_package(scripts: dict[str, object], name: str, after: str, path: str, text: str) -> Iterator[OpenedScript]:
    value = scripts.get(name)
    for line in value if isinstance(value, list) else [value]:
        if not isinstance(line, str):
            continue
        row = text[: max(text.find(f'"{name}"'), 0)].count("\n") + 1
        own = re.sub(r"^@(?:php\s+)", "php ", line)
        if own[:1] == "@":  # another one of composer's
            yield from _of_package({**scripts, name: None}, own[1:].split()[0] if own[1:] else "", "", path, text)
        else:
            yield _script(own + after, path, row)


def _rake(given: Given) -> Iterator[OpenedScript]:
    """Yield the blocks of rake's tasks."""
    found = given.found()
    if found is None or given.dry:
        return
    _, path, text = found
    for name in [each.partition("[")[0].rpartition(":")[2] for each in given.operands] or ["default"]:
        head = rf"""^([ \t]*)(?:multi)?task[ (]+[:'"]?{re.escape(name)}\b.*$"""
        for block in re.finditer(rf"{head}(?:\n(?!\1end\b).*)*", text, re.MULTILINE):
            yield _script(block[0], path, text.count("\n", 0, block.start()) + 1, "rb")


# How a program runs what its files say for a name (`tasks` of its row).
TASKS: dict[str, Callable[[Given], Iterator[OpenedScript]]] = {
    "justfile": _just,
    "makefile": _make,
    "package": _package,
    "rakefile": _rake,
    "taskfile": _task,
}
