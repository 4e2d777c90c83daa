"""Fixtures for the tests of recipes."""

from __future__ import annotations

import functools
import importlib
import os
import threading
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes.looks import LOOKS, may_matter
from tests.recipes.account import Account
from tests.recipes.channels import WebhookServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    Check = Callable[[Mapping[str, object]], object]


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Account:
    """Return an account in which nothing has happened yet."""
    return Account(tmp_path, monkeypatch)


@pytest.fixture
def nobody(account: Account) -> Account:
    """Return an account with a home that belongs to no account, and a project in it."""
    account.move("/home/me", "/home/me/app")
    return account


@pytest.fixture
def webhook() -> Iterator[WebhookServer]:
    """Return a webhook that is there while the test runs."""
    with WebhookServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _looks_hide_nothing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check at each call of a recipe in these tests that its look does not skip a call that its check answers."""
    hidden = []

    def checked(target: str, check: Check) -> Check:
        @functools.wraps(check)
        def check_and_compare(context: Mapping[str, object]) -> object:
            matters = may_matter(target, context, dict(os.environb))
            try:
                answer = check(context)
            except BaseException as error:
                answer = error
                raise
            finally:
                if not matters and answer is not None:
                    hidden.append((target, context, answer))
            return answer

        return check_and_compare

    for target in LOOKS:
        module, _, name = target.partition(":")
        loaded = importlib.import_module(module)
        monkeypatch.setattr(loaded, name, checked(target, getattr(loaded, name)))
    yield
    assert not hidden, "looks hide what the recipes answer"
