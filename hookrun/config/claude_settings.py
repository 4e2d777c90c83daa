"""Claude Code's form of hooks, a map of events and groups: recognised, and taken apart into handlers."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from hookrun.config.claude_lint import VOID, lint_matcher
from hookrun.config.diagnostics import closest, quote
from hookrun.config.discovery import CLAUDE_DIRECTORY, CLAUDE_FILES
from hookrun.events import EVENTS
from hookrun.model import UNTRUSTED_LAYERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.config.config_file import ConfigFile
    from hookrun.config.discovery import ConfigFiles
    from hookrun.config.parse import KeyPath
    from hookrun.config.validate_value import Location
    from hookrun.model import Hook

NATIVE = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification", "UserPromptSubmit"),
    *("UserPromptExpansion", "SessionStart", "SessionEnd", "Stop", "StopFailure", "SubagentStart", "SubagentStop"),
    *("PreCompact", "PostCompact", "PreModelSwitch", "PostModelSwitch", "PermissionRequest", "PermissionDenied"),
    *("Setup", "TeammateIdle", "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult", "ConfigChange"),
    *("WorktreeCreate", "WorktreeRemove", "InstructionsLoaded", "CwdChanged", "FileChanged", "DirectoryAdded"),
    "MessageDisplay",
)
"""Every event that Claude Code has, by its own name."""

OF_A_HANDLER = frozenset({"type", "command", "args", "url", "timeout", "onFailure", "async", "if", "shell"})
"""Keys that people write beside `matcher` and `hooks`, where Claude Code does not look at them."""

OF_A_GROUP = ("matcher", "hooks")

PLUGIN_FILE = "/hooks/hooks.json"
PLUGIN_MARK = ".claude-plugin/plugin.json"


class HandlerEntry(NamedTuple):
    """One handler as it stands: where, for which event by Claude Code's name, under which matcher."""

    path: KeyPath
    event: str
    matcher: str | None
    handler: object


class FileDroppedError(Exception):
    """Claude Code would not take anything from the file; why has been reported."""


def is_map(hooks: object) -> bool:
    """Tell whether `hooks` are in Claude Code's form: a map of events, or of what are groups with hooks."""
    if not isinstance(hooks, dict):
        return False
    return any(key in NATIVE for key in hooks) or any(
        key in EVENTS or any(isinstance(group, dict) and "hooks" in group for group in groups)
        for key, groups in hooks.items()
        if isinstance(groups, list)
    )


def is_settings(path: str) -> bool:
    """Tell by its name whether a file is Claude Code's settings of a project or a person."""
    directory, _, name = path.rpartition("/")
    return name in CLAUDE_FILES and directory.rpartition("/")[2] == CLAUDE_DIRECTORY


def project_of(path: str) -> str:
    """Return the directory of the project whose settings the file is."""
    return os.path.dirname(os.path.dirname(path)) or "."


def plugin_root(path: str) -> str | None:
    """Return the root of the plugin whose hooks the file declares, None where it is no plugin's."""
    root = path.removesuffix(PLUGIN_FILE)
    return root if root != path and os.path.isfile(f"{root}/{PLUGIN_MARK}") else None


def entries(hooks: dict[str, object], at: Location, *, strict: bool) -> list[HandlerEntry]:
    """Return the handlers of a map of events, in order; what is no group or handler is reported and left out.

    An unknown event is a warning, if `strict` an error: in a file that Claude Code does not read there is nothing to be
    lenient for. Where Claude Code would reject the file as a whole, nothing is returned.
    """
    try:
        return list(_entries(hooks, at, strict=strict))
    except FileDroppedError:
        return []


def _entries(hooks: dict[str, object], at: Location, *, strict: bool) -> Iterator[HandlerEntry]:
    for event, groups in hooks.items():
        here = at.at(event)
        if event not in NATIVE:
            tell = here.report if strict else here.warn
            expected = (
                "an event of Claude Code, by its name" if strict else "an event of Claude Code (it ignores others)"
            )
            tell(f"the unknown event {quote(event)}", expected, "correct it", nearest=closest(event, NATIVE))
        elif not isinstance(groups, list):
            here.type_error(groups, "a list of groups", 'write [{"hooks": [...]}]')
        else:
            for index, group in enumerate(groups):
                yield from _of_group(group, event, here.at(index))


def _of_group(group: object, event: str, at: Location) -> Iterator[HandlerEntry]:
    if not isinstance(group, dict):
        at.type_error(group, f"a group: an object with hooks {VOID}", 'write {"matcher": "Bash", "hooks": [...]}')
        return
    matcher = _matcher(group, at)
    if matcher is not None:
        lint_matcher(matcher, event, at.at("matcher"))
    for key in group:
        if key not in OF_A_GROUP and key not in OF_A_HANDLER and (near := closest(key, OF_A_GROUP)):
            expected = (
                "matcher or hooks (Claude Code passes others over: without a matcher the hooks run on everything)"
            )
            at.at(key).warn(f"the unknown key {quote(key)}", expected, "correct it", nearest=near)
    for key in sorted(OF_A_HANDLER.intersection(group)):
        at.at(key).warn(f"{key} beside hooks", f"{key} in each of the hooks (here it does nothing)", "move it there")
    handlers = group.get("hooks")
    if not isinstance(handlers, list):
        at.at("hooks").type_error(
            handlers, f"a list of handlers {VOID}", 'write [{"type": "command", "command": "..."}]'
        )
        return
    for index, handler in enumerate(handlers):
        yield HandlerEntry((*at.path, "hooks", index), event, matcher, handler)


def _matcher(group: dict[str, object], at: Location) -> str | None:
    """Return the matcher of a group. Raises VoidError for what is no text: the whole file is void then."""
    matcher = group.get("matcher")
    here = at.at("matcher")
    if matcher is None:
        if "matcher" in group:
            expected = "a text, or no matcher at all (Claude Code rejects the whole file; here it is everything)"
            here.warn("null", expected, "remove it")
        return None
    if isinstance(matcher, str):
        return matcher
    advice = "write the names in one text"
    if isinstance(matcher, list):
        advice = f"write {quote('|'.join(str(each) for each in matcher))}"
    here.type_error(matcher, "a text (Claude Code rejects the whole file: none of its hooks is run)", advice)
    raise FileDroppedError


MANAGED = "managed-settings.json"
MORE_MANAGED = "managed-settings.d"
PLUGINS = "plugins/installed_plugins.json"
PROJECT_LAYERS = dict(zip(CLAUDE_FILES, ("project", "local"), strict=True))


def managed_files(found: ConfigFiles, looked_for: list[str]) -> list[ConfigFile]:
    """Return the administrator's settings that are there; every path that matters is noted in `looked_for`."""
    base = found.claude_managed
    more = f"{base}/{MORE_MANAGED}"
    looked_for.append(more)
    try:
        names = sorted(name for name in os.listdir(more) if name.endswith(".json") and not name.startswith("."))
    except OSError:
        names = []
    return _there([f"{base}/{MANAGED}", *(f"{more}/{name}" for name in names)], "managed", looked_for, own=True)


def user_files(found: ConfigFiles, looked_for: list[str]) -> list[ConfigFile]:
    """Return the person's own settings and the hooks of the plugins that these enable."""
    base = found.claude[0]
    files = _there([f"{base}/{CLAUDE_FILES[0]}"], "user", looked_for, own=True)
    enabled = {name for file in files for name in _enabled(file)}
    if enabled:
        looked_for.append(f"{base}/{PLUGINS}")
        for name, root in _installed(f"{base}/{PLUGINS}"):
            if name in enabled:
                files += _there([f"{root}/hooks/hooks.json"], "user", looked_for, own=True, plugin=root)
    return files


def project_files(root: str, looked_for: list[str]) -> list[ConfigFile]:
    """Return the settings of the project at `root`: its own, and the person's in it."""
    base = f"{root.rstrip('/')}/{CLAUDE_DIRECTORY}"
    return [
        file
        for name, layer in PROJECT_LAYERS.items()
        for file in _there([f"{base}/{name}"], layer, looked_for, own=root)
    ]


def mark_native(files: list[ConfigFile], found: ConfigFiles) -> None:
    """Note that Claude Code reads the person's and the administrator's settings everywhere, also where one is named."""
    everywhere = {os.path.realpath(path) for path in (f"{found.claude[0]}/{CLAUDE_FILES[0]}", found.claude_managed)}
    for file in files:
        real = os.path.realpath(file.path)
        if file.claudes and not everywhere.isdisjoint((real, os.path.dirname(real))):
            file.own = True


def _there(
    paths: list[str], layer: str, looked_for: list[str], *, own: bool | str, plugin: str | None = None
) -> list[ConfigFile]:
    looked_for += [path for path in paths if path not in looked_for]
    from hookrun.config.config_file import load_file  # which imports this module

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
    """Yield the installed plugins and where they are: each is an object, or in newer files a list of them."""
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
    """Let `disableAllHooks` and `allowManagedHooksOnly` of Claude Code's settings hold for the hooks in them.

    The nearest file that says something counts, but managed hooks only obey managed files, and a person's hooks no
    project that switches them off.
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
    """Give a hook what its file makes of it: who runs it besides, whether it is off, where paths in its `if` begin."""
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
