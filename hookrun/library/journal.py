"""The audit of a program that lives on: its file stays open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun import audit
from hookrun.library import encoding

if TYPE_CHECKING:
    from collections.abc import Mapping


class Journal:
    """Where the records of an engine's fires go. `keep_context` is the setting `record_context`."""

    __slots__ = ("_log", "keep_context")

    def __init__(self, home: str, settings: Mapping[str, object]) -> None:
        said = settings.get("audit")
        self._log = None if said is False else audit.Log(home, said, stay_open=True)
        self.keep_context = settings.get("record_context") is True

    def write(self, records: list[dict[str, object]]) -> str | None:
        """Append the records in one write; return what is wrong if that fails. Raises ValueError for no JSON."""
        return self.append(b"".join([encoding.context(record) + b"\n" for record in records]))

    def append(self, lines: bytes) -> str | None:
        """Append whole lines in one write; return what is wrong if that fails."""
        return None if self._log is None else self._log.append(lines)

    def close(self) -> None:
        """Keep the file open no longer; what still comes is written nevertheless."""
        if self._log is not None:
            self._log.close()
