"""The launcher in C, compiled when the package is built or installed. A pure-Python wheel has none."""

from __future__ import annotations

import os

BINARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hookrun-client")


def compiled_client() -> str | None:
    """Return the path of the compiled client; None if the package has none for this machine."""
    return BINARY if os.access(BINARY, os.X_OK) else None
