"""Keep what install wrote to each file and the bytes it found, which uninstall restores."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256

from hookrun.core import files, state
from hookrun.edit import file_change
from hookrun.edit.file_change import FileError

# The manifest version that this hookrun writes, and the newest it reads.
VERSION = 1


@dataclass(slots=True)
class LedgerEntry:
    """A file that install wrote, with the digests of what it wrote and found (None: no file).

    `scopes` are those with a part in it: "user", or "project" and its root. `directories` are those that install
    created, the uppermost first.
    """

    agent: str
    scopes: list[str]
    written: str
    original: str | None
    directories: list[str] = field(default_factory=list)


def digest(data: bytes) -> str:
    """Return the hexadecimal SHA-256."""
    return sha256(data).hexdigest()


class Ledger:
    """An account's entries, each under its file's real path. Changes are written at once."""

    def __init__(self, home: str) -> None:
        """Read them. Raises FileError if they are invalid."""
        self.directory = home + state.STATE_DIR + "/backups"
        self.path = self.directory + "/manifest.json"
        self.entries: dict[str, LedgerEntry] = {}
        self.from_here: list[str] = []
        """The hookrun programs installed with `--from-here`, though they may be cleaned away."""
        self.disconnected: list[str] = []
        """The agents from which hookrun was removed."""
        self._read()

    def _read(self) -> None:
        data = file_change.existing(self.path).data
        if data is None:
            return
        try:
            manifest = json.loads(data)
            version = manifest["version"]
            if version <= VERSION:
                self.entries = {path: LedgerEntry(**entry) for path, entry in manifest["files"].items()}
                lists = ([str(each) for each in manifest.get(name, [])] for name in ("from_here", "disconnected"))
                self.from_here, self.disconnected = lists
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileError(
                f"{self.path} is damaged\nhint: move it away; hookrun can then be removed from the settings, but the "
                "files are not restored byte for byte"
            ) from error
        if version > VERSION:
            raise FileError(
                f"{self.path} has version {version}, but this hookrun reads up to {VERSION}\nhint: use a newer one"
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep the account's other processes out and reread what they wrote. Raises FileError."""
        with ExitStack() as stack:
            try:
                state.make_private_dir(self.directory)
                stack.enter_context(files.Locked(self.directory + "/lock"))
            except OSError as error:
                raise FileError(f"{error.filename}: cannot write the backups: {error.strerror}") from error
            self._read()
            yield

    def unchanged(self, path: str, data: bytes | None) -> LedgerEntry | None:
        """Return the entry of a file whose bytes install wrote, else None."""
        entry = self.entries.get(path)
        return entry if entry is not None and data is not None and entry.written == digest(data) else None

    def original(self, entry: LedgerEntry) -> bytes | None:
        """Return the bytes from before install, None for no file. Raises FileError if they are lost."""
        if entry.original is None:
            return None
        path = f"{self.directory}/{entry.original}"
        data = file_change.existing(path).data
        if data is None or digest(data) != entry.original:
            raise FileError(f"{path}: the backup is missing or damaged\nhint: move {self.path} away")
        return data

    def keep(self, path: str, entry: LedgerEntry, original: bytes | None) -> None:
        """Record the coming write to `path`, and keep a copy of the present file. Raises FileError."""
        # As bytes: removing hookrun's entries does not undo adding them, as several texts give the same result.
        if original is not None and not os.path.exists(f"{self.directory}/{digest(original)}"):
            file_change.write_file(f"{self.directory}/{digest(original)}", original, 0o600)
        self.entries[path] = entry
        self.disconnected = [name for name in self.disconnected if name != entry.agent]
        self._write()

    def keep_from_here(self, program: str) -> None:
        """Record that the user installed a program that may be cleaned away. Raises FileError."""
        if program not in self.from_here:
            self.from_here.append(program)
            self._write()

    def forget(self, path: str) -> None:
        """Drop a file's entry and its copy of the original. Raises FileError."""
        if (entry := self.entries.pop(path, None)) is not None:
            self.disconnected = sorted({*self.disconnected, entry.agent})
            self.from_here = self.from_here if self.entries else []
            self._write()

    def _write(self) -> None:
        manifest: dict[str, object] = {
            "version": VERSION,
            "files": {path: asdict(entry) for path, entry in self.entries.items()},
        }
        listed = {"from_here": self.from_here, "disconnected": self.disconnected}
        manifest |= {name: each for name, each in listed.items() if each}
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"  # disconnect.txt reads no escapes
        file_change.write_file(self.path, text.encode("utf-8", "surrogatepass"), 0o600)
        named = {entry.original for entry in self.entries.values()} | {"manifest.json", "lock"}
        for name in os.listdir(self.directory):
            if name not in named:
                file_change.remove_file(f"{self.directory}/{name}", [])
