"""Find the copy of a config that is included from a git repository; `hookrun update` has fetched it before."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hookrun.state import data_dir
from hookrun.text import quote

COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""A whole commit id, of SHA-1 or SHA-256: whoever writes to the repository cannot change what it names."""


@dataclass(frozen=True, slots=True)
class GitInclude:
    """A file at a revision of a git repository. The revision is a commit, or `digest` pins its files."""

    git: str
    rev: str
    digest: str
    path: str

    @classmethod
    def from_dict(cls, values: Mapping[str, object], file: str) -> GitInclude:
        """Return the include that a validated object in a file describes; what is missing is empty."""
        git, rev, digest = (str(values.get(name, "")) for name in ("git", "rev", "digest"))
        if git and not os.path.isabs(git) and ":" not in git.partition("/")[0]:  # a path, not `host:path` or a URL
            git = os.path.normpath(os.path.join(os.path.dirname(file), git))
        return cls(git, rev, digest, str(values.get("path", "coder.json")))

    def __str__(self) -> str:
        """Return the repository and the revision."""
        return f"{self.git} at {self.rev}"

    def problem(self, home: str, *, fetching: bool = False) -> tuple[str, str] | None:
        """Return what keeps an account from using the include, and a hint; None for nothing.

        With `fetching`, its files need not be there yet.
        """
        if not self.git or not self.rev:
            return "an included repository needs `git` and `rev`", 'write {"git": URL, "rev": COMMIT}'
        if not COMMIT.fullmatch(self.rev) and not self.digest:
            hint = "write the whole id (`git rev-parse HEAD`), or add `digest`"
            return "`rev` must be a whole commit id, unless `digest` pins the files", hint
        if os.path.isabs(self.path) or ".." in self.path.split("/"):
            return f"`path` leads out of the repository: {quote(self.path)}", "write it relative to the repository"
        return None if fetching else self._missing(self.directory(home))

    def _missing(self, directory: str) -> tuple[str, str] | None:
        if not os.path.isdir(directory):
            return f"{self} is not fetched yet", "run `hookrun update`"
        if not os.path.isfile(f"{directory}/{self.path}"):
            return f"no file {quote(self.path)} in {self}", "correct `path`"
        try:
            changed = bool(self.digest) and tree_digest(directory) != self.digest
        except OSError as error:
            return f"cannot read {error.filename}: {error.strerror}", f"remove {directory}, then run `hookrun update`"
        return (f"the copy of {self} was changed", "run `hookrun update`") if changed else None

    def directory(self, home: str) -> str:
        """Return where the files of this revision are kept for an account."""
        name = hashlib.sha256(f"{self.git}\0{self.rev}\0{self.digest}".encode()).hexdigest()[:32]
        return f"{data_dir(home)}/includes/{name}"

    def file(self, home: str) -> str:
        """Return the path of the account's copy of the config file."""
        return f"{self.directory(home)}/{self.path}"


def tree_digest(directory: str) -> str:
    """Return the digest of all files below a directory: their paths, whether they are executable, and their bytes.

    Raises OSError.
    """
    whole = hashlib.sha256()
    for path in sorted(_files(directory)):
        with open(os.path.join(directory, path), "rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
            mode = "x" if os.fstat(file.fileno()).st_mode & 0o100 else "-"
        whole.update(f"{content} {mode} {path}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}"


def _files(directory: str) -> Iterator[str]:
    for base, directories, files in os.walk(directory):
        linked = [name for name in directories if os.path.islink(os.path.join(base, name))]
        for name in (*files, *linked):
            yield os.path.relpath(os.path.join(base, name), directory)
