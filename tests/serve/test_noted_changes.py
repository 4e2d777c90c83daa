"""What launchers answer alone is written again after a change, even if the first attempt fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hookrun.core.state import PENDING
from hookrun.fire import lost
from hookrun.launch import launcher_file
from hookrun.trust import launcher_gate


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a launcher's settings, and a change that is noted."""
    path = launcher_file.path_in(str(tmp_path))
    Path(path).parent.mkdir(parents=True)
    launcher_file.write(path, launcher_file.LauncherFile(["python", "fire"]).text().encode())
    launcher_file.note_change(str(tmp_path))
    return tmp_path


def pending(home: Path) -> Path:
    """Return the file of the notes."""
    return Path(f"{home}{PENDING}")


def test_a_change_stays_noted_until_it_is_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a launcher would never learn of a guard that was approved while the disk was full."""
    with monkeypatch.context() as patch:
        patch.setattr(launcher_file, "update_gate", _full)
        assert lost.settle(str(home)) == []
        assert pending(home).read_text() == "changed\n"
    lost.settle(str(home))
    assert not pending(home).exists()


def _full(*_: object) -> bool:
    raise OSError(28, "No space left on device")


def test_a_change_that_comes_while_they_are_written_is_not_lost(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its config may not have been read any more."""

    def renew(_: str) -> bool:
        launcher_file.note_change(str(home))
        return True

    monkeypatch.setattr(launcher_gate, "renew", renew)
    lost.settle(str(home))
    assert pending(home).read_text() == "changed\n"


NOTE = """\
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
from hookrun.launch import launcher_file
launcher_file.note_change(sys.argv[1])
"""


def test_a_note_that_cannot_be_written_raises_nothing(home: Path) -> None:
    """A config is compiled during a call, whose verdict must not hang on it."""
    done = subprocess.run([sys.executable, "-c", NOTE, str(home)], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
