"""Reads all declaration files that were found, layers them, and returns what they come to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrun import __version__
from hookrun.config.check import CLAUDE_ADVICE, CLAUDE_FORM, LIST_FORM, check_hook, check_settings
from hookrun.config.declarations import Declarations
from hookrun.config.fields import AUDIT_FIELDS, SETTINGS, TRUSTED_SETTINGS, names
from hookrun.config.problem import Problem, nearest, shown
from hookrun.config.scope import Scope, explicit_names
from hookrun.config.source import Document, SourceError, read
from hookrun.config.values import Place
from hookrun.events import EVENTS
from hookrun.model import LAYERS

if TYPE_CHECKING:
    from hookrun.config.find import Found
    from hookrun.config.parsed import KeyPath
    from hookrun.model import Hook

OURS_ALONE = frozenset({"hookrun.yaml", "hookrun.yml", "hooks.json", "hooks.yaml", "hooks.yml"})
"""Files that no other program reads: a key at the top that is not ours is a mistake."""

SHARED = frozenset({"coder.json", "coder.local.json"})
"""Files that other programs keep their own things in: without hooks they are none of our business."""

TOP = ("hooks", "hookrun")
CLAUDE_SETTINGS = ("settings.json", "settings.local.json")
MAX_INCLUDES = 8
"""How deep files may include files."""
MAX_FILES = 16
"""How many files of a layer are read: a fire must not wait for more."""


class File:
    """One file of a layer as far as it could be read: its entries, its settings, and what is wrong with it as such."""

    __slots__ = ("defaults", "document", "entries", "entries_path", "layer", "path", "problems", "settings")

    def __init__(self, path: str, layer: str) -> None:
        """Begin with a file of which nothing is known."""
        self.path = path
        self.layer = layer
        self.document: Document | None = None
        self.entries: list[object] = []
        self.entries_path: KeyPath = ("hooks",)
        self.settings: dict[str, object] = {}
        self.defaults: dict[str, object] = {}
        self.problems: list[Problem] = []

    @property
    def has_say(self) -> bool:
        """Whether the file declares something, or cannot be read so that nobody knows."""
        if self.document is None or not isinstance(self.document.data, dict):
            return True
        return any(key in self.document.data for key in TOP) or any(each.severity == "error" for each in self.problems)

    @property
    def has_hooks(self) -> bool:
        """Whether the file has a key `hooks`."""
        return self.document is not None and isinstance(self.document.data, dict) and "hooks" in self.document.data

    def report(self, path: KeyPath, found: str, expected: str, advice: str) -> None:
        """Add an error about what stands at `path` in the file."""
        if self.document is not None:
            self.problems.append(self.document.problem(path, found, expected, advice))


class Examined:
    """The declarations, every problem and warning behind them in the order of the files, and the files with a say.

    `written` is where each hook of the declarations is written: its file, and the way to it there. `included` is the
    file that includes another: the other's id -> the file.
    """

    __slots__ = ("declarations", "files", "home", "included", "problems", "written")

    def __init__(self, home: str) -> None:
        """Begin with nothing examined; `home` is what `~/` in an include stands for."""
        self.home = home
        self.declarations = Declarations()
        self.problems: list[Problem] = []
        self.files: list[File] = []
        self.included: dict[int, File] = {}
        self.written: list[tuple[Hook, File, KeyPath]] = []


def compile_declarations(found: Found) -> Declarations:
    """Return what the found files declare together. Trouble with a file is in its `problems`; nothing is raised."""
    return examine(found).declarations


def examine(found: Found) -> Examined:
    """Read, check and layer the found files; return the declarations and everything there is to say about them."""
    examined = Examined(found.home)
    looked_for = examined.declarations.files
    for layer in ("managed", "user"):
        paths = [path for each, path, _ in found.files if each == layer]
        _load_layer([load(path, layer) for path in paths], examined)
        looked_for += paths
    files = _project_files(found, examined)
    for layer in ("project", "local"):
        _load_layer([file for file in files if file.layer == layer], examined)
    _combine(examined)
    return examined


def _project_files(found: Found, examined: Examined) -> list[File]:
    """Return the files of the nearest directory in which one has a say; none when there is no such directory."""
    declarations = examined.declarations
    by_directory: dict[str, list[File]] = {}
    for layer, path, _ in found.files:
        if layer in {"project", "local"}:
            by_directory.setdefault(_directory(path, found.cwd), []).append(File(path, layer))
    for directory, empty in by_directory.items():
        files = [load(file.path, file.layer) for file in empty]
        declarations.files += [file.path for file in files]
        if any(file.has_say for file in files):
            declarations.root = directory
            return files
        for file in files:
            examined.problems += file.problems
    return []


def _directory(path: str, cwd: str | None) -> str:
    directory = path.rpartition("/")[0] or ("/" if path.startswith("/") else "")
    return directory if directory.startswith("/") else os.path.normpath(f"{cwd or '.'}/{directory}")


def load(path: str, layer: str) -> File:
    """Return the file as far as it can be read, with what is wrong with it; files it includes are not read."""
    file = File(path, layer)
    try:
        _load(file)
    except SourceError as error:
        file.problems.append(error.problem)
    except Exception as error:  # nothing in one file may keep the hooks of the others from running
        file.problems.append(_unforeseen(path, error))
    return file


def _unforeseen(path: str, error: Exception) -> Problem:
    found = f"something that cannot be read ({type(error).__name__})"
    return Problem(path, 1, 1, "", found, "plain declarations", "simplify the file, and please report this")


def _load(file: File) -> None:
    file.document = read(file.path)
    data = file.document.data
    if not isinstance(data, dict):
        Place(file.document, (), file.problems).mistaken(data, "an object at the top", 'write {"hooks": [...]}')
        return
    _check_top(file, data)
    if "hooks" in data:
        _take_hooks(file, data["hooks"])
    if "hookrun" in data:
        file.settings, problems = check_settings(file.document, data["hookrun"], file.layer)
        file.problems += problems
        defaults = file.settings.get("defaults")
        file.defaults = defaults if isinstance(defaults, dict) else {}
        _check_version(file)


def _check_top(file: File, data: dict[str, object]) -> None:
    """Report keys at the top that are not ours, in a file that is; warn of a near miss in one that is not."""
    if file.document is None:
        return
    at = Place(file.document, (), file.problems)
    name = file.path.rpartition("/")[2]
    strict = name in OURS_ALONE
    if not (strict or name in SHARED or any(key in data for key in TOP)):
        at.warn("neither hooks nor hookrun", "hooks in a file that is named", 'write {"hooks": [...]} into it')
    for key in data:
        if key in TOP or key == "$schema":
            continue
        if strict:
            at.unknown_key(key, "hooks or hookrun", list(TOP))
        elif not any(name in data for name in TOP) and nearest(key, TOP):
            found, expected = f"the key {shown(key)}", "hooks or hookrun (this key is left to other programs)"
            at.at(key).warn(found, expected, "rename it if it is meant for hookrun", nearest=nearest(key, TOP))


def _take_hooks(file: File, hooks: object) -> None:
    """Take the entries of the file, in a list or in `{"hooks": [...]}`; any other form is reported."""
    path: KeyPath = ("hooks",)
    if isinstance(hooks, dict) and "hooks" in hooks and not _is_claude(hooks):
        for key in hooks:
            if key != "hooks" and file.document is not None:
                Place(file.document, path, file.problems).unknown_key(key, "only hooks", ["hooks"])
        path, hooks = ("hooks", "hooks"), hooks["hooks"]
    if isinstance(hooks, list):
        file.entries, file.entries_path = hooks, path
    elif isinstance(hooks, dict) and _is_claude(hooks):
        file.report(path, CLAUDE_FORM, LIST_FORM, CLAUDE_ADVICE)
    elif file.document is not None:
        Place(file.document, path, file.problems).mistaken(hooks, "a list of hooks", "write [] for no hooks")


def _is_claude(hooks: dict[str, object]) -> bool:
    """Tell whether this is Claude Code's map of event and groups, each of which holds a list of hooks."""
    return any(
        key in EVENTS or any(isinstance(group, dict) and "hooks" in group for group in groups)
        for key, groups in hooks.items()
        if isinstance(groups, list)
    )


def _check_version(file: File) -> None:
    wanted = file.settings.get("min_version")
    if isinstance(wanted, str) and _version(wanted) > _version(__version__):
        advice = f"install hookrun {wanted} or newer"
        file.report(("hookrun", "min_version"), f"hookrun {__version__}", f"at least {wanted}", advice)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


def _load_layer(files: list[File], examined: Examined) -> None:
    """Take the files of one layer, each followed by what it includes."""
    with_hooks = [file for file in files if file.has_hooks]
    for file in with_hooks[1:]:
        first = with_hooks[0].path
        expected = f"hooks in one file only: {first} has some as well"
        file.report(("hooks",), f"hooks in {file.path}", expected, "move all of them into one of the two")
    seen: set[str] = set()
    for file in files:
        _take(file, [], seen, examined)


def _take(file: File, chain: list[str], seen: set[str], examined: Examined) -> None:
    """Take a file and what it includes. `chain` are the files that led here, `seen` all that were taken already."""
    real = os.path.realpath(file.path)
    seen.add(real)
    examined.files.append(file)
    for index, text in enumerate(_texts(file.settings.get("include"))):
        path = _included_path(file.path, text, examined.home)
        where = ("hookrun", "include", index)
        target = os.path.realpath(path)
        if path not in examined.declarations.files:
            examined.declarations.files.append(path)
        if target in {*chain, real}:
            file.report(where, f"{shown(text)}, which leads back here", "no circles", "remove this include")
        elif len(chain) + 1 > MAX_INCLUDES:
            file.report(
                where, f"more than {MAX_INCLUDES} files deep", "fewer levels of include", "include it further up"
            )
        elif target not in seen and len(seen) >= MAX_FILES:
            file.report(where, f"more than {MAX_FILES} files", "fewer files in a layer", "put their hooks together")
        elif target not in seen:
            included = _load_included(path, file, where)
            if included is not None:
                examined.included[id(included)] = file
                _take(included, [*chain, real], seen, examined)


def _included_path(base: str, text: str, home: str) -> str:
    if text.startswith("~/"):
        return home + text[1:]
    return text if text.startswith("/") else f"{base.rpartition('/')[0] or '.'}/{text.removeprefix('./')}"


def _load_included(path: str, by: File, where: KeyPath) -> File | None:
    """Return the included file; None, and the including file says so, when it is not there or has nothing to say."""
    if not os.path.lexists(path):
        by.report(where, f"{shown(path)}, which does not exist", "an existing file", "create it, or correct the path")
        return None
    file = load(path, by.layer)
    file.defaults = {**by.defaults, **file.defaults}
    if file.has_say:
        return file
    if path.endswith(CLAUDE_SETTINGS):
        by.report(where, CLAUDE_FORM, LIST_FORM, CLAUDE_ADVICE)
    else:
        by.report(where, f"{shown(path)}, which has no hooks", "a file with hooks", 'write {"hooks": [...]} into it')
    return None


def _combine(examined: Examined) -> None:
    """Check the hooks of all files, now that everybody's events are known, and put everything in order."""
    declarations = examined.declarations
    own: dict[str, int] = {}
    for file in examined.files:
        for name in _texts(file.settings.get("events")):
            own.setdefault(name, LAYERS.index(file.layer))
    declarations.events = list(own)
    for file in examined.files:
        declarations.problems += [str(problem) for problem in file.problems if problem.severity == "error"]
        examined.problems += file.problems
        try:
            _check_entries(file, examined, {name for name, layer in own.items() if layer <= LAYERS.index(file.layer)})
        except Exception as error:  # as in `load`
            problem = _unforeseen(file.path, error)
            examined.problems.append(problem)
            declarations.problems.append(str(problem))
    declarations.hooks.sort(key=lambda hook: (LAYERS.index(hook.layer), hook.priority))
    declarations.settings = _settings(examined.files)


def _texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _check_entries(file: File, examined: Examined, events: set[str]) -> None:
    """Check the entries of a file that knows these events of the host's own: a layer's are not known to those above."""
    if file.document is None:
        return
    declarations = examined.declarations
    scope = Scope(
        file.layer,
        frozenset(events),
        file.defaults,
        reserved=explicit_names(file.entries),
    )
    for index, entry in enumerate(file.entries):
        checked = check_hook(file.document, (*file.entries_path, index), entry, scope)
        examined.problems += checked.problems
        declarations.problems += [str(problem) for problem in checked.for_file]
        if checked.hook is not None:
            declarations.hooks.append(checked.hook)
            examined.written.append((checked.hook, file, checked.path))


def _settings(files: list[File]) -> dict[str, object]:
    """Return the settings that only managed and user files may set; the first file that sets one is believed."""
    table = names(SETTINGS)
    defaults = ((name, table[name].default) for name in TRUSTED_SETTINGS)
    settings: dict[str, object] = {name: default for name, default in defaults if default is not None}
    for file in reversed(files):
        settings.update({name: file.settings[name] for name in TRUSTED_SETTINGS if name in file.settings})
    audit = settings["audit"]
    limits = {field.name: field.default for field in AUDIT_FIELDS}
    settings["audit"] = {**limits, **(audit if isinstance(audit, dict) else {})} if audit is not False else False
    return settings
