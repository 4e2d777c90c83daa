"""What the user reads before an approval: a hook's declaration and files, what changed, and whose code it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun.recipes import catalog
from hookrun.recipes.recipe import PREFIX, Recipe
from hookrun.text import diff
from hookrun.trust import snapshots
from hookrun.trust.digest import DEFAULTS, FROM_OTHERS, LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.trust.project import ProjectHook
    from hookrun.trust.snapshots import Texts

MAX_LINES = 200
"""Lines of a file, or of its difference, that are shown."""


def approved_texts(found: ProjectHook) -> Texts:
    """Return what an approval covers, by name: the hook's declaration, and the text of each of its files."""
    fields = {
        name: value
        for name, value in found.hook.to_dict().items()
        if name not in FROM_OTHERS and value != DEFAULTS.get(name)
    }
    texts = {snapshots.DECLARATION: _dumps(as_written(fields))}
    for file in found.inspection.files:
        texts[file.label] = snapshots.text_of(file.path)
    return texts


def as_written(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a hook as a declaration has them: `event`, one field that says what runs, one matcher.

    They are made from what is approved, not read from the file again: that may have changed.
    """
    rest = dict(fields)
    events, kind = rest.pop("events", None), str(rest.pop("kind", "command"))
    claude = rest.pop("claude", None)
    written: dict[str, object] = {"name": rest.pop("name")} if "name" in rest else {}
    if isinstance(claude, dict):
        events = [claude.get("event")]
        rest |= {name: value for name, value in claude.items() if name != "event" and name not in LABELS}
    if isinstance(events, (list, tuple)):
        written["event"] = events[0] if len(events) == 1 else list(events)
    matcher = rest.pop("matcher", None)
    if matcher is not None:
        written["matcher"] = "|".join(matcher) if isinstance(matcher, (list, tuple)) else matcher
    if "target" in rest:
        written[kind] = rest.pop("target")
    return written | {name: rest[name] for name in sorted(rest)}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines that say what changed between two approvals."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, ""), after.get(name, "")
        if name == snapshots.DECLARATION:
            old = _of_older_version(old)
        if old != new:
            yield f"    {name}"
            lines = diff(old, new, context=2)
            yield from (f"    {line}" for line in lines or ["(only its line ends differ)"])


def _of_older_version(text: str) -> str:
    """Return a declaration as it is written, also if what was kept has the names of our own fields."""
    try:
        fields = json.loads(text)
    except ValueError:
        return text
    return _dumps(as_written(fields)) if isinstance(fields, dict) and "events" in fields else text


def _dumps(fields: Mapping[str, object]) -> str:
    return json.dumps(fields, indent=2, ensure_ascii=False)


def whole(texts: Texts) -> Iterator[str]:
    """Yield the declaration and the files of a hook."""
    for name, text in texts.items():
        yield f"  {name}:"
        yield from limited([f"    {line}" for line in text.splitlines()])


def limited(lines: list[str]) -> Iterator[str]:
    """Yield the lines, at most MAX_LINES."""
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield f"    ... and {len(lines) - MAX_LINES} more lines, which an approval covers too: read the file"


def shipped_recipe(found: ProjectHook) -> Recipe | None:
    """Return the recipe whose code, which comes with hookrun, is all that the hook runs; None if there is none.

    It is recognised by what runs, never by the declaration's `metadata`, which a project writes.
    """
    hook = found.hook
    of_its_own = found.inspection.files or hook.files or hook.interpreter or hook.cwd != "/" or hook.kind != "python"
    if of_its_own or not all(name.startswith(PREFIX) for name in hook.env or {}):
        return None
    recipes = [catalog.find(name) for name in catalog.names()]
    targets = {str(each["python"]): recipe for recipe in recipes for each in recipe.hooks if "python" in each}
    return targets.get(str(hook.target))
