"""Public names that are loaded when they are first used (PEP 562)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def load(package: str, public: Mapping[str, str], name: str) -> object:
    """Return what a package gives out under a name; `public` is module -> the names that it holds.

    Raises AttributeError for a name that none holds.
    """
    for module, names in public.items():
        if name in names.split():
            from importlib import import_module

            return getattr(import_module(module), name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
