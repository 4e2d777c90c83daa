"""The recipe `run-tests-at-stop`: keeps an agent working until the tests pass."""

from __future__ import annotations

import asyncio
import configparser
import json
import os
import re
import shutil
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from glob import glob
from hashlib import blake2b

from hookrun.core.files import read_or_none
from hookrun.process import git_query
from hookrun.process.program import ProgramError, run_program
from hookrun.recipes import paths, recipe_state
from hookrun.recipes.output_excerpt import last_lines
from hookrun.recipes.package_manager import LOCKS
from hookrun.recipes.recipe import Option, Recipe, count, number, option

# Bytes read of the tests' output.
MAX_OUTPUT = 1 << 18
# A project with more files counts as changed.
MAX_FILES = 100_000
# Directories skipped without git, like hidden ones.
SKIPPED = frozenset({"node_modules", "venv", "__pycache__", "target", "build", "dist"})
# Directories created by tests, which git may not ignore.
CACHES = ("__pycache__/", ".pytest_cache/", ".ruff_cache/", ".mypy_cache/")

# Bytes read of a file to detect tests.
MAX_BYTES = 1 << 20
# The script `test` that `npm init` writes.
NO_TESTS = 'echo "Error: no test specified" && exit 1'
# Where a project keeps its own Python.
VIRTUAL = (".venv/bin", "venv/bin")
PYTEST_SECTIONS = {"tox.ini": "pytest", "setup.cfg": "tool:pytest"}
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
TEST_TARGET = re.compile(r"^test[ \t]*:(?!=)", re.MULTILINE)
# Exit status of pytest for a project without tests.
NO_TESTS_COLLECTED = 5
# What `suites` looks for, for messages.
LOOKED_FOR = "a Makefile with a target `test`, Cargo.toml, go.mod, package.json with a script `test`, pytest's files"

Files = dict[str, tuple[int, int]]
NAME = "run-tests-at-stop"

RECIPE = Recipe(
    NAME,
    "Run the project's tests when the agent ends its turn, and keep it working while they fail.",
    options=(
        Option("command", "", "Shell command that runs the tests, in the project root. Empty: detected."),
        Option("attempts", "3", "How often in a row to block the end of a turn; hookrun allows at most 8.", count),
        Option("lines", "40", "Maximum number of lines of failing output for the model (the last ones).", count),
        Option("seconds", "300", "Time limit for the tests; keep it below the hook's `timeout`.", number),
    ),
    catches=f"""
        - Blocks the end of a turn while tests fail; the model gets the end of their output.
        - Detects {LOOKED_FOR}. A Makefile target runs alone, the others all run.
        - Kills tests that take too long, and notifies you.
        - Notifies you once per session if there are no tests or a program is not installed.
    """,
    misses="""
        - Changes to files that git ignores: tests run only after another file changed since the session started or
          since the last passing run.
        - In your user config it also runs the tests of untrusted projects once a file changed: add it to projects that
          you trust.
        - Tests that rewrite files which git does not ignore run again at each stop.
        - After `attempts` blocks the agent may stop with failing tests: you are notified.
        - Agents that give hooks less time than the tests need: set `command` to a faster subset.
        - Agents that cannot be kept working end their turn anyway.
    """,
)


@dataclass(frozen=True)
class Suite:
    """A project's tests: their command, and the exit statuses of success."""

    name: str
    argv: tuple[str, ...]
    green: tuple[int, ...] = (0,)


MAKE = Suite("make test", ("make", "test"))
CARGO = Suite("cargo test", ("cargo", "test", "--quiet"))
GO = Suite("go test", ("go", "test", "./..."))


# A broken test runner must not keep the agent working forever.
@RECIPE.hook("stop", "Run the tests before a turn ends", timeout=330, exclusive=True, on_failure="continue")
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a stop with failing tests, None if they pass."""
    root = paths.project_root(context)
    before = project_files(root)
    if before is not None and _is_unchanged(context, root, files_digest(before)):
        return None
    command = option(RECIPE, "command").strip()
    chosen = [Suite(command, ("/bin/sh", "-c", command))] if command else suites(root)
    if not chosen:
        looked = f"no tests found in {root} (looked for {LOOKED_FOR}): set the option `command`"
        return recipe_state.once(context, f"{NAME} none", f"{NAME}: {looked}")
    installed = [each for each in chosen if shutil.which(each.argv[0]) is not None]
    missing = [f"{each.name} ({each.argv[0]} was not found)" for each in chosen if each not in installed]
    answer = _run(installed, root)
    if answer is not None:
        return _again(context, root, answer)
    if missing:
        return recipe_state.once(context, f"{NAME} missing", f"{NAME}: tests did not run: {', '.join(missing)}")
    _store_green(root, before)
    with _session(context, root) as remembered:
        remembered["blocks"] = 0
    return None


# If it fails, the tests run once more than necessary.
@RECIPE.hook(
    "session_start",
    "Record the state of the project's files when a session starts",
    name=f"{NAME}-baseline",
    timeout=20,
    on_failure="continue",
)
def begin(context: Mapping[str, object]) -> None:
    """Store the files' state, unless stored for this session, which may be resumed."""
    root = paths.project_root(context)
    with _session(context, root) as remembered:
        if "baseline" not in remembered and (files := project_files(root)) is not None:
            remembered["baseline"] = files_digest(files)


def _is_unchanged(context: Mapping[str, object], root: str, digest: str) -> bool:
    """Return whether nothing has changed since the session's start or the last green run."""
    with _session(context, root) as remembered:
        if remembered.get("baseline") == digest:
            return True
    with recipe_state.LockedState(NAME, "green", root) as remembered:
        return remembered.get("digest") == digest


def _store_green(root: str, before: Files | None) -> None:
    """Store that the tests are green with these files. New files created by tests do not count as changes."""
    after = project_files(root)
    if before is None or after is None:
        return
    same = all(after.get(name) == status for name, status in before.items())
    with recipe_state.LockedState(NAME, "green", root) as remembered:
        remembered["digest"] = files_digest(after if same else before)


def _run(chosen: list[Suite], root: str) -> str | None:
    """Run the suites in order; return the message for the model about the first failing one."""
    seconds = number(RECIPE, "seconds")
    end = time.monotonic() + seconds
    for suite in chosen:
        left = max(end - time.monotonic(), 0.0)
        try:
            running = run_program(
                suite.argv, timeout=left, cwd=root, max_output=MAX_OUTPUT, keep="last", env={"CI": "1"}
            )
            result = asyncio.run(running)
        except ProgramError as error:
            raise SystemExit(f"{NAME}: cannot start {suite.argv[0]}: {error}") from None
        if result.exit_code is None:
            raise SystemExit(f"{NAME}: {suite.name} timed out after {seconds:g} s")
        if result.exit_code not in suite.green:
            output = last_lines(result.output, count(RECIPE, "lines"))
            return f"{suite.name} failed (exit status {result.exit_code}). Fix the problems before you stop:\n{output}"
    return None


def _again(context: Mapping[str, object], root: str, message: str) -> dict[str, object]:
    """Return the block, or a message for the user after the last attempt."""
    attempts = count(RECIPE, "attempts")
    with _session(context, root) as remembered:
        blocks = remembered.get("blocks")
        blocked = blocks if isinstance(blocks, int) and context.get("stop_hook_active") is not False else 0
        remembered["blocks"] = blocked + 1 if blocked < attempts else 0
    if blocked < attempts:
        return {"action": "block", "message": message}
    first = message.partition(":\n")[0]
    text = f"{NAME}: {first.partition('.')[0]}; the turn ends after {blocked} blocks"
    return {"action": "continue", "system_message": text}


def _session(context: Mapping[str, object], root: str) -> recipe_state.LockedState:
    """Return the stored state of this session in this project."""
    return recipe_state.LockedState(NAME, "session", recipe_state.session_id(context), root)


def project_files(root: str) -> Files | None:
    """Return name -> size and time (ns) of a project's files, None if there are too many."""
    result: Files = {}
    for name in _names(root):
        if name.startswith(CACHES) or any("/" + each in name for each in CACHES):
            continue
        if len(result) >= MAX_FILES:
            return None
        try:
            status = os.lstat(os.path.join(root, name))
        except OSError:
            continue
        result[name] = (status.st_size, status.st_mtime_ns)
    return result


def files_digest(state: Files) -> str:
    """Return a digest of the files' state."""
    whole = blake2b(digest_size=16)
    for name in sorted(state):
        whole.update(f"{name}\0{state[name]}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _names(root: str) -> Iterator[str]:
    """Yield a project's files: those not ignored by git, or without git, not in SKIPPED."""
    listed = git_query.run(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        yield from dict.fromkeys(name for name in listed.split("\0") if name)
        return
    for directory, directories, names in os.walk(root):
        directories[:] = [each for each in directories if each not in SKIPPED and not each.startswith(".")]
        for name in names:
            yield os.path.relpath(os.path.join(directory, name), root)


def suites(root: str) -> list[Suite]:
    """Return a project's suites: only its Makefile's, if any, else one per language."""
    if any(TEST_TARGET.search(_text(root, name)) for name in MAKEFILES):
        return [MAKE]
    found = [_there(root, "Cargo.toml") and CARGO, _there(root, "go.mod") and GO, _npm(root), _pytest(root)]
    return [suite for suite in found if suite]


def _npm(root: str) -> Suite | None:
    try:
        package = json.loads(_text(root, "package.json") or "{}")
        test = package["scripts"]["test"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(test, str) or test.strip() in ("", NO_TESTS):
        return None
    manager = next((each for lock, each in LOCKS.items() if each != "no" and _there(root, lock)), "npm")
    return Suite(f"{manager} run test", (manager, "run", "test"))


def _pytest(root: str) -> Suite | None:
    if not _has_pytest(root):
        return None
    own = next((path for each in VIRTUAL if os.access(path := os.path.join(root, each, "pytest"), os.X_OK)), "pytest")
    return Suite("pytest", (own, "-q"), (0, NO_TESTS_COLLECTED))


def _has_pytest(root: str) -> bool:
    """Return whether pytest is configured, or would collect files."""
    if _there(root, "pytest.ini") or _there(root, "conftest.py"):
        return True
    try:
        if "pytest" in tomllib.loads(_text(root, "pyproject.toml")).get("tool", {}):
            return True
    except (tomllib.TOMLDecodeError, TypeError):
        pass
    for name, section in PYTEST_SECTIONS.items():
        parser = configparser.RawConfigParser()
        try:
            parser.read_string(_text(root, name))
        except configparser.Error:
            continue
        if parser.has_section(section):
            return True
    return any(glob("test_*.py", root_dir=os.path.join(root, each)) for each in ("", "tests", "test"))


def _there(root: str, name: str) -> bool:
    return os.path.isfile(os.path.join(root, name))


def _text(root: str, name: str) -> str:
    return (read_or_none(os.path.join(root, name), MAX_BYTES) or b"").decode("utf-8", "replace")
