"""Link errors to their fixes, and give the model the fix of a similar earlier error."""

from __future__ import annotations

import json
import os.path
import secrets
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from hookrun import Verdict
from hookrun.observe import stored_texts as texts
from hookrun.observe.context_fields import Clock, file_path, fired_at, iso, session_of, stored_name
from hookrun.observe.database import ObserverDatabase, register_observers

if TYPE_CHECKING:
    from hookrun import Context, Engine

# The similarity, 0 to 1, at which an error is found, and at which its fix is suggested.
MIN_SIMILARITY, MIN_SIMILARITY_TO_SUGGEST = 0.3, 0.6
# Limit on the similar errors searched for a fixed one.
MAX_SIMILAR = 5
# The last steps that describe a fix, and the lengths of a step and of a piece of code in it.
MAX_STEPS, MAX_STEP_CHARS, MAX_SNIPPET_CHARS = 5, 160, 40
UNCHANGED = "running it again, with nothing changed in between"

# Characters stored.
MAX_MESSAGE, MAX_CONTEXT, MAX_FIX = 4000, 4000, 500
# Limit on attempts stored per error: later fixes are something else.
MAX_ATTEMPTS = 50
# Limit on the kinds of errors compared closely: those with the most words in common.
MAX_COMPARED = 100
# Limit on the errors of one kind among which the one most like the message is chosen.
MAX_PER_KIND = 20


@dataclass(frozen=True, slots=True)
class Attempt:
    """A tool call after an error: time (seconds since 1970), tool, what it did, if it worked and if the fix has it."""

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
class ErrorChain:
    """An error and what followed. `times` counts its occurrences until it was fixed, `at` is seconds since 1970."""

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
    """An earlier error like another one; `score` is from 0 to 1, which is the same but for numbers, paths and ids."""

    score: float
    chain: ErrorChain


class CauseChains:
    """A bundle that links errors to their fixes, and gives the model the fix of an earlier similar error.

    `error` and `post_tool_failure` begin a chain; the handler passes on `causal_chain_id`. What bash, write, edit and
    delete do in the same session afterwards is stored as attempts. When the very call that failed succeeds in that
    session, the attempts that worked are its fix; a program can also record one itself:

    >>> from hookrun.observe import CauseChains, ObserverDatabase
    >>> import os, tempfile
    >>> causes = CauseChains(ObserverDatabase(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> chain = causes.record_error("No module named 'yaml' (line 12)", session_id="s1")
    >>> causes.record_fix(chain, "pip install pyyaml")
    >>> [(found.score, found.chain.fix.description) for found in causes.similar("No module named 'yaml' (line 7)")]
    [(1.0, 'pip install pyyaml')]

    Credentials are removed before anything is stored. `tell=False` gives the model nothing. Everything raises
    DatabaseError where the database cannot be used.
    """

    def __init__(self, store: ObserverDatabase | None = None, *, tell: bool = True, clock: Clock = time.time) -> None:
        self._store = store or ObserverDatabase()
        self._tell = tell
        self._clock = clock

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle."""
        handlers = {
            "cause-chains-error": ("error", self.on_error),
            "cause-chains-failure": ("post_tool_failure", self.on_failure),
            "cause-chains-result": ("post_tool_use", self.on_result),
        }
        register_observers(engine, self._store.place, handlers, priority=10)

    def on_error(self, ctx: Context) -> Verdict | None:
        """Store an error of the agent; None where the context has none."""
        info: dict[str, Any] = ctx.own("error_info")
        if not info:
            return None
        message = info.get("error_message")
        return self._store_error(ctx, message if isinstance(message, str) else "Unknown error", info.get("context"))

    def on_failure(self, ctx: Context) -> Verdict | None:
        """Store why a tool failed."""
        message = ctx.tool_result_error or ctx.tool_result_output or "Unknown error"
        return self._store_error(ctx, message, {"tool_args": ctx.tool_args})

    def on_result(self, ctx: Context) -> Verdict | None:
        """Store a tool call as an attempt to fix the open errors of its session, and close those it shows as fixed."""
        if ctx.tool_result_error:
            return self.on_failure(ctx)
        session = session_of(ctx)
        is_open = "SELECT id FROM errors WHERE session = ? AND fixed_at IS NULL"
        with self._store.read() as db:  # most calls follow no error and need not wait to write
            if not db.execute(f"{is_open} LIMIT 1", (session,)).fetchone():
                return None
        at, call = fired_at(ctx, self._clock), _call_digest(ctx)
        with self._store.write() as db:
            for (error,) in db.execute(f"{is_open} AND call = ? ORDER BY id", (session, call)).fetchall():
                _add_fix(db, error, Fix(at, "; ".join(_steps_since(db, error)) or UNCHANGED, successful=True))
            self._store_attempt(db, session, ctx, call, ok=True)
        return None

    def record_error(self, message: str, *, session_id: str | None = None, context: object = None) -> str:
        """Store an error that no hook saw and return the id of its chain."""
        with self._store.write() as db:
            return _add_error(db, stored_name(session_id), message, self._clock(), context)[0]

    def record_fix(self, chain_id: str, description: str, *, successful: bool = True) -> None:
        """Store an attempt to fix an error; `successful` closes its chain. Raises ValueError for an unknown chain."""
        with self._store.write() as db:
            _add_fix(db, _error_of(db, chain_id), Fix(self._clock(), description, successful))

    def chain(self, chain_id: str) -> ErrorChain:
        """Return one chain. Raises ValueError for an unknown one."""
        with self._store.read() as db:
            return _load(db, _error_of(db, chain_id))

    def chains(self, *, session_id: str | None = None, since: float = 0.0, limit: int = -1) -> list[ErrorChain]:
        """Return the chains that began at `since` (seconds since 1970) or later, the newest first."""
        query = "SELECT id FROM errors WHERE at >= ? AND (? IS NULL OR session = ?) ORDER BY at DESC, id DESC LIMIT ?"
        with self._store.read() as db:
            rows = db.execute(query, (since, session_id, session_id, limit)).fetchall()
            return [_load(db, error) for (error,) in rows]

    def totals(self, *, session_id: str | None = None, since: float = 0.0) -> tuple[int, int]:
        """Return how many chains began at `since` (seconds since 1970) or later, and how many of them are fixed."""
        query = "SELECT count(*), count(fixed_at) FROM errors WHERE at >= ? AND (? IS NULL OR session = ?)"
        with self._store.read() as db:
            errors, fixed = db.execute(query, (since, session_id, session_id)).fetchone()
        return errors, fixed

    def similar(self, message: str, limit: int = 5) -> list[Similar]:
        """Return earlier errors like this message, one of each kind, and what fixed them; the most similar first."""
        with self._store.read() as db:
            return _similar(db, message, limit, MIN_SIMILARITY)

    def _store_error(self, ctx: Context, message: str, context: object) -> Verdict:
        session, call = session_of(ctx), _call_digest(ctx) if ctx.tool_name else None
        at, tool = fired_at(ctx, self._clock), stored_name(ctx.tool_name) or None
        with self._store.write() as db:
            if call is not None:
                self._store_attempt(db, session, ctx, call, ok=False)
            chain, is_new = _add_error(db, session, message, at, context, tool=tool, call=call)
        suggestion = self._suggestion(message) if self._tell and is_new else None
        return Verdict(modified_context={"causal_chain_id": chain}, additional_context=suggestion)

    def _store_attempt(self, db: sqlite3.Connection, session: str, ctx: Context, call: str, *, ok: bool) -> None:
        """Store a changing call as an attempt at each open error of its session except its own."""
        describe = DESCRIBE_STEP.get(ctx.tool_name or "")
        if describe is None:
            return
        what = texts.clean_line(describe(ctx), MAX_STEP_CHARS)
        db.execute(
            "INSERT INTO attempts (error_id, at, tool, what, ok) SELECT id, ?, ?, ?, ? FROM errors"
            " WHERE session = ? AND fixed_at IS NULL AND call IS NOT ?"
            " AND (SELECT count(*) FROM attempts WHERE error_id = errors.id) < ?",
            (fired_at(ctx, self._clock), ctx.tool_name, what, ok, session, call, MAX_ATTEMPTS),
        )

    def _suggestion(self, message: str) -> str | None:
        # After the error's transaction: other processes need not wait for the search.
        with self._store.read() as db:
            for found in _similar(db, message, MAX_SIMILAR, MIN_SIMILARITY_TO_SUGGEST):
                if (fix := found.chain.fix) is not None:
                    return f"A similar error ({iso(fix.at)[:10]}) was fixed by: {fix.description}"
        return None


def _add_error(
    db: sqlite3.Connection,
    session: str,
    message: str,
    at: float,
    context: object,
    *,
    tool: str | None = None,
    call: str | None = None,
) -> tuple[str, bool]:
    """Store an error; return its chain's id, and whether it is new: the same one may still be open here."""
    message = texts.clean_text(message, MAX_MESSAGE)
    kind = _kind(db, message)
    known = db.execute(
        "SELECT id, chain FROM errors WHERE session = ? AND fixed_at IS NULL AND kind_id = ?"
        " AND (call IS NULL OR ? IS NULL OR call = ?) ORDER BY id DESC LIMIT 1",
        (session, kind, call, call),
    ).fetchone()
    if known:
        db.execute(
            "UPDATE errors SET times = times + 1, call = coalesce(call, ?), tool = coalesce(tool, ?) WHERE id = ?",
            (call, tool, known[0]),
        )
        return str(known[1]), False
    chain = f"chain-{secrets.token_hex(8)}"
    db.execute(
        "INSERT INTO errors (chain, kind_id, session, at, message, context, tool, call)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (chain, kind, session, at, message, texts.clean_json(context, MAX_CONTEXT), tool, call),
    )
    return chain, True


def _kind(db: sqlite3.Connection, message: str) -> int:
    mark = texts.fingerprint(message)
    query = "SELECT id FROM error_kinds WHERE fingerprint = ?"
    row = db.execute(query, (mark,)).fetchone()
    if row is None:
        db.execute("INSERT INTO error_kinds (fingerprint, normal) VALUES (?, ?)", (mark, texts.normalize(message)))
        row = db.execute(query, (mark,)).fetchone()
    return int(row[0])


def _steps_since(db: sqlite3.Connection, error: int) -> list[str]:
    query = "SELECT what FROM attempts WHERE error_id = ? AND ok AND fix_id IS NULL ORDER BY id"
    return list(dict.fromkeys(row[0] for row in db.execute(query, (error,))))[-MAX_STEPS:]


def _add_fix(db: sqlite3.Connection, error: int, fix: Fix) -> None:
    """Store a fix; one that helped closes the error and includes the attempts before it."""
    number = db.execute(
        "INSERT INTO fixes (error_id, at, description, successful) VALUES (?, ?, ?, ?)",
        (error, fix.at, texts.clean_line(fix.description, MAX_FIX), fix.successful),
    ).lastrowid
    if fix.successful:
        db.execute("UPDATE attempts SET fix_id = ? WHERE error_id = ? AND fix_id IS NULL", (number, error))
        db.execute("UPDATE errors SET fixed_at = coalesce(fixed_at, ?) WHERE id = ?", (fix.at, error))


def _error_of(db: sqlite3.Connection, chain_id: str) -> int:
    row = db.execute("SELECT id FROM errors WHERE chain = ?", (chain_id,)).fetchone()
    if row is None:
        raise ValueError(f"there is no cause chain {chain_id!r}: expected an id that record_error or a hook gave")
    return int(row[0])


def _load(db: sqlite3.Connection, error: int) -> ErrorChain:
    row = db.execute(
        "SELECT chain, session, at, message, fingerprint, tool, times, fixed_at"
        " FROM errors JOIN error_kinds ON error_kinds.id = kind_id WHERE errors.id = ?",
        (error,),
    ).fetchone()
    attempts = db.execute(
        "SELECT at, tool, what, ok, fix_id IS NOT NULL FROM attempts WHERE error_id = ? ORDER BY id", (error,)
    )
    fixes = db.execute("SELECT at, description, successful FROM fixes WHERE error_id = ? ORDER BY id", (error,))
    known = tuple(Attempt(at, tool, what, bool(ok), bool(in_fix)) for at, tool, what, ok, in_fix in attempts)
    return ErrorChain(*(*row, known, tuple(Fix(at, what, bool(helped)) for at, what, helped in fixes)))


def _similar(db: sqlite3.Connection, message: str, limit: int, at_least: float) -> list[Similar]:
    message = texts.clean_text(message, MAX_MESSAGE)
    wanted, mark = texts.normalize(message), texts.fingerprint(message)
    common = texts.words(wanted)
    # All of them, at 6 ms a thousand; the same kind first, to be among those of equal similarity.
    kinds = db.execute(
        "SELECT id, fingerprint, normal FROM error_kinds ORDER BY fingerprint = ? DESC, id DESC", (mark,)
    )
    near = nlargest(MAX_COMPARED, kinds, key=lambda row: texts.dice(common, texts.words(row[2])))
    scored = [(1.0 if row[1] == mark else texts.similarity(wanted, row[2]), row[0]) for row in near]
    best = sorted((each for each in scored if each[0] >= at_least), reverse=True)[: limit if limit > 0 else None]
    return [Similar(round(score, 3), _load(db, _best_of(db, kind, message))) for score, kind in best]


def _best_of(db: sqlite3.Connection, kind: int, message: str) -> int:
    """Return the most useful error of a kind: fixed first, then the most similar, then the latest."""
    rows = db.execute(
        "SELECT fixed_at IS NOT NULL AS fixed, message, id FROM errors WHERE kind_id = ?"
        " ORDER BY fixed DESC, id DESC LIMIT ?",
        (kind, MAX_PER_KIND),
    ).fetchall()
    return int(max(rows, key=lambda row: (row[0], round(texts.coverage(message, row[1]), 2), row[2]))[2])


def _call_digest(ctx: Context) -> str:
    """Return the same digest for the same tool call, whatever its spacing and description."""
    args = ctx.tool_args
    essential = {"command": args["command"]} if ctx.tool_name == "bash" and "command" in args else args
    plain = json.dumps(_single_spaced(essential), sort_keys=True, default=repr)
    return sha256(f"{ctx.tool_name}\n{plain}".encode("utf-8", "replace")).hexdigest()[:24]


def _single_spaced(value: object) -> object:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return {str(key): _single_spaced(each) for key, each in value.items()}
    return [_single_spaced(each) for each in value] if isinstance(value, list) else value


def _describe_edit(ctx: Context) -> str:
    old, new = ctx.tool_args.get("old_string"), ctx.tool_args.get("new_string")
    change = f" ({_snippet(old)} -> {_snippet(new)})" if isinstance(old, str) and isinstance(new, str) else ""
    return f"editing {_relative_file(ctx)}{change}"


# The tools that change something, and the description of a call.
DESCRIBE_STEP: dict[str, Callable[[Context], str]] = {
    "bash": lambda ctx: f"running `{ctx.tool_args.get('command', '')}`",
    "delete": lambda ctx: f"deleting {_relative_file(ctx)}",
    "edit": _describe_edit,
    "write": lambda ctx: f"writing {_relative_file(ctx)}",
}


def _snippet(text: str) -> str:
    return json.dumps(texts.clean_line(text, MAX_SNIPPET_CHARS), ensure_ascii=False)


def _relative_file(ctx: Context) -> str:
    path, directory = file_path(ctx) or "a file", ctx.working_dir
    return os.path.relpath(path, directory) if directory and path.startswith(directory.rstrip("/") + "/") else path
