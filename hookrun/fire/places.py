"""The other projects whose guards judge a call: the one in which its session began, and the one where it is made.

Neither a nested repository nor another working directory takes a call out of its project's guards.
"""

from __future__ import annotations

import copy
import os

from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookrun.config.discovery import Place
    from hookrun.core.model import Verdict
    from hookrun.fire.invocation import EventFire, FireInvocation


def fire_in(
    places: Iterable[Place], invocation: FireInvocation, event: str, fields: Mapping[str, object]
) -> Iterator[tuple[EventFire, Verdict]]:
    """Yield a fire, and its verdict, of the guards of each other project in these places. Raises FireError."""
    asked = {invocation.project_root()}
    for directory, repository in places:
        other = copy.copy(invocation)  # one deadline, one list of problems
        cwd = os.path.normpath(directory) if directory is not None else None
        other.config_files = find(cwd, invocation.home, repository=repository)
        other.compiled = compiled = load_compiled(other.config_files)
        root = other.project_root()
        if compiled is None or (compiled.root is None and not compiled.unread) or root in asked:
            continue  # nothing is declared there, and nothing that is not known
        asked.add(root)
        compiled.guards_only = True
        invocation.gone = list(dict.fromkeys((*invocation.gone, *compiled.gone, *compiled.problems)))
        yield other.fire(event, fields)
        invocation.interrupted = invocation.interrupted or other.interrupted
