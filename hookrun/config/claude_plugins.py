"""Find the plugins whose hooks Claude Code would run, by the settings that enable them and the places of their files.

Measured with Claude Code 2.1.329 (tests/live/test_claude_plugins.py): of all settings that name a plugin the nearest
counts. A plugin of a marketplace that is a directory runs in that directory; of any other its copy runs that is listed
first among those for the user and for this project. A plugin that its marketplace does not list does not run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from hookrun.config import claude_settings
from hookrun.config.config_file import ConfigFile, load_file
from hookrun.config.document import NOT_READ, Document, SourceError, read
from hookrun.files import is_within
from hookrun.model import LAYERS
from hookrun.text import quote

INSTALLED = "plugins/installed_plugins.json"
KNOWN = "plugins/known_marketplaces.json"
MARKETPLACE = ".claude-plugin/marketplace.json"
MANIFEST = ".claude-plugin/plugin.json"
HOOKS = "hooks/hooks.json"
ENABLED = "enabledPlugins"
NEAREST_FIRST = ("managed", "local", "project", "user")
"""The layers of settings, in order of precedence."""
IN_PLACE = ("directory", "file")
"""Sources of marketplaces whose plugins run in place, not from a copy."""
EVERYWHERE = frozenset({"managed", "user"})


class Plugins:
    """The plugins that are installed in Claude Code's directory `base`, for the project at `root`.

    Every path that affects the result is added to `looked_for`.
    """

    def __init__(self, base: str, root: str, looked_for: list[str]) -> None:
        self._base = base
        self._root = root
        self._looked_for = looked_for
        self._problems: list[ConfigFile] = []
        self._documents: dict[str, Document] = {}
        self._taken: set[str] = set()

    def files(self, included: list[ConfigFile], others: Iterable[ConfigFile]) -> list[ConfigFile]:
        """Return the files with hooks of each plugin that settings among `included` enable.

        `others` are settings that count although their own hooks are not included. The hooks of a plugin belong to
        the first layer that enables it; where another one takes precedence and disables it, they are switched off.
        """
        enabled = _word_of_each_layer(included)
        said = _word_of_each_layer([*included, *others])
        found: list[ConfigFile] = []
        for name, words in enabled.items():
            layer = next((each for each in LAYERS if words.get(each, (None, False))[1]), None)
            if layer is None:
                continue
            nearest, on = next(said[name][each] for each in NEAREST_FIRST if each in said[name])
            for file in self._of_plugin(name, layer):
                file.own = True if layer in EVERYWHERE else self._root
                file.off = not on
                found.append(file)
            if not on:
                nearest.at(ENABLED, name).warn(
                    f"this disables the hooks of the plugin {quote(name)}, which {words[layer][0].path} enables",
                    "remove it to run them",
                )
        return [*self._problems, *found]

    def _of_plugin(self, name: str, layer: str) -> Iterator[ConfigFile]:
        plugin, _, marketplace = name.rpartition("@")
        known = _object(self._document(f"{self._base}/{KNOWN}").top.get(marketplace))
        place = known.get("installLocation")
        if not plugin or not isinstance(place, str) or not os.path.isabs(place):
            return
        document = self._document(f"{place.rstrip('/')}/{MARKETPLACE}")
        index, entry = _listed(document, plugin)
        if not entry:
            return
        if _object(known.get("source")).get("source") in IN_PLACE and isinstance(entry.get("source"), str):
            base = _object(document.top.get("metadata")).get("pluginRoot")
            root = _within(place.rstrip("/"), base if isinstance(base, str) else "", str(entry["source"]))
        else:
            root = self._installed(name)
        if root is None or not os.path.isdir(root):
            return
        manifest = f"{root}/{MANIFEST}"
        if entry.get("hooks") is not None and not os.path.lexists(manifest):
            yield from self._declared(document, ("plugins", index, "hooks"), entry["hooks"], root, layer)
            return
        yield from self._at(f"{root}/{HOOKS}", root, layer)
        document = self._document(manifest)
        if "hooks" in document.top:
            yield from self._declared(document, ("hooks",), document.top["hooks"], root, layer)

    def _declared(
        self, document: Document, where: tuple[str | int, ...], hooks: object, root: str, layer: str
    ) -> Iterator[ConfigFile]:
        """Yield the hooks of a manifest: `hooks` is the path of a file, a map of events, or a list of these."""
        for index, each in enumerate(hooks if isinstance(hooks, list) else [hooks]):
            path = (*where, index) if isinstance(hooks, list) else where
            if isinstance(each, str):
                yield from self._at(_within(root, each), root, layer)
            elif isinstance(each, dict):
                file = ConfigFile(document.path, layer, document, claudes=True, plugin=root)
                file.handlers = claude_settings.entries(each, file.at(*path), strict=False)
                yield file

    def _at(self, path: str | None, root: str, layer: str) -> Iterator[ConfigFile]:
        if path is None:
            return
        self._note(path)
        if os.path.lexists(path) and os.path.realpath(path) not in self._taken:
            self._taken.add(os.path.realpath(path))
            file = load_file(path, layer, claudes=True)
            file.plugin = root
            yield file

    def _installed(self, name: str) -> str | None:
        """Return the root of the first copy that is installed for the user or this project."""
        given = _object(self._document(f"{self._base}/{INSTALLED}").top.get("plugins")).get(name)
        for each in given if isinstance(given, list) else [given]:
            if isinstance(each, dict) and each.get("projectPath", self._root) == self._root:
                root = each.get("installPath")
                return root.rstrip("/") if isinstance(root, str) and os.path.isabs(root) else None
        return None

    def _note(self, path: str) -> None:
        if path not in self._looked_for:
            self._looked_for.append(path)

    def _document(self, path: str) -> Document:
        """Return a file of Claude Code's, NOT_READ if there is none; report an unreadable one."""
        if path not in self._documents:
            self._documents[path] = NOT_READ
            self._note(path)
            if os.path.lexists(path):
                try:
                    self._documents[path] = read(path)
                except SourceError as error:
                    self._problems.append(ConfigFile(path, "user", claudes=True, problems=[error.problem]))
        return self._documents[path]


def names_plugins(file: ConfigFile) -> bool:
    """Return whether settings of Claude Code enable or disable a plugin."""
    return file.plugin is None and bool(file.data.get(ENABLED))


def _word_of_each_layer(files: Iterable[ConfigFile]) -> dict[str, dict[str, tuple[ConfigFile, bool]]]:
    """Return for each plugin the last file of each layer that names it, and whether that enables it."""
    found: dict[str, dict[str, tuple[ConfigFile, bool]]] = {}
    for file in files:
        words = file.data.get(ENABLED) if file.plugin is None else None
        for name, word in words.items() if isinstance(words, dict) else ():
            found.setdefault(name, {})[file.layer] = file, word is True
    return found


def _listed(document: Document, plugin: str) -> tuple[int, dict[str, object]]:
    """Return the entry of a plugin in its marketplace and where it is; an empty one if it is not listed."""
    plugins = document.top.get("plugins")
    for index, each in enumerate(plugins if isinstance(plugins, list) else []):
        if isinstance(each, dict) and each.get("name") == plugin:
            return index, each
    return -1, {}


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _within(root: str, *steps: str) -> str | None:
    """Return the path that relative steps lead to, None if they lead out of `root`."""
    path = os.path.normpath("/".join((root, *steps)))
    return path if is_within(path, root) and ".." not in "/".join(steps).split("/") else None
