"""The log of a document, with its files named as StackBench's documentation has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hookrun.compat.stackbench import AgentLogger


def log_of(directory: Path, document: str, **options: Any) -> AgentLogger:
    """Return the log of a document in this directory."""
    return AgentLogger(directory / f"{document}_agent.log", directory / f"{document}_tools.jsonl", **options)
