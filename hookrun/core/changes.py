"""Compare and merge the changes that hooks make to a context: to its arguments, output or prompt, and metadata."""

from __future__ import annotations

from hookrun.core.events import REPLACEABLE
from hookrun.core.model import AnyHook, HookResult, as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Path = tuple[str, ...]
    Change = tuple[Path, bool, object]


def merge_patch(target: object, patch: object) -> object:
    """Return `target` with a JSON Merge Patch (RFC 7396) applied; neither is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def diff(before: dict[str, object], after: dict[str, object], path: Path = ()) -> Iterator[Change]:
    """Yield the changes from `before` to `after`: (path, whether set, value) for each key; lists are values."""
    for key in before:
        if key not in after:
            yield (*path, key), False, None
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            yield from diff(old, value, (*path, key))
        elif key not in before or not json_equal(old, value):
            yield (*path, key), True, value


def json_equal(one: object, other: object) -> bool:
    """Return whether two JSON values are equal: unlike with `==`, true is not 1 and 1 is not 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return one == other


def apply(target: dict[str, object], changes: Iterable[Change]) -> dict[str, object]:
    """Return a copy of `target` with the changes of `diff`."""
    result = dict(target)
    for path, there, value in changes:
        place = result
        for key in path[:-1]:
            inner = place.get(key)
            place[key] = inner = dict(inner) if isinstance(inner, dict) else {}
            place = inner
        if there:
            place[path[-1]] = value
        else:
            place.pop(path[-1], None)
    return result


def conflicts(earlier: Iterable[Change], later: Iterable[Change]) -> list[Path]:
    """Return the paths that both sets of changes set to different values, or paths within them."""
    later = list(later)
    return [
        path
        for path, there, value in earlier
        for other, other_there, other_value in later
        if path[: len(other)] == other[: len(path)]
        and not (path == other and there == other_there and json_equal(value, other_value))
    ]


def merge(
    run: HookResult,
    before: dict[str, object],
    now: dict[str, object],
    earlier: Iterable[tuple[HookResult, list[Change]]],
) -> tuple[list[Change], dict[str, object], list[tuple[HookResult, str]]]:
    """Return a run's changes to the context, the resulting fields of it, and conflicts; metadata is no such change.

    `before` is the hook's input, `now` the context to change. `earlier` are the runs beside it with changes: a conflict
    is one of them and what both changed. The run's `args` become the arguments it wants.
    """
    args = as_object(before.get("tool_args"))
    wanted: object = run.verdict.modified_args
    if run.verdict.args_patch is not None:
        wanted = merge_patch(args, run.verdict.args_patch)
    run.args = wanted if isinstance(wanted, dict) else args
    changes = list(diff({"tool_args": args}, {"tool_args": run.args})) if isinstance(wanted, dict) else []
    name, field = REPLACEABLE.get(str(before.get("event")), ("modified_context", ""))
    text = getattr(run.verdict, name) if field else None
    if text is not None and text != before.get(field):
        changes.append(((field,), True, text))
    added = run.verdict.modified_context or {}
    clashes = []
    for other, its_changes in earlier:
        theirs = other.verdict.modified_context or {}
        places = _conflicting_paths(its_changes, changes, run)
        places += [f"metadata.{key}" for key in added if key in theirs and not json_equal(theirs[key], added[key])]
        clashes += [(other, place) for place in places]
    changed = apply(now, changes)
    fields = {path[0]: changed[path[0]] for path, _, _ in changes}
    if "tool_args" in fields and _replaces(run.hook):
        fields["tool_args"] = run.args
    if added:
        fields["metadata"] = {**as_object(now.get("metadata")), **added}
    return changes, fields, clashes


def _replaces(hook: AnyHook) -> bool:
    """Return whether a hook's change replaces all arguments, as in the dialects of agents."""
    return getattr(hook, "dialect", "hookrun") != "hookrun"


def _conflicting_paths(earlier: list[Change], later: list[Change], run: HookResult) -> list[str]:
    """Return the paths at which the later changes, of `run`, undo earlier ones."""
    if not _replaces(run.hook):
        return [".".join(path) for path in conflicts(earlier, later)]
    whole = apply({"tool_args": run.args}, later)
    kept = not later or json_equal(apply(whole, earlier), whole)
    return [] if kept else [later[0][0][0]]
