"""The tests and the account that runs them are kept apart; shown with a small run of pytest in a made-up account."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

CONFTEST = """from tests import isolation
isolation.isolate()
def pytest_configure(config):
    config.pluginmanager.register(isolation.Keeper())
    config.pluginmanager.register(isolation.Guard())
"""


def run(directory: Path, selected: str) -> subprocess.CompletedProcess[str]:
    """Run tests of programs/leaves_things.py as an account whose home and temporary folder are in this directory."""
    home, temporary = directory / "home", directory / "tmp"
    for made in (temporary, home / ".local/state/hookrun", home / ".config/hookrun"):
        made.mkdir(parents=True)
    (home / ".local/state/hookrun/audit.jsonl").write_text('{"cwd": "/"}\n')
    (directory / "conftest.py").write_text(CONFTEST)
    test = directory / "test_left.py"
    test.write_bytes((ROOT / "tests/programs/leaves_things.py").read_bytes())
    theirs = {"FORCE_COLOR": "1", "HTTP_PROXY": "http://127.0.0.1:9", "CLAUDE_PROJECT_DIR": "/x", "HOOKRUN_CHAIN": "x"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--color=no", "-k", selected, str(test)],
        cwd=directory,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "HOME": str(home),
            "TMPDIR": str(temporary),
            **theirs,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_test_that_leaves_its_process_changed_fails_and_disturbs_no_other(tmp_path: Path) -> None:
    """It is named with what it left: the directory, the umask, a signal's handler or the environment."""
    done = run(tmp_path, "directory or umask or handlers or environment or gone or seen or own")
    for name in ("directory", "umask", "handlers", "environment"):
        assert f"teardown of test_{name} " in done.stdout
        assert f"the test left the process changed: {name}\n" in done.stdout
    assert "7 passed, 3 deselected, 4 errors" in done.stdout
    assert "left outside" not in done.stdout
    assert list((tmp_path / "tmp").glob("hr-tests-*")) == []


def test_a_run_that_writes_outside_its_folders_is_red_and_names_what(tmp_path: Path) -> None:
    """A record in the account's log, a link in the temporary folder; but not what another program wrote there."""
    done = run(tmp_path, "log or link")
    _, _, left = done.stdout.partition(" left outside the folders of the run ")
    paths = {line for line in left.splitlines() if line.startswith(str(tmp_path))}
    assert paths == {str(tmp_path / "home/.local/state/hookrun/audit.jsonl"), str(tmp_path / "tmp/left")}
    assert done.returncode == 1
    assert "3 passed" in done.stdout


def test_a_run_that_leaves_nothing_is_green(tmp_path: Path) -> None:
    """What tests make with `tempfile` goes with the folder of the run."""
    assert run(tmp_path, "own").returncode == 0
    assert [path.name for path in (tmp_path / "tmp").iterdir() if not path.name.startswith("pytest-of-")] == []
