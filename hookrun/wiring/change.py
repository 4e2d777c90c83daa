"""One file as a command changes it: worked out without a touch, shown as a diff, then written."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import unified_diff
from typing import TYPE_CHECKING

from hookrun.config.problem import printable
from hookrun.wiring import files
from hookrun.wiring.files import WiringError, existing
from hookrun.wiring.ledger import Entry, Ledger, digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.wiring.files import Existing
    from hookrun.wiring.targets import Line, Target

UNKNOWN = "{}"
"""What is taken to have stood in a file of which the ledger knows nothing: something, so that a file stays."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file from `now` to `after`, its bytes then (None: no file).

    For the ledger of what is wired `agent` and `scope` are whose part of the file it is about. `original` is what
    uninstall is to give back one day, None for no file; `directories` are those that then go too.
    """

    path: str
    now: Existing
    after: bytes | None
    agent: str = ""
    scope: str = ""
    mode: int = 0o644
    original: bytes | None = None
    directories: list[str] = field(default_factory=list)

    @property
    def is_one(self) -> bool:
        """Whether the file changes at all."""
        return self.after != self.now.data

    def diff(self) -> str:
        """Return what changes, as a unified diff that is safe to print."""
        before, after = _lines(self.now.data), _lines(self.after)
        old = self.path if self.now.data is not None else "/dev/null"
        new = self.path if self.after is not None else "/dev/null"
        return "\n".join(printable(line.rstrip("\r\n").expandtabs(4)) for line in unified_diff(before, after, old, new))


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)


def putting_in(
    target: Target, lines: Mapping[str, Line], ledger: Ledger, *, agent: str, scope: str, within: str | None
) -> Change:
    """Return what puts hookrun into a file. `within` is the project that a project's file may not lead out of.

    Raises WiringError where the file is not what the agent reads; nothing is written in any case.
    """
    now = existing(target.path, within)
    after = now.encoded(target.put_in(now, lines))
    known, entry = ledger.entries.get(now.path), ledger.unchanged(now.path, now.data)
    directories = known.directories if known is not None else files.missing_directories(now.path)
    if entry is not None:
        original = ledger.original(entry)
    else:
        original = _without(target, now, ledger) if now.data is not None and target.wired(now) else now.data
    return Change(now.path, now, after, agent, scope, target.mode, original, directories)


def _without(target: Target, now: Existing, ledger: Ledger) -> bytes | None:
    """Return a file that others have changed since install without hookrun; None if nothing is left of it."""
    known = ledger.entries.get(now.path)
    if known is None:
        before: str | None = UNKNOWN
    else:
        original = ledger.original(known)
        before = None if original is None else original.decode("utf-8-sig", "replace")
    text = target.take_out(now, before)
    return None if text is None else now.encoded(text)


def taking_out(target: Target, ledger: Ledger, *, agent: str, scope: str, within: str | None) -> Change:
    """Return what takes hookrun out of a file.

    That is the bytes before install, if nobody has changed the file since and they say what is left of it: a file that
    another project has something in says more. Raises WiringError.
    """
    now = existing(target.path, within)
    known, entry = ledger.entries.get(now.path), ledger.unchanged(now.path, now.data)
    after = None if now.data is None else _without(target, now, ledger)
    if entry is not None:
        original = ledger.original(entry)
        if original is not None and after is not None and target.says(now.of(original)) == target.says(now.of(after)):
            after = original
    return Change(now.path, now, after, agent, scope, directories=known.directories if known is not None else [])


def write(change: Change) -> None:
    """Write the file, or remove it with the directories that are empty then.

    Raises WiringError, also where somebody has changed the file since it was read: what they wrote is not lost.
    """
    if not change.is_one:
        return
    if existing(change.path).data != change.now.data:
        raise WiringError(f"{change.path}: somebody has changed it just now; nothing was written; run it again")
    if change.after is None:
        files.remove(change.path, change.directories)
        return
    files.make_directories(files.missing_directories(change.path))
    files.write(change.path, change.after, change.mode)


def note(change: Change, ledger: Ledger) -> None:
    """Keep what was there, before install writes the file. Raises WiringError.

    A process that is killed in between leaves a note that no file matches: that says no more than that nothing was
    written.
    """
    original = None if change.original is None else digest(change.original)
    known = ledger.entries.get(change.path)
    scopes = list(dict.fromkeys([*(known.scopes if known is not None else ()), change.scope]))
    entry = Entry(change.agent, scopes, digest(change.after or b""), original, change.directories)
    if known != entry:
        ledger.keep(change.path, entry, change.original)


def settle(change: Change, ledger: Ledger) -> None:
    """Bring the ledger up to date after uninstall has written a file. Raises WiringError.

    Of a file that others have something in, what was there before all of them is kept until the last has gone.
    """
    known = ledger.entries.get(change.path)
    if known is None or change.scope not in known.scopes:
        return
    known.scopes.remove(change.scope)
    if change.after is None or not known.scopes:
        ledger.forget(change.path)
        return
    original = ledger.original(known)
    known.written = digest(change.after)
    ledger.keep(change.path, known, original)
