"""Cause chains: which error led to which attempts, what fixed it, and what fixed errors like it before."""

from __future__ import annotations

import json
import os.path
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hookrun.bundles.naming import named
from hookrun.model import Verdict, file_path
from hookrun.observe import chains, kept
from hookrun.observe.chains import Attempt, Chain, Fix, Seen, Similar
from hookrun.observe.moments import fired, iso
from hookrun.observe.store import Store

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from hookrun.library.context import Context
    from hookrun.library.engine import Engine
    from hookrun.observe.moments import Clock

ALIKE, TELLING = 0.3, 0.6
"""How alike an error must be to be found, and to have its fix told to the model, from 0 to 1."""
MOST_SIMILAR = 5
"""Similar errors among which one that was fixed is looked for."""
MOST_STEPS = 5
"""Steps that the description of a fix has, the last ones."""
LONGEST_STEP, LONGEST_PIECE = 160, 40
UNCHANGED = "running it again, with nothing changed in between"


class CauseChains:
    """A bundle that links errors to what fixed them, and tells the model when it meets one again.

    `error` and `post_tool_failure` begin a chain; the handler passes on `causal_chain_id`. What bash, write, edit and
    delete do in the same session afterwards is kept as attempts. When the very call that failed succeeds in that
    session, the attempts that went well are its fix; a program can also tell one itself:

    >>> from hookrun.observe import CauseChains, Store
    >>> import os, tempfile
    >>> causes = CauseChains(Store(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> chain = causes.record_error("No module named 'yaml' (line 12)", session_id="s1")
    >>> causes.record_fix(chain, "pip install pyyaml")
    >>> [(found.score, found.chain.fix.description) for found in causes.similar("No module named 'yaml' (line 7)")]
    [(1.0, 'pip install pyyaml')]

    Credentials are taken out of all that is kept. `tell=False` gives the model nothing. Everything raises StoreError
    where the database cannot be used.
    """

    def __init__(self, store: Store | None = None, *, tell: bool = True, clock: Clock = time.time) -> None:
        self._store = store or Store()
        self._tell = tell
        self._clock = clock

    def register(self, engine: Engine) -> None:
        """Register the handlers of this bundle."""
        for event, handler, name in (
            ("error", self.on_error, "cause-chains-error"),
            ("post_tool_failure", self.on_failure, "cause-chains-failure"),
            ("post_tool_use", self.on_result, "cause-chains-result"),
        ):
            own = named(engine, name, self._store.place)
            engine.register(event, handler, priority=10, always=True, thread=True, on_failure="continue", **own)

    def on_error(self, ctx: Context) -> Verdict | None:
        """Keep what went wrong in the agent; None where the context does not say what did."""
        info: dict[str, Any] = ctx.own("error_info")
        if not info:
            return None
        message = info.get("error_message")
        return self._keep_error(ctx, message if isinstance(message, str) else "Unknown error", info.get("context"))

    def on_failure(self, ctx: Context) -> Verdict | None:
        """Keep why a tool failed."""
        message = ctx.tool_result_error or ctx.tool_result_output or "Unknown error"
        return self._keep_error(ctx, message, {"tool_args": ctx.tool_args})

    def on_result(self, ctx: Context) -> Verdict | None:
        """Keep what a tool did about the open errors of its session, and which of them it has shown to be fixed."""
        if ctx.tool_result_error:
            return self.on_failure(ctx)
        session = kept.session(ctx)
        with self._store.read() as db:  # most calls follow no error: they need not wait to write
            if not chains.is_open(db, session):
                return None
        at, call = fired(ctx, self._clock), _call(ctx)
        with self._store.write() as db:
            for error in chains.open_errors(db, session, call):
                steps = list(dict.fromkeys(chains.done_since(db, error)))[-MOST_STEPS:]
                chains.add_fix(db, error, Fix(at, "; ".join(steps) or UNCHANGED, successful=True))
            self._keep_attempt(db, session, ctx, call, ok=True)
        return None

    def record_error(self, message: str, *, session_id: str | None = None, context: object = None) -> str:
        """Keep an error that no hook saw and return the id of its chain."""
        with self._store.write() as db:
            return chains.add_error(db, kept.name(session_id), Seen(message, self._clock(), context))[0]

    def record_fix(self, chain_id: str, description: str, *, successful: bool = True) -> None:
        """Keep what was done about an error; `successful` closes its chain. Raises ValueError for an unknown chain."""
        with self._store.write() as db:
            chains.add_fix(db, _known(db, chain_id), Fix(self._clock(), description, successful))

    def chain(self, chain_id: str) -> Chain:
        """Return one chain. Raises ValueError for an unknown one."""
        with self._store.read() as db:
            return chains.load(db, _known(db, chain_id))

    def chains(self, *, session_id: str | None = None, since: float = 0.0, limit: int = -1) -> list[Chain]:
        """Return the chains that began at `since` (seconds since 1970) or later, the newest first."""
        query = "SELECT id FROM errors WHERE at >= ? AND (? IS NULL OR session = ?) ORDER BY at DESC, id DESC LIMIT ?"
        with self._store.read() as db:
            rows = db.execute(query, (since, session_id, session_id, limit)).fetchall()
            return [chains.load(db, error) for (error,) in rows]

    def totals(self, *, session_id: str | None = None, since: float = 0.0) -> tuple[int, int]:
        """Return how many chains began at `since` (seconds since 1970) or later, and how many of them are fixed."""
        query = "SELECT count(*), count(fixed_at) FROM errors WHERE at >= ? AND (? IS NULL OR session = ?)"
        with self._store.read() as db:
            errors, fixed = db.execute(query, (since, session_id, session_id)).fetchone()
        return errors, fixed

    def similar(self, message: str, limit: int = 5) -> list[Similar]:
        """Return earlier errors that look like this message, one of each kind, and what fixed them; best first."""
        with self._store.read() as db:
            return chains.similar(db, message, limit, at_least=ALIKE)

    def _keep_error(self, ctx: Context, message: str, context: object) -> Verdict:
        session, call = kept.session(ctx), _call(ctx) if ctx.tool_name else None
        seen = Seen(message, fired(ctx, self._clock), context, kept.name(ctx.tool_name) or None, call)
        with self._store.write() as db:
            if call is not None:
                self._keep_attempt(db, session, ctx, call, ok=False)
            chain, is_new = chains.add_error(db, session, seen)
        told = self._told(message) if self._tell and is_new else None
        return Verdict(modified_context={"causal_chain_id": chain}, additional_context=told)

    def _keep_attempt(self, db: sqlite3.Connection, session: str, ctx: Context, call: str, *, ok: bool) -> None:
        describe = STEPS.get(ctx.tool_name or "")
        if describe is not None:
            what = kept.line(describe(ctx), LONGEST_STEP)
            chains.add_attempt(db, session, Attempt(fired(ctx, self._clock), str(ctx.tool_name), what, ok), call)

    def _told(self, message: str) -> str | None:
        """Return what the model is told: what fixed the error most like this one. Others need not wait for it."""
        with self._store.read() as db:
            for found in chains.similar(db, message, MOST_SIMILAR, at_least=TELLING):
                if found.chain.fix is not None:
                    day = iso(found.chain.fix.at)[:10]
                    return f"A similar error ({day}) was fixed by: {found.chain.fix.description}"
        return None


def _known(db: sqlite3.Connection, chain_id: str) -> int:
    error = chains.find(db, chain_id)
    if error is None:
        raise ValueError(f"there is no cause chain {chain_id!r}: expected an id that record_error or a hook gave")
    return error


def _call(ctx: Context) -> str:
    """Return a digest of a tool call that is the same however it is spaced, and whatever it is said to be for."""
    args = ctx.tool_args
    essential = {"command": args["command"]} if ctx.tool_name == "bash" and "command" in args else args
    plain = json.dumps(_spaced(essential), sort_keys=True, default=repr)
    return sha256(f"{ctx.tool_name}\n{plain}".encode("utf-8", "replace")).hexdigest()[:24]


def _spaced(value: object) -> object:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return {str(key): _spaced(each) for key, each in value.items()}
    return [_spaced(each) for each in value] if isinstance(value, list) else value


def _command(ctx: Context) -> str:
    return f"running `{ctx.tool_args.get('command', '')}`"


def _edit(ctx: Context) -> str:
    old, new = ctx.tool_args.get("old_string"), ctx.tool_args.get("new_string")
    change = f" ({_piece(old)} -> {_piece(new)})" if isinstance(old, str) and isinstance(new, str) else ""
    return f"editing {_file(ctx)}{change}"


STEPS: dict[str, Callable[[Context], str]] = {
    "bash": _command,
    "delete": lambda ctx: f"deleting {_file(ctx)}",
    "edit": _edit,
    "write": lambda ctx: f"writing {_file(ctx)}",
}
"""The tools that change something, and how a step of theirs is told."""


def _piece(text: str) -> str:
    return json.dumps(kept.line(text, LONGEST_PIECE), ensure_ascii=False)


def _file(ctx: Context) -> str:
    """Return the file of a call, as seen from where the agent works."""
    path, directory = file_path(ctx) or "a file", ctx.working_dir
    return os.path.relpath(path, directory) if directory and path.startswith(directory.rstrip("/") + "/") else path
