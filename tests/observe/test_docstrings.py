"""The examples in the docstrings do what they say."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = ("causes", "costs", "export", "patterns", "tools", "workflow")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    """Each module has an example, and it runs."""
    done = doctest.testmod(import_module(f"hookrun.observe.{name}"))
    assert done.attempted > 3
    assert done.failed == 0
