"""Virtual environments for what is measured: the checkout as a user would install it, and each peer on its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
INSTALL_TIMEOUT = 900.0  # seconds
_MARK = "complete"


class InstallError(Exception):
    """Pip could not install a requirement; the message is pip's reason."""


@dataclass(frozen=True)
class Environment:
    """One virtual environment."""

    home: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.home / "bin" / "python"

    def program(self, name: str) -> Path:
        """Return the path of an installed program."""
        return self.home / "bin" / name

    def version(self, package: str) -> str:
        """Return the version of an installed package."""
        code = f"import importlib.metadata as m; print(m.version({package!r}))"
        return _run([self.python, "-c", code]).strip()


def default_cache() -> Path:
    """Return where environments are kept from one run to the next."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hookrun-benchmarks"


def install_checkout(cache: Path, checkout: Path = CHECKOUT) -> Environment:
    """Install a checkout, by default the one this file stands in, not editable, into a new environment.

    Raises:
        InstallError: pip could not.

    """
    name = "hookrun" if checkout == CHECKOUT else "hookrun-other"
    return _create(_place(cache, name), [str(checkout.resolve())])


def install(cache: Path, name: str, requirements: list[str]) -> Environment:
    """Return the environment that has `requirements`, made now if no earlier run has made it.

    Raises:
        InstallError: pip could not.

    """
    home = _place(cache, name)
    mark = home / _MARK
    wanted = "\n".join(requirements)
    if mark.exists() and mark.read_text() == wanted:
        return Environment(home)
    made = _create(home, requirements)
    mark.write_text(wanted)
    return made


def _place(cache: Path, name: str) -> Path:
    return cache / f"{name}-{sys.implementation.cache_tag}"


def _create(home: Path, requirements: list[str]) -> Environment:
    print(f"installing {' '.join(requirements)} ...", file=sys.stderr, flush=True)
    shutil.rmtree(home, ignore_errors=True)
    venv.create(home, with_pip=True, symlinks=True)
    made = Environment(home)
    _run([made.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements])
    return made


def _run(argv: list[str | Path]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=INSTALL_TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        message = f"not done after {INSTALL_TIMEOUT:.0f} s"
        raise InstallError(message) from error
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise InstallError("; ".join(errors) or done.stderr.strip()[-500:])
    return done.stdout
