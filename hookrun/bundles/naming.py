"""The names of a bundle's hooks: two bundles of a kind that write to different places do not replace each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from hookrun.library.engine import Engine

KEY = "writes_to"
"""Where the metadata of a hook says to which place it writes."""


class Named(TypedDict):
    """What a hook is registered with."""

    name: str
    metadata: dict[str, object]


def named(engine: Engine, name: str, place: str) -> Named:
    """Return the name and metadata of a hook that writes to `place`; that is in the name where another's has it."""
    others = [hook for hook in engine.hooks() if hook.name == name]
    taken = any((hook.metadata or {}).get(KEY, place) != place for hook in others)
    return {"name": f"{name}@{place}" if taken else name, "metadata": {KEY: place}}
