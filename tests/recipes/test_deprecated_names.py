"""The names of `hookrun.bundles`, which moved, work for one more release and say where they are now."""

from __future__ import annotations

import importlib

import pytest

from hookrun import bundles

NAMES = [(each, module) for module, names in bundles.MOVED.items() for each in names.split()]


@pytest.mark.parametrize(("moved", "module"), NAMES)
def test_a_name_that_moved_is_still_there(moved: str, module: str) -> None:
    """It is the same object, with a warning that names its new place."""
    old, _, new = moved.partition("=")
    with pytest.warns(DeprecationWarning, match=f"hookrun.bundles.{old} is now {module}.{new or old}"):
        found = getattr(bundles, old)
    assert found is getattr(importlib.import_module(module), new or old)


def test_another_name_is_not_there() -> None:
    """As in any module."""
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        bundles.Nothing  # noqa: B018  # asking is what is tested
