"""Test the tests: make one slip in each changed line of the package, and report which test catches it.

A slip is a small change that a tired programmer could make: `<` for `<=`, a table without one of its rows, a dropped
keyword. It is made in a copy of the checkout, and the tests nearest to its module run there until one fails: those of
the module, those of its folder, those that name it, those of folders that use it; with --all the others, too. If none
fails, the slip has survived: a test is missing, or the line is not needed.

  python scripts/mutate.py                  what the upstream branch lacks, else the last commit
  python scripts/mutate.py --since v1.2 --max 20 --jobs 2 --json slips.json
  python scripts/mutate.py --seed 3 --all hookrun/trust/store.py

exit status: 0 every slip is caught, 1 some survived, 2 wrong usage
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.slips import Slip, slips  # noqa: E402  # beside this program

PACKAGE = str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"])
PYTEST = ("-m", "pytest", "-x", "-q", "-rfE", "--no-header", "--tb=no", "--color=no", "-n0", "-p", "no:cacheprovider")
PASSED = (0, 5)
"""The exit statuses of pytest without a failure: 5 where there is no test."""
MOST_TESTS_LATE = 20
"""Times the limit of a test that a run may take, where pytest cannot end what hangs."""
FIRST_TIME = 1_000_000_000
"""The time of the first file written into a copy; each has another second, so that no compiled file hides a slip."""


class UsageError(Exception):
    """A mistake of the command line, or a checkout that cannot be tested."""


def git(*arguments: str) -> str:
    """Return the output of git. Raises UsageError."""
    done = subprocess.run(["git", "-c", "core.quotePath=off", *arguments], cwd=ROOT, capture_output=True, check=False)  # noqa: S607
    if done.returncode:
        raise UsageError(done.stderr.decode(errors="replace").strip().partition("\n")[0].removeprefix("fatal: "))
    return done.stdout.decode()


def since(ref: str | None) -> str:
    """Return the commit to compare with. By default it is the last one that the upstream branch has, too."""
    if ref is not None:
        try:
            return git("rev-parse", "--short", "--verify", "--end-of-options", f"{ref}^{{commit}}").strip()
        except UsageError:
            raise UsageError(f"unknown commit: {ref}") from None
    try:
        base = git("merge-base", "HEAD", "@{upstream}").strip()
    except UsageError:
        base = ""
    return since("HEAD~1" if base in ("", git("rev-parse", "HEAD").strip()) else base)


def changed_lines(base: str) -> dict[str, set[int]]:
    """Return each module's lines that differ from a commit's, also those that are not committed."""
    found: dict[str, set[int]] = {}
    path = ""
    for line in git("diff", "-U0", "--no-color", "--no-ext-diff", "--no-prefix", base, "--", PACKAGE).splitlines():
        if line.startswith("+++ "):
            path = line[4:].rstrip("\t")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            found.setdefault(path, set()).update(range(int(hunk[1]), int(hunk[1]) + int(hunk[2] or 1)))
    for path in git("ls-files", "--others", "--exclude-standard", "--", PACKAGE).splitlines():
        found[path] = set(range(1, (ROOT / path).read_bytes().count(b"\n") + 2))
    return {path: lines for path, lines in found.items() if path.endswith(".py")}


def chosen(lines: dict[str, set[int]], seed: int, most: int | None) -> list[Slip]:
    """Return a slip for each line that can have one, up to so many. The seed decides which."""
    rng = random.Random(seed)  # noqa: S311  # the same seed, the same slips
    found: dict[tuple[str, int], dict[str, list[Slip]]] = {}
    for path in sorted(lines):
        for slip in slips(path, (ROOT / path).read_bytes(), lines[path]):
            found.setdefault((path, slip.line), {}).setdefault(slip.kind, []).append(slip)
    places = sorted(rng.sample(sorted(found), len(found) if most is None else min(most, len(found))))
    return [rng.choice(found[place][rng.choice(sorted(found[place]))]) for place in places]


def stages(path: str, *, everything: bool) -> Iterator[list[str]]:
    """Yield the files of tests that may catch a slip in a module, the nearest first."""
    room, name = _room(path), Path(path.removesuffix("/__init__.py")).stem
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    of_room = [each for each in tests if each.is_relative_to(ROOT / "tests" / room)]
    nearest = [each for each in tests if each.stem.startswith(f"test_{name}") and (each in of_room or room == name)]
    naming = [each for each in tests if _names(each.read_text(), path)]
    rooms = {ROOT / "tests" / user for user in _users(path)}
    of_users = [each for each in tests if not rooms.isdisjoint(each.parents)]
    done: set[Path] = set()
    for stage in (nearest, of_room, naming, of_users, tests if everything else []):
        if new := [each.relative_to(ROOT).as_posix() for each in stage if each not in done]:
            yield new
        done.update(stage)


def _room(path: str) -> str:
    """Return the folder of a module's tests: its package below the top, or for a module there its own name."""
    return Path(*Path(path).parts[1:]).parts[0].removesuffix(".py")


def _names(text: str, path: str) -> bool:
    """Return whether a text imports or names a module."""
    *above, name = map(re.escape, Path(path.removesuffix("/__init__.py").removesuffix(".py")).parts)
    package = r"\.".join(above)
    return re.search(rf"\b{package}\.{name}\b|from {package} import (?:\([^)]*|.*)\b{name}\b", text) is not None


def _users(path: str) -> set[str]:
    """Return the rooms whose modules use a module, also through others of its own room."""
    texts = {each.relative_to(ROOT).as_posix(): each.read_text() for each in (ROOT / PACKAGE).rglob("*.py")}
    found, todo, rooms = {path}, [path], set()
    while todo:
        used = todo.pop()
        users = {each for each, text in texts.items() if each not in found and _names(text, used)}
        found |= users
        rooms |= {_room(each) for each in users}
        todo += [each for each in users if _room(each) == _room(path)]
    return rooms - {_room(path)}


class Copy:
    """A copy of the checkout, in which one slip at a time is made."""

    def __init__(self, place: Path) -> None:
        self.root, self.output = place / "copy", place / "output"
        self.time, self.ended = FIRST_TIME, False
        self.process: subprocess.Popen[bytes] | None = None
        ignored = git("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", PACKAGE).split("\0")
        built = [path for path in ignored if not path.endswith(".pyc")]  # programs, but no cached code
        for path in (*git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"), *built):
            if (ROOT / path).is_file():
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, self.root / path, follow_symlinks=False)

    def judge(self, slip: Slip, options: argparse.Namespace, known: dict[str, str | None]) -> tuple[str, str]:
        """Return "caught", "survived" or "timeout", and the test that caught it: one that passes without the slip."""
        source, limit = (self.root / slip.path).read_bytes(), options.timeout
        try:
            for stage in stages(slip.path, everything=options.all):
                tests = stage
                while (failed := self._failure(slip.path, slip.applied(source), tests, limit)) is not None:
                    alone = failed or " ".join(stage)
                    if alone not in known:
                        known[alone] = self._failure(slip.path, source, alone.split(), limit)
                    if known[alone] is None:
                        return "caught", failed or "pytest itself"
                    if not failed:
                        raise UsageError(f"pytest fails without a slip: {self.output.read_text().splitlines()[-1:]}")
                    tests = [f"--deselect={failed}", *(each for each in tests if each != failed)]
        except subprocess.TimeoutExpired:
            return "timeout", ""
        finally:
            self._write(slip.path, source)
        return "survived", ""

    def _write(self, path: str, source: bytes) -> None:
        (self.root / path).write_bytes(source)
        self.time += 1
        os.utime(self.root / path, (self.time, self.time))

    def _failure(self, path: str, source: bytes, tests: list[str], limit: int) -> str | None:
        """Return the first of these tests that fails, "" if the run fails without one, None if it does not fail."""
        if self.ended:
            raise subprocess.TimeoutExpired(PYTEST, 0)
        self._write(path, source)
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, *PYTEST, f"-otimeout={limit}", *tests],
                cwd=self.root,
                env={**os.environ, "PYTHONPATH": str(self.root)},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        try:
            status = self.process.wait(0 if self.ended else limit * MOST_TESTS_LATE)
        finally:
            self._end_process()
        failed = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+)", self.output.read_text(errors="replace"), re.MULTILINE)
        return None if status in PASSED else failed[1] if failed else ""

    def end(self) -> None:
        """End the tests that run, and start no others."""
        self.ended = True
        self._end_process()

    def _end_process(self) -> None:
        for number in (signal.SIGINT, signal.SIGKILL):  # first they may clean up
            if self.process is not None and self.process.poll() is None:
                os.killpg(self.process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(10)


def named_lines(base: str, files: list[str]) -> dict[str, set[int]]:
    """Return the changed lines of these modules, of all if none is named. Raises UsageError."""
    lines = changed_lines(base)
    named = {os.path.relpath(each, ROOT) for each in files}
    for each in sorted(named):
        if not each.startswith(f"{PACKAGE}/") or not (ROOT / each).is_file():
            raise UsageError(f"not a module of {PACKAGE}: {each}")
    return {path: lines[path] for path in lines.keys() & (named or lines.keys())}


def run(options: argparse.Namespace) -> int:
    """Judge the slips, print each, and return the exit status. Raises UsageError, OSError."""
    base = since(options.since)
    todo = chosen(named_lines(base, options.files), options.seed, options.max)
    results: list[dict[str, object]] = []
    if not todo:
        print(f"no line that can have a slip has changed since {base}")
    known: dict[str, str | None] = {}
    free: SimpleQueue[Copy] = SimpleQueue()

    def judged(slip: Slip) -> tuple[str, str]:
        copy = free.get()
        try:
            return copy.judge(slip, options, known)
        finally:
            free.put(copy)

    try:
        with tempfile.TemporaryDirectory(prefix="mutate-", ignore_cleanup_errors=True) as place:
            copies = [Copy(Path(place, str(number))) for number in range(min(options.jobs, len(todo)))]
            for copy in copies:
                free.put(copy)
            with ThreadPoolExecutor(options.jobs) as pool:
                try:
                    for slip, (result, test) in zip(todo, pool.map(judged, todo), strict=True):
                        change = f"{slip.before} -> {slip.after}{f'  by {test}' if test else ''}"
                        print(f"{result:8} {slip.path}:{slip.line}  {change}", flush=True)
                        results.append({"result": result, **slip._asdict(), "test": test})
                finally:
                    pool.shutdown(wait=False, cancel_futures=True)
                    for copy in copies:
                        copy.end()
    finally:  # also what an interrupted run has found
        counts = Counter(str(each["result"]) for each in results)
        if todo:
            summary = ", ".join(f"{counts[each]} {each}" for each in ("caught", "timeout", "survived"))
            print(f"{len(results)} of {len(todo)} slips since {base}, seed {options.seed}: {summary}")
        if options.json is not None:
            found = {"since": base, "seed": options.seed, "slips": results}
            options.json.write_text(json.dumps(found, indent=2) + "\n")
    return 1 if counts["survived"] else 0


def _count(text: str) -> int:
    if int(text) < 1:
        raise ValueError
    return int(text)


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="only lines of these modules")
    add("--since", metavar="REF", help="lines that have changed since this commit")
    add("--max", type=_count, metavar="N", help="at most N slips")
    add("--seed", type=int, default=0, metavar="S", help="choose other slips; default 0")
    add("--jobs", type=_count, default=1, metavar="N", help="test N slips at once, each in its own copy; default 1")
    add("--timeout", type=_count, default=120, metavar="SECONDS", help="for a test; then a slip is caught; default 120")
    add("--all", action="store_true", help="run all default tests before a slip counts as survived")
    add("--json", type=Path, metavar="FILE", help="write the results into a file")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the copies are removed
    try:
        return run(parser.parse_args(arguments))
    except (UsageError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
