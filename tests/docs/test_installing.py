"""The two commands that the README installs hookrun with work in a clone, with pipx and uv from PyPI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.isolation import Account

README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^(?:pipx|uv tool) install .*$", README, re.MULTILINE)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install pipx and uv into an environment of their own, and return its programs' directory."""
    place = tmp_path_factory.mktemp("tools")
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    install = [str(place / "bin" / "pip"), "install", "--quiet", "pipx", "uv"]
    if subprocess.run(install, check=False, capture_output=True, env=Account.environment).returncode:
        pytest.skip("pipx and uv cannot be installed here: the README's commands to install hookrun were NOT run")
    return place / "bin"


@pytest.mark.lint
def test_pipx_and_uv_are_shown_first() -> None:
    """Before any other way to install hookrun."""
    assert COMMANDS == ["pipx install .", "uv tool install ."]
    assert README.index("uv tool install .") < README.index("pip install --quiet .")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("command", COMMANDS)
def test_hookrun_is_installed(tools: Path, tmp_path: Path, command: str) -> None:
    """Into a new home; the command then runs."""
    of_account = Account.environment  # where packages are found, and whose certificates count
    env = {name: value for name, value in of_account.items() if not name.startswith(("PIPX_", "UV_TOOL", "XDG_"))}
    env |= {"HOME": str(tmp_path), "PATH": f"{tools}:{os.environ['PATH']}"}
    env.setdefault("PIP_CONFIG_FILE", str(Account.home / ".config" / "pip" / "pip.conf"))
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    program = tmp_path / ".local" / "bin" / "hookrun"
    version = subprocess.run([str(program), "--version"], env=env, capture_output=True, text=True, check=True).stdout
    assert version.startswith("hookrun")
