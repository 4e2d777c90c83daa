"""Texts that are too long for an agent, kept in files."""

from __future__ import annotations

import os
from pathlib import Path

from hookrun.claude.answer import PREVIEW, shorten
from hookrun.core.session import MAX_OVERFLOW_TEXTS, save_overflow_text


def test_the_oldest_files_go(tmp_path: Path) -> None:
    """There are never more than a number of them."""
    paths = []
    for number in range(MAX_OVERFLOW_TEXTS + 3):
        path = save_overflow_text(str(tmp_path), str(number))
        assert path is not None
        os.utime(path, (number, number))
        paths.append(Path(path))
    assert [path.exists() for path in paths] == [False] * 3 + [True] * MAX_OVERFLOW_TEXTS
    assert paths[-1].parent.stat().st_mode & 0o777 == 0o700


def test_where_no_file_can_be_made_the_beginning_is_given_and_it_is_said(tmp_path: Path) -> None:
    """The rest is lost, and nothing fails."""
    (tmp_path / ".local").write_text("in the way")
    assert save_overflow_text(str(tmp_path), "x") is None
    shortened = shorten("x" * 20_000, lambda text: save_overflow_text(str(tmp_path), text), whole=True)
    assert "could not be kept" in shortened
    assert shortened.endswith("\n" + "x" * PREVIEW)
