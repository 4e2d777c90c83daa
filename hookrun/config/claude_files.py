"""Find Claude Code's own settings files of each layer, and apply the switches in them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from hookrun.config.config_file import ConfigFile, load_file
from hookrun.config.discovery import CLAUDE_DIRECTORY, CLAUDE_FILES
from hookrun.model import UNTRUSTED_LAYERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.config.discovery import ConfigFiles
    from hookrun.model import Hook

MANAGED = "managed-settings.json"
MORE_MANAGED = "managed-settings.d"
PLUGINS = "plugins/installed_plugins.json"
PROJECT_LAYERS = dict(zip(CLAUDE_FILES, ("project", "local"), strict=True))


def managed_files(found: ConfigFiles, looked_for: list[str]) -> list[ConfigFile]:
    """Return the administrator's settings; every path that affects the result is added to `looked_for`."""
    base = found.claude_managed
    more = f"{base}/{MORE_MANAGED}"
    looked_for.append(more)
    try:
        names = sorted(name for name in os.listdir(more) if name.endswith(".json") and not name.startswith("."))
    except OSError:
        names = []
    return _there([f"{base}/{MANAGED}", *(f"{more}/{name}" for name in names)], "managed", looked_for, own=True)


def user_files(found: ConfigFiles, looked_for: list[str]) -> list[ConfigFile]:
    """Return the user's settings and the hooks of the plugins that they enable."""
    base = found.claude[0]
    files = user_settings(found, looked_for)
    enabled = {name for file in files for name in _enabled(file)}
    if enabled:
        looked_for.append(f"{base}/{PLUGINS}")
        for name, root in _installed(f"{base}/{PLUGINS}"):
            if name in enabled:
                files += _there([f"{root}/hooks/hooks.json"], "user", looked_for, own=True, plugin=root)
    return files


def user_settings(found: ConfigFiles, looked_for: list[str]) -> list[ConfigFile]:
    """Return the user's settings, without plugins."""
    return _there([f"{found.claude[0]}/{CLAUDE_FILES[0]}"], "user", looked_for, own=True)


def unread_settings(files: list[ConfigFile], found: ConfigFiles, looked_for: list[str]) -> list[ConfigFile]:
    """Return the user's and the administrator's settings that are not among `files`, if any of those has hooks.

    Claude Code would give their variables to hooks that were read from its settings. Their own hooks are not included,
    so their problems are left out, unless they cannot be read at all.
    """
    theirs = [file for file in files if file.claudes]
    if not any(file.handlers for file in theirs):
        return []
    read = {os.path.realpath(file.path) for file in theirs}
    above = [*managed_files(found, looked_for), *user_settings(found, looked_for)]
    unread = [file for file in above if os.path.realpath(file.path) not in read]
    for file in unread:
        if file.document is not None:
            file.problems = []
    return unread


def project_files(root: str, looked_for: list[str]) -> list[ConfigFile]:
    """Return the settings of the project at `root`: the shared ones and the user's."""
    base = f"{root.rstrip('/')}/{CLAUDE_DIRECTORY}"
    return [
        file
        for name, layer in PROJECT_LAYERS.items()
        for file in _there([f"{base}/{name}"], layer, looked_for, own=root)
    ]


def mark_native(files: list[ConfigFile], found: ConfigFiles) -> None:
    """Mark the user's and administrator's settings, under any path, as read by Claude Code everywhere."""
    everywhere = {os.path.realpath(path) for path in (f"{found.claude[0]}/{CLAUDE_FILES[0]}", found.claude_managed)}
    for file in files:
        real = os.path.realpath(file.path)
        if file.claudes and not everywhere.isdisjoint((real, os.path.dirname(real))):
            file.own = True


def _there(
    paths: list[str], layer: str, looked_for: list[str], *, own: bool | str, plugin: str | None = None
) -> list[ConfigFile]:
    looked_for += [path for path in paths if path not in looked_for]
    files = [load_file(path, layer, claudes=True) for path in paths if os.path.lexists(path)]
    for file in files:
        file.own = own
        file.plugin = plugin
    return files


def _enabled(file: ConfigFile) -> list[str]:
    data = file.document.data if file.document is not None else None
    plugins = data.get("enabledPlugins") if isinstance(data, dict) else None
    return [name for name, on in plugins.items() if on is True] if isinstance(plugins, dict) else []


def _installed(path: str) -> Iterator[tuple[str, str]]:
    """Yield name and root of each installed plugin; an entry is an object or, in newer files, a list of them."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError, RecursionError):
        return
    plugins = data.get("plugins") if isinstance(data, dict) else None
    for name, given in plugins.items() if isinstance(plugins, dict) else ():
        for each in given if isinstance(given, list) else [given]:
            root = each.get("installPath") if isinstance(each, dict) else None
            if isinstance(root, str) and os.path.isabs(root):
                yield name, root.rstrip("/")


def switch_off(files: list[ConfigFile]) -> None:
    """Apply `disableAllHooks` and `allowManagedHooksOnly` of Claude Code's settings to the hooks in them.

    The nearest file that sets one takes precedence, but only managed files affect managed hooks, and a project cannot
    switch off the user's hooks.
    """
    theirs = [file for file in files if file.claudes]
    managed = [file for file in theirs if file.layer == "managed"]
    all_off = any(file.says("disableAllHooks") is True for file in managed)
    only_managed = any(file.says("allowManagedHooksOnly") is True for file in managed)
    said = {layer: _said(theirs, layer) for layer in ("user", "project", "local")}
    nearest = next((said[layer] for layer in ("local", "project", "user") if said[layer] is not None), False)
    for file in theirs:
        own_word = said["user"] is True if file.layer == "user" else True
        file.off = all_off or (file.layer != "managed" and (only_managed or bool(nearest and own_word)))


def _said(files: list[ConfigFile], layer: str) -> bool | None:
    values = [file.says("disableAllHooks") for file in files if file.layer == layer]
    return next((value for value in values if isinstance(value, bool)), None)


def set_directories(hook: Hook, file: ConfigFile, root: str | None, home: str) -> None:
    """Add to a hook what depends on its file: who else runs it, whether it is off, the base of paths in its `if`."""
    claude = dict(hook.claude or {})
    rule = str(claude.get("if", ""))
    if file.own:
        claude["own"] = file.own
    if "(/" in rule and "(//" not in rule:
        claude["base"] = root if hook.layer in UNTRUSTED_LAYERS and root is not None else os.path.dirname(file.path)
    if "(~/" in rule:
        claude["home"] = home
    hook.claude = claude
    hook.mode = "off" if file.off else hook.mode
