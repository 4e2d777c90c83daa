"""The answer for a run that is lost: the server, or its worker, ends with the request in hand.

At a gate the agent is refused, in its own form: whether the call may run is not known. Refusals that a launcher gave
alone are in the log after the next run.
"""

from __future__ import annotations

import os
from functools import lru_cache
from time import gmtime, strftime

from hookrun.agents import AGENTS, load
from hookrun.agents.base import CanonicalCall, Message
from hookrun.agents.reply import refusing_answer
from hookrun.core.events import EVENTS, GATES
from hookrun.core.gate import NO_CALL, NOT_RUN, UNANSWERED
from hookrun.core.state import PENDING, read_own
from hookrun.launch.launcher_file import note_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.types import Agent

CAUSE = "hookrun: its server ended before it answered"


@lru_cache(maxsize=64)
def refusal(agent: Agent, native: str, event: str, tool: str | None) -> tuple[int, bytes, bytes]:
    """Return the exit status, stdout and stderr that refuse an agent's message at one of GATES."""
    return refusing_answer(agent, Message(native, [CanonicalCall(event, {})], tool=tool), reason(event))


def reason(event: str) -> str:
    """Return the reason that the agent gets."""
    return f"{CAUSE}, so {NOT_RUN.get(event, NO_CALL)}; try again" if event in GATES else f"{CAUSE}: no hook ran"


def settle(home: str) -> list[dict[str, object]]:
    """Do what launchers left for the next run; return the log's records of their refusals, each once."""
    from hookrun.core.audit import record
    from hookrun.trust.launcher_gate import renew

    taken = f"{home}{PENDING}.{os.getpid()}"
    try:
        seen = os.stat(home + PENDING)
        if not renew(home):  # what is noted stays
            return []
        os.rename(home + PENDING, taken)  # of runs that end together one takes it
        now, data = os.stat(taken), read_own(taken)
        os.unlink(taken)
    except (OSError, ValueError):
        return []
    if (now.st_ino, now.st_size) != (seen.st_ino, seen.st_size):  # more was noted meanwhile
        note_change(home)
    lines = [line.split(" ") for line in data.decode("ascii", "replace").splitlines()]
    records = []
    for when, agent, event in (words for words in lines if len(words) == len(("time", "agent", "event"))):
        events = {**EVENTS, **(load(agent).EVENTS if agent in AGENTS else {})}
        context = {"event": events.get(event, event), "agent": agent}
        found = record("fire", context, action="block", hooks=0, error=f"{UNANSWERED}: its launcher refused")
        records.append({**found, "time": strftime("%Y-%m-%dT%H:%M:%S.000Z", gmtime(int(when)))})
    return records
