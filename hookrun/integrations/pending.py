"""Calls that wait for a decision, as data: stored, shown elsewhere, decided later, and resumed once.

    calls = PendingCalls("pending")  # a directory; without one they are in memory
    outcome = await run_tool(engine, name, args, tool, pending=calls)
    if outcome.pending is not None:  # a hook asks
        save(outcome.pending.to_dict())
    ...  # later, in any process: the hooks before the tool do not run again
    outcome = await run_tool(engine, name, args, tool, pending=calls, decision=pending.approve())

What counts is the stored record, never the copy that was shown: a decision for another call, for other arguments, one
that is too late or used already is a refusal.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, Self, TypedDict, cast

from hookrun.core.text import HookrunError

# Seconds that a call waits.
EXPIRES_IN = 86_400.0

__all__ = ["Decision", "Pending", "PendingCalls", "UndecidedError"]


class UndecidedError(HookrunError):
    """A decision that does not let its call run; the message says why."""


class Decision(TypedDict):
    """What was decided about the pending call `id`, as JSON.

    `approve` runs it; `edit` runs it with `arguments`, which hooks judge, but for what they ask; `refuse` does not run
    it, for the reason `text`; `answer` gives the model `text` as the result instead.
    """

    id: str
    action: Literal["approve", "edit", "refuse", "answer"]
    arguments: dict[str, object]
    text: str


# Field -> type, as they come from elsewhere.
FIELDS = {"id": str, "action": str, "arguments": dict, "text": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A call that waits: the `tool` and the `arguments` it will run with, under its own names, and the hooks' `reason`.

    `expires` is in seconds since 1970; `call` is a digest of the call as it was made, `notes` are the hooks' texts for
    the model.
    """

    id: str
    tool: str
    arguments: dict[str, object]
    reason: str
    expires: float
    call: str
    notes: list[str]

    def approve(self) -> Decision:
        """Return the decision to run the call."""
        return {"id": self.id, "action": "approve", "arguments": {}, "text": ""}

    def edit(self, arguments: Mapping[str, object]) -> Decision:
        """Return the decision to run it with these arguments instead."""
        return {"id": self.id, "action": "edit", "arguments": {**arguments}, "text": ""}

    def refuse(self, reason: str = "") -> Decision:
        """Return the decision not to run it."""
        return {"id": self.id, "action": "refuse", "arguments": {}, "text": reason}

    def answer(self, text: str) -> Decision:
        """Return the decision to give the model this text as the tool's result, without running it."""
        return {"id": self.id, "action": "answer", "arguments": {}, "text": text}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the call of a JSON object. Raises TypeError for one with other fields."""
        return cls(**data)


def digest_of(tool: str, arguments: Mapping[str, object], fields: Mapping[str, object]) -> str:
    """Return what tells a call from others: of its session, ID, tool and arguments. Raises TypeError if not JSON."""
    about = [str(fields.get(name)) for name in ("session_id", "tool_use_id")]
    return sha256(json.dumps([*about, tool, arguments], sort_keys=True).encode()).hexdigest()[:32]


class PendingCalls:
    """The calls that wait, in a private directory, or in memory without one.

    Processes may share a directory: a decision is used once among them all. `expires_in` is in seconds. Iterate over it
    for the calls that still wait.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        expires_in: float = EXPIRES_IN,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = None if directory is None else Path(directory)
        self._kept: dict[str, str] = {}
        self._expires_in = expires_in
        self._clock = clock

    def __iter__(self) -> Iterator[Pending]:
        for name in self._names():
            pending = self._read(name)
            if pending is not None and self._clock() < pending.expires:
                yield pending

    def add(self, call: str, tool: str, arguments: dict[str, object], reason: str, notes: list[str]) -> Pending:
        """Keep a call, by its digest, once; return it. Forgets what has expired, and what was kept of this call before.

        Raises OSError, or TypeError if not JSON.
        """
        known = self.find(call)
        if known is not None and (known.arguments, known.reason, known.notes) == (arguments, reason, notes):
            return known
        for name in self._names():
            if (old := self._read(name)) is not None and (old.call == call or self._clock() >= old.expires):
                self._claim(name)
        until, number = self._clock() + self._expires_in, token_hex(16)
        pending = Pending(
            id=number, tool=tool, arguments=arguments, reason=reason, expires=until, call=call, notes=notes
        )
        name, text = f"{call}-{number}", json.dumps(pending.to_dict())
        if self._folder is None:
            self._kept[name] = text
        else:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = self._folder / f".{name}"
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
            unfinished.rename(self._folder / name)
        return pending

    def find(self, call: str) -> Pending | None:
        """Return the call with this digest, if it waits."""
        return next((each for each in self if each.call == call), None)

    def take(self, call: str, given: object) -> tuple[Pending, Decision]:
        """Use a decision for a call, once: return the stored call and the decision. Raises UndecidedError."""
        if not isinstance(given, Mapping) or {each: type(value) for each, value in given.items()} != FIELDS:
            raise UndecidedError(f"a decision has {', '.join(FIELDS)}")
        decision = cast("Decision", given)
        if decision["action"] not in ("approve", "edit", "refuse", "answer"):
            raise UndecidedError(f"{decision['action']!r} is no decision")
        name = f"{call}-{decision['id']}"
        pending = self._read(name) if name in self._names() else None
        if pending is None or not self._claim(name):
            raise UndecidedError("the decision is for another call or other arguments, or was used already")
        if self._clock() >= pending.expires:
            raise UndecidedError("the decision came too late")
        return pending, decision

    def _names(self) -> list[str]:
        return [*self._kept] if self._folder is None else [path.name for path in self._folder.glob("[!.]*")]

    def _read(self, name: str) -> Pending | None:
        """Return a stored call, None for one that was used or is not as it was stored."""
        try:
            text = self._kept[name] if self._folder is None else (self._folder / name).read_text(encoding="utf-8")
            pending = Pending.from_dict(json.loads(text))
        except (KeyError, OSError, TypeError, ValueError):
            return None
        return pending if name == f"{pending.call}-{pending.id}" else None

    def _claim(self, name: str) -> bool:
        """Remove a stored call; return whether nobody else has."""
        if self._folder is None:
            return self._kept.pop(name, None) is not None
        try:
            (self._folder / name).unlink()
        except FileNotFoundError:
            return False
        return True
