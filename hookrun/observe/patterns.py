"""Learns patterns from checkpoints of high quality, and finds them again."""

from __future__ import annotations

import json
import os.path
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hookrun import Verdict
from hookrun.observe.checkpoints import keep_checkpoint
from hookrun.observe.database import ObserverDatabase
from hookrun.observe.spool import Clock, stored_name
from hookrun.observe.stored_texts import coverage

if TYPE_CHECKING:
    from hookrun import Context, Engine

# The quality score above which a checkpoint is learned from.
THRESHOLD = 85.0
# The share of the search words, 0 to 1, that a found pattern must have.
MIN_COVERAGE = 0.4
MAX_SUGGESTED = 3


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something that worked well: its best `score`, how many `times`, first and last in seconds since 1970.

    `kind` is `given` (the checkpoint's own `patterns`), `summary` (what was done) or `tools` (used on which files).
    """

    id: str
    kind: str
    project: str
    title: str
    details: dict[str, Any]
    score: float
    times: int
    first_at: float
    last_at: float


class PatternLearning:
    """A bundle that learns from each checkpoint whose `quality_score` is above `threshold`.

    It stores the checkpoint's own `patterns` (strings, or objects with a `title`), its `summary`, and the `tools` used
    on which types of `files`, each with tags, files and project. A pattern that recurs is counted, and keeps its best
    score. The handler passes on `pattern_ids`. `suggest=True` gives the model the project's best at session_start.

    >>> from hookrun.events import PostCheckpoint
    >>> from hookrun.observe import PatternLearning, ObserverDatabase
    >>> import os, tempfile
    >>> learning = PatternLearning(ObserverDatabase(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> data = {"quality_score": 92, "summary": "Split the parser"}
    >>> learning.on_checkpoint(PostCheckpoint(checkpoint_data=data)).action
    'continue'
    >>> [pattern.title for pattern in learning.find("parser")]
    ['Split the parser']

    Credentials are removed before anything is stored. Everything raises DatabaseError if the database cannot be used.
    """

    def __init__(
        self,
        store: ObserverDatabase | None = None,
        threshold: float = THRESHOLD,
        *,
        suggest: bool = False,
        clock: Clock = time.time,
    ) -> None:
        self._store = store or ObserverDatabase()
        self._threshold = threshold
        self._suggest = suggest
        self._clock = clock

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle."""
        learning = {"pattern-learning": ("post_checkpoint", self.on_checkpoint)}
        self._store.register(engine, learning, priority=200)
        if self._suggest:
            suggestion = {"pattern-suggestion": ("session_start", self.on_start)}
            self._store.register(engine, suggestion, always=False)

    def on_checkpoint(self, ctx: Context) -> Verdict | None:
        """Keep the patterns of a checkpoint. Raises ValueError if its quality score is not a number."""
        data = keep_checkpoint(self._store, ctx, self._clock)
        if data["score"] is None or data["score"] <= self._threshold or not data["patterns"]:
            return None
        return Verdict(modified_context={"pattern_ids": list(dict.fromkeys(each["id"] for each in data["patterns"]))})

    def on_start(self, ctx: Context) -> Verdict | None:
        """Give the model the best patterns of this directory; None if there are none."""
        best = self.best(ctx.working_dir, MAX_SUGGESTED) if ctx.working_dir else []
        if not best:
            return None
        lines = [
            f"- {each.title} (quality {each.score:g}, {'once' if each.times == 1 else f'{each.times} times'})"
            for each in best
        ]
        return Verdict.with_context("\n".join(["What went well in this project before:", *lines]))

    def find(self, text: str, limit: int = 5) -> list[Pattern]:
        """Return the patterns that have the words of a text, those with most of them first."""
        found = []
        for each in self._all():
            details = json.dumps(each.details, ensure_ascii=False)
            share = coverage(text, f"{each.title} {details} {each.project}")
            if share >= MIN_COVERAGE:
                found.append((share, each.times, each.score, each.first_at, each))
        found.sort(key=lambda one: one[:4], reverse=True)
        return [one[-1] for one in found[:limit]]

    def best(self, directory: str, limit: int = 5) -> list[Pattern]:
        """Return the patterns of a project, the most frequent first, then those with the highest score."""
        name = stored_name(os.path.normpath(directory))
        found = [each for each in self._all() if each.project == name]
        return sorted(found, key=lambda each: (-each.times, -each.score, each.first_at))[:limit]

    def count(self, *, since: float = 0.0) -> int:
        """Return how many patterns are known that were last seen at `since` (seconds since 1970) or later."""
        return sum(each.last_at >= since for each in self._all())

    def _all(self) -> list[Pattern]:
        """Return all patterns: one is known by its project, and its title but for numbers and ids."""
        found: dict[str, Pattern] = {}
        for row in self._store.rows("event = 'post_checkpoint'"):
            data = json.loads(row["data"])
            score, at = data["score"], row["at"]
            if score is None or score <= self._threshold:
                continue
            for each in data["patterns"]:
                new = Pattern(score=score, project=row["project"], times=1, first_at=at, last_at=at, **each)
                new = replace(new, details=json.loads(each["details"]))
                if (known := found.get(new.id)) is not None:
                    best = new if score >= known.score else known
                    new = replace(best, times=known.times + 1, first_at=known.first_at, last_at=at)
                found[new.id] = new
        return list(found.values())
