"""Find Claude Code's settings files and plugins, and apply their switches and `env`.

A project's `env` becomes part of its hooks' declarations, and so of what is approved. The user's and administrator's is
kept apart: it differs between machines, and no project approval covers it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from glob import glob

from hookrun.config import claude_settings
from hookrun.config.claude_settings import PLUGIN_FILE, PLUGIN_MARK
from hookrun.config.config_file import ConfigFile, load_file
from hookrun.config.discovery import CLAUDE_DIRECTORY, CLAUDE_FILES, UNREAD, ConfigFiles
from hookrun.config.document import NOT_READ, Diagnostic, Document, SourceError, read
from hookrun.config.shapes import list_at
from hookrun.core.files import is_within
from hookrun.core.model import LAYERS, UNTRUSTED_LAYERS, ClaudeForm, Hook, as_object
from hookrun.core.text import quote

Variables = dict[str, str]
ByLayer = dict[str, Variables]

MANAGED = "managed-settings.json"
MORE_MANAGED = "managed-settings.d"
# Limit on all variables of a file: each of its hooks carries them.
MAX_CHARACTERS = 64 << 10

PROJECT_LAYERS = dict(zip(CLAUDE_FILES, ("project", "local"), strict=True))


def not_among(files: list[ConfigFile], others: list[ConfigFile]) -> list[ConfigFile]:
    """Return the files that are not among the others, under any path."""
    known = {os.path.realpath(file.path) for file in others}
    return [file for file in files if os.path.realpath(file.path) not in known]


def settings_above(found: ConfigFiles, looked_for: list[str]) -> list[ConfigFile]:
    """Return the administrator's and user's settings, without plugins.

    Every path that affects the result is added to `looked_for`.
    """
    base = found.claude_managed
    more = f"{base}/{MORE_MANAGED}"
    looked_for.append(more)
    names = sorted(glob("*.json", root_dir=more))
    managed = _there([f"{base}/{MANAGED}", *(f"{more}/{name}" for name in names)], "managed", looked_for)
    return [*managed, *_there([f"{found.claude[0]}/{CLAUDE_FILES[0]}"], "user", looked_for)]


def unread_settings(files: list[ConfigFile], found: ConfigFiles, looked_for: list[str]) -> list[ConfigFile]:
    """Return the settings above if any of `files` are settings with hooks.

    Claude Code gives their variables to the hooks in its settings. Their own hooks are left out, and so are their
    problems unless they cannot be read at all.
    """
    if not any(file.claudes and file.handlers for file in files):
        return []
    unread = not_among(settings_above(found, looked_for), files)
    for file in unread:
        if file.was_read:
            file.problems = []
    return unread


def project_files(root: str, looked_for: list[str]) -> list[ConfigFile]:
    """Return the settings of the project at `root`, shared and the user's."""
    base = f"{root.rstrip('/')}/{CLAUDE_DIRECTORY}"
    return [file for name, layer in PROJECT_LAYERS.items() for file in _there([f"{base}/{name}"], layer, looked_for)]


def mark_native(files: list[ConfigFile], found: ConfigFiles) -> None:
    """Mark the user's and administrator's settings, under any path, as always read by Claude Code."""
    managed = found.claude_managed
    paths = (f"{found.claude[0]}/{CLAUDE_FILES[0]}", managed, f"{managed}/{MORE_MANAGED}")
    everywhere = set(map(os.path.realpath, paths))
    for file in files:
        real = os.path.realpath(file.path)
        if file.claudes and not everywhere.isdisjoint((real, os.path.dirname(real))):
            file.own = True


def _there(paths: list[str], layer: str, looked_for: list[str]) -> list[ConfigFile]:
    looked_for += paths
    return [load_file(path, layer, claudes=True) for path in paths if os.path.lexists(path)]


def switch_off(files: list[ConfigFile]) -> None:
    """Apply `disableAllHooks` and `allowManagedHooksOnly` of Claude Code's settings to their hooks.

    The nearest file that sets one takes precedence, but only managed files affect managed hooks, and a project cannot
    switch off the user's hooks.
    """
    theirs = [file for file in files if file.claudes]
    managed = [file for file in theirs if file.layer == "managed"]
    all_off = any(file.data.get("disableAllHooks") is True for file in managed)
    only_managed = any(file.data.get("allowManagedHooksOnly") is True for file in managed)
    disabled = dict.fromkeys(("local", "project", "user"))
    for file in reversed(theirs):
        if isinstance(value := file.data.get("disableAllHooks"), bool) and file.layer in disabled:
            disabled[file.layer] = value
    nearest = next((value for value in disabled.values() if value is not None), False)
    for file in theirs:
        by_nearest = nearest and (disabled["user"] is True or file.layer != "user")
        file.off = file.off or all_off or (file.layer != "managed" and (only_managed or by_nearest))


def set_directories(hook: Hook, file: ConfigFile, root: str | None, home: str) -> None:
    """Add what depends on a hook's file: who else runs it, whether it is off, the base of paths in `if`."""
    claude = hook.claude = hook.claude or ClaudeForm({})
    rule = claude.rule or ""
    if file.own:
        claude.own = file.own
    if "(/" in rule and "(//" not in rule:
        claude.base = root if hook.layer in UNTRUSTED_LAYERS and root is not None else os.path.dirname(file.path)
    if "(~/" in rule:
        claude.home = home
    hook.mode = "off" if file.off else hook.mode


# --- variables


def variables_by_layer(files: list[ConfigFile]) -> ByLayer:
    """Return the variables of each layer's settings; report those that hooks cannot get."""
    found: ByLayer = {}
    for file in files:
        if file.claudes and file.plugin is None:
            found.setdefault(file.layer, {}).update(variables(file))
    shared = any(file.claudes and file.layer == "project" and file.handlers for file in files)
    for file in files if shared and found.get("local") else ():
        if file.claudes and file.layer == "local" and file.was_read:
            file.at("env").warn(
                "hookrun gives `env` of the local settings only to the hooks of this file; Claude Code gives it to all",
                "set variables for other hooks in the file of those hooks",
            )
    return found


def variables(file: ConfigFile) -> Variables:
    """Return a file's `env` without variables that choose the configuration, approvals or options."""
    given = file.data.get("env")
    if given is None:
        return {}
    at = file.at("env")
    if not isinstance(given, dict):
        at.type_error(given, "an object of names and values", 'write {"NAME": "value"}')
        return {}
    taken: Variables = {}
    for name, value in given.items():
        text = ("true" if value else "false") if isinstance(value, bool) else str(value)
        if not isinstance(value, (str, int, float)):
            at.at(name).type_error(value, "a string")
        elif not name or "=" in name or "\0" in name + text:
            at.at(name).report(f"invalid environment variable {quote(name)}", "remove it")
        elif name != "HOME" and not name.startswith(("HOOKRUN_", "XDG_")):
            taken[name] = text
    if sum(len(name) + len(text) for name, text in taken.items()) > MAX_CHARACTERS:
        at.report(f"more than {MAX_CHARACTERS >> 10} KiB of variables: none of them is used", "remove some")
        return {}
    return taken


def give_variables(hook: Hook, found: ByLayer) -> None:
    """Add a project's variables to its hook's declaration, whose own take precedence."""
    if hook.layer in UNTRUSTED_LAYERS:
        own = {**found.get("project", {}), **(found.get("local", {}) if hook.layer == "local" else {})}
        if own:
            from hookrun.config.executed import executed

            hook.env = {**own, **(hook.env or {})}
            if not any(word.startswith(UNREAD) for word in hook.words):  # see MAX_PROJECT_HOOKS
                hook.words = executed(hook.kind, hook.target, hook.env, hook.dialect).code  # a value may name code


# --- plugins
#
# Measured with Claude Code 2.1.329 (tests/live/test_claude_plugins.py): of the settings that name a plugin, the nearest
# counts. A plugin of a marketplace that is a directory runs in that directory; of any other, the first listed copy for
# the user or this project runs. A plugin that its marketplace does not list does not run.

INSTALLED = "plugins/installed_plugins.json"
KNOWN = "plugins/known_marketplaces.json"
MARKETPLACE = ".claude-plugin/marketplace.json"
ENABLED = "enabledPlugins"
# The layers of settings by precedence.
NEAREST_FIRST = ("managed", "local", "project", "user")
# Sources of marketplaces whose plugins run in place.
IN_PLACE = ("directory", "file")
EVERYWHERE = frozenset({"managed", "user"})


class Plugins:
    """The plugins in Claude Code's directory `base` for the project at `root`.

    Every path that affects the result is added to `looked_for`. `passed_over` are warnings of the enabled ones that are
    not found.
    """

    def __init__(self, base: str, root: str, looked_for: list[str]) -> None:
        self.passed_over: dict[str, Diagnostic] = {}
        self._base = base
        self._root = root
        self._looked_for = looked_for
        self._problems: list[ConfigFile] = []
        self._documents: dict[str, Document] = {}
        self._taken: set[str] = set()

    def files(self, included: list[ConfigFile], others: Iterable[ConfigFile]) -> list[ConfigFile]:
        """Return the hook files of each plugin that `included` settings enable.

        `others` are settings that count, but not their own hooks. The hooks of a plugin belong to the first layer that
        enables it; a disabling layer with precedence switches them off.
        """
        effective = _by_plugin([*included, *others])
        found: list[ConfigFile] = []
        for name, by_layer in _by_plugin(included).items():
            layer = next((each for each in LAYERS if by_layer.get(each, (None, False))[1]), None)
            if layer is None:
                continue
            nearest, on = next(effective[name][each] for each in NEAREST_FIRST if each in effective[name])
            for file in self._of_plugin(name, layer, by_layer[layer][0]):
                file.plugin_name = name.rpartition("@")[0]
                file.own = True if layer in EVERYWHERE else self._root
                file.off = not on
                found.append(file)
            if not on:
                nearest.at(ENABLED, name).warn(
                    f"this disables the hooks of the plugin {quote(name)}, which {by_layer[layer][0].path} enables",
                    "remove it to run them",
                )
        return [*self._problems, *found]

    def _of_plugin(self, name: str, layer: str, by: ConfigFile) -> Iterator[ConfigFile]:
        plugin, _, marketplace = name.rpartition("@")
        known = as_object(self._document(f"{self._base}/{KNOWN}").top.get(marketplace))
        place = known.get("installLocation")
        if not plugin or not isinstance(place, str) or not os.path.isabs(place):
            self._pass_over(name, by, "its marketplace is not known", "add it with `claude plugin marketplace add`")
            return
        document = self._document(f"{place.rstrip('/')}/{MARKETPLACE}")
        index, entry = _listed(document, plugin)
        if not entry:
            self._pass_over(name, by, f"{document.path} does not list it", "remove it, or update the marketplace")
            return
        if as_object(known.get("source")).get("source") in IN_PLACE and isinstance(entry.get("source"), str):
            base = as_object(document.top.get("metadata")).get("pluginRoot")
            root = _within(place.rstrip("/"), base if isinstance(base, str) else "", str(entry["source"]))
        else:
            root = self._installed(name)
        if root is None or not os.path.isdir(root):
            self._pass_over(name, by, "there is no copy of it", f"run `claude plugin install {name}`")
            return
        manifest = f"{root}/{PLUGIN_MARK}"
        if entry.get("hooks") is not None and not os.path.lexists(manifest):
            yield from self._declared(document, ("plugins", index, "hooks"), entry["hooks"], root, layer)
            return
        yield from self._at(f"{root}{PLUGIN_FILE}", root, layer)
        document = self._document(manifest)
        if "hooks" in document.top:
            yield from self._declared(document, ("hooks",), document.top["hooks"], root, layer)

    def _pass_over(self, name: str, by: ConfigFile, why: str, hint: str) -> None:
        message = f"the plugin {quote(name)} is enabled, and its hooks do not run: {why}"
        self.passed_over[name] = by.document.problem((ENABLED, name), message, hint, "warning")

    def _declared(
        self, document: Document, where: tuple[str | int, ...], hooks: object, root: str, layer: str
    ) -> Iterator[ConfigFile]:
        """Yield a manifest's hooks, where `hooks` is a file's path, a map of events or a list of these."""
        for index, each in enumerate(hooks if isinstance(hooks, list) else [hooks]):
            path = (*where, index) if isinstance(hooks, list) else where
            if isinstance(each, str):
                yield from self._at(_within(root, each), root, layer)
            elif isinstance(each, dict):
                file = ConfigFile(document.path, layer, document, claudes=True, plugin=root)
                file.handlers = [*claude_settings.entries(each, file.at(*path), strict=False)]
                yield file

    def _at(self, path: str | None, root: str, layer: str) -> Iterator[ConfigFile]:
        if path is None:
            return
        self._looked_for.append(path)
        if os.path.lexists(path) and os.path.realpath(path) not in self._taken:
            self._taken.add(os.path.realpath(path))
            file = load_file(path, layer, claudes=True)
            file.plugin = root
            yield file

    def _installed(self, name: str) -> str | None:
        """Return the root of the first copy for the user or this project."""
        given = as_object(self._document(f"{self._base}/{INSTALLED}").top.get("plugins")).get(name)
        for each in given if isinstance(given, list) else [given]:
            if isinstance(each, dict) and each.get("projectPath", self._root) == self._root:
                root = each.get("installPath")
                return root.rstrip("/") if isinstance(root, str) and os.path.isabs(root) else None
        return None

    def _document(self, path: str) -> Document:
        """Return a file of Claude Code's, NOT_READ if missing; report an unreadable one."""
        if path not in self._documents:
            self._documents[path] = NOT_READ
            self._looked_for.append(path)
            if os.path.lexists(path):
                try:
                    self._documents[path] = read(path)
                except SourceError as error:
                    self._problems.append(ConfigFile(path, "user", claudes=True, problems=[error.problem]))
        return self._documents[path]


def _by_plugin(files: Iterable[ConfigFile]) -> dict[str, dict[str, tuple[ConfigFile, bool]]]:
    """Return for each plugin each layer's last file that names it, and whether it enables it."""
    found: dict[str, dict[str, tuple[ConfigFile, bool]]] = {}
    for file in files:
        words = as_object(file.data.get(ENABLED)) if file.plugin is None else {}
        for name, word in words.items():
            found.setdefault(name, {})[file.layer] = file, word is True
    return found


def _listed(document: Document, plugin: str) -> tuple[int, dict[str, object]]:
    """Return a plugin's entry in its marketplace and its index, or an empty one."""
    for index, each in enumerate(list_at(document.top, "plugins")):
        if isinstance(each, dict) and each.get("name") == plugin:
            return index, each
    return -1, {}


def _within(root: str, *steps: str) -> str | None:
    """Return the path that relative steps lead to, None if they lead out of `root`."""
    path = os.path.normpath("/".join((root, *steps)))
    return path if is_within(path, root) and ".." not in "/".join(steps).split("/") else None
