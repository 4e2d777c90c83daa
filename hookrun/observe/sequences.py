"""Recurring sequences of two steps, such as tests before a commit: how often, how well, and whether they still work."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hookrun.observe.database import MAX_READ

if TYPE_CHECKING:
    from hookrun.observe.database import ObserverDatabase

# Steps of a session before one that count as done for it.
WINDOW = 5
# How often a sequence must have been there, in how many sessions, and the share of the latest times when it worked.
MIN_TIMES, MIN_SESSIONS, MIN_SHARE, LATEST = 4, 2, 0.8, 10
# How much more often the second step must work after the first one than without it.
MIN_GAIN = 0.1
# Seconds after which a sequence that nobody uses is forgotten.
FORGET_AFTER = 60 * 86_400
CALLS = "event IN ('post_tool_use', 'post_tool_failure') AND step IS NOT NULL AND (? IS NULL OR project = ?)"
# Steps before which others are common by chance: whatever looks around.
LOOKS = frozenset({"read", "search", "ls", "cat", "todo_write", "TodoWrite"})


@dataclass(frozen=True, slots=True)
class Sequence:
    """A step before another: `times` in so many `sessions`; `worked` of the `latest` times; last `at` (since 1970).

    `without` is the share of times when the second step worked without the first, None if there were too few.
    """

    steps: tuple[str, str]
    project: str
    times: int
    sessions: int
    worked: int
    latest: int
    without: float | None
    at: float

    @property
    def shown(self) -> str:
        """The sequence in words."""
        return f"`{self.steps[0]}` before `{self.steps[1]}` ({self.times} times, worked {self.worked} of {self.latest})"


def sequences(store: ObserverDatabase, *, project: str | None = None) -> list[Sequence]:
    """Return what is done again and again and works, the most frequent first. Raises DatabaseError."""
    return find(store.rows(CALLS, project, project, limit=MAX_READ))


def find(rows: Iterable[Mapping[str, Any]]) -> list[Sequence]:
    """Return the sequences in calls, which are in order."""
    before: dict[str, deque[tuple[str, bool]]] = defaultdict(lambda: deque(maxlen=WINDOW))
    runs: dict[tuple[str, str, str], list[tuple[str, bool, float]]] = defaultdict(list)
    alone: dict[tuple[str, str], list[tuple[frozenset[str], bool]]] = defaultdict(list)
    now = 0.0
    for row in rows:
        step, there, now = row["step"], before[row["session"]], max(now, row["at"])
        done = frozenset(name for name, ok in there if ok and name != step)
        for first in done:
            runs[row["project"], first, step].append((row["session"], bool(row["ok"]), row["at"]))
        alone[row["project"], step].append((done, bool(row["ok"])))
        there.append((step, bool(row["ok"])))
    found = []
    for (project, first, step), each in runs.items():
        latest = each[-LATEST:]
        worked, sessions = sum(ok for _, ok, _ in latest), len({session for session, _, _ in each})
        others = [ok for done, ok in alone[project, step] if first not in done]
        without = sum(others) / len(others) if len(others) >= MIN_TIMES else None
        holds = worked >= MIN_SHARE * len(latest) and (without is None or worked / len(latest) >= without + MIN_GAIN)
        is_old = now - each[-1][2] > FORGET_AFTER
        if len(each) >= MIN_TIMES and sessions >= MIN_SESSIONS and holds and not is_old and step not in LOOKS:
            about = (worked, len(latest), without, each[-1][2])
            found.append(Sequence((first, step), project, len(each), sessions, *about))
    # One that makes a difference says more than one that is only frequent.
    return sorted(found, key=lambda one: (one.without is None, -one.times, one.steps))
