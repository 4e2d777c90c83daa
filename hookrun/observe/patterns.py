"""Learns patterns from checkpoints of high quality, and finds them again."""

from __future__ import annotations

import json
import os.path
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hookrun import Verdict
from hookrun.observe.context_fields import Clock, files, fired_at, project, quality_score, stored_name, strings
from hookrun.observe.database import ObserverDatabase, register_observers
from hookrun.observe.stored_texts import clean_json, clean_line, coverage, normalize

if TYPE_CHECKING:
    from hookrun import Context, Engine

# The quality score above which a checkpoint is learned from.
THRESHOLD = 85.0
# The share of the search words, 0 to 1, that a found pattern must have.
MIN_COVERAGE = 0.4
MAX_TITLE, MAX_DETAILS = 120, 4000
# Members of a checkpoint stored along with its files and tools.
DETAILS = ("summary", "description", "tags")
MAX_SUGGESTED, MAX_FILES = 3, 50


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something that worked well: its best `score`, how many `times`, first and last in seconds since 1970.

    `kind` is `given` (the checkpoint's own `patterns`), `summary` (what was done) or `tools` (used on which files).
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

    It stores the checkpoint's own `patterns` (strings, or objects with a `title`), its `summary`, and the `tools` used
    on which types of `files`, each with tags, files and project. A pattern that recurs is counted, and keeps its best
    score. The handler passes on `pattern_ids`. `suggest=True` gives the model the project's best at session_start.

    >>> from hookrun.events import PostCheckpoint
    >>> from hookrun.observe import PatternLearning, ObserverDatabase
    >>> import os, tempfile
    >>> learning = PatternLearning(ObserverDatabase(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> learning.on_checkpoint(PostCheckpoint(checkpoint_data={"quality_score": 92, "summary": "Split the parser"}))
    Verdict({'action': 'continue', 'modified_context': {'pattern_ids': [1]}})
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
        register_observers(engine, self._store.place, learning, priority=200)
        if self._suggest:
            suggestion = {"pattern-suggestion": ("session_start", self.on_start)}
            register_observers(engine, self._store.place, suggestion, always=False)

    def on_checkpoint(self, ctx: Context) -> Verdict | None:
        """Store the patterns of a checkpoint. Raises ValueError if its quality score is not a number."""
        checkpoint = ctx.own("checkpoint_data")
        score = quality_score(checkpoint)
        if score is None or score <= self._threshold:
            return None
        where, at = stored_name(project(checkpoint, ctx)), fired_at(ctx, self._clock)
        patterns = list(_patterns(checkpoint))
        if not patterns:
            return None
        with self._store.write() as db:
            ids = [_store(db, *each, project=where, score=score, at=at) for each in patterns]
        return Verdict(modified_context={"pattern_ids": list(dict.fromkeys(ids))})

    def on_start(self, ctx: Context) -> Verdict | None:
        """Give the model the best patterns of this directory; None if there are none."""
        if not ctx.working_dir:
            return None
        best = self.best(ctx.working_dir, MAX_SUGGESTED)
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
        for each in self._select("SELECT * FROM patterns"):
            details = json.dumps(each.details, ensure_ascii=False)
            share = coverage(text, f"{each.title} {details} {each.project}")
            if share >= MIN_COVERAGE:
                found.append((share, each.times, each.score, each.id, each))
        found.sort(key=lambda one: one[:4], reverse=True)
        return [one[-1] for one in found[:limit]]

    def best(self, directory: str, limit: int = 5) -> list[Pattern]:
        """Return the patterns of a project, the most frequent first, then those with the highest score."""
        query = "SELECT * FROM patterns WHERE project = ? ORDER BY times DESC, score DESC, id LIMIT ?"
        return self._select(query, stored_name(os.path.normpath(directory)), limit)

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


def _patterns(checkpoint: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    paths, tools = files(checkpoint), strings(checkpoint.get("tools"))
    types = sorted({os.path.splitext(path)[1] or os.path.basename(path) for path in paths})
    common = {name: checkpoint[name] for name in DETAILS if checkpoint.get(name)}
    common |= {
        name: value for name, value in (("files", paths[:MAX_FILES]), ("file_types", types), ("tools", tools)) if value
    }
    listed = checkpoint.get("patterns")
    for each in listed if isinstance(listed, list | tuple) else ():
        if isinstance(each, str) and each.strip():
            yield "given", each, common
        elif isinstance(each, dict) and isinstance(each.get("title"), str) and each["title"].strip():
            yield "given", each["title"], {**common, **each}
    summary = checkpoint.get("summary") or checkpoint.get("description")
    if isinstance(summary, str) and summary.strip():
        yield "summary", summary.strip().splitlines()[0], common
    if tools:
        on = f" on {', '.join(types)}" if types else ""
        yield "tools", f"{', '.join(sorted(tools))}{on}", common


def _store(
    db: sqlite3.Connection, kind: str, title: str, details: Mapping[str, Any], *, project: str, score: float, at: float
) -> int:
    """Store or count a pattern: one is known by its project, and its title but for numbers, paths and ids."""
    title = clean_line(title, MAX_TITLE)
    key = sha256("\n".join((kind, project, normalize(title))).encode()).hexdigest()
    stored = clean_json(dict(details), MAX_DETAILS)
    db.execute(
        "INSERT INTO patterns (key, kind, project, title, details, score, first_at, last_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET times = times + 1,"
        " details = CASE WHEN excluded.score >= score THEN excluded.details ELSE details END,"
        " score = max(score, excluded.score), first_at = min(first_at, excluded.first_at),"
        " last_at = max(last_at, excluded.last_at)",
        (key, kind, project, title, stored, score, at, at),
    )
    return int(db.execute("SELECT id FROM patterns WHERE key = ?", (key,)).fetchone()[0])
