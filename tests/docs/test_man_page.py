"""The manual page matches the commands, can be read by man, and is installed where man looks."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import tomllib

import pytest

from hookrun.cli.commands import COMMANDS
from tests.conftest import ROOT

pytestmark = pytest.mark.lint

PAGE = ROOT / "man" / "hookrun.1"


def test_the_page_is_what_the_commands_say() -> None:
    """`python scripts/make_man_page.py` writes it anew."""
    assert runpy.run_path(str(ROOT / "scripts" / "make_man_page.py"))["page"]() == PAGE.read_text()


def test_every_command_is_in_it() -> None:
    """Each under its own heading."""
    text = PAGE.read_text()
    assert all(f"\n.SS hookrun {name}\n" in text for name in COMMANDS)


def test_it_is_installed_with_the_package() -> None:
    """In the wheel it lies where pip puts what belongs into share/man/man1."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["shared-data"] == {"man/hookrun.1": "share/man/man1/hookrun.1"}


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_man_has_nothing_to_complain_of() -> None:
    """groff, which man formats with, finds no unknown request, and the text is all there."""
    done = subprocess.run(["groff", "-man", "-Tascii", "-ww", str(PAGE)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "hookrun explain" in done.stdout
