"""pytest, as a project that has hooks would run it: cases are tests, and tests can fire events."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from tests.testing.cases import GUARD, LIST, PUSH, write

if TYPE_CHECKING:
    from tests.conftest import Project

PLUGIN = "hookrun.testing.pytest_plugin"
BLOCKED: dict[str, object] = {"action": "block", "message": "no force push here"}

TESTS = Path(__file__).parent / "programs" / "fires_events.py"


def run_pytest(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in the project, with this plugin and no other."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", PLUGIN]
    return subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        cwd=project.root,
        env=project.environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS=""),
        check=False,
    )


def test_cases_are_tests(project: Project) -> None:
    """One each, and one for each agent; a failure is reported as `hookrun test` reports it."""
    project.hooks(GUARD)
    write(
        project,
        {**PUSH, "name": "is refused", "agents": ["claude", "codex"], "expect": BLOCKED},
        {**LIST, "name": "is wrong", "expect": {"action": "block"}},
    )
    done = run_pytest(project, "-v")
    assert done.returncode == 1, done.stderr
    assert "hooks/a.hooktest.json::is refused [claude] PASSED" in done.stdout
    assert "hooks/a.hooktest.json::is refused [codex] PASSED" in done.stdout
    assert "hooks/a.hooktest.json::is wrong FAILED" in done.stdout
    assert (
        "FAIL hooks/a.hooktest.json:19:5: is wrong\n  - expected  + actual\n  - action: block\n  + action: continue\n"
        in done.stdout
    )
    assert "1 failed, 2 passed" in done.stdout
    assert run_pytest(project, "-k", "refused").returncode == 0


def test_a_broken_file_is_an_error_of_the_collection(project: Project) -> None:
    """With file, line and column; a broken case is a failing test."""
    project.hooks(GUARD)
    (project.root / "a.hooktest.yaml").write_text("cases: [\n")
    (project.root / "b.hooktest.yaml").write_text("cases:\n- {name: x, event: stop, expct: {}}\n")
    done = run_pytest(project, "--continue-on-collection-errors")
    assert done.returncode == 1
    assert "a.hooktest.yaml:2:1: " in done.stdout
    assert 'ERROR b.hooktest.yaml:2:26: unknown field of a case: "expct"' in done.stdout
    assert "1 failed, 1 error" in done.stdout


def test_a_projects_tests_fire_events(project: Project) -> None:
    """The fixture finds the declarations at pytest's root, and hooks have a home of their own."""
    project.hooks(
        GUARD, {"name": "remembers", "event": "stop", "command": "echo $WORD >> ~/words; cat ~/words >&2; exit 2"}
    )
    (project.root / ".git").rmdir()
    tests = project.root / "tests"
    tests.mkdir()
    shutil.copy(TESTS, tests / "test_hooks.py")
    (project.root / "pytest.ini").write_text("[pytest]\n")
    asks = {"event": "pre_tool_use", "command": """echo '{"action": "ask"}'"""}
    (project.root / "asks.json").write_text(json.dumps({"hooks": [asks]}))
    done = run_pytest(project, "-q")
    assert "10 passed" in done.stdout, done.stdout
    assert list(project.home.iterdir()) == []


def test_other_projects_pay_nothing(project: Project) -> None:
    """Without test files or uses of the fixture, only the plugin itself is loaded from hookrun."""
    (project.root / "test_a.py").write_text(
        "import sys\n"
        "def test_loaded():\n"
        "    loaded = {name for name in sys.modules if name.split('.')[0] in ('hookrun', 'yaml', 'orjson', 'rich')}\n"
        "    assert loaded == {'hookrun', 'hookrun.testing', 'hookrun.testing.pytest_plugin'}\n"
    )
    done = run_pytest(project, "-q")
    assert "1 passed" in done.stdout, done.stdout


def test_it_is_installed_with_hookrun() -> None:
    """The entry point is what pytest looks for."""
    assert [each.value for each in entry_points(group="pytest11", name="hookrun")] == [PLUGIN]
