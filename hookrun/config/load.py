"""Load and merge the files of all layers and validate their hooks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from time import localtime, strftime

from hookrun.config import claude_files, claude_settings
from hookrun.config.claude_files import ENABLED, Plugins, not_among
from hookrun.config.claude_settings import session_end, validate_handler
from hookrun.config.config_file import ConfigFile, GitInclude, in_force, included_path, internal_problem, load_file
from hookrun.config.discovery import ConfigFiles
from hookrun.config.document import Diagnostic, Location, errors_in
from hookrun.config.parse import KeyPath
from hookrun.config.recipe_entries import explicit_names, validate_entry
from hookrun.config.schema import AUDIT_FIELDS, TRUSTED_SETTINGS
from hookrun.config.shapes import list_at, texts
from hookrun.config.validate import MAX_PROJECT_HOOKS, SETTING_FIELDS, Scope, ValidatedHook
from hookrun.core.model import LAYERS, UNTRUSTED_LAYERS, Hook, as_object
from hookrun.core.text import quote


@dataclass(eq=False, slots=True)
class Declarations:
    """The effective configuration.

    `hooks` are in running order: by layer, priority, position. An invalid one keeps its place, with an `error`.
    `problems` are errors of whole files, a line each. `kept` are those of files that cannot be read now but could be:
    what they held then counts. `unread` are the layers of the other ones whose hooks are unknown. `gone` says which
    guards are no longer configured. `settings` are the effective TRUSTED_SETTINGS, `events` the host program's. `root`
    is the project file's directory or None. `files` are all that affect the configuration, or would if they existed.
    """

    hooks: list[Hook] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    settings: dict[str, object] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    root: str | None = None
    files: list[str] = field(default_factory=list)


# Limit on nested includes.
MAX_INCLUDES = 8
# Limit on the characters read of a project's commands: a file can hold far more.
MAX_PROJECT_COMMANDS = 128 << 10
# Limit on a layer's files, so that includes do not delay a run.
MAX_FILES = 16


@dataclass(eq=False, slots=True)
class LoadedConfig:
    """The configuration of all `found` files, the effective `files`, and all errors and warnings in their order.

    `written` is each hook's file and path in it. `read_hooks` and `read_characters` count the project's commands.
    `passed_over` are warnings of Claude Code's plugins that are enabled, and not found.
    """

    found: ConfigFiles
    warns: bool = False
    declarations: Declarations = field(default_factory=Declarations)
    problems: list[Diagnostic] = field(default_factory=list)
    files: list[ConfigFile] = field(default_factory=list)
    written: list[tuple[Hook, ConfigFile, KeyPath]] = field(default_factory=list)
    read_hooks: int = 0
    read_characters: int = 0
    passed_over: dict[str, Diagnostic] = field(default_factory=dict)

    @property
    def may_read(self) -> bool:
        """Whether another command of the project may be read."""
        return self.read_hooks < MAX_PROJECT_HOOKS and self.read_characters < MAX_PROJECT_COMMANDS

    @property
    def project(self) -> str:
        """The project's root."""
        return self.found.project_root(self.declarations.root)

    def add_problems(self, file: ConfigFile, problems: list[Diagnostic]) -> None:
        """Add problems of a whole file."""
        self.problems += problems
        self.declarations.problems += [problem.text for problem in errors_in(problems)]
        if file.unread:
            self.declarations.unread.append(file.layer)

    def add_kept(self, file: ConfigFile) -> None:
        """Add the problems of a file that counts as it was when last readable."""
        for fault in file.faults:
            when = strftime("%Y-%m-%d %H:%M", localtime(file.since))
            problem = replace(fault, message=f"{fault.message}, so its hooks of {when} stay in force")
            self.problems.append(problem)
            self.declarations.problems.append(problem.text)
            self.declarations.kept.append(problem.text)

    def read(self, path: str, layer: str) -> ConfigFile:
        """Return a file as it counts."""
        return self.counting(load_file(path, layer))

    def counting(self, file: ConfigFile) -> ConfigFile:
        """Return a file as it counts: see `in_force`. Whoever looks for mistakes is to see it as it is."""
        return file if self.warns else in_force(file, self.found.home)


def load_config(found: ConfigFiles, *, warns: bool = False) -> LoadedConfig:
    """Return the found files' configuration with all diagnostics. Raises nothing.

    With `warns`, also look for valid hooks that cannot work as meant.
    """
    examined = LoadedConfig(found, warns=warns)
    looked_for = examined.declarations.files
    for layer in ("managed", "user"):
        paths = [path for each, path, _ in found.files if each == layer]
        _load_layer([examined.read(path, layer) for path in paths], examined)
        looked_for += paths
    everywhere = _includes_claude(examined)
    if everywhere:
        _take_claudes(claude_files.settings_above(found, looked_for), examined)
    files = _project_files(found, examined, claudes=everywhere)
    for layer in ("project", "local"):
        _load_layer([file for file in files if file.layer == layer], examined)
    root = examined.declarations.root
    if _includes_claude(examined):
        _take_claudes(claude_files.project_files(root, looked_for) if root is not None else [], examined)
        settings = [file for file in examined.files if file.claudes and file.plugin is None]
        others = not_among(claude_files.settings_above(found, looked_for), settings)
        plugins = Plugins(found.claude[0], os.path.realpath(examined.project), looked_for)
        _take_claudes(plugins.files(settings, others), examined)
        examined.passed_over = plugins.passed_over
    claude_files.mark_native(examined.files, found)
    _combine(examined, warns=warns)
    return examined


def _includes_claude(examined: LoadedConfig) -> bool:
    return any(file.settings.get("include_claude") is True for file in examined.files)


def _take_claudes(files: list[ConfigFile], examined: LoadedConfig) -> None:
    """Add Claude Code's settings that are not yet among the files under any path."""
    examined.files += [examined.counting(file) for file in not_among(files, examined.files)]


def _project_files(found: ConfigFiles, examined: LoadedConfig, *, claudes: bool) -> list[ConfigFile]:
    """Return the files of the nearest directory with an effective one.

    Without one, `claudes` lets the nearest Claude Code settings with hooks determine the project's root, else those
    that enable or disable plugins.
    """
    declarations = examined.declarations
    by_directory: dict[str, list[tuple[str, str]]] = {}
    for layer, path, _ in found.files:
        if layer in {"project", "local"}:
            by_directory.setdefault(_directory(path, found.cwd), []).append((path, layer))
    for directory, there in by_directory.items():
        files = [examined.read(path, layer) for path, layer in there]
        declarations.files += [file.path for file in files]
        # Nearest *with hooks in it*: another program's coder.json does not hide the repository's hooks.
        if any(file.is_effective for file in files):
            declarations.root = directory
            return files
        for file in files:
            examined.problems += file.problems
    theirs = [path for path in found.claude[1:] if claudes]
    declarations.files += theirs
    settings = [load_file(path, "project") for path in theirs if path.rpartition("/")[0] != found.claude[0]]
    effective = [file for file in settings if file.is_effective] or [
        file for file in settings if file.plugin is None and file.data.get(ENABLED)
    ]
    if effective:
        declarations.root = claude_settings.project_of(effective[0].path)
    return []


def _directory(path: str, cwd: str | None) -> str:
    is_claudes = claude_settings.is_settings(path)
    directory = claude_settings.project_of(path) if is_claudes else os.path.dirname(path)
    return directory if directory.startswith("/") else os.path.normpath(f"{cwd or '.'}/{directory}")


def _load_layer(files: list[ConfigFile], examined: LoadedConfig) -> None:
    with_hooks = [file for file in files if "hooks" in file.data]
    for file in with_hooks[1:]:
        first = with_hooks[0].path
        other = os.path.relpath(first, os.path.dirname(file.path))
        message = f"hooks in two files of the {file.layer} layer: {other} has `hooks` too"
        file.at("hooks").report(message, "move all of them into one file, or use `hookrun.include`")
    seen: set[str] = set()
    for file in files:
        _take(file, [], seen, examined)


def _take(file: ConfigFile, chain: list[str], seen: set[str], examined: LoadedConfig) -> None:
    """Add a file and its includes. `chain` are its includers, `seen` all of the layer so far."""
    real = os.path.realpath(file.path)
    seen.add(real)
    examined.files.append(file)
    for index, item in enumerate(list_at(file.settings, "include")):
        where, home = file.at("hookrun", "include", index), examined.found.home
        include = GitInclude.from_item(item, file.path)
        path = include.file(home) if include is not None else included_path(file.path, str(item), home)
        target = os.path.realpath(path)
        examined.declarations.files.append(path)
        if include is not None and (problem := include.problem(home)) is not None:
            where.report(*problem)
        elif target in {*chain, real}:
            where.report(f"circular include of {quote(item)}", "remove this include")
        elif len(chain) + 1 > MAX_INCLUDES:
            where.report(f"includes nested more than {MAX_INCLUDES} levels deep", "include the file further up")
        elif target not in seen and len(seen) >= MAX_FILES:
            where.report(f"more than {MAX_FILES} files in one layer", "merge some of them")
        elif target not in seen:
            included = _load_included(path, item if isinstance(item, str) else path, file, where, examined)
            if included is not None:
                _take(included, [*chain, real], seen, examined)


def _load_included(path: str, text: str, by: ConfigFile, where: Location, examined: LoadedConfig) -> ConfigFile | None:
    """Return the included file; None, with an error in the includer, if missing or without hooks."""
    if not os.path.lexists(path):
        where.report(f"included file not found: {quote(text)}", "create it, or correct the path")
        return None
    file = examined.read(os.path.normpath(path), by.layer)
    file.included_by = by
    file.defaults = {**by.defaults, **file.defaults}
    if file.is_effective or file.claudes or file.others:
        return file
    where.report(f"included file has no hooks: {quote(text)}", 'add "hooks": [...] to it, or remove the include')
    return None


def _combine(examined: LoadedConfig, *, warns: bool) -> None:
    """Validate all hooks, now that all events are known, and sort them."""
    declarations = examined.declarations
    own: dict[str, int] = {}
    for file in examined.files:
        for name in texts(file.settings, "events"):
            own.setdefault(name, LAYERS.index(file.layer))
    declarations.events = list(own)
    claude_files.switch_off(examined.files)
    above = claude_files.unread_settings(examined.files, examined.found, declarations.files)
    variables = claude_files.variables_by_layer([*above, *examined.files])
    for file in above:
        examined.add_problems(file, file.problems)
    for file in examined.files:
        examined.add_problems(file, file.problems)
        examined.add_kept(file)
        try:
            events = frozenset(name for name, layer in own.items() if layer <= LAYERS.index(file.layer))
            reserved = explicit_names(file.entries)
            prefix = f"{file.plugin_name}:" if file.plugin_name else ""
            scope = Scope(file.layer, events, file.defaults, reserved=reserved, warns=warns, prefix=prefix)
            _check_entries(file, examined, scope, variables)
        except Exception as error:  # as in `load`
            file.unread = True
            examined.add_problems(file, [internal_problem(file.path, error, examined.found.home)])
    declarations.files = list(dict.fromkeys(declarations.files))
    declarations.hooks.sort(key=lambda hook: (LAYERS.index(hook.layer), hook.priority))
    mark_duplicates(declarations.hooks)
    declarations.settings = _settings(examined.files)
    # No declaration has these: hooks get them when they run.
    if from_above := {layer: each for layer, each in variables.items() if layer not in UNTRUSTED_LAYERS and each}:
        declarations.settings["claude_env"] = from_above


def _check_entries(file: ConfigFile, examined: LoadedConfig, scope: Scope, variables: claude_files.ByLayer) -> None:
    """Validate a file's entries. The scope has the events of this layer and those above.

    `variables` are those that Claude Code's settings give to hooks, by layer.
    """
    declarations = examined.declarations
    untrusted = scope.layer in UNTRUSTED_LAYERS
    scope.reads_commands = not untrusted or examined.may_read
    for checked in _checked(file, scope, declarations.root, examined.found.home):
        examined.problems += checked.problems
        declarations.problems += [problem.text for problem in checked.for_file]
        if checked.hook is not None and untrusted:
            examined.read_hooks += 1
            texts = (*checked.hook.target, *(checked.hook.env or {}).values())
            examined.read_characters += sum(map(len, texts))
            scope.reads_commands = examined.may_read
        if checked.hook is not None:
            if file.claudes:
                claude_files.give_variables(checked.hook, variables)
            declarations.hooks.append(checked.hook)
            examined.written.append((checked.hook, file, checked.path))


def _checked(file: ConfigFile, scope: Scope, root: str | None, home: str) -> Iterator[ValidatedHook]:
    if file.handlers is None:
        for index, entry in enumerate(file.entries):
            yield from validate_entry(file.document, (*file.entries_path, index), entry, scope)
        return
    ends_in = session_end(file.handlers if file.plugin is None else [])
    for handler in file.handlers:
        checked = validate_handler(
            file.document, handler, scope, ends_in=ends_in, plugin=file.plugin, agent=file.dialect
        )
        if checked.hook is not None:
            claude_files.set_directories(checked.hook, file, root, home)
        yield checked


def _settings(files: list[ConfigFile]) -> dict[str, object]:
    """Return the effective TRUSTED_SETTINGS: the first file with one takes precedence."""
    defaults = ((name, SETTING_FIELDS[name].default) for name in TRUSTED_SETTINGS)
    settings: dict[str, object] = {name: default for name, default in defaults if default is not None}
    for file in reversed(files):
        settings.update({name: file.settings[name] for name in TRUSTED_SETTINGS if name in file.settings})
    limits = {field.name: field.default for field in AUDIT_FIELDS if field.default is not None}
    settings["audit"] = {**limits, **as_object(settings.get("audit"))} if settings["audit"] is not False else False
    return settings


def mark_duplicates(hooks: Iterable[Hook]) -> None:
    """Record in each hook of Claude Code's form its earlier duplicates' matchers: the handler runs once.

    Handlers of one event are duplicates if they have the same command or URL, arguments, `if`, base directory and
    plugin. Invalid and disabled ones do not count, and a background hook duplicates only another.
    """
    seen: dict[object, list[tuple[str, tuple[str, ...]]]] = {}
    for hook in hooks:
        claude = hook.claude
        if claude is None or hook.error is not None or hook.mode == "off":
            continue
        target = hook.target if isinstance(hook.target, str) else tuple(hook.target)
        agents = tuple(hook.agents) if hook.agents is not None else None
        rule = (claude.rule, claude.base)
        key = (claude.event, hook.kind, target, rule, claude.plugin_root, agents, hook.background)
        before = seen.setdefault(key, [])
        if before:
            claude.twins = list(dict.fromkeys(before))
        before.append((claude.matcher or "", tuple(claude.tools)))
