"""CONTRIBUTING.md is right about adding things: each is added in one place, and everything else follows.

The toy agent is in tests/docs/test_agents_pages.py.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.test_generated_pages import audit_fields

if TYPE_CHECKING:
    from tests.conftest import Project

PACKAGE = Path(__file__).resolve().parent.parent / "hookrun"


class Copy:
    """A copy of the package to add things to, and a project to run it in."""

    def __init__(self, project: Project, directory: Path) -> None:
        self.project = project
        self.root = directory
        # with what is compiled of it: compiling takes longer than all that is run here
        shutil.copytree(PACKAGE, directory / "hookrun", ignore=shutil.ignore_patterns("*.tmp", "*.pyc.*"))
        shutil.copytree(PACKAGE.parent / "scripts", directory / "scripts")

    def add(self, name: str, text: str) -> None:
        """Add a module."""
        (self.root / "hookrun" / name).write_text(text)

    def insert(self, name: str, after: str, text: str) -> None:
        """Insert a text after the only occurrence of `after` in a module."""
        path = self.root / "hookrun" / name
        before = path.read_text()
        assert before.count(after) == 1, (name, after)
        path.write_text(before.replace(after, after + text))

    def run(self, *arguments: str, stdin: object = None) -> subprocess.CompletedProcess[str]:
        """Run the copy's `hookrun` in the project."""
        return subprocess.run(
            [sys.executable, "-m", "hookrun", *arguments],
            input=json.dumps(stdin),
            capture_output=True,
            text=True,
            cwd=self.project.root,
            env=self.project.environment() | {"PYTHONPATH": str(self.root)},
            check=False,
        )

    def fire(self) -> dict[str, object]:
        """Fire an event in the project and return the verdict."""
        done = self.run("fire", "pre_tool_use", stdin={"tool_name": "bash", "tool_args": {"command": "ls"}})
        verdict = json.loads(done.stdout)
        assert isinstance(verdict, dict)
        return verdict


@pytest.fixture
def copy(project: Project, tmp_path: Path) -> Copy:
    """Return a copy of the package to add things to."""
    return Copy(project, tmp_path / "copy")


def test_a_command(copy: Copy) -> None:
    """A function and its line in the table: help, completion and suggestions know it."""
    copy.add(
        "cli/toy.py",
        'import click\n@click.command("toy")\ndef toy_command() -> None:\n    """Play."""\n    click.echo("played")\n',
    )
    copy.insert("cli/commands.py", '    "Write hooks": {\n', '        "toy": ("toy", "Play."),\n')
    assert copy.run("toy").stdout == "played\n"
    assert "toy" in copy.run("--help").stdout
    assert "toy" in copy.run("tou").stderr


@pytest.mark.slow
def test_a_recipe(copy: Copy) -> None:
    """A module and its line in the table: it is listed, its version is recorded by a script, it is added and runs."""
    copy.add(
        "recipes/toy.py",
        "from hookrun.recipes.recipe import Recipe\n"
        'HOOK = {"name": "toy", "event": "pre_tool_use", "python": "hookrun.recipes.toy:check", "cwd": "/"}\n'
        'RECIPE = Recipe("toy", "Plays.", hooks=(HOOK,))\n'
        "def check(context):\n"
        '    return {"action": "block", "message": "played"}\n',
    )
    copy.insert("recipes/__init__.py", "RECIPES: tuple[str, ...] = (\n", '    "toy",\n')
    subprocess.run([sys.executable, copy.root / "scripts" / "record_recipe_versions.py"], check=True)
    assert "toy" in copy.run("recipes").stdout
    added = copy.run("add", "toy")
    assert added.returncode == 0, added.stderr
    assert copy.fire()["message"] == "played"


@pytest.mark.slow
def test_an_event_alias(copy: Copy) -> None:
    """One entry in a table: declarations and `fire` accept the event by it."""
    copy.insert("core/events.py", '    "pre_tool_use": (\n', '        "beforeToy "\n')
    copy.project.hooks({"event": "beforeToy", "command": "exit 2"})
    assert copy.fire()["action"] == "block"
    assert copy.run("fire", "beforeToy", stdin={"tool_name": "bash"}).returncode == 2
    assert copy.run("validate").returncode == 0


@pytest.mark.slow
def test_a_config_field(copy: Copy) -> None:
    """One entry in a table: checked, compiled, shown and in the schema."""
    _add_field(copy, 'Field("toy", Integer(1, 9), "How long to play.")')
    copy.project.hooks({"command": "true", "toy": 3})
    assert copy.run("validate").returncode == 0
    (listed,) = json.loads(copy.run("list", "--json").stdout)["hooks"]
    assert listed["toy"] == 3
    assert '"toy"' in copy.run("config", "schema").stdout
    copy.project.hooks({"command": "true", "toy": 10})
    assert "an integer from 1 to 9" in copy.run("validate").stderr + copy.run("validate").stdout


def _add_field(copy: Copy, field: str) -> None:
    copy.insert("config/schema.py", "\nHOOK_FIELDS = (\n", f"    {field},\n")


@pytest.mark.slow
def test_a_failure_kind(copy: Copy) -> None:
    """One entry in a table: tests can expect it. tests/docs/test_generated_pages.py wants it in the reference."""
    copy.insert("core/model.py", "FAILURES = {\n", '    "toy": "it broke its toy",\n')
    copy.project.hooks({"command": "true"})
    cases = "cases:\n- name: plays\n  event: pre_tool_use\n  tool: bash\n  expect: {{failure: {}}}\n"
    (copy.project.root / "toy.hooktest.yaml").write_text(cases.format("toy"))
    assert "- failure: toy" in copy.run("test").stdout
    (copy.project.root / "toy.hooktest.yaml").write_text(cases.format("unknown"))
    assert '"toy"' in copy.run("test").stdout  # among the kinds that could be expected


def test_an_audit_field(copy: Copy) -> None:
    """One line where records are made: the file, `log --json` and `why --json` have it, and the reference lacks it."""
    copy.insert("core/audit.py", '    data["ms"] = round(outcome.ms, 1)\n', '    data["toy"] = "played"\n')
    copy.project.hooks({"command": "true"})
    copy.fire()
    (record,) = [each for each in copy.project.audit() if each["kind"] == "hook"]
    assert record["toy"] == "played"
    assert "played" in copy.run("log", "--json").stdout
    assert "played" in copy.run("why", "--json").stdout
    assert audit_fields(copy.root / "hookrun") - audit_fields(PACKAGE) == {"toy"}


def test_a_diagnostic(copy: Copy) -> None:
    """One call beside the others: `validate` shows it with its place, and the hook fails as `declaration`."""
    copy.insert(
        "config/validate.py",
        "def require_one_kind(entry: Values, at: Location) -> None:\n",
        '    if entry.get("name") == "toy":\n        at.at("name").report("a toy", "choose another name")\n',
    )
    copy.project.hooks({"name": "toy", "command": "true", "on_failure": "block"})
    shown = copy.run("validate")
    assert "coder.json:1:" in shown.stdout + shown.stderr
    assert "a toy" in shown.stdout + shown.stderr
    assert copy.fire()["action"] == "block"


@pytest.mark.slow
def test_a_way_to_run_a_hook(copy: Copy) -> None:
    """A module and its field in the table: it runs, is checked, listed and explained."""
    copy.add(
        "process/toy_hook.py",
        '"""Run a toy."""\n'
        "def start(hook, variables, cwd, environment):\n"
        '    return environment.program(("/bin/sh", "-c", "exit " + hook.target), variables, cwd)\n',
    )
    _add_field(copy, 'Field("toy", Str("an exit status"), "An exit status to end with.", runs=True)')
    copy.project.hooks({"toy": "2"})
    assert copy.run("validate").returncode == 0
    assert copy.fire()["action"] == "block"
    assert json.loads(copy.run("list", "--json").stdout)["hooks"][0]["kind"] == "toy"
    copy.project.hooks({"toy": "2", "command": "true"})
    assert copy.run("validate").returncode == 1
