"""The package exports what it says it does; its docstrings' examples are run with all others (tests/docs)."""

from __future__ import annotations

import hookrun.bundles


def test_every_public_name_is_there() -> None:
    """`__all__` is what the package exports."""
    assert [name for name in hookrun.bundles.__all__ if not hasattr(hookrun.bundles, name)] == []
