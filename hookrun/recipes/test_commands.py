"""Detect a project's tests by its files, and the commands that run them."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BYTES = 1 << 20
"""Bytes of a file that are read."""
NO_TESTS = 'echo "Error: no test specified" && exit 1'
"""The script `test` that `npm init` writes."""
VIRTUAL = (".venv/bin", "venv/bin")
"""Where a project keeps its own Python."""
MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
"""Lock file -> package manager; without one of these it is npm."""
PYTEST_SECTIONS = {"tox.ini": "pytest", "setup.cfg": "tool:pytest"}
TEST_TARGET = re.compile(r"^test[ \t]*:(?!=)", re.MULTILINE)
NO_TESTS_COLLECTED = 5
"""Exit status of pytest for a project without tests."""


@dataclass(frozen=True)
class Suite:
    """A project's tests: the command that runs them, and the exit statuses that mean success."""

    name: str
    argv: tuple[str, ...]
    green: tuple[int, ...] = (0,)

    @property
    def program(self) -> str | None:
        """The path of the program, None if it is not installed."""
        return shutil.which(self.argv[0])


def given(command: str) -> Suite:
    """Return the suite that a shell line runs."""
    return Suite(command, ("/bin/sh", "-c", command))


def found(root: str) -> list[Suite]:
    """Return the suites of a project: only that of its Makefile if it has one, else one per language."""
    made = _make(root)
    if made is not None:
        return [made]
    return [suite for detect in DETECTORS if (suite := detect(root)) is not None]


def _make(root: str) -> Suite | None:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if TEST_TARGET.search(_text(root, name)):
            return Suite("make test", ("make", "test"))
    return None


def _cargo(root: str) -> Suite | None:
    return Suite("cargo test", ("cargo", "test", "--quiet")) if _there(root, "Cargo.toml") else None


def _go(root: str) -> Suite | None:
    return Suite("go test", ("go", "test", "./...")) if _there(root, "go.mod") else None


def _npm(root: str) -> Suite | None:
    try:
        package = json.loads(_text(root, "package.json") or "{}")
        test = package["scripts"]["test"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(test, str) or test.strip() in ("", NO_TESTS):
        return None
    manager = next((manager for lock, manager in MANAGERS.items() if _there(root, lock)), "npm")
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
    return any(_collected(os.path.join(root, each)) for each in ("", "tests", "test"))


def _collected(directory: str) -> bool:
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    return any(name.endswith(".py") and name.startswith("test_") for name in names)


DETECTORS: tuple[Callable[[str], Suite | None], ...] = (_cargo, _go, _npm, _pytest)
LOOKED_FOR = "a Makefile with a target `test`, Cargo.toml, go.mod, package.json with a script `test`, pytest's files"
"""What `found` looks for, for messages."""


def _there(root: str, name: str) -> bool:
    return os.path.isfile(os.path.join(root, name))


def _text(root: str, name: str) -> str:
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            return file.read(MAX_BYTES)
    except OSError:
        return ""
