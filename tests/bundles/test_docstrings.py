"""What the docstrings show is what happens."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import hookrun.bundles

MODULES = [f"hookrun.bundles.{module.name}" for module in pkgutil.iter_modules(hookrun.bundles.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    """Each line gives what is written below it."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    """Else the test above could not fail."""
    found = [doctest.testmod(importlib.import_module(name)).attempted for name in MODULES]
    assert sum(found) >= 12


def test_every_public_name_is_there() -> None:
    """`__all__` is what the package exports."""
    assert [name for name in hookrun.bundles.__all__ if not hasattr(hookrun.bundles, name)] == []
