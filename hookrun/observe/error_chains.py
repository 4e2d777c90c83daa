"""Link errors to their fixes, and give the model the fix of an earlier error, if it has helped more than once."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hookrun import Verdict
from hookrun.observe.context_fields import iso
from hookrun.observe.database import MAX_READ, ObserverDatabase
from hookrun.observe.spool import AFTER, MAX_ERROR, Clock, error_row, stored_name
from hookrun.observe.stored_texts import clean_json, clean_line, clean_text, mark, similarity

if TYPE_CHECKING:
    from hookrun import Context, Engine

# The similarity, 0 to 1, at which an error is found.
MIN_SIMILARITY = 0.3
# The steps that describe a fix, the last; steps remembered of an error that nothing fixes.
MAX_STEPS, MAX_ATTEMPTS = 5, 50
UNCHANGED = "running it again, with nothing changed in between"
# Characters stored of a program's own description and context.
MAX_FIX, MAX_CONTEXT = 500, 4000
# How often a step must have fixed an error, and the share of the times when it was tried, before the model is reported.
MIN_HELD, MIN_SHARE = 2, 0.75
# Steps that only record what is there: they fix nothing but other calls of git.
RECORDS = frozenset({"git add", "git commit", "git push", "git tag"})
# Sessions with the same error that are looked at, the latest.
MAX_SESSIONS = 20
TOLD = "lesson_told"
KINDS = "event IN ('post_tool_use', 'post_tool_failure', 'error', 'fix')"


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


@dataclass(slots=True)
class ErrorChain:
    """An error and what followed. `times` counts its occurrences until it was fixed, `at` is seconds since 1970.

    `fingerprint` is the line by which the error is known in its `project`.
    """

    id: str
    session_id: str
    at: float
    message: str
    fingerprint: str
    tool: str | None
    project: str
    step: str | None = None
    times: int = 1
    fixed_at: float | None = None
    attempts: list[Attempt] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)
    call: str | None = None
    # What was tried before the call failed in the same way again.
    failed: list[str] = field(default_factory=list)

    @property
    def fix(self) -> Fix | None:
        """The latest fix that helped, None if nothing did."""
        return next((fix for fix in reversed(self.fixes) if fix.successful), None)


@dataclass(frozen=True, slots=True)
class Similar:
    """An earlier error like another one; `score` is from 0 to 1, which is the same but for numbers and ids."""

    score: float
    chain: ErrorChain


@dataclass(frozen=True, slots=True)
class Lesson:
    """What fixed an error in a project: it `held` so many times of those when it was `tried`, at last `at`."""

    fingerprint: str
    project: str
    fix: str
    held: int
    tried: int
    at: float


class CauseChains:
    """A bundle that links errors to their fixes, and can give the model what fixed the same error before.

    `error` and `post_tool_failure` begin a chain; the handler passes on `causal_chain_id`. When the very call that
    failed succeeds in that session, the changes since it last failed are its fix: edits, and commands that are known to
    change something. A program can also record one itself:

    >>> from hookrun.observe import CauseChains, ObserverDatabase
    >>> import os, tempfile
    >>> causes = CauseChains(ObserverDatabase(os.path.join(tempfile.mkdtemp(), "observe.db")))
    >>> chain = causes.record_error("No module named 'yaml' (line 12)", session_id="s1")
    >>> causes.record_fix(chain, "pip install pyyaml")
    >>> [(found.score, found.chain.fix.description) for found in causes.similar("No module named 'yaml' (line 7)")]
    [(1.0, 'pip install pyyaml')]

    With `tell=True` the model gets a fix once a session, if the same error (its last line, quoted values included) was
    fixed by it at least twice in this project, and in three of four cases where it was tried. Credentials are removed
    before anything is stored. Everything raises DatabaseError where the database cannot be used.
    """

    def __init__(self, store: ObserverDatabase | None = None, *, tell: bool = False, clock: Clock = time.time) -> None:
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
        self._store.register(engine, handlers, priority=10)

    def on_error(self, ctx: Context) -> Verdict | None:
        """Keep an error of the agent; None where the context has none."""
        info: dict[str, Any] = ctx.own("error_info")
        if not info:
            return None
        named = error_row({"project": stored_name(ctx.working_dir)}, info.get("error_message"))
        data = {"context": json.loads(clean_json(info.get("context"), MAX_CONTEXT))}
        row = self._store.keep(ctx, clock=self._clock, data=data, **named)
        return self._answer(row)

    def on_failure(self, ctx: Context) -> Verdict | None:
        """Keep why a tool failed."""
        return self._answer(self._store.keep(ctx, clock=self._clock))

    def on_result(self, ctx: Context) -> Verdict | None:
        """Keep a tool call: it may fix the errors of its session."""
        row = self._store.keep(ctx, clock=self._clock)
        return None if row["ok"] else self._answer(row)

    def record_error(self, message: str, *, session_id: str | None = None, context: object = None) -> str:
        """Store an error that no hook saw and return the id of its chain."""
        data = {"context": json.loads(clean_json(context, MAX_CONTEXT))}
        named = error_row({"session": stored_name(session_id), "project": "", "data": data}, message)
        return f"chain-{self._store.add('error', self._clock(), **named)['id']}"

    def record_fix(self, chain_id: str, description: str, *, successful: bool = True) -> None:
        """Store an attempt to fix an error; `successful` closes its chain. Raises ValueError for an unknown chain."""
        chain = self.chain(chain_id)
        data = {"chain": chain.id, "successful": successful}
        what = clean_line(description, MAX_FIX)
        self._store.add("fix", self._clock(), session=chain.session_id, project=chain.project, what=what, data=data)

    def chain(self, chain_id: str) -> ErrorChain:
        """Return one chain. Raises ValueError for an unknown one."""
        of_error = "session = (SELECT session FROM events WHERE id = ?)"
        for each in self._chains(of_error, chain_id.removeprefix("chain-")):
            if each.id == chain_id:
                return each
        raise ValueError(f"there is no cause chain {chain_id!r}: expected an id that record_error or a hook gave")

    def chains(self, *, session_id: str | None = None, since: float = 0.0, limit: int = -1) -> list[ErrorChain]:
        """Return the chains that began at `since` (seconds since 1970) or later, the newest first."""
        found = self._chains("(? IS NULL OR session = ?)", session_id, session_id)
        wanted = [each for each in found if each.at >= since]
        return wanted[::-1][: limit if limit >= 0 else None]

    def similar(self, message: str, limit: int = 5) -> list[Similar]:
        """Return earlier errors like this message, one of each kind, and what fixed them; the most similar first."""
        wanted = mark(clean_text(message, MAX_ERROR))
        best: dict[str, Similar] = {}
        for chain in self.chains():  # the latest of a kind, but first those that were fixed
            known = best.get(chain.fingerprint)
            if known is None or (known.chain.fix is None and chain.fix is not None):
                best[chain.fingerprint] = Similar(round(similarity(wanted, chain.fingerprint), 3), chain)
        found = [each for each in best.values() if each.score >= MIN_SIMILARITY]
        return sorted(found, key=lambda each: -each.score)[: limit if limit > 0 else None]

    def lessons(self, *, project: str | None = None) -> list[Lesson]:
        """Return what has fixed an error more than once, the latest first."""
        return lessons(self._chains("(? IS NULL OR project = ?)", project, project))

    def lesson(self, row: Mapping[str, Any]) -> Lesson | None:
        """Return what fixed the error of a kept event before, once a session; None if nothing has held."""
        again = "session = ? AND mark = ? AND id != ? AND (event = ? OR project = ?)"
        values = (row["session"], row["mark"], row["id"], TOLD, row["project"])
        if any(each["event"] == TOLD for each in self._store.rows(again, *values)):
            return None
        sessions = (
            "session IN (SELECT session FROM events WHERE mark = ? AND project = ? GROUP BY session"
            " ORDER BY max(n) DESC LIMIT ?)"
        )
        found = lessons(self._chains(sessions, row["mark"], row["project"], MAX_SESSIONS))
        wanted = (each for each in found if (each.fingerprint, each.project) == (row["mark"], row["project"]))
        lesson = next(wanted, None)
        if lesson is not None:
            about = {"session": row["session"], "project": row["project"], "mark": row["mark"]}
            self._store.add(TOLD, self._clock(), **about, what=lesson.fix)
        return lesson

    def _answer(self, row: Mapping[str, Any]) -> Verdict:
        chains = self._chains("session = ?", row["session"])
        chain = next(
            each.id
            for each in reversed(chains)
            if each.fingerprint == row["mark"] and each.call in (None, row.get("call"))
        )
        lesson = self.lesson(row) if self._tell else None
        text = told(lesson) if lesson is not None else None
        return Verdict(modified_context={"causal_chain_id": chain}, additional_context=text)

    def _chains(self, where: str, *values: object) -> list[ErrorChain]:
        return fold(self._store.rows(f"{KINDS} AND {where}", *values, limit=MAX_READ))


def told(lesson: Lesson) -> str:
    """Return a lesson in words for the model."""
    return f"This error was fixed {lesson.held} times in this project (at last {iso(lesson.at)[:10]}) by: {lesson.fix}"


def fold(rows: Iterable[Mapping[str, Any]]) -> list[ErrorChain]:
    """Return the chains that events in order make up, in order of their beginning."""
    chains: dict[str, ErrorChain] = {}
    unfixed: dict[str, list[ErrorChain]] = defaultdict(list)
    for row in rows:
        there = unfixed[row["session"]]
        if row["event"] == "fix":
            data = json.loads(row["data"])
            if (chain := chains.get(data["chain"])) is not None:
                _add_fix(chain, Fix(row["at"], row["what"], data["successful"]), there)
            continue
        if row["mark"] is not None:
            _add_failure(row, chains, there)
        if row["event"] in AFTER:
            _add_call(row, there)
    return list(chains.values())


def _add_call(row: Mapping[str, Any], there: list[ErrorChain]) -> None:
    """Close the chains of a call that worked; add it to the others if it changed something."""
    for chain in [each for each in there if each.call is not None and each.call == row["call"] and row["ok"]]:
        _add_fix(chain, Fix(row["at"], "; ".join(_steps(chain)) or UNCHANGED, successful=True), there)
    if row["what"] is not None:
        attempt = Attempt(row["at"], row["tool"], row["what"], bool(row["ok"]))
        for chain in there:
            if row["step"] in RECORDS and not (chain.step or "").startswith("git "):
                continue
            if chain.call != row["call"] and len(chain.attempts) < MAX_ATTEMPTS:
                chain.attempts.append(attempt)


def _add_failure(row: Mapping[str, Any], chains: dict[str, ErrorChain], there: list[ErrorChain]) -> None:
    """Count a failure of the session's open chain of this error and call, or begin one."""
    for chain in reversed(there):
        if chain.fingerprint == row["mark"] and (None in (chain.call, row["call"]) or chain.call == row["call"]):
            chain.times += 1
            chain.call, chain.tool = chain.call or row["call"], chain.tool or row["tool"]
            chain.failed += _steps(chain)
            chain.attempts = [replace(each, in_fix=False) for each in chain.attempts]
            return
    about = (row["session"], row["at"], row["error"], row["mark"], row["tool"], row["project"], row["step"])
    chain = ErrorChain(f"chain-{row['id']}", *about, call=row["call"])
    chains[chain.id] = chain
    there.append(chain)


def _steps(chain: ErrorChain) -> list[str]:
    """Return what has worked since a call last failed, each once."""
    found = dict.fromkeys(each.what for each in chain.attempts if each.ok and each.what not in chain.failed)
    return list(found)[-MAX_STEPS:]


def _add_fix(chain: ErrorChain, fix: Fix, there: list[ErrorChain]) -> None:
    """Add a fix to its chain; one that helped closes it and includes the attempts before it."""
    chain.fixes.append(fix)
    if fix.successful:
        steps = _steps(chain)
        chain.attempts = [replace(each, in_fix=each.what in steps) for each in chain.attempts]
        chain.fixed_at = chain.fixed_at or fix.at
        if chain in there:
            there.remove(chain)


def lessons(chains: Iterable[ErrorChain]) -> list[Lesson]:
    """Return what fixed each error in each project often enough to be reported, the latest first."""
    kinds: dict[tuple[str, str], list[ErrorChain]] = defaultdict(list)
    for chain in chains:
        kinds[chain.fingerprint, chain.project].append(chain)
    found = []
    for (fingerprint, project), same in kinds.items():
        fixed = [each for each in same if each.fix is not None and each.call is not None]
        steps = [{each.what for each in chain.attempts if each.in_fix} for chain in fixed]
        held = Counter(step for each in steps for step in each)
        vain = Counter(step for chain in same for step in chain.failed)
        good = {
            step: (number, max(len(fixed), number + vain[step]))
            for step, number in held.items()
            if number >= MIN_HELD and number >= MIN_SHARE * max(len(fixed), number + vain[step])
        }
        # At least once it was all that was done: with other changes beside it each time, those may be the fix.
        if any(each and each <= good.keys() for each in steps):
            order = [each.what for each in fixed[-1].attempts if each.what in good] or sorted(good)
            last = max(chain.fix.at for chain in fixed if chain.fix is not None)
            number, tried = max(good.values())
            found.append(Lesson(fingerprint, project, "; ".join(dict.fromkeys(order)), number, tried, last))
    return sorted(found, key=lambda each: -each.at)
