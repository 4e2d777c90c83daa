"""The recipe `stale-edit`: refuses to overwrite a file that changed since the session read it."""

from __future__ import annotations

import os
import time

from hookrun.core.files import read_or_none
from hookrun.recipes import paths
from hookrun.recipes.recipe import Option, Recipe, number
from hookrun.recipes.recipe_state import LockedState, session_id
from hookrun.recipes.shell_recipe import line_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "stale-edit"

RECIPE = Recipe(
    NAME,
    "Block edits of files that changed since the session read them, and name who changed them.",
    options=(
        Option(
            "seconds", "5", "Changes up to so many seconds after the session's own write are its formatter's.", number
        ),
    ),
    catches="""
        - Blocks writing, editing and deleting a file with the agent's tools if its content differs from what this
          session last read or wrote. The message names the session that wrote it, if hookrun ran there in this project,
          else the time of the change. Reading the file again lets the edit through.
        - Each session and each subagent must have read for itself.
        - The session's own changes count as known: by its tools, by a shell line while that runs, and a formatter's
          shortly after.
        - A file with its former content is unchanged, whatever its time says.
        - If what the session read is lost, existing files must be read again.
    """,
    misses="""
        - Files that the session has not read with a tool, and files that shell commands write.
        - Changes by others while a shell line of the session runs, unless they are of a session that hookrun knows.
        - Changes between this check and the edit.
        - A shell line that names the file counts as reading it, such as `cat FILE`.
    """,
)

# Bytes of a file that are compared; of a larger one its size and time are.
MAX_COMPARED = 4 << 20
# Files remembered of a session, and writes of a project; beyond that the oldest are forgotten.
MAX_FILES = 1000
# Seconds by which the time of a file may be behind the clock.
COARSE = 0.05

Files = dict[str, list[object]]


@RECIPE.hook("pre_tool_use", matcher="write|edit|delete", priority=30, timeout=10, on_failure="block")
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of an edit whose file has changed, else None."""
    number(RECIPE, "seconds")  # a wrong option always counts
    path = _path(context)
    now = _version(path)
    if not now:
        return None
    with _Seen(context) as seen:
        known = _files(seen).get(path)
        if known is None and not seen.get("lost"):
            return None
        if known is not None and known[0] == now:
            return None
    why = "it may have changed since this session read it: what it read is lost"
    if known is not None:
        after = os.stat(path).st_mtime - float(str(known[1])) + COARSE
        if 0 <= after <= number(RECIPE, "seconds") and _writer(context, path, now) is None:  # a formatter's
            return None
        why = _changed(context, path, now)
    return {"action": "block", "message": f"{path}: {why}. Read it again before you change it."}


# Without it the session's own changes by a shell line count as those of others.
@RECIPE.hook("pre_tool_use", "Note when a line begins", name=f"{NAME}-begin", matcher="bash", on_failure="continue")
def begin(context: Mapping[str, object]) -> None:
    """Store when a shell line of the session began."""
    with _Seen(context) as seen:
        seen["began"] = time.time()


# A file that is not noted must be read again.
@RECIPE.hook(
    "post_tool_use",
    "Note the files that the session has read and written",
    name=f"{NAME}-note",
    matcher="read|write|edit|bash",
    priority=900,
    on_failure="continue",
)
def note(context: Mapping[str, object]) -> None:
    """Store the content that the session knows; of a shell line, that of files it names or has changed."""
    line, path = line_of(context), _path(context)
    with _Seen(context) as seen:
        files = _files(seen)
        if line is None:
            known = [path] if not context.get("tool_result_error") else []
        else:
            began = float(str(seen.get("began", "inf")))
            known = [each for each in files if os.path.basename(each) in line or _is_newer(context, each, began)]
        for each in known:
            files.pop(each, None)
            if version := _version(each):
                written = context.get("tool_name") != "read"
                files[each] = [version, time.time() if written else 0]
                seen["lost"] = seen.get("lost") or _forget(files)
    if line is None and known and context.get("tool_name") != "read":
        with _written(context) as writes:
            writes[path] = [_reader(context), _version(path), time.time()]
            _forget(writes)


def _path(context: Mapping[str, object]) -> str:
    path = context.get("file_path")
    return os.path.realpath(os.path.join(paths.working_directory(context), path if isinstance(path, str) else ""))


def _version(path: str) -> str:
    """Return what tells a file's content from another, "" without a file."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    from hashlib import blake2b

    data = read_or_none(path, MAX_COMPARED) if status.st_size < MAX_COMPARED else None
    if data is None:
        return f"{status.st_size} {status.st_mtime_ns}" if os.path.isfile(path) else ""
    return blake2b(data, digest_size=16).hexdigest()


def _is_newer(context: Mapping[str, object], path: str, began: float) -> bool:
    """Return whether a file has changed since a line of the session began, by no session that is known."""
    version = _version(path)
    return bool(version) and os.stat(path).st_mtime >= began - COARSE and _writer(context, path, version) is None


def _reader(context: Mapping[str, object]) -> list[object]:
    return [session_id(context), context.get("agent_id") or ""]


class _Seen(LockedState):
    """What a reader knows of files. `lost`: not all that it has read."""

    def __init__(self, context: Mapping[str, object]) -> None:
        super().__init__(NAME, "seen", *map(str, _reader(context)))

    def __enter__(self) -> dict[str, object]:
        seen = super().__enter__()
        if self.is_lost:
            seen["lost"] = True
        return seen


def _written(context: Mapping[str, object]) -> LockedState:
    return LockedState(NAME, "written", paths.project_root(context))


def _files(state: dict[str, object]) -> Files:
    """Return a session's files: path -> version, and when the session wrote it."""
    files = state.setdefault("files", {})
    return files if isinstance(files, dict) else {}


def _forget(files: dict[str, object] | Files) -> bool:
    """Forget the oldest files beyond the limit; return whether there were any."""
    oldest = list(files)[: max(0, len(files) - MAX_FILES)]
    for each in oldest:
        del files[each]
    return bool(oldest)


def _writer(context: Mapping[str, object], path: str, version: str) -> tuple[list[object], float] | None:
    """Return which other session has written a file's content, and when; None if that is not known."""
    with _written(context) as writes:
        entry = writes.get(path)
    if not isinstance(entry, list) or entry[1] != version or entry[0] == _reader(context):
        return None
    return entry[0], float(entry[2])


def _changed(context: Mapping[str, object], path: str, version: str) -> str:
    writer = _writer(context, path, version)
    clock = time.strftime("%H:%M:%S", time.localtime(os.stat(path).st_mtime if writer is None else writer[1]))
    if writer is None:
        return f"it changed on disk at {clock}, after this session read it"
    session, agent = writer[0]
    who = f"session {session}" if session != session_id(context) else f"agent {agent or 'main'} of this session"
    return f"{who} changed it at {clock}, after this one read it"
