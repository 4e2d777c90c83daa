"""What the tests of recipes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.recipes.account import Account

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Account:
    """Return an account in which nothing has happened yet."""
    return Account(tmp_path, monkeypatch)
