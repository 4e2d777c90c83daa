"""The state of recipes is private to the account, consistent under many processes, and bounded."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import recipe_state
from tests.conftest import ROOT

if TYPE_CHECKING:
    from tests.recipes.account import Account

COUNTING = """
from hookrun.recipes import recipe_state
for _ in range(50):
    with recipe_state.LockedState("counting", "key") as remembered:
        remembered["count"] = remembered.get("count", 0) + 1
"""


def only_file(account: Account, recipe: str) -> Path:
    """Return the one file that a recipe has."""
    (found,) = (account.home / ".local/state/hookrun/recipes" / recipe).iterdir()
    return found


def test_many_processes_at_once_lose_nothing(account: Account) -> None:
    """Four processes that add up in one file get to the sum of all."""
    command = [sys.executable, "-c", COUNTING]
    environment = {"HOME": str(account.home), "PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen(command, env=environment) for _ in range(4)]
    assert [each.wait() for each in running] == [0] * 4
    with recipe_state.LockedState("counting", "key") as remembered:
        assert remembered == {"count": 200}


def test_what_is_remembered_is_the_accounts_alone(account: Account) -> None:
    """File and directories are for their owner only."""
    with recipe_state.LockedState("one", "key") as remembered:
        remembered["a"] = 1
    path = only_file(account, "one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"x" * (recipe_state.MAX_BYTES + 1)])
def test_what_is_not_ours_is_begun_anew(account: Account, content: bytes) -> None:
    """A torn, foreign or huge file is an empty one, and is whole again afterwards."""
    with recipe_state.LockedState("one", "key"):
        pass
    only_file(account, "one").write_bytes(content)
    with recipe_state.LockedState("one", "key") as remembered:
        assert remembered == {}
        remembered["a"] = 1
    assert only_file(account, "one").read_bytes() == b'{"a":1}'


def test_what_was_raised_keeps_what_was(account: Account) -> None:
    """An aborted change is not written, and the file is unlocked."""
    with recipe_state.LockedState("one", "key") as remembered:
        remembered["a"] = 1
    with pytest.raises(ZeroDivisionError), recipe_state.LockedState("one", "key") as remembered:
        remembered["a"] = 2 // len(remembered.pop("b", ""))  # type: ignore[arg-type]
    with recipe_state.LockedState("one", "key") as remembered:
        assert remembered == {"a": 1}


def test_a_link_is_not_followed(account: Account) -> None:
    """Another user's file cannot replace ours."""
    with recipe_state.LockedState("one", "key"):
        pass
    path = only_file(account, "one")
    other = account.write("other", "mine")
    path.unlink()
    path.symlink_to(other)
    with (
        pytest.raises(SystemExit, match=r"one: cannot store its state: .*symbolic links"),
        recipe_state.LockedState("one", "key"),
    ):
        pass
    assert other.read_text() == "mine"


def test_of_too_many_the_oldest_go(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are never more files than that."""
    monkeypatch.setattr(recipe_state, "MAX_FILES", 5)
    for number in range(9):
        with recipe_state.LockedState("one", str(number)) as remembered:
            remembered["a"] = number
    assert len(list((account.home / ".local/state/hookrun/recipes/one").iterdir())) == 5
    with recipe_state.LockedState("one", "8") as remembered:
        assert remembered == {"a": 8}


def test_something_is_told_once_in_a_session(account: Account) -> None:
    """Another session and another cause are reported anew."""
    told = {"action": "continue", "system_message": "gone"}
    answers = [
        recipe_state.once({"session_id": session}, cause, "gone")
        for session, cause in (("s1", "a"), ("s1", "a"), ("s2", "a"), ("s1", "b"))
    ]
    assert answers == [told, None, told, told]
