"""Convert hooks from Claude Code's form to hookrun's as far as possible."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from hookrun.claude.hook_protocol import LEGACY_TOOLS, MATCHES_ALL, TOOL_EVENTS
from hookrun.claude.matcher import WITHOUT_MATCHER, fits, globs_of, names_in
from hookrun.config import claude_files
from hookrun.config.claude_settings import A_DAY, HandlerEntry, session_end, validate_handler
from hookrun.config.config_file import ConfigFile
from hookrun.config.recipe_entries import explicit_names
from hookrun.config.validate import Scope
from hookrun.core.events import CLAUDE_TOOLS
from hookrun.core.globs import glob
from hookrun.core.model import HOOK_DEFAULTS, Hook
from hookrun.core.text import quote

Json = dict[str, Any]

# Timeout in seconds of an `async` hook; Claude Code has none.
AT_MOST = 900.0

CANONICAL = {theirs: ours for ours, theirs in CLAUDE_TOOLS.items()}
SAME = ("on_failure", "background", "headers", "allowed_env")


class Migrated:
    """A converted file: `hooks` in hookrun's form, the `rest` in Claude Code's, and `notes` on differences.

    `env` are the file's variables for its hooks; converted hooks have them already.
    """

    def __init__(self) -> None:
        self.hooks: list[Json] = []
        self.rest: dict[str, list[Json]] = {}
        self.notes: list[str] = []
        self.env: dict[str, str] = {}

    def keep(self, entry: HandlerEntry) -> None:
        """Add a handler to the rest."""
        group: Json = {} if entry.matcher is None else {"matcher": entry.matcher}
        groups = self.rest.setdefault(entry.event, [])
        if not groups or {**groups[-1], "hooks": None} != {**group, "hooks": None}:
            groups.append({**group, "hooks": []})
        groups[-1]["hooks"].append(entry.handler)


def migrate(file: ConfigFile, there: list[object]) -> Migrated:
    """Return the hooks of a file in Claude Code's form, converted, except existing ones (`there`)."""
    migrated = Migrated()
    handlers = file.handlers or []
    scope = Scope("project", reserved=explicit_names(there))
    ends_in = session_end(handlers)
    migrated.env = claude_files.variables(file)
    if file.plugin is not None:  # Claude Code sets these only for plugin hooks
        migrated.env = {"CLAUDE_PLUGIN_ROOT": file.plugin}
        migrated.notes.append(f"the plugin's path is specific to this machine: {file.plugin}")
    found: list[tuple[HandlerEntry, Hook]] = []
    for entry in handlers:
        checked = validate_handler(file.document, entry, scope, ends_in=ends_in, plugin=file.plugin)
        where = f"{file.path}:{file.document.position(entry.path)[0]}"
        if checked.hook is None:
            if checked.problems:
                migrated.notes.append(f"{where}: not migrated: {checked.problems[0].message}")
        elif checked.hook.error is not None:
            migrated.notes.append(f"{where}: not migrated: {checked.hook.error.removeprefix(f'{file.path}: ')}")
        else:
            found.append((entry, checked.hook))
    often = Counter(_key(entry, hook) for entry, hook in found)
    for entry, hook in found:
        why = "it is declared more than once but runs once" if often[_key(entry, hook)] > 1 else _why_not(entry, hook)
        if why is None:
            declared = _declared(entry, hook) | ({"env": migrated.env} if migrated.env else {})
            if _nameless(declared) not in map(_nameless, there):
                migrated.hooks.append(declared)
        else:
            migrated.keep(entry)
            migrated.notes.append(f"{hook.location()}: kept in Claude Code's form: {why}")
    migrated.notes += _changes(migrated.hooks)
    names = {each["name"] for each in migrated.hooks}
    if lines := [str(hook.line) for _, hook in found if hook.name in names]:
        which = f"the hook at line {lines[0]}" if len(lines) == 1 else f"the hooks at lines {', '.join(lines)}"
        twice = "remove that there before you connect it, or it runs twice"
        migrated.notes.append(f"{file.path}: Claude Code also runs {which}: {twice}")
    return migrated


def _key(entry: HandlerEntry, hook: Hook) -> str:
    return repr((entry.event, hook.kind, hook.target, hook.claude and hook.claude.rule))


def _nameless(entry: object) -> object:
    return {name: value for name, value in entry.items() if name != "name"} if isinstance(entry, dict) else entry


def _why_not(entry: HandlerEntry, hook: Hook) -> str | None:
    matcher = entry.matcher or ""
    if hook.claude is not None and hook.claude.rule is not None:
        return f"hookrun has no equivalent of the rule {quote(hook.claude.rule)}"
    if matcher in MATCHES_ALL or entry.event in WITHOUT_MATCHER:
        return None
    if entry.event not in TOOL_EVENTS:
        return f"the matcher {quote(matcher)} is not about a tool"
    return None if globs(matcher, entry.event) else f"no glob is equivalent to {quote(matcher)}"


def globs(matcher: str, event: str) -> list[str]:
    """Return globs equivalent to a matcher on tools, or an empty list.

    A name that only hookrun has gives none: `bash` is no tool of Claude Code, so the hook never runs there.
    """
    found = _globs(matcher, event)
    for ours, theirs in CLAUDE_TOOLS.items():
        if not fits(matcher, event, theirs) and any(glob(each, ours) for each in found):
            return []
    return found


def _globs(matcher: str, event: str) -> list[str]:
    listed = names_in(matcher, event)
    if listed is not None:
        now = (LEGACY_TOOLS.get(name, name) for name in listed)
        return list(dict.fromkeys(CANONICAL.get(name, name) for name in now))
    whole = re.fullmatch(r"\^?\(([A-Za-z0-9_|-]+)\)\$", matcher)
    if whole and matcher.startswith("^"):
        return _globs(whole.group(1), event)
    # `mcp__` always begins a name.
    found = [re.sub(r"^\*(?=mcp__)", "", re.sub(r"\*+", "*", each)) for each in globs_of(matcher) or ()]
    if not found or "*" in found:
        return []
    known = [ours for ours, theirs in CLAUDE_TOOLS.items() if fits(matcher, event, theirs)]
    return list(dict.fromkeys([*known, *found]))


def _declared(entry: HandlerEntry, hook: Hook) -> Json:
    declared: Json = {"name": hook.name, "event": hook.events[0]}
    matcher = entry.matcher or ""
    if matcher not in MATCHES_ALL and entry.event in TOOL_EVENTS:
        declared["matcher"] = "|".join(globs(matcher, entry.event))
    declared[hook.kind] = hook.target
    seconds = AT_MOST if hook.timeout == A_DAY else hook.timeout
    declared["timeout"] = int(seconds) if seconds == int(seconds) else seconds
    fields = hook.to_dict()
    declared |= {name: fields[name] for name in SAME if fields[name] != HOOK_DEFAULTS[name]}
    return {**declared, "parallel": True, "dialect": "claude"}


def _changes(hooks: list[Json]) -> list[str]:
    notes = []
    if any("matcher" in hook for hook in hooks):
        notes.append(
            "matchers are globs on hookrun's tool names: `edit` also matches NotebookEdit, `bash` also PowerShell"
        )
    if any(hook.get("timeout") == AT_MOST for hook in hooks):
        notes.append(f"async hooks get a timeout of {AT_MOST:g} seconds; Claude Code has none for them")
    return notes
