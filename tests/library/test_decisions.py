"""The user's decisions while a program runs take effect at the next fire, though the store is not read for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.core.state import DATA_DIR
from hookrun.library import engine_state
from hookrun.library.engine_state import TrustStoreCache
from hookrun.trust import store as stores
from hookrun.trust.project import locked_store
from hookrun.trust.store import NAME, Store, StoreError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Create a home with one decision, for a process that trusts files of any age."""
    monkeypatch.setattr(engine_state, "YOUNG", -1)
    approve(str(tmp_path), "sha256:a")
    return str(tmp_path)


def approve(home: str, digest: str) -> None:
    """Approve something, as another process does."""
    with locked_store(home) as store:
        store.approved[digest] = {
            "name": "hook",
            "source": "coder.json",
            "roots": {"/srv/app": ""},
            "time": 0.0,
            "declaration": "",
            "guards": False,
        }


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by one each time that the store is read."""
    times: list[str] = []
    real = stores.load

    def load(home: str, owners: tuple[int, ...]) -> Store:
        times.append(home)
        return real(home, owners)

    monkeypatch.setattr(stores, "load", load)
    return times


def test_what_has_not_changed_is_read_once(home: str, read: list[str]) -> None:
    """Any number of fires read the store once."""
    known = TrustStoreCache()
    assert [list(known.load(home).approved) for _ in range(3)] == [["sha256:a"]] * 3
    assert len(read) == 1


def test_a_directory_without_a_store_is_looked_at_once(home: str, read: list[str], tmp_path: Path) -> None:
    """It is an account's without approvals; the first one is seen, and so is a directory that others may write."""
    directory = tmp_path / DATA_DIR[1:]
    (directory / NAME).unlink()
    known = TrustStoreCache()
    assert [known.load(home).approved for _ in range(3)] == [{}] * 3
    assert len(read) == 1
    approve(home, "sha256:first")
    assert list(known.load(home).approved) == ["sha256:first"]
    (directory / NAME).unlink()
    directory.chmod(0o777)
    with pytest.raises(StoreError, match="write"):
        known.load(home)


def test_a_new_directory_without_a_store_is_looked_at_once(
    home: str, read: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However young it is: each look shows whether there is a file in it."""
    monkeypatch.setattr(engine_state, "YOUNG", 3_600_000_000_000)
    (tmp_path / DATA_DIR[1:] / NAME).unlink()
    known = TrustStoreCache()
    assert [known.load(home).approved for _ in range(3)] == [{}] * 3
    assert len(read) == 1
    approve(home, "sha256:first")
    assert list(known.load(home).approved) == ["sha256:first"]


def test_a_store_that_came_and_went_during_a_look_is_not_remembered(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read from a file made after the look for one is not what a directory without one decides."""
    monkeypatch.setattr(engine_state, "YOUNG", 3_600_000_000_000)
    monkeypatch.setattr(engine_state, "identity_of", lambda _: ())  # all within one tick of the clock
    file = tmp_path / DATA_DIR[1:] / NAME
    content = file.read_bytes()
    file.unlink()
    real = stores.load

    def load(home: str, owners: tuple[int, ...]) -> Store:
        file.write_bytes(content)
        file.chmod(0o600)
        found = real(home, owners)
        file.unlink()
        return found

    known = TrustStoreCache()
    with monkeypatch.context() as patched:
        patched.setattr(stores, "load", load)
        assert list(known.load(home).approved) == ["sha256:a"]
    assert known.load(home).approved == {}


def test_what_is_decided_meanwhile_holds_from_the_next_time_on(home: str) -> None:
    """A decision by another process takes effect, also one that replaces another of the same size."""
    known = TrustStoreCache()
    known.load(home)
    with locked_store(home) as store:
        store.approved["sha256:b"] = store.approved.pop("sha256:a")
    assert list(known.load(home).approved) == ["sha256:b"]


def test_a_file_that_was_just_written_is_read_again(
    home: str, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within two seconds two states of a file may have the same times."""
    monkeypatch.setattr(engine_state, "YOUNG", 3_600_000_000_000)
    known = TrustStoreCache()
    known.load(home)
    known.load(home)
    assert len(read) == 2


@pytest.mark.parametrize("name", [NAME, ""], ids=["the file", "its directory"])
def test_a_store_that_others_may_write_now_is_not_believed_any_more(home: str, name: str, tmp_path: Path) -> None:
    """A change of who may write it counts as a change of it."""
    known = TrustStoreCache()
    known.load(home)
    (tmp_path / DATA_DIR[1:] / name).chmod(0o777)
    with pytest.raises(StoreError, match="write"):
        known.load(home)


def test_another_home_or_other_owners_are_another_store(home: str, read: list[str], tmp_path: Path) -> None:
    """Data read for one home, or for one list of trusted owners, is not used for another."""
    other = tmp_path / "other"
    other.mkdir()
    approve(str(other), "sha256:other")
    known = TrustStoreCache()
    assert list(known.load(home).approved) == ["sha256:a"]
    assert list(known.load(str(other)).approved) == ["sha256:other"]
    known.load(str(other), (0,))
    assert len(read) == 3


def test_a_store_that_is_removed_decides_nothing(home: str, tmp_path: Path) -> None:
    """Without the file nothing is decided."""
    known = TrustStoreCache()
    known.load(home)
    (tmp_path / DATA_DIR[1:] / NAME).unlink()
    assert known.load(home).approved == {}
