"""Folders that take long to make, kept in the user's cache by the hash of what they are made from.

python .ci/caches.py agents
python .ci/caches.py wheels PYTHON
python .ci/caches.py check FOLDER

Print the folder of the real agents, or of the wheels that the tests need with a Python. It is made where it is missing,
or is not as it was left. Exit with 75 if it cannot be made here; the agents that could be installed are in the folder
then. `check` exits with 1 if a complete folder has changed since it was made.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPLETE = ".complete"
WRITABLE = ("cache",)
"""Folders of a cache that programs in it write into: Copilot keeps its files there."""
KEPT = 2  # folders of a kind: the other branch's agents are 2 GB, too
CANNOT = 75


class CannotMakeError(Exception):
    """The folder cannot be made here. What is there of it is in `folder`."""

    def __init__(self, reason: str, folder: Path) -> None:
        super().__init__(reason)
        self.folder = folder


def base() -> Path:
    """Return the folder of the caches: root's is the system's, as other accounts run agents of it too."""
    own = Path("/var/cache") if os.geteuid() == 0 else Path.home() / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or own) / "hookrun-ci"


def cached(kind: str, made_from: bytes, make: Callable[[Path], None], *, resumes: bool = False) -> Path:
    """Return the folder of a kind that is made from this. `make` fills it, and raises OSError if it cannot.

    A folder gets its name when it is complete. `resumes` lets the next attempt begin with what the last one left.
    """
    parent = base()
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / f"{kind}-{hashlib.sha256(made_from).hexdigest()[:16]}"
    making = folder.with_name(f"{folder.name}.making")
    with _locked(parent / f"{kind}.lock"):
        if is_complete(folder):
            os.utime(folder)
            return folder
        _remove(folder)
        if not resumes:
            _remove(making)
        making.mkdir(exist_ok=True)
        try:
            make(making)
        except OSError as error:
            raise CannotMakeError(str(error), making) from error
        (making / COMPLETE).write_text(digest(making))
        making.rename(folder)
        _set_writable(folder, writable=False)
        others = sorted((p for p in parent.glob(f"{kind}-*") if p.is_dir()), key=lambda path: path.stat().st_mtime)
        for old in others[:-KEPT]:
            _remove(old)
    return folder


def is_complete(folder: Path) -> bool:
    """Return whether a folder is as it was when it was made."""
    try:
        return (folder / COMPLETE).read_text() == digest(folder)
    except OSError:
        return False


def digest(folder: Path) -> str:
    """Return a digest of the names, sizes and times of a folder's files. Their contents are 2 GB."""
    found = hashlib.sha256()
    for entry in _entries(folder):
        status = entry.stat(follow_symlinks=False)
        name = os.path.relpath(entry.path, folder)
        target = os.readlink(entry.path) if entry.is_symlink() else ""
        found.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\0{target}\0".encode(errors="surrogateescape"))
    return found.hexdigest()


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the files of a folder that do not change, in order."""
    pending = [str(folder)]
    while pending:
        directory = pending.pop()
        with os.scandir(directory) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        for entry in inside:
            if directory == str(folder) and entry.name in (*WRITABLE, COMPLETE):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            else:
                yield entry


def _set_writable(folder: Path, *, writable: bool) -> None:
    for directory, _, _ in os.walk(folder):
        path = Path(directory)
        if not {*WRITABLE} & {*path.relative_to(folder).parts[:1]}:
            path.chmod(0o755 if writable else 0o555)


def _remove(folder: Path) -> None:
    if folder.exists():
        _set_writable(folder, writable=True)
        shutil.rmtree(folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one run at a time look at the folders of a kind, and make one."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def agents() -> Path:
    """Return the folder of the pinned agents."""
    live = ROOT / "tests" / "live"
    made_from = [(live / name).read_bytes() for name in ("agents.json", "install.py")]
    return cached("agents", b"\0".join(made_from), _install_agents, resumes=True)


def _install_agents(folder: Path) -> None:
    (folder / WRITABLE[0]).mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.live.install"]
    environment = {**os.environ, "HOOKRUN_AGENTS": str(folder)}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, file=sys.stderr)
    missing = [line for line in done.stdout.splitlines() if not line.endswith(": ready")]
    if done.returncode:
        raise OSError("; ".join(missing) or f"tests.live.install exited with {done.returncode}")


def wheels(python: str) -> Path:
    """Return the folder of the wheels that hookrun's tests need with a Python."""
    version = subprocess.run([python, "-VV"], capture_output=True, check=True).stdout
    return cached(
        "wheels",
        b"\0".join(((ROOT / "pyproject.toml").read_bytes(), version, os.uname().machine.encode())),
        lambda folder: _make_wheels(python, folder),
    )


def _make_wheels(python: str, folder: Path) -> None:
    command = [python, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(folder), ".[dev]", "hatchling", "editables"]
    environment = {**os.environ, "HOOKRUN_WHEEL": "pure"}  # the client is compiled by the README's command
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, file=sys.stderr)
    if done.returncode:
        raise OSError(f"pip wheel: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'failed'}")
    for own in folder.glob("hookrun-*.whl"):
        own.unlink()


def main(arguments: list[str]) -> int:
    """Print a folder, or check one. Returns the exit status."""
    if arguments[:1] == ["check"]:
        changed = (Path(arguments[1]) / COMPLETE).exists() and not is_complete(Path(arguments[1]))
        print(f"{arguments[1]}: changed since it was made" if changed else "unchanged")
        return int(changed)
    try:
        print(agents() if arguments == ["agents"] else wheels(*arguments[1:]))
    except CannotMakeError as error:
        print(error.folder)
        print(error, file=sys.stderr)
        return CANNOT
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
