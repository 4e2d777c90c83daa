"""Keep a project's guards as last approved: they stay in force until the user lets them go, whatever its config says.

Git's part is in git-rev-list(1), git-ls-tree(1) and git-for-each-ref(1).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from hookrun.config.command_words import program_and_script
from hookrun.config.discovery import GUARDS, PROJECT_FILES, USERS_GUARDS, ConfigFiles, find, guards_file
from hookrun.config.executed import executed
from hookrun.core import files, state
from hookrun.core.events import GATES
from hookrun.core.model import LAYERS, UNTRUSTED_LAYERS, ClaudeForm, Hook
from hookrun.core.text import one_line, shell_quoted

if TYPE_CHECKING:
    from hookrun.config.load import LoadedConfig

# Where git is looked for: a project may set an agent's PATH.
GIT_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"

# Fields that decide whether a hook judges a call, and what that means.
SELECTING = (
    "events",
    "matcher",
    "when",
    "unless",
    "agents",
    "claude",
    "mode",
    "background",
    "on_failure",
    "on_block",
    "error",
)


class ApprovedGuard(NamedTuple):
    """A guard as approved at a Unix time, while HEAD was this commit ("" without one)."""

    hook: Hook
    time: float
    commit: str


def is_guard(hook: Hook) -> bool:
    """Return whether a hook blocks at a gate what it cannot check."""
    return hook.enforcing and hook.on_failure == "block" and not GATES.isdisjoint(hook.events)


def read(home: str, root: str) -> list[ApprovedGuard] | None:
    """Return a project's approved guards, None if nothing of it was approved. Raises an Exception if damaged."""
    try:
        data = json.loads(state.read_own(guards_file(home, root)))
    except FileNotFoundError:
        return None
    return [ApprovedGuard(_hook(each["hook"]), float(each["time"]), str(each["commit"])) for each in data]


def _hook(fields: dict[str, object]) -> Hook:
    hook = Hook.from_dict(fields)
    if hook.claude is not None:
        hook.claude.twins = ()  # those of a config that is no longer so
    # By the rules of this version, like those of every other hook.
    hook.look = program_and_script(hook.kind, hook.target, hook.dialect)
    hook.words = executed(hook.kind, hook.target, hook.env, hook.dialect).code
    return hook


def write(home: str, root: str, guards: Iterable[ApprovedGuard]) -> None:
    """Replace the record of a project's approved guards. Raises OSError."""
    kept = [{"hook": hook.given(), "time": when, "commit": commit} for hook, when, commit in guards]
    _write(guards_file(home, root), kept)


def _write(path: str, data: object) -> None:
    state.make_private_dir(os.path.dirname(path))
    files.atomic_write(path, json.dumps(data).encode("ascii"), exact=True, durable=True)


def missing(guards: Iterable[ApprovedGuard], hooks: Sequence[Hook]) -> Iterator[tuple[ApprovedGuard, str]]:
    """Yield the guards that a config with these hooks no longer has, or has for less, and the change."""
    for guard in guards:
        now = [hook for hook in hooks if hook.name == guard.hook.name and hook.layer in UNTRUSTED_LAYERS]
        changes = [_narrowed(guard.hook, hook) for hook in now]
        if all(changes):
            yield guard, changes[0] if changes else "removed"


def _narrowed(before: Hook, now: Hook) -> str:
    """Return in which way a declaration is for less than another, "" if it is not."""
    for name in SELECTING:
        was, value = (_selecting(getattr(hook, name)) for hook in (before, now))
        is_wider = isinstance(value, (list, tuple)) and isinstance(was, (list, tuple)) and set(was) <= set(value)
        if value != was and not is_wider and value not in (None, {}):
            return f"narrowed: {name} `{_shown(was)}` -> `{_shown(value)}`"
    return ""


def _selecting(value: object) -> object:
    return (value.event, value.matcher, value.rule) if isinstance(value, ClaudeForm) else value


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "|".join(map(_shown, value))
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def load_in_force(found: ConfigFiles) -> LoadedConfig:
    """Return the found files' config with the approved guards that it lacks. Raises nothing."""
    from hookrun.config.load import load_config  # with all readers of config files

    loaded = load_config(found)
    try:
        if found.approved:
            loaded = _with_guards(loaded)
        if "user" not in loaded.declarations.unread:
            _compare_users(loaded)
    except Exception as error:  # there may be guards
        fault = f"{found.home}{GUARDS}: the approved guards cannot be read ({one_line(str(error) or repr(error))})"
        loaded.declarations.problems.append(f"{fault}\nhint: remove it, then approve your hooks again")
        loaded.declarations.unread.append("project")
    return loaded


def _compare_users(loaded: LoadedConfig) -> None:
    """Name the user's own guards that are gone since a session last named those; they need no approval."""
    path, declared = loaded.found.home + USERS_GUARDS, loaded.declarations
    now = {hook.name for hook in declared.hooks if hook.layer == "user" and is_guard(hook)}
    try:
        known = set(json.loads(state.read_own(path)))
    except (OSError, ValueError):  # none yet, or damaged
        known = set()
    declared.gone += [f"guard {name} is no longer in the user's own config" for name in sorted(known - now)]
    if now - known:
        with suppress(OSError):  # a full disk changes no verdict
            _write(path, sorted(known | now))


def _with_guards(loaded: LoadedConfig) -> LoadedConfig:
    from hookrun.config.load import load_config  # as above

    found, there = loaded.found, loaded.declarations.root
    root = found.approved[0]
    guards = read(found.home, root) or []
    if there != root and guards:
        newest = max(guards, key=lambda each: each.time)
        if there is not None and there.startswith(root) and committed(newest, there):
            return loaded  # a project inside the other one, which has its own hooks
        there_only = find(root, found.home, repository=root)
        there_only.claude[0] = found.claude[0]
        loaded = load_config(there_only)
        if there is not None:
            loaded.declarations.gone.append(f"the hooks of {there} do not replace those of {root}{_review(there)}")
    declared = loaded.declarations
    declared.root = root
    for guard, change in missing(guards, declared.hooks):
        name, commit = guard.hook.name, committed(guard, root)
        if commit:
            declared.gone.append(f"approved guard {name} is not in force: {change} in commit {commit}{_review(root)}")
            continue
        others = [hook for hook in declared.hooks if hook.name != name or hook.layer not in UNTRUSTED_LAYERS]
        declared.hooks = sorted([*others, guard.hook], key=lambda hook: (LAYERS.index(hook.layer), hook.priority))
        declared.gone.append(f"approved guard {name} stays in force: {change}{_review(root)}")
    if declared.gone:  # until it is reviewed, HEAD may decide
        directory = _git(root, "rev-parse", "--absolute-git-dir").strip()
        declared.files += [f"{directory}/HEAD", f"{directory}/logs/HEAD"] if directory else []
    return loaded


def _review(root: str) -> str:
    return f"; the user reviews that with `hookrun trust {shell_quoted(root)}`"


def head(root: str) -> str:
    """Return the id of the commit that is checked out, "" if there is none."""
    return _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()


def committed(guard: ApprovedGuard, root: str) -> str:
    """Return the commit (short) with the config that `root` has now, if that counts without a review, else "".

    It must be older than the approval, or in a branch of a remote, as an agent can commit. If the commit is still that
    of the approval, or no branch ever had the guard's file, nothing was switched.
    """
    own = os.path.relpath(guard.hook.source, root)
    if head(root) in ("", guard.commit) or not _git(root, "rev-list", "-1", "--branches", "--remotes", "--", own):
        return ""
    paths = sorted({own, *PROJECT_FILES})
    there = [path for path in paths if os.path.lexists(f"{root}/{path}")]
    blobs = _git(root, "hash-object", "--no-filters", "--", *there).split() if there else []
    tree = [line.split(None, 3)[2:] for line in _git(root, "ls-tree", "-z", "HEAD", "--", *paths).split("\0") if line]
    if sorted(map(list, zip(blobs, there, strict=False))) != sorted(tree):
        return ""
    last = _git(root, "rev-list", "-1", "--timestamp", "HEAD", "--", *paths)
    when, _, commit = (last or _git(root, "rev-list", "-1", "--timestamp", "HEAD")).strip().partition(" ")
    counts = float(when or "inf") < guard.time or _git(root, "for-each-ref", f"--contains={commit}", "refs/remotes")
    return commit[:10] if counts else ""


def _git(directory: str, *words: str) -> str:
    """Return what git prints, "" if it fails."""
    from hookrun.process.git_query import run  # only where a guard is missing

    return run(directory, "--literal-pathspecs", "--no-replace-objects", *words, path=GIT_PATH) or ""
