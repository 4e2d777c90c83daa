"""Pattern learning: what checkpoints of high quality had in common, kept and found again."""

from __future__ import annotations

import json
import os.path
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hookrun.bundles.naming import named
from hookrun.model import Verdict
from hookrun.observe import kept
from hookrun.observe.checkpoint import files, project, quality, strings
from hookrun.observe.likeness import coverage, normal
from hookrun.observe.moments import fired
from hookrun.observe.store import Store

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping

    from hookrun.library.context import Context
    from hookrun.library.engine import Engine
    from hookrun.observe.moments import Clock

THRESHOLD = 85.0
"""The quality score above which a checkpoint is learned from."""
FOUND = 0.4
"""How much of what is looked for a pattern must have, from 0 to 1."""
LONGEST_TITLE, LONGEST_DETAILS = 120, 4000
DETAILS = ("summary", "description", "tags")
"""What is kept of a checkpoint along with its files and tools."""
SUGGESTED, MOST_FILES = 3, 50


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something that went well: best `score`, how many `times`, first and last in seconds since 1970.

    `kind` is `given` (the checkpoint's own `patterns`), `summary` (what was done) or `tools` (with what, on what).
    """

    id: int
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

    Kept are the checkpoint's own `patterns` (texts, or objects with a `title`), its `summary` and the `tools` it took
    on which types of `files`, each with tags, files and project. A pattern that comes again is counted, its best score
    kept. The handler passes on `pattern_ids`. `suggest=True` tells the model the best of the project at session_start.

    >>> from hookrun.library.event_contexts import PostCheckpoint
    >>> from hookrun.observe import PatternLearning, Store
    >>> import os, tempfile
    >>> learning = PatternLearning(Store(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> learning.on_checkpoint(PostCheckpoint(checkpoint_data={"quality_score": 92, "summary": "Split the parser"}))
    Verdict({'action': 'continue', 'modified_context': {'pattern_ids': [1]}})
    >>> [pattern.title for pattern in learning.find("parser")]
    ['Split the parser']

    Credentials are taken out of all that is kept. Everything raises StoreError where the database cannot be used.
    """

    def __init__(
        self,
        store: Store | None = None,
        threshold: float = THRESHOLD,
        *,
        suggest: bool = False,
        clock: Clock = time.time,
    ) -> None:
        self._store = store or Store()
        self._threshold = threshold
        self._suggest = suggest
        self._clock = clock

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle."""
        engine.register(
            "post_checkpoint",
            self.on_checkpoint,
            priority=200,
            always=True,
            thread=True,
            on_failure="continue",
            **named(engine, "pattern-learning", self._store.place),
        )
        if self._suggest:
            own = named(engine, "pattern-suggestion", self._store.place)
            engine.register("session_start", self.on_start, thread=True, on_failure="continue", **own)

    def on_checkpoint(self, ctx: Context) -> Verdict | None:
        """Keep the patterns of a checkpoint. Raises ValueError for a quality score that is no number."""
        checkpoint = ctx.own("checkpoint_data")
        score = quality(checkpoint)
        if score is None or score <= self._threshold:
            return None
        where, at = kept.name(project(checkpoint, ctx)), fired(ctx, self._clock)
        patterns = list(_patterns(checkpoint))
        if not patterns:
            return None
        with self._store.write() as db:
            ids = [_keep(db, each, project=where, score=score, at=at) for each in patterns]
        return Verdict(modified_context={"pattern_ids": list(dict.fromkeys(ids))})

    def on_start(self, ctx: Context) -> Verdict | None:
        """Tell the model what went well in this directory; None if nothing is known."""
        if not ctx.working_dir:
            return None
        best = self.best(ctx.working_dir, SUGGESTED)
        if not best:
            return None
        lines = [f"- {each.title} (quality {each.score:g}, {_times(each.times)})" for each in best]
        return Verdict.tell("\n".join(["What went well in this project before:", *lines]))

    def find(self, text: str, limit: int = 5) -> list[Pattern]:
        """Return the patterns that have the words of a text, those that have most of them first."""
        found = []
        for each in self._select("SELECT * FROM patterns"):
            details = json.dumps(each.details, ensure_ascii=False)
            share = coverage(text, f"{each.title} {details} {each.project}")
            if share >= FOUND:
                found.append((share, each.times, each.score, each.id, each))
        found.sort(key=lambda one: one[:4], reverse=True)
        return [one[-1] for one in found[:limit]]

    def best(self, directory: str, limit: int = 5) -> list[Pattern]:
        """Return the patterns of a project, those that came most often first, then those of the highest score."""
        query = "SELECT * FROM patterns WHERE project = ? ORDER BY times DESC, score DESC, id LIMIT ?"
        return self._select(query, kept.name(os.path.normpath(directory)), limit)

    def count(self, *, since: float = 0.0) -> int:
        """Return how many patterns are known that were last seen at `since` (seconds since 1970) or later."""
        with self._store.read() as db:
            return int(db.execute("SELECT count(*) FROM patterns WHERE last_at >= ?", (since,)).fetchone()[0])

    def _select(self, query: str, *values: object) -> list[Pattern]:
        with self._store.read() as db:
            rows = db.execute(query, values).fetchall()
        return [
            Pattern(number, kind, where, title, json.loads(details), *rest)
            for number, _, kind, where, title, details, *rest in rows
        ]


@dataclass(frozen=True, slots=True)
class _Draft:
    kind: str
    title: str
    details: Mapping[str, Any]


def _patterns(checkpoint: Mapping[str, Any]) -> Iterator[_Draft]:
    """Give what there is to be learned from a checkpoint."""
    paths, tools = files(checkpoint), strings(checkpoint.get("tools"))
    types = sorted({os.path.splitext(path)[1] or os.path.basename(path) for path in paths})
    common = {name: checkpoint[name] for name in DETAILS if checkpoint.get(name)}
    common |= {
        name: value for name, value in (("files", paths[:MOST_FILES]), ("file_types", types), ("tools", tools)) if value
    }
    given = checkpoint.get("patterns")
    for each in given if isinstance(given, list | tuple) else ():
        if isinstance(each, str) and each.strip():
            yield _Draft("given", each, common)
        elif isinstance(each, dict) and isinstance(each.get("title"), str) and each["title"].strip():
            yield _Draft("given", each["title"], {**common, **each})
    summary = checkpoint.get("summary") or checkpoint.get("description")
    if isinstance(summary, str) and summary.strip():
        yield _Draft("summary", summary.strip().splitlines()[0], common)
    if tools:
        on = f" on {', '.join(types)}" if types else ""
        yield _Draft("tools", f"{', '.join(sorted(tools))}{on}", common)


def _keep(db: sqlite3.Connection, draft: _Draft, *, project: str, score: float, at: float) -> int:
    """Keep a pattern, or count it if it is known: the same title but for what varies, in the same project."""
    title = kept.line(draft.title, LONGEST_TITLE)
    key = sha256("\n".join((draft.kind, project, normal(title))).encode()).hexdigest()
    details = kept.as_json(dict(draft.details), LONGEST_DETAILS)
    db.execute(
        "INSERT INTO patterns (key, kind, project, title, details, score, first_at, last_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET times = times + 1,"
        " details = CASE WHEN excluded.score >= score THEN excluded.details ELSE details END,"
        " score = max(score, excluded.score), first_at = min(first_at, excluded.first_at),"
        " last_at = max(last_at, excluded.last_at)",
        (key, draft.kind, project, title, details, score, at, at),
    )
    return int(db.execute("SELECT id FROM patterns WHERE key = ?", (key,)).fetchone()[0])


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
