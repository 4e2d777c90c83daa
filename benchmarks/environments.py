"""Virtual environments for what is measured: the checkout as a user would install it, and each peer on its own."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
INSTALL_TIMEOUT = 900.0  # seconds
PIP = ("-m", "pip", "--disable-pip-version-check")
PLATFORM = f"{'macos' if sys.platform == 'darwin' else 'linux'}-{platform.machine()}"
"""As `scripts/build_client.py` names it."""
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


def install_checkout(cache: Path, other: Path | None = None) -> Environment:
    """Install the checkout this file stands in, or another one beside it, not editable, into a new environment.

    As from a package index: the wheel of this platform, with its static client. Where Zig's compiler cannot be
    installed `cc` compiles the client, if there is one.

    Raises:
        InstallError: pip could not.

    """
    made = _create(_place(cache, "hookrun" if other is None else "hookrun-other"))
    checkout = other or CHECKOUT
    with tempfile.TemporaryDirectory() as directory:
        wheel = [made.python, *PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", directory, checkout.resolve()]
        try:
            _run(wheel, HOOKRUN_WHEEL=PLATFORM)
        except InstallError as error:
            note = f"note: the client is not that of the {PLATFORM} wheel, so warm runs cost more: {error}"
            print(note, file=sys.stderr, flush=True)
            _run(wheel)
        _install(made, [str(each) for each in Path(directory).glob("*.whl")])
    return made


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
    made = _create(home)
    _install(made, requirements)
    mark.write_text(wanted)
    return made


def _place(cache: Path, name: str) -> Path:
    return cache / f"{name}-{sys.implementation.cache_tag}"


def _create(home: Path) -> Environment:
    shutil.rmtree(home, ignore_errors=True)
    venv.create(home, with_pip=True, symlinks=True)
    return Environment(home)


def _install(made: Environment, requirements: list[str]) -> None:
    print(f"installing {' '.join(requirements)} ...", file=sys.stderr, flush=True)
    _run([made.python, *PIP, "install", "--quiet", *requirements])


def _run(argv: list[str | Path], **variables: str) -> str:
    environment = {**os.environ, **variables}
    try:
        done = subprocess.run(
            argv, env=environment, capture_output=True, text=True, timeout=INSTALL_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired as error:
        message = f"not done after {INSTALL_TIMEOUT:.0f} s"
        raise InstallError(message) from error
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise InstallError("; ".join(errors) or done.stderr.strip()[-500:])
    return done.stdout
