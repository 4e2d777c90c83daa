"""Store a hook's files at its approval, to name and show only the changes next time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from hookrun.core.files import read_regular
from hookrun.core.state import DATA_DIR
from hookrun.trust.digest import UnreadableFileError, sum_of
from hookrun.trust.hook_files import LocalFile

# Limit on the bytes of a stored and shown file; of a larger one, only the size is.
LARGEST_FILE = 64 << 10

# Limit on the bytes stored for a hook.
LARGEST = 512 << 10

# Name of the declaration among the texts.
DECLARATION = "config entry"

# How the text of a file begins that is not stored in full.
PARTS = ("[not kept", *(f"[{digit}" for digit in "0123456789"))

# Name -> text of the declaration and each file of the hook.
Texts = dict[str, str]


def text_of(file: LocalFile) -> str:
    """Return a file's text, or lines in brackets if it is binary, too large or unreadable.

    The lines contain its digest, so that a change of the same size shows.
    """
    try:
        data = read_regular(file.path, LARGEST_FILE)
        if len(data) <= LARGEST_FILE and b"\0" not in data:
            return data.decode("utf-8", "backslashreplace")
        digest = sum_of(file)
    except (OSError, UnreadableFileError) as error:
        return f"[cannot be read: {getattr(error, 'strerror', None) or error}]"
    kind = "{} bytes: too large to show" if len(data) > LARGEST_FILE else "binary, {} bytes"
    return f"[{kind.format(file.identity[2])}]\n[sha256 {digest}]"


def is_shown(text: str) -> bool:
    """Return whether a result of `text_of` is the file's text."""
    return text[:1] != "[" or ("]\n[sha256 " not in text and not text.startswith("[cannot be read: "))


def keep(home: str, digest: str, texts: Mapping[str, str]) -> None:
    """Store what was approved. Failure is ignored: the next review shows everything."""
    from hookrun.config.cache_writer import write  # rarely needed

    kept: Texts = {}
    room = LARGEST
    for name, text in texts.items():
        room -= len(text)
        kept[name] = text if room >= 0 else "[not kept: too much]"
    try:
        write(json.dumps(kept).encode(), _path(home, digest))
    except OSError:
        return


def read(home: str, digest: str) -> Texts | None:
    """Return what was approved under a digest, or None if not stored."""
    try:
        with open(_path(home, digest), encoding="ascii") as file:
            data = json.load(file)
    except (OSError, ValueError):
        return None
    return {str(name): str(text) for name, text in data.items()} if isinstance(data, dict) else None


def changed_files(before: Mapping[str, str], files: Iterable[LocalFile]) -> list[str]:
    """Return the labels of files that are new, gone or changed since they were stored under `before`.

    Files not stored in full are compared by size.
    """
    changed = []
    labels = set()
    for file in files:
        labels.add(file.label)
        known = before.get(file.label)
        if known is None:
            changed.append(file.label)
        elif known.startswith(PARTS):
            size = known[1:].partition(" ")[0]
            if size.isdecimal() and int(size) != file.identity[2]:
                changed.append(file.label)
        elif file.identity[2] > LARGEST_FILE or text_of(file) != known:
            changed.append(file.label)
    return [*changed, *(name for name in before if name not in labels and name != DECLARATION)]


def change_since_approval(home: str, digest: str, files: list[LocalFile]) -> str:
    """Return what changed since the approval of a digest, naming the files."""
    before = read(home, digest)
    changed = changed_files(before, files) if before is not None else ["it"]
    what = named(changed) or "its config entry"
    verb = "have" if len(changed) > 1 else "has"
    return f"{what} {verb} changed since it was approved"


def named_changes(before: list[LocalFile], now: list[LocalFile]) -> str:
    """Return the names of new, gone or changed files as part of a sentence, or ""."""
    first, second = ({file.label: file.data for file in files} for files in (before, now))
    return named([label for label in {**first, **second} if first.get(label) != second.get(label)])


MOST_NAMED = 3


def named(labels: list[str]) -> str:
    """Return the names of files as part of a sentence, or ""."""
    more = f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else ""
    return ", ".join(labels[:MOST_NAMED]) + more


def _path(home: str, digest: str) -> str:
    return f"{home}{DATA_DIR}/shown/{digest.rpartition(':')[2]}.json"
