"""The runner at work while hooks run: it loads modules that are needed once they have ended."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from hookrun.model import Hook, Outcome
from hookrun.process.prepare import HookEnvironment
from hookrun.process.runner import ProcessRunner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest


def run(project: Path, monkeypatch: pytest.MonkeyPatch, line: str, loads: Sequence[str]) -> Outcome:
    """Run a shell line as the only hook and return how it ended."""
    monkeypatch.chdir(project)  # and back at the end: to start a hook, the runner goes to its directory
    environment = HookEnvironment({"event": "stop"}, project=str(project), request_id=os.urandom(8).hex())
    locks = str(project / "locks")
    meanwhile = [(0.0, __import__, (each,)) for each in loads]
    runner = ProcessRunner(environment, locks=lambda: locks, on_background_end=lambda *_: None, meanwhile=meanwhile)
    declared = {"name": "one", "events": ["stop"], "layer": "user", "kind": "command", "target": line, "timeout": 10}
    try:
        return runner([(Hook.from_dict(declared), b"{}\n")])[0]
    finally:
        runner.close()
        runner.reap()


def test_modules_are_loaded_while_the_first_hook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before, where they would delay it, and not after: the hook ends only when the module lets it."""
    os.mkfifo(tmp_path / "gate")
    (tmp_path / "loaded_meanwhile.py").write_text(f"with open({str(tmp_path / 'gate')!r}, 'w') as f: f.write('now\\n')")
    monkeypatch.syspath_prepend(tmp_path)
    outcome = run(tmp_path, monkeypatch, "read word <gate; echo $word", ["loaded_meanwhile"])
    assert (outcome.failure, outcome.stdout) == (None, b"now\n")
    del sys.modules["loaded_meanwhile"]


def test_a_module_that_cannot_be_loaded_does_not_disturb_the_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hookrun may be in the middle of an update: an error is raised only where the module is used."""
    outcome = run(tmp_path, monkeypatch, "echo done", ["hookrun.no_such_module"])
    assert (outcome.failure, outcome.exit_code, outcome.stdout) == (None, 0, b"done\n")
