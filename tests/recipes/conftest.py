"""Fixtures for the tests of recipes."""

from __future__ import annotations

import functools
import importlib
import inspect
import threading
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import RECIPES
from tests.recipes.account import Account
from tests.recipes.channels import WebhookServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import ModuleType

    Check = Callable[[Mapping[str, object]], object]
    Concerns = Callable[[Mapping[str, object]], bool]

CONCERNS = [
    (module, name, concerns)
    for module in (importlib.import_module(f"hookrun.recipes.{each}") for each in RECIPES)
    for name, concerns in module.RECIPE.concerns.items()
]
"""Each module of a recipe, its functions that have a cheap test, and that."""


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
def _tests_hide_nothing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check at each call of a recipe here that its cheap test is true for a call that the full check answers."""
    hidden = []

    def compared(concerns: Concerns, check: Check, module: ModuleType) -> Check:
        @functools.wraps(check)
        def check_and_compare(context: Mapping[str, object]) -> object:
            try:
                matters = concerns(context)
            except SystemExit:  # a wrong option: the check reports it
                matters = True
            answer = inspect.unwrap(check)(context)
            if not matters and answer is not None:
                hidden.append((module.__name__, context, answer))
            return answer

        return check_and_compare

    for module, name, concerns in CONCERNS:
        monkeypatch.setattr(module, name, compared(concerns, getattr(module, name), module))
    yield
    assert not hidden, "the cheap tests hide what the recipes answer"
