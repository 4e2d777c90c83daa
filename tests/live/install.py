"""Install the pinned agents from npm and PyPI under `.agents/`, each separately, and print the result of each.

python -m tests.live.install [NAME...]

Agents that are installed stay. The exit status is 1 if one of them is missing afterwards; the tests name it, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.live.installed import DIRECTORY, NEEDS, PINS, Pin, path

INSTALL = 600.0  # seconds for npm; the largest is 440 MB
START = 60.0  # seconds for an agent to print its version; Copilot unpacks itself when it first runs

# How a script in an environment starts with the Python beside it, wherever that is.
SCRIPT = """#!/bin/sh
'''exec' "${0%/*}/python3" "$0" "$@"
' '''
"""
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")
NPM = ("npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


def main(names: Sequence[str]) -> int:
    """Install these, or all. Returns the exit status."""
    unknown = [name for name in names if name not in PINS]
    if unknown:
        print(f"tests.live.install: no agent is called {unknown[0]!r}; there are {', '.join(PINS)}", file=sys.stderr)
        return 1
    failed = 0
    for pin in _wanted(names):
        pin.why_not.unlink(missing_ok=True)
        reason = None if pin.absent() is None else _install(pin)
        reason = reason or _try(pin)
        print(f"{pin.name} {pin.version}: {reason or 'ready'}", flush=True)
        if reason:
            pin.why_not.write_text(reason + "\n")
            failed = 1
    return failed


def _wanted(names: Sequence[str]) -> list[Pin]:
    """Return the packages to install, dependencies of the agents first."""
    agents = [name for name in PINS if PINS[name].is_agent and (not names or name in names)]
    needed = {"node", *(need for name in agents for need in NEEDS.get(name, ())), *(names or PINS)}
    return [PINS[name] for name in sorted(needed - set(agents))] + [PINS[name] for name in agents]


def _install(pin: Pin) -> str | None:
    """Return why npm or pip could not, or None."""
    if pin.python:
        return _install_from_pypi(pin)
    if shutil.which("npm") is None:
        return "cannot be installed: there is no npm here"
    shutil.rmtree(pin.directory, ignore_errors=True)
    pin.directory.mkdir(parents=True)
    (pin.directory / "package.json").write_text(
        json.dumps({"private": True, "dependencies": {pin.package: pin.version}})
    )
    return _run("npm", NPM, pin.directory)


def _run(name: str, command: Sequence[str | Path], directory: Path) -> str | None:
    """Run an installer. Return why it failed, or None."""
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=INSTALL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"cannot be installed: {name} took more than {INSTALL:.0f} s"
    return f"cannot be installed: {name}: {_first_line(done.stderr)}" if done.returncode else None


def _install_from_pypi(pin: Pin) -> str | None:
    """Make an environment of a Python that is new enough, with the package; return why not, or None."""
    found = next(filter(lambda each: _is_at_least(each, pin.python), _pythons()), None)
    if found is None:
        return f"cannot be installed: it needs Python {pin.python} or newer, and there is none here"
    shutil.rmtree(pin.directory, ignore_errors=True)
    pin.directory.parent.mkdir(parents=True, exist_ok=True)
    reason = _run("venv", [found, "-m", "venv", pin.directory], DIRECTORY)
    package = f"{pin.package}=={pin.version}"
    reason = reason or _run("pip", [pin.directory / "bin" / "python3", *PIP, package], pin.directory)
    for script in pin.directory.glob(f"bin/{pin.name}*"):  # they name the environment by its path, which CI changes
        _, _, rest = script.read_text().partition("\n")
        script.write_text(f"{SCRIPT}{rest}")
    return reason


def _pythons() -> list[str]:
    """Return the interpreters here, the newest first: on PATH, and pyenv's, which its PATH may hide."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    names = [f"python3.{minor}" for minor in range(20, 10, -1)]
    found = [[shutil.which(name), *map(str, root.glob(f"*/bin/{name}"))] for name in names]
    return [each for group in found for each in group if each]


def _is_at_least(python: str, version: str) -> bool:
    wanted = tuple(map(int, version.split(".")))
    test = f"import sys; sys.exit(sys.version_info[:2] < {wanted})"
    return subprocess.run([python, "-c", test], capture_output=True, check=False).returncode == 0


def _try(pin: Pin) -> str | None:
    """Return why the program does not run or has another version, or None. It unpacks its files on first use."""
    if not pin.program.exists():
        return None if not pin.is_agent else f"cannot be run: {pin.package} brought no program called {pin.name}"
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "TMPDIR": home, "PATH": path(), "XDG_CACHE_HOME": str(DIRECTORY / "cache")}
        try:
            done = subprocess.run(
                [pin.program, "--version"],
                cwd=home,
                env=environment,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=START,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"cannot be run: {error}"
    if pin.version not in done.stdout:
        return f"cannot be run: --version says {_first_line(done.stdout + done.stderr)!r} (exit {done.returncode})"
    return None


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "nothing")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
