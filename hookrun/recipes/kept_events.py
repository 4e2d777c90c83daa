"""Keep what happens for the recipes that learn: one event once, however many of them are there."""

from __future__ import annotations

import os
import time

from hookrun.core.state import NoHomeError
from hookrun.observe import spool
from hookrun.recipes.recipe import Recipe, request_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from hookrun.observe.database import ObserverDatabase

    Found = TypeVar("Found")

# Events at which what was kept is stored: nobody waits for the next call.
ENDS = ("stop", "session_end")

# The latest event that this process has kept, and what it has kept of it.
LAST: dict[str, object] = {}


def keep(recipe: Recipe, context: Mapping[str, object]) -> spool.Row | None:
    """Keep an event in the account's store and return what is kept; None in a proof. If that fails the hook does."""
    if context.get("proof"):
        return None
    try:
        path = f"{spool.default_path()}.spool"
        request = request_of(context)
        context = {**context, "request_id": request}
        event = [path, request, *(context.get(name) for name in ("event", "tool_use_id", "tool_args"))]
        if request is None or event != LAST.get("event"):  # another recipe has kept it, in a server's worker
            LAST.update(event=event, row=spool.keep(path, context, time.time, project(context)))
    except (spool.DatabaseError, NoHomeError) as error:
        raise SystemExit(f"{recipe.name}: {error}") from None
    if event[2] in ENDS:
        of_store(recipe, lambda store: store.flush())
    return LAST["row"]  # type: ignore[return-value]


def project(context: Mapping[str, object]) -> str:
    """Return the project by which what is learned is known: the session's directory wanders."""
    return spool.stored_name(os.environ.get("HOOKRUN_PROJECT_DIR") or context.get("working_dir"))


def of_store(recipe: Recipe, found: Callable[[ObserverDatabase], Found]) -> Found:
    """Return what a function finds in the account's store. If that fails the hook does."""
    from hookrun.observe.database import ObserverDatabase  # SQLite is for turns' ends and failures

    try:
        return found(ObserverDatabase())
    except (spool.DatabaseError, NoHomeError) as error:
        raise SystemExit(f"{recipe.name}: {error}") from None


# The fields of a hook that keeps events: every one, whatever other hooks say, and nothing hangs on it.
KEEPING: dict[str, Any] = {"timeout": 10, "on_failure": "continue", "concerns": lambda _: True}
# The events of what a session learns from, and where a hook for them stands: after those that change the result.
RESULTS = ["post_tool_use", "post_tool_failure", *ENDS]
LATE: dict[str, Any] = {"priority": 900, "always": True}
