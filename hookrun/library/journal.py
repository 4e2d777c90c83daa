"""The audit of a program that lives on: its file stays open, and the usual record is begun while its hook runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun import audit
from hookrun.library import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.model import Hook, HookResult


class Journal:
    """Where the records of an engine's fires go. `keep_context` is the setting `record_context`."""

    __slots__ = ("_log", "keep_context")

    def __init__(self, home: str, settings: Mapping[str, object]) -> None:
        said = settings.get("audit")
        self._log = None if said is False else audit.Log(home, said, stay_open=True)
        self.keep_context = settings.get("record_context") is True

    def write(self, records: list[dict[str, object]]) -> str | None:
        """Append the records in one write; return what is wrong if that fails. Raises ValueError for no JSON."""
        return self.append(b"".join([encode.context(record) + b"\n" for record in records]))

    def append(self, lines: bytes) -> str | None:
        """Append whole lines in one write; return what is wrong if that fails."""
        return None if self._log is None else self._log.append(lines)

    def close(self) -> None:
        """Keep the file open no longer; what still comes is written nevertheless."""
        if self._log is not None:
            self._log.close()

    def draft(self, hook: Hook, context: Mapping[str, object]) -> Draft | None:
        """Return the records of a fire in which this hook alone runs, before it has ended; None if nothing is kept.

        Raises OSError when the audit cannot be opened.
        """
        if self._log is None or self.keep_context:
            return None
        self._log.ready()
        return Draft(hook, context)


class Draft:
    """The two records of a fire of one declared hook, but for what only its end tells: as text, for that is cold code.

    What they say is what `audit.of_fire` says.
    """

    __slots__ = ("_about", "_hook")

    def __init__(self, hook: Hook, context: Mapping[str, object]) -> None:
        about = audit.base_record("", context)
        del about["v"], about["kind"], about["time"]
        self._about = encode.context(about)[1:-1]
        self._hook = encode.context(audit.hook_fields(hook))[1:-1]

    def lines(self, run: HookResult, ms: float) -> bytes | None:
        """Return the records, given a run without objection; None if there is more to say of it than fits here."""
        outcome, hook = run.outcome, run.hook
        if (
            hook.mode != "enforce"
            or hook.background
            or outcome.truncated
            or outcome.processes_left
            or outcome.exit_code != 0
        ):
            return None
        return (
            b'{"v":1,"kind":"hook","time":"%(time)b",%(about)b,%(hook)b,"ms":%(own).1f,"action":"continue","exit":0,'
            b'"bytes_in":%(in)d,"bytes_out":%(out)d,"bytes_err":%(err)d}\n'
            b'{"v":1,"kind":"fire","time":"%(time)b",%(about)b,"hooks":1,"action":"continue","ms":%(ms).1f}\n'
        ) % {
            b"time": audit.timestamp().encode(),
            b"about": self._about,
            b"hook": self._hook,
            b"own": outcome.ms,
            b"in": outcome.bytes_in,
            b"out": outcome.bytes_out,
            b"err": outcome.bytes_err,
            b"ms": ms,
        }
