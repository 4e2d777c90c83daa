"""Errors, what was tried after them and what fixed them, as they lie in the store."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING

from hookrun.observe import kept
from hookrun.observe.likeness import coverage, dice, fingerprint, likeness, normal, words

if TYPE_CHECKING:
    import sqlite3

LONGEST_MESSAGE, LONGEST_CONTEXT, LONGEST_FIX = 4000, 4000, 500
"""Characters that are kept."""
MOST_ATTEMPTS = 50
"""Attempts that are kept of one error: one that is not fixed by then is fixed by something else, if at all."""
CANDIDATES, LATEST, CLOSELY = 200, 1000, 100
"""Kinds of errors that are compared: those an index finds, or the latest where there is none; how many closely."""
MOST_WORDS = 40
PER_KIND = 20
"""Errors of one kind among which the one most like the message is looked for."""
WEIGHTLESS = frozenset({"<n>", "<id>", "<value>", "<path>", "<url>"})
"""Words that every other message has."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A tool call after an error: `at` in seconds since 1970, `what` it did, if it was `ok`, if the fix has it."""

    at: float
    tool: str
    what: str
    ok: bool
    in_fix: bool = False


@dataclass(frozen=True, slots=True)
class Fix:
    """What was done about an error: `at` in seconds since 1970, and whether it helped."""

    at: float
    description: str
    successful: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """An error with what followed. `times` is how often it came until it was fixed, `at` seconds since 1970."""

    id: str
    session_id: str
    at: float
    message: str
    fingerprint: str
    tool: str | None
    times: int
    fixed_at: float | None
    attempts: tuple[Attempt, ...]
    fixes: tuple[Fix, ...]

    @property
    def fix(self) -> Fix | None:
        """The latest fix that helped, None if nothing did."""
        return next((fix for fix in reversed(self.fixes) if fix.successful), None)


@dataclass(frozen=True, slots=True)
class Similar:
    """An earlier error that looks like another; `score` is from 0 to 1, which is the same but for what varies."""

    score: float
    chain: Chain


@dataclass(frozen=True, slots=True)
class Seen:
    """An error as it was seen: `context` is any JSON value, `call` stands for the tool call that failed."""

    message: str
    at: float
    context: object = None
    tool: str | None = None
    call: str | None = None


def add_error(db: sqlite3.Connection, session: str, seen: Seen) -> tuple[str, bool]:
    """Keep an error; return the id of its chain, that of the same error if it is still open here, and if it is new."""
    message = kept.text(seen.message, LONGEST_MESSAGE)
    kind = _kind(db, message)
    known = db.execute(
        "SELECT id, chain FROM errors WHERE session = ? AND fixed_at IS NULL AND kind_id = ?"
        " AND (call IS NULL OR ? IS NULL OR call = ?) ORDER BY id DESC LIMIT 1",
        (session, kind, seen.call, seen.call),
    ).fetchone()
    if known:
        db.execute(
            "UPDATE errors SET times = times + 1, call = coalesce(call, ?), tool = coalesce(tool, ?) WHERE id = ?",
            (seen.call, seen.tool, known[0]),
        )
        return str(known[1]), False
    chain = f"chain-{secrets.token_hex(8)}"
    db.execute(
        "INSERT INTO errors (chain, kind_id, session, at, message, context, tool, call)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (chain, kind, session, seen.at, message, kept.as_json(seen.context, LONGEST_CONTEXT), seen.tool, seen.call),
    )
    return chain, True


def add_attempt(db: sqlite3.Connection, session: str, attempt: Attempt, call: str) -> None:
    """Keep an attempt with every open error of its session but those of that very call."""
    db.execute(
        "INSERT INTO attempts (error_id, at, tool, what, ok) SELECT id, ?, ?, ?, ? FROM errors"
        " WHERE session = ? AND fixed_at IS NULL AND call IS NOT ?"
        " AND (SELECT count(*) FROM attempts WHERE error_id = errors.id) < ?",
        (attempt.at, attempt.tool, attempt.what, attempt.ok, session, call, MOST_ATTEMPTS),
    )


def is_open(db: sqlite3.Connection, session: str) -> bool:
    """Tell whether a session has an error that is not fixed."""
    query = "SELECT 1 FROM errors WHERE session = ? AND fixed_at IS NULL LIMIT 1"
    return db.execute(query, (session,)).fetchone() is not None


def open_errors(db: sqlite3.Connection, session: str, call: str) -> list[int]:
    """Return the errors of this very call in this session that are not fixed."""
    query = "SELECT id FROM errors WHERE session = ? AND fixed_at IS NULL AND call = ? ORDER BY id"
    return [row[0] for row in db.execute(query, (session, call))]


def done_since(db: sqlite3.Connection, error: int) -> list[str]:
    """Return what was done since an error and went well, in order."""
    query = "SELECT what FROM attempts WHERE error_id = ? AND ok AND fix_id IS NULL ORDER BY id"
    return [row[0] for row in db.execute(query, (error,))]


def add_fix(db: sqlite3.Connection, error: int, fix: Fix) -> None:
    """Keep what was done about an error; one that helped closes it, and the attempts before it are part of it."""
    number = db.execute(
        "INSERT INTO fixes (error_id, at, description, successful) VALUES (?, ?, ?, ?)",
        (error, fix.at, kept.line(fix.description, LONGEST_FIX), fix.successful),
    ).lastrowid
    if fix.successful:
        db.execute("UPDATE attempts SET fix_id = ? WHERE error_id = ? AND fix_id IS NULL", (number, error))
        db.execute("UPDATE errors SET fixed_at = coalesce(fixed_at, ?) WHERE id = ?", (fix.at, error))


def find(db: sqlite3.Connection, chain: str) -> int | None:
    """Return the error that a chain begins with, None if there is no such chain."""
    row = db.execute("SELECT id FROM errors WHERE chain = ?", (chain,)).fetchone()
    return row[0] if row else None


def load(db: sqlite3.Connection, error: int) -> Chain:
    """Return a chain whole."""
    row = db.execute(
        "SELECT chain, session, at, message, fingerprint, tool, times, fixed_at"
        " FROM errors JOIN error_kinds ON error_kinds.id = kind_id WHERE errors.id = ?",
        (error,),
    ).fetchone()
    attempts = db.execute("SELECT * FROM attempts WHERE error_id = ? ORDER BY id", (error,))
    fixes = db.execute("SELECT at, description, successful FROM fixes WHERE error_id = ? ORDER BY id", (error,))
    return Chain(
        id=row["chain"],
        session_id=row["session"],
        at=row["at"],
        message=row["message"],
        fingerprint=row["fingerprint"],
        tool=row["tool"],
        times=row["times"],
        fixed_at=row["fixed_at"],
        attempts=tuple(
            Attempt(each["at"], each["tool"], each["what"], bool(each["ok"]), in_fix=each["fix_id"] is not None)
            for each in attempts
        ),
        fixes=tuple(Fix(at, what, bool(helped)) for at, what, helped in fixes),
    )


def similar(db: sqlite3.Connection, message: str, limit: int, *, at_least: float) -> list[Similar]:
    """Return one error of each kind that looks like the message, at least so much (0 to 1), best first."""
    message = kept.text(message, LONGEST_MESSAGE)
    wanted, mark = normal(message), fingerprint(message)
    common = words(wanted)
    near = nlargest(CLOSELY, _candidates(db, wanted, mark), key=lambda row: dice(common, words(row[2])))
    scored: list[tuple[float, int]] = []
    for kind, its_mark, its_normal in near:
        score = 1.0 if its_mark == mark else likeness(wanted, its_normal)
        if score >= at_least:
            scored.append((score, kind))
    scored.sort(reverse=True)
    found: list[Similar] = []
    for score, kind in scored:
        found.append(Similar(round(score, 3), load(db, _best_of(db, kind, message))))
        if len(found) == limit:
            break
    return found


def has_fts5(db: sqlite3.Connection) -> bool:
    """Tell whether this SQLite can index words (sqlite.org/fts5.html)."""
    return db.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone() is not None


def index(db: sqlite3.Connection) -> None:
    """Index the words of every kind of error that is not indexed yet: another process may not have been able to."""
    if has_fts5(db):
        db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS error_words USING fts5 (normal, content = '')")
        db.execute(
            "INSERT INTO error_words (rowid, normal) SELECT id, normal FROM error_kinds"
            " WHERE id > (SELECT coalesce(max(rowid), 0) FROM error_words)"
        )


def _kind(db: sqlite3.Connection, message: str) -> int:
    mark = fingerprint(message)
    query = "SELECT id FROM error_kinds WHERE fingerprint = ?"
    row = db.execute(query, (mark,)).fetchone()
    if row is None:
        db.execute("INSERT INTO error_kinds (fingerprint, normal) VALUES (?, ?)", (mark, normal(message)))
        row = db.execute(query, (mark,)).fetchone()
        index(db)
    return int(row[0])


def _candidates(db: sqlite3.Connection, wanted: str, mark: str) -> list[tuple[int, str, str]]:
    same = db.execute("SELECT id, fingerprint, normal FROM error_kinds WHERE fingerprint = ?", (mark,)).fetchall()
    telling = sorted(words(wanted) - WEIGHTLESS, key=lambda word: (-len(word), word))[:MOST_WORDS]
    indexed = "SELECT 1 FROM sqlite_master WHERE name = 'error_words'"
    if telling and has_fts5(db) and db.execute(indexed).fetchone():
        match = " OR ".join(f'"{word}"' for word in telling)
        rows = db.execute(
            "SELECT id, fingerprint, normal FROM error_kinds WHERE id IN"
            " (SELECT rowid FROM error_words WHERE error_words MATCH ? ORDER BY rank LIMIT ?)",
            (match, CANDIDATES),
        ).fetchall()
    else:
        query = "SELECT id, fingerprint, normal FROM error_kinds ORDER BY id DESC LIMIT ?"
        rows = db.execute(query, (LATEST,)).fetchall()
    return list(dict.fromkeys([*same, *rows]))


def _best_of(db: sqlite3.Connection, kind: int, message: str) -> int:
    """Return the error of a kind that tells most about a message: fixed, the most like it, the latest."""
    rows = db.execute(
        "SELECT fixed_at IS NOT NULL AS fixed, message, id FROM errors WHERE kind_id = ?"
        " ORDER BY fixed DESC, id DESC LIMIT ?",
        (kind, PER_KIND),
    ).fetchall()
    return int(max(rows, key=lambda row: (row[0], round(coverage(message, row[1]), 2), row[2]))[2])
