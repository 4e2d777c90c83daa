"""What `hookrun trust` shows of a hook before it asks: everything that is approved with it, or what changed of it."""

from __future__ import annotations

import difflib
import json
import os
import time
from typing import TYPE_CHECKING

from hookrun.config.diagnostics import printable
from hookrun.model import Hook
from hookrun.process.prepare import resolve
from hookrun.trust import snapshots
from hookrun.trust.digest import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.cli.project import Project, ProjectHook
    from hookrun.trust.snapshots import Texts

MOST_LINES = 200
"""Lines of a file, or of its difference, that are shown."""

DEFAULTS = Hook(name="", events=()).to_dict()
NOT_SHOWN = frozenset({"layer", "source", "line", "look", "words", "error", "name"})
SAID_ABOVE = NOT_SHOWN | {
    *("allowed_env", "description", "env_policy", "events", "kind", "matcher", "metadata", "on_failure", "target"),
    *("claude", "unless", "when"),
}
"""Fields that have a line of their own; of the others each that is not at its default gets one."""

DECLARATION = "declaration"


def texts_of(found: ProjectHook) -> Texts:
    """Return what is approved with a hook, by name: its declaration, and the text of every file that belongs to it."""
    fields = {
        name: value for name, value in found.hook.to_dict().items() if name not in NOT_SHOWN and value != DEFAULTS[name]
    }
    if found.hook.claude is not None:
        fields["claude"] = {name: value for name, value in found.hook.claude.items() if name not in LABELS}
    texts = {DECLARATION: json.dumps(fields, indent=2, ensure_ascii=False)}
    for file in found.examined.files:
        texts[file.label] = snapshots.text_of(file.path)
    return texts


def lines(found: ProjectHook, project: Project, texts: Texts) -> Iterator[str]:
    """Yield what a person is shown of a hook, a line each, safe to print."""
    hook = found.hook
    yield ""
    yield _line(f"{hook.name}: {found.state}   ({hook.location()})")
    for title, value in _facts(found, project):
        yield _line(f"  {title:<12}{value}")
    last = project.last_approved(hook)
    before = snapshots.read(project.home, last) if last is not None else None
    if last is not None and before is not None and last != found.digest:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(project.store.approved[last]["time"]))
        yield f"  what changed since it was approved at {when}:"
        yield from _cut(list(_difference(before, texts)))
        return
    for name, text in texts.items():
        if name != DECLARATION:
            yield _line(f"  {name}:")
            yield from _cut([f"    {line}" for line in text.splitlines()])


def _facts(found: ProjectHook, project: Project) -> Iterator[tuple[str, str]]:
    hook = found.hook
    if hook.description:
        yield "for", hook.description
    yield "when", ", ".join(hook.events) + _conditions(hook)
    yield hook.kind, hook.target if isinstance(hook.target, str) else json.dumps(list(hook.target), ensure_ascii=False)
    if hook.look:
        environment = project.around.variables(hook, b"")
        program = resolve(hook.look[0], environment, project.around.directory(hook, environment))
        yield "program", os.path.normpath(program) if program else f"{hook.look[0]}, which is not there"
    for file in found.examined.files:
        yield "file", os.path.normpath(file.path)
    inherits = project.around.env_policy(hook)
    yield "environment", f"{inherits}{', and ' + ', '.join(hook.allowed_env) if hook.allowed_env else ''}"
    yield "on failure", hook.on_failure
    for name, value in sorted(hook.to_dict().items()):
        if name not in SAID_ABOVE and value != DEFAULTS[name]:
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if found.examined.problem is not None:
        yield "problem", found.examined.problem
    if found.digest:
        yield "digest", found.digest


def _conditions(hook: Hook) -> str:
    said = f" of {'|'.join(hook.matcher)}" if hook.matcher is not None else ""
    claude = hook.claude or {}
    for name in ("matcher", "if"):
        if name in claude:
            said += f", {name} {json.dumps(claude[name], ensure_ascii=False)}"
    for name, conditions in (("when", hook.when), ("unless", hook.unless)):
        if conditions:
            said += f", {name} {json.dumps(dict(conditions), ensure_ascii=False)}"
    return said


def _difference(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, ""), after.get(name, "")
        if old != new:
            yield f"    {name}"
            lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2))[2:]
            yield from (f"    {line}" for line in lines or ["(only its line ends differ)"])


def _cut(found: list[str]) -> Iterator[str]:
    yield from map(_line, found[:MOST_LINES])
    if len(found) > MOST_LINES:
        yield f"    ... and {len(found) - MOST_LINES} more lines, which are approved too: read the file"


def _line(text: str) -> str:
    return printable(text.expandtabs(4))
