"""An account and a working directory in which a recipe's functions are called, one after the other."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class Account:
    """A home and a working directory for recipes, which run in both, with the options that are set."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = directory / "home"
        self.work = directory / "work"
        self.home.mkdir()
        self.work.mkdir()
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("HOOKRUN_PROJECT_DIR", str(self.work))
        monkeypatch.setenv("HOOKRUN_CONFIG_DIR", str(self.work))

    def options(self, **options: object) -> None:
        """Set options of the recipe that is called."""
        for name, value in options.items():
            self._monkeypatch.setenv(f"HOOKRUN_OPTION_{name.upper()}", str(value))

    def write(self, name: str, text: str = "x\n", mode: int = 0o644) -> Path:
        """Write a file into the working directory."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def call(self, target: str, **context: object) -> dict[str, Any] | None:
        """Call `module:function` with a context, as a hook's process does."""
        module, _, name = target.partition(":")
        function = getattr(importlib.import_module(f"hookrun.recipes.{module}"), name or "check")
        answer: dict[str, Any] | None = function({"session_id": "s1", "working_dir": str(self.work), **context})
        return answer
