"""An account and a working directory in which a recipe's functions are called, one after the other."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest


def assert_dead(*pids: str) -> None:
    """Wait until none of the processes runs, but as a zombie: a killed one takes a moment to be gone."""
    command = ["ps", "-o", "stat=", "-p", ",".join(pids)]

    def running() -> list[str]:
        states = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
        return [state for state in states if not state.startswith("Z")]

    until(lambda: not running(), "a process continues")


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

    def move(self, home: str, work: str) -> None:
        """Have other directories, which need not be there."""
        self.home, self.work = Path(home), Path(work)
        self._monkeypatch.setenv("HOME", home)
        self._monkeypatch.setenv("HOOKRUN_PROJECT_DIR", work)

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

    def answer(self, target: str, line: str, agent: str = "claude") -> dict[str, Any] | None:
        """Call a recipe with a line of shell."""
        context = {"event": "pre_tool_use", "agent": agent, "tool_name": "bash", "tool_args": {"command": line}}
        return self.call(target, **context)

    def wrong(self, target: str, lines: Iterable[str], action: str) -> list[tuple[str, object]]:
        """Return the lines to which a recipe has another answer, with that answer."""
        answers = [(line, self.answer(target, line) or {"action": "continue"}) for line in lines]
        return [(line, answer) for line, answer in answers if answer["action"] != action]
