"""CI's folders of agents and wheels: made once, whole or not at all, and made anew when they have changed."""

from __future__ import annotations

import os
from pathlib import Path

import caches
import pytest
from caches import CannotMakeError, cached


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "hookrun-ci"


class Maker:
    """Makes a folder with a file, unless it cannot, and counts."""

    def __init__(self) -> None:
        self.made = 0
        self.cannot = ""
        self.found: list[str] = []

    def __call__(self, folder: Path) -> None:
        """Make it."""
        self.made += 1
        self.found = [path.name for path in folder.iterdir()]
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin" / "agent").write_text("program")
        (folder / "cache").mkdir(exist_ok=True)
        if self.cannot:
            raise OSError(self.cannot)


def test_a_folder_is_made_once_for_what_it_is_made_from(base: Path) -> None:
    """And cannot be written to. The two last ones of a kind are kept."""
    make = Maker()
    first = cached("agents", b"1", make)
    assert cached("agents", b"1", make) == first
    assert first.parent == base
    assert [path.stat().st_mode & 0o222 for path in (first, first / "bin")] == [0, 0]
    os.utime(first, (1, 1))
    second, third = cached("agents", b"2", make), cached("agents", b"3", make)
    assert make.made == 3
    assert {path for path in base.iterdir() if path.is_dir()} == {second, third}


CHANGES = {
    "a file is gone": lambda folder: (folder / "bin" / "agent").unlink(),
    "a file has changed": lambda folder: (folder / "bin" / "agent").write_text("PROGRAM"),
    "a file is new": lambda folder: (folder / "bin" / "other").touch(),
    "it is not complete": lambda folder: (folder / caches.COMPLETE).unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_folder_is_made_anew(change: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not for what its programs write into their own cache."""
    make = Maker()
    folder = cached("agents", b"1", make)
    (folder / "cache").chmod(0o755)
    (folder / "cache" / "log").touch()
    assert caches.main(["check", str(folder)]) == 0
    for path in (folder, folder / "bin"):
        path.chmod(0o755)
    os.utime(folder / "bin" / "agent", (1, 1))
    (folder / caches.COMPLETE).write_text(caches.digest(folder))
    CHANGES[change](folder)
    assert cached("agents", b"1", make) == folder
    assert make.made == 2
    assert (folder / "bin" / "agent").read_text() == "program"
    assert capsys.readouterr().out == "unchanged\n"


def test_a_folder_that_cannot_be_made_gets_no_name(base: Path) -> None:
    """What is there of it can be used, and the next attempt begins with it, if it may."""
    make = Maker()
    make.cannot = "npm: no network"
    for resumes, found in ((True, []), (True, ["bin", "cache"]), (False, [])):
        with pytest.raises(CannotMakeError, match="npm: no network") as caught:
            cached("agents", b"1", make, resumes=resumes)
        assert (sorted(make.found), (caught.value.folder / "bin" / "agent").read_text()) == (found, "program")
    make.cannot = ""
    folder = cached("agents", b"1", make)
    assert [path for path in base.iterdir() if path.is_dir()] == [folder]


def test_the_check_names_a_folder_that_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    """CI runs it after the tests with real agents."""
    folder = cached("agents", b"1", Maker())
    (folder / "bin" / "agent").write_text("changed")
    assert caches.main(["check", str(folder)]) == 1
    assert capsys.readouterr().out == f"{folder}: changed since it was made\n"
