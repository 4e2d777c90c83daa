"""Private directories are created with all missing parents, or an error gives the reason."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from hookrun.core import state

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_missing_above_is_made_too(tmp_path: Path) -> None:
    """Each for its owner alone; existing ones are unchanged."""
    state.make_private_dir(str(tmp_path / "one" / "two" / "three"))
    state.make_private_dir(str(tmp_path / "one" / "two"))
    for name in ("one", "one/two", "one/two/three"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700


def test_where_nothing_can_be_made_the_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in /proc, where a name is not found although the directory above it is there: it is tried once."""

    def refuse(path: str, _mode: int = 0) -> None:
        raise FileExistsError(path) if path == "/" else FileNotFoundError(path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(FileNotFoundError, match="/nowhere"):
        state.make_private_dir("/nowhere/deep")


def test_a_file_in_the_way_is_said(tmp_path: Path) -> None:
    """It is no directory, and is left alone."""
    (tmp_path / "one").write_text("mine")
    with pytest.raises(FileExistsError):
        state.make_private_dir(str(tmp_path / "one"))
    with pytest.raises(NotADirectoryError):
        state.make_private_dir(str(tmp_path / "one" / "two"))
