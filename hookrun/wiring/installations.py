"""Find agents on this machine, and a hookrun that may be deleted at any time.

Such a hookrun is in uv's or pipx's cache, or in a temporary directory.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from hookrun.core.files import is_within, read_or_none, upwards
from hookrun.wiring.wired_command import HookrunProgram

# Limit in seconds on a program that prints what it is asked for.
TIMEOUT = 10.0

# How a cache's CACHEDIR.TAG begins (https://bford.info/cachedir), as in uv's and pipx's.
CACHE_TAG = b"Signature: 8a477f597d28d172789f06886806bc55"


def ephemeral_directory(program: HookrunProgram, home: str) -> str | None:
    """Return the cache or temporary directory with a hookrun or its interpreter, None if it lasts.

    `home` is that of the settings that name it.
    """
    named = (program.python, program.main)
    files = {*named, *map(os.path.realpath, named)}  # also a link into a cache: `uv pip install --link-mode symlink`
    for directory in _directories(home):
        if any(is_within(file, each) for each in (directory, os.path.realpath(directory)) for file in files):
            return directory
    # uv and virtualenv tag every environment, against backups; a cache (`uvx --cache-dir`) is tagged above it.
    above = upwards(os.path.dirname(os.path.dirname(os.path.dirname(program.python))), "/")
    return next((each for each in above if read_or_none(f"{each}/CACHEDIR.TAG", len(CACHE_TAG)) == CACHE_TAG), None)


def _directories(home: str) -> Iterator[str]:
    """Return directories that are cleaned, those that a program must print last."""
    yield from _temporary_directories(home)
    variables = os.environ
    account = os.path.expanduser("~")
    caches = variables.get("XDG_CACHE_HOME") or f"{account}/.cache"
    pipx = variables.get("PIPX_HOME")
    for each in (
        variables.get("UV_CACHE_DIR"),
        f"{caches}/uv",
        *((f"{pipx}/.cache", f"{pipx}/.trash") if pipx else ()),
        f"{caches}/pipx",
        f"{account}/.local/share/pipx/trash",
        f"{account}/.local/pipx/.cache",
        f"{account}/.local/pipx/trash",
        f"{account}/Library/Caches/pipx",
        f"{account}/Library/Application Support/pipx/trash",
    ):
        if each:
            yield os.path.abspath(each)
    yield from _printed_by(variables.get("UV", "uv"), "cache", "dir")
    for name in ("PIPX_VENV_CACHEDIR", "PIPX_TRASH_DIR"):
        yield from _printed_by("pipx", "environment", "--value", name)


def _temporary_directories(home: str) -> list[str]:
    """Return TMPDIR and the system's temporary directories.

    One of the system's that holds both the home and TMPDIR is left out: that is a sandbox, removed as a whole.
    """
    own = os.environ.get("TMPDIR")
    found = [os.path.abspath(own)] if own else []
    for each in ("/tmp", "/var/tmp"):  # noqa: S108
        system = os.path.realpath(each)
        if not (own and all(is_within(os.path.realpath(inner), system) for inner in (own, home))):
            found.append(each)
    return found


def _printed_by(program: str, *arguments: str) -> Iterator[str]:
    """Return the absolute path that a program prints; none if it is missing or prints something else."""
    path = shutil.which(program)
    printed = _output(os.path.abspath(path), *arguments) if path is not None else ""
    if os.path.isabs(printed):
        yield printed


@cache  # pipx takes half a second, and `hookrun doctor` asks for each agent
def _output(*command: str) -> str:
    done = run_for_output(command, "/")
    return os.fsdecode(done.stdout).strip() if done is not None and done.returncode == 0 else ""


def run_for_output(command: Sequence[str], cwd: str) -> subprocess.CompletedProcess[bytes] | None:
    """Return the finished command, or None if it cannot start or exceeds TIMEOUT."""
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False, cwd=cwd
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def lasting_installation() -> str:
    """Return the commands, either of which installs this hookrun permanently."""
    source = shlex.quote(_source())
    return f"`uv tool install {source}` (or `pipx install {source}`)"


def _source() -> str:
    """Return this hookrun's source for pip: a file, an address, or its name on PyPI."""
    try:
        data = json.loads(distribution("hookrun").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return "hookrun"
    url, version_control = data.get("url"), data.get("vcs_info")
    if not isinstance(url, str):
        return "hookrun"
    if isinstance(version_control, dict):
        return f"{version_control.get('vcs')}+{url}@{version_control.get('commit_id')}"
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else url


# --- agents

VERSION = r"\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.-]+)?"
# Limit on the directories from an agent's program up to its package.json.
MAX_PARENTS = 8


class InstalledAgent(NamedTuple):
    """An agent's program on this machine, and its version, or None."""

    program: str
    version: str | None


def find_installed(program: str) -> InstalledAgent | None:
    """Return the agent whose program has this name on PATH, or None.

    Its version is that of its npm package; only without one, the program is run to print it.
    """
    path = shutil.which(program)
    return None if path is None else InstalledAgent(path, _package_version(path) or _printed_version(path))


def _package_version(path: str) -> str | None:
    """Return the version in the package.json around a program's real file."""
    for directory in Path(os.path.realpath(path)).parents[:MAX_PARENTS]:
        try:
            package = json.loads((directory / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(package, dict) and isinstance(package.get("bin"), (dict, str)):
            version = package.get("version")
            return version if isinstance(version, str) and re.fullmatch(VERSION, version) else None
    return None


def _printed_version(path: str) -> str | None:
    done = run_for_output((path, "--version"), os.path.dirname(path))
    match = re.search(VERSION, done.stdout.decode("utf-8", "replace")) if done is not None else None
    return match.group() if match is not None else None
