"""The runner at work while hooks run: it does what is needed once they have ended."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from hookrun.core.model import Hook, Outcome
from hookrun.fire.invocation import load_for_refusals
from hookrun.process.prepare import HookEnvironment
from hookrun.process.runner import ProcessRunner

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


def run(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    call: Callable[[], object] = lambda: None,
    **fields: object,
) -> Outcome:
    """Run a shell line as the only hook and return how it ended."""
    monkeypatch.chdir(project)  # and back at the end: to start a hook, the runner goes to its directory
    environment = HookEnvironment({"event": "stop"}, project=str(project), request_id=os.urandom(8).hex())
    locks = str(project / "locks")
    runner = ProcessRunner(environment, locks=lambda: locks, on_background_end=lambda *_: None, meanwhile=[(0.0, call)])
    declared = {"name": "one", "events": ["stop"], "layer": "user", "kind": "command", "target": line, "timeout": 10}
    declared |= fields
    try:
        return runner([(Hook.from_dict(declared), b"{}\n")])[0]
    finally:
        runner.close()
        runner.reap()


def test_a_function_is_called_while_the_first_hook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before, where it would delay it, and not after: the hook ends only when the function lets it."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    outcome = run(tmp_path, monkeypatch, "read word <gate; echo $word", lambda: gate.write_text("now\n"))
    assert (outcome.failure, outcome.stdout) == (None, b"now\n")


def test_modules_that_cannot_be_loaded_do_not_disturb_the_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hookrun may be in the middle of an update: an error is raised only where a module is used."""
    for missing in ("hookrun.core.audit", "hookrun.core.refusals"):
        monkeypatch.setitem(sys.modules, missing, None)
        monkeypatch.delattr("hookrun." + missing.rpartition(".")[2], raising=False)
    calls: list[str] = []

    def load() -> None:
        load_for_refusals()
        calls.append("loaded")

    outcome = run(tmp_path, monkeypatch, "echo done", load)
    assert (outcome.failure, outcome.exit_code, outcome.stdout) == (None, 0, b"done\n")
    assert calls == ["loaded"]


def test_a_hook_that_nobody_can_supervise_keeps_the_deadline_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks to be let go for longer than that, and no process can be forked."""

    def no_fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", no_fork)
    line = """echo '{"async": true, "asyncTimeout": 60000}'; exec sleep 60"""
    outcome = run(tmp_path, monkeypatch, line, dialect="claude", timeout=0.5)
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.runs_on) == ("timeout", False)
