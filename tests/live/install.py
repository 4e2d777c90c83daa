"""Install the pinned agents from the npm registry under `.agents/`, each separately, and print the result of each.

python -m tests.live.install [NAME...]

Agents that are installed stay. The exit status is 1 if one of them is missing afterwards; the tests name it, too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tests.live.installed import DIRECTORY, NEEDS, PINS, Pin, path

INSTALL = 600.0  # seconds for npm; the largest is 440 MB
START = 60.0  # seconds for an agent to print its version; Copilot unpacks itself when it first runs

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
    """Return why npm could not, or None."""
    if shutil.which("npm") is None:
        return "cannot be installed: there is no npm here"
    shutil.rmtree(pin.directory, ignore_errors=True)
    pin.directory.mkdir(parents=True)
    (pin.directory / "package.json").write_text(
        json.dumps({"private": True, "dependencies": {pin.package: pin.version}})
    )
    try:
        done = subprocess.run(
            NPM,
            cwd=pin.directory,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=INSTALL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"cannot be installed: npm took more than {INSTALL:.0f} s"
    if done.returncode:
        return f"cannot be installed: npm: {_first_line(done.stderr)}"
    return None


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
