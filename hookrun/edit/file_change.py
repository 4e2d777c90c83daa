"""Read, change and write the files of users and agents, each atomically."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from hookrun.config.document import MAX_BYTES, SourceError, decode
from hookrun.core import files
from hookrun.core.text import UserError, diff, escape

# UTF-8's byte-order mark, which some editors write.
BOM = b"\xef\xbb\xbf"


class FileError(UserError):
    """A file cannot be read, edited or written; the message says why, with a hint."""


@dataclass(frozen=True, slots=True)
class ExistingFile:
    """A file as it is now: its path with links resolved, and its bytes or None."""

    path: str
    data: bytes | None

    def text(self) -> str:
        """Return its text without a byte-order mark, empty if missing. Raises FileError."""
        try:
            return decode(self.path, self.data or b"")
        except SourceError as error:
            raise FileError(str(error)) from error

    def of(self, data: bytes | None) -> ExistingFile:
        """Return the same file with different bytes."""
        return ExistingFile(self.path, data)

    def encoded(self, text: str) -> bytes:
        """Return a text as bytes, with a byte-order mark if the file has one."""
        return (BOM if self.data is not None and self.data.startswith(BOM) else b"") + text.encode()


def existing(path: str, within: str | None = None) -> ExistingFile:
    """Return the file at `path`, links resolved.

    Raises FileError if it is no regular file, cannot be read, or lies outside `within`.
    """
    real = os.path.realpath(path)
    if within is not None and not files.is_within(real, os.path.realpath(within)):
        message = f"{path} is a symbolic link to a file outside the project: {real}"
        raise FileError(f"{message}\nhint: replace it with a file, or install with `--scope user`")
    shown = files.relative_path(real)
    try:
        data = files.read_regular(real, MAX_BYTES)
    except FileNotFoundError:
        return ExistingFile(real, None)
    except NotADirectoryError as error:
        raise FileError(f"{real}: a parent of this path is a file\nhint: move that file away") from error
    except (IsADirectoryError, files.NotRegularError) as error:
        raise FileError(f"{shown} is not a regular file\nhint: move it away") from error
    except OSError as error:
        raise FileError(f"cannot read {shown}: {error.strerror}\nhint: check its permissions") from error
    if len(data) > MAX_BYTES:
        raise FileError(f"{real} is larger than {MAX_BYTES >> 20} MiB")
    return ExistingFile(real, data)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file from `now` to `after`, its later bytes (None: no file). Nothing is written yet.

    `mode` is for a new file, less the umask. `directories` are removed with the file, if empty then. The content of a
    file that `is_generated` is not shown.
    """

    path: str
    now: ExistingFile
    after: bytes | None
    mode: int = 0o644
    directories: list[str] = field(default_factory=list)
    is_generated: bool = field(default=False, kw_only=True)

    @property
    def has_effect(self) -> bool:
        """Whether the file changes."""
        return self.after != self.now.data

    def diff(self) -> str:
        """Return the change as a unified diff that is safe to print."""
        before, after = ((data or b"").decode("utf-8", "replace") for data in (self.now.data, self.after))
        old = self.path if self.now.data is not None else "/dev/null"
        new = self.path if self.after is not None else "/dev/null"
        if self.is_generated:
            return escape(f"--- {old}\n+++ {new}\n  (generated)", keep_newlines=True)
        return "\n".join(escape(line.expandtabs(4)) for line in diff(before, after, old, new))


def apply(change: FileChange) -> None:
    """Write the file, or remove it with the directories then empty.

    Raises FileError, also if the file has changed since it was read, so that no other edit is lost.
    """
    if not change.has_effect:
        return
    if existing(change.path).data != change.now.data:
        raise FileError(f"{change.path} has just been changed by another program\nhint: nothing was written; try again")
    if change.after is None:
        remove_file(change.path, change.directories)
        return
    try:
        for directory in missing_directories(change.path):
            with suppress(FileExistsError):
                os.mkdir(directory)
                files.sync_directory(os.path.dirname(directory))
    except OSError as error:
        raise _unwritable(change.path, error) from error
    write_file(change.path, change.after, change.mode)


def apply_all(changes: Iterable[FileChange]) -> None:
    """Write every file, or none. Raises FileError."""
    begun: list[tuple[FileChange, list[str]]] = []
    try:
        for each in sorted(changes, key=lambda each: each.after is None):  # a removed file cannot always be put back
            begun.append((each, missing_directories(each.path)))
            apply(each)
    except BaseException as error:
        back = [(each, _revert(each, directories)) for each, directories in reversed(begun)]
        left = [each.path for each, is_back in back[1:] if not is_back]  # the first of these is whole or missing
        if left:
            raise FileError(f"{error}\nnote: could not restore {', '.join(left)}") from error
        raise


def _revert(each: FileChange, directories: list[str]) -> bool:
    """Restore a file unless it was changed since; return whether that worked."""
    try:
        now = existing(each.path)
        if each.now.data is None:
            if now.data in (None, each.after):
                remove_file(each.path, directories)
        elif now.data == each.after:
            apply(FileChange(each.path, now, each.now.data))
    except FileError:
        return False
    return True


def missing_directories(path: str) -> list[str]:
    """Return the missing directories above a file, the uppermost first."""
    missing: list[str] = []
    directory = os.path.dirname(path)
    while not os.path.isdir(directory):
        missing.insert(0, directory)
        directory = os.path.dirname(directory)
    return missing


def write_file(path: str, data: bytes, mode: int = 0o644) -> None:
    """Replace the file at `path` atomically, keeping its mode and owner; a new one gets `mode` less the umask.

    `path` is no symbolic link, and its directory exists. A killed process leaves the old or new file, and perhaps a
    temporary one that the next write removes. Raises FileError.
    """
    try:
        files.sweep(os.path.dirname(path))
        files.atomic_write(path, data, mode=mode, durable=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def remove_file(path: str, directories: list[str]) -> None:
    """Remove a file and the empty ones of the directories, given from the uppermost on. Raises FileError."""
    try:
        files.remove_if_there(path)
        for directory in reversed(directories):
            try:
                os.rmdir(directory)
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                    break
                raise
        files.sync_directory(os.path.dirname([*missing_directories(path), path][0]))
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: str, error: OSError) -> FileError:
    where = error.filename if isinstance(error.filename, str) else path
    message = f"{files.relative_path(where)}: cannot be written ({error.strerror})"
    return FileError(f"{message}\nhint: correct that, and run the command again")
