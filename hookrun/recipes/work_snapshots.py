"""Keep uncommitted work in refs of its own, `refs/hookrun/ID`, and bring it back: for `snapshot-before` and `undo`.

A snapshot is a commit on HEAD with the changed and the untracked files as they are on disk, written by
`git fast-import`: no index, work tree, hook or filter takes part.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import time

from hookrun.core.files import atomic_link, atomic_write, upwards
from hookrun.process.git_query import ENVIRONMENT, QUIET, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

REFS = "refs/hookrun/"
# Limits of a snapshot: bytes of a file and of all, files, and seconds to write it. What is beyond is left out.
MAX_FILE, MAX_BYTES, MAX_FILES, MAX_SECONDS = 16 << 20, 128 << 20, 10_000, 10
# Snapshots of a repository that stay, and for how many seconds.
MAX_KEPT, MAX_AGE = 30, 30 * 86_400
LINK, EXECUTABLE, REGULAR = "120000", "100755", "100644"


class SnapshotError(Exception):
    """A snapshot cannot be made or brought back; the message says why."""


class Snapshot:
    """A snapshot: its id, its commit, when it was made (Unix time), before which call, and the work tree's root.

    `files` counts what is kept, `left_out` names what is not, `unchanged` what is as in its parent.
    """

    def __init__(self, name: str, commit: str, content: str, about: Mapping[str, Any]) -> None:
        self.id = name
        self.commit = commit
        self.time = int(about["time"])
        self.before = str(about["before"])
        self.root = str(about["root"])
        self.files = int(about["files"])
        self.left_out, self.unchanged = ([*map(str, about[name])] for name in ("left_out", "unchanged"))
        # One with the same key has the same: `content` is git's name for it and for its parent.
        self.key = (self.root, content, *self.left_out, "", *self.unchanged)


def root_of(directory: str) -> str:
    """Return the root of the work tree around a directory. Raises SnapshotError."""
    found = run(directory, "rev-parse", "--show-toplevel")
    if not found:
        raise SnapshotError(f"{directory} is in no work tree of git")
    return found.removesuffix("\n")


def take(directory: str, before: str, also: tuple[str, ...] = ()) -> Snapshot | None:
    """Keep the work in the repository around a directory; return the snapshot, None if there is nothing to keep.

    `before` names the call. `also` are further files, ignored ones. One with the same content is not made twice.
    Raises SnapshotError.
    """
    root = root_of(directory)
    names, staged = _changed(root)
    head = (run(root, "rev-parse", "--verify", "-q", "HEAD^{commit}") or "").strip()
    files = _Stream()
    left_out = [f"{name} as it is staged" for name in staged]
    left_out += [name for name in dict.fromkeys((*names, *also)) if not files.add(root, name)]
    if not files.count and not left_out:
        return None
    moment = time.time()
    now = int(moment)
    about: dict[str, object] = {"time": now, "before": before, "root": root, "files": files.count, "left_out": left_out}
    about["unchanged"] = [each for each in also if each not in names]
    name = f"{int(moment * 65536):x}{os.urandom(1).hex()}"  # names are in the order of time
    message = f"Work before {before}\n\n{json.dumps(about)}\n".encode("utf-8", "replace")
    begin = f"commit {REFS}{name}\ncommitter hookrun <hookrun> {now} +0000\ndata {len(message)}\n".encode()
    parent = f"from {head}\n".encode() if head else b""
    _import(root, b"".join((begin, message, parent, *files.pieces, b"\ndone\n")))
    made = snapshots(root)
    latest = next((each for each in made if each.id == name), None)
    if latest is None:
        raise SnapshotError("git has not kept it")
    others = [each for each in made if each is not latest]
    spare = [each for at, each in enumerate(others) if at >= MAX_KEPT - 1 or each.time < now - MAX_AGE]
    same = next((each for each in others if each not in spare and each.key == latest.key), None)
    for each in {*spare, *([latest] if same is not None else [])}:
        run(root, "update-ref", "-d", REFS + each.id, each.commit)
    return same or latest


def _changed(root: str) -> tuple[list[str], list[str]]:
    """Return the files that differ from HEAD, and those whose staged content is neither there nor on disk."""
    listed = run(root, "status", "--porcelain", "--no-renames", "-z", "--untracked-files=all")
    if listed is None:
        raise SnapshotError("git cannot list what has changed")
    entries = [each for each in listed.split("\0") if each]
    staged = [each[3:] for each in entries if each[0] in "MAT" and each[1] in "MDT"]
    return [each[3:] for each in entries], staged


class _Stream:
    """The part of a stream for `git fast-import` that says which files change."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.count = 0
        self._bytes = 0

    def add(self, root: str, name: str) -> bool:
        """Add a file as it is on disk; return whether there is room for it."""
        quoted = b'"' + os.fsencode(name).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
        found = _on_disk(os.path.join(root, name), min(MAX_FILE, MAX_BYTES - self._bytes))
        if found is None:
            self.pieces.append(b"D " + quoted + b"\n")
            return True
        mode, data = found
        if data is None or self.count >= MAX_FILES:
            return False
        self.pieces += (f"M {mode} inline ".encode(), quoted, f"\ndata {len(data)}\n".encode(), data, b"\n")
        self.count += 1
        self._bytes += len(data)
        return True


def _on_disk(path: str, limit: int) -> tuple[str, bytes | None] | None:
    """Return a file's mode and content, None without one; the content is None if it cannot be kept."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return LINK, os.fsencode(os.readlink(path))
        mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return mode, None
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            data = file.read(limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return REGULAR, None
    return mode, data if len(data) <= limit else None


def _git(root: str, *arguments: str, given: bytes) -> bytes:
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"} | ENVIRONMENT
    try:
        done = subprocess.run(
            ("git", "-C", root, *QUIET, *arguments),  # noqa: S607  # the user's own git, as everywhere
            input=given, capture_output=True, env=environment, timeout=MAX_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SnapshotError(f"git failed: {error}") from None
    if done.returncode != 0:
        reasons = os.fsdecode(done.stderr).strip().splitlines()
        raise SnapshotError(f"git failed: {reasons[0] if reasons else f'status {done.returncode}'}")
    return done.stdout


def _import(root: str, stream: bytes) -> None:
    own = (run(root, "rev-parse", "--git-common-dir") or ".git").removesuffix("\n")
    places = [os.path.join(root, own), os.path.join(root, own, "objects", "pack")]
    before = {each for place in places for each in _leftovers(place)}
    try:
        _git(root, "fast-import", "--quiet", "--done", "--date-format=raw", given=stream)
    except SnapshotError:
        for each in {each for place in places for each in _leftovers(place)} - before:  # of a full disk
            os.unlink(each)
        raise


def _leftovers(directory: str) -> list[str]:
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return [os.path.join(directory, name) for name in names if name.startswith(("fast_import_crash_", "tmp_pack_"))]


def snapshots(root: str) -> list[Snapshot]:
    """Return the snapshots of a repository, all its work trees', latest first."""
    form = "%(refname:lstrip=2)%00%(objectname)%00%(tree) %(parent)%00%(contents:body)%00"
    fields = (run(root, "for-each-ref", f"--format={form}", "--sort=-refname", REFS) or "").split("\0")
    found = []
    for name, commit, content, body in zip(*(fields[at::4] for at in range(4)), strict=False):
        try:
            found.append(Snapshot(name.strip(), commit, content, json.loads(body)))
        except (ValueError, KeyError, TypeError):  # no snapshot of ours
            continue
    return found


class Change:
    """A file to write: its `path` from the root, whether it `is_missing` now, and why it cannot be written, or ""."""

    def __init__(self, path: str, mode: str, blob: str, *, is_missing: bool, problem: str = "") -> None:
        self.path = path
        self.mode = mode
        self.blob = blob
        self.is_missing = is_missing
        self.problem = problem


def changes(snapshot: Snapshot, root: str, under: tuple[str, ...] = ()) -> list[Change]:
    """Return what bringing back would change, under paths from the root if given. Raises SnapshotError.

    That is what the snapshot keeps, and files of its commit that are now missing, or that an undo has changed.
    """
    words = ("--root", "--no-commit-id", "-r", "-z", "--no-renames", "--diff-filter=d")
    kept = run(root, "diff-tree", *words, snapshot.commit)
    missing = run(root, "diff-index", "-z", "--name-only", "--no-renames", "--diff-filter=D", "HEAD") or ""
    gone = {*missing.split("\0"), *snapshot.unchanged} - {""}
    listed = run(root, "ls-tree", "-r", "-z", snapshot.commit) if gone else ""
    if kept is None or listed is None:
        raise SnapshotError("git cannot read the snapshot")
    found: dict[str, tuple[str, str]] = {}
    for entry in listed.split("\0"):
        about, _, path = entry.partition("\t")
        if path in gone and "blob" in about:
            found[path] = (about.split()[0], about.split()[2])
    pieces = kept.split("\0")
    for about, path in zip(pieces[::2], pieces[1::2], strict=False):
        found[path] = (about.split()[1], about.split()[3])
    wanted = [path for path in found if not under or any(path == each or path.startswith(f"{each}/") for each in under)]
    return [each for path in sorted(wanted) if (each := _change(root, path, *found[path])) is not None]


def _change(root: str, path: str, mode: str, blob: str) -> Change | None:
    full = os.path.join(root, path)
    parent = os.path.dirname(full)
    expected = os.path.normpath(os.path.join(os.path.realpath(root), os.path.dirname(path)))
    # Links lead elsewhere; no tree that we write has the others.
    outside = os.path.realpath(parent) != expected or not {"..", "", ".git"}.isdisjoint(path.lower().split("/"))
    now = None if outside else _on_disk(full, MAX_FILE)
    if now is None:
        blocked = outside or not os.path.isdir(next(filter(os.path.lexists, upwards(parent, os.sep))))
        return Change(path, mode, blob, is_missing=True, problem="a file or a link is in the way" if blocked else "")
    if now[1] is None:
        return Change(path, mode, blob, is_missing=False, problem="what is there now cannot be kept")
    if (now[0], _blob(now[1], blob)) == (mode, blob):
        return None
    return Change(path, mode, blob, is_missing=False)


def _blob(data: bytes, like: str) -> str:
    """Return the name that git gives to a content, in the same form as another one."""
    kind = hashlib.sha1 if len(like) == hashlib.sha1().digest_size * 2 else hashlib.sha256  # noqa: S324  # git's
    return kind(b"blob %d\0" % len(data) + data).hexdigest()


def bring_back(root: str, snapshot: Snapshot, wanted: list[Change]) -> Snapshot | None:
    """Write the files of a snapshot, and return the one of what was there, None if nothing was. Raises SnapshotError.

    Nothing is written unless that is kept. Index, HEAD and other files stay as they are.
    """
    over = tuple(each.path for each in wanted if not each.is_missing)
    earlier = take(root, f"hookrun undo {snapshot.id}", over)
    lost = {*over}.intersection(earlier.left_out if earlier is not None else ())
    if lost:
        raise SnapshotError(f"{min(lost)} is too large to keep as it is now; move it away")
    names = "".join(f"{each.blob}\n" for each in wanted).encode()
    output = _git(root, "cat-file", "--batch", given=names)
    contents = []
    for each in wanted:
        head, _, output = output.partition(b"\n")
        if not head.startswith(f"{each.blob} blob ".encode()):
            raise SnapshotError(f"the content of {each.path} is not in the repository")
        size = int(head.rpartition(b" ")[2])
        contents.append(output[:size])
        output = output[size + 1 :]
    for each, data in zip(wanted, contents, strict=True):
        _write(os.path.join(root, each.path), each.mode, data)
    return earlier


def _write(path: str, mode: str, data: bytes) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if mode == LINK:
            atomic_link(path, os.fsdecode(data))
            return
        if os.path.islink(path):
            os.unlink(path)
        atomic_write(path, data, mode=0o755 if mode == EXECUTABLE else 0o644)
        is_executable = bool(os.stat(path).st_mode & stat.S_IXUSR)
        if is_executable != (mode == EXECUTABLE):
            os.chmod(path, os.stat(path).st_mode ^ 0o111)
    except OSError as error:
        raise SnapshotError(f"cannot write {path}: {error.strerror or error}") from None
