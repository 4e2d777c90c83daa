"""What VS Code shows in a config file, offline: its JSON language server reads the schema beside the file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun.config.schema import DEFAULTS_FIELDS, HOOK_FIELDS, SETTINGS, schema
from hookrun.scaffold.declaration_file import SCHEMA_FILE
from tests.cli.command import hookrun
from tests.config.json_server import SERVER, JsonServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project


MISSING = SERVER.absent()
needs_server = pytest.mark.skipif(MISSING is not None, reason=f"the JSON language server: {MISSING}")

TEXT = """{
  "$schema": "./hookrun.schema.json",
  "hooks": [
    {"event": "pre_tool_use", "command": "x", "mode": "off", "timeout": "5", "timout": 1, "on_failure": "block"}
  ],
  "hookrun": {"audit": {"keep": 3}, "defaults": {"timeout": 5} }
}
"""


@pytest.fixture
def config(project: Project) -> Path:
    """A config file beside the schema that `hookrun add` writes."""
    assert hookrun(project, "add", "no-force-push").status == 0
    path = project.root / "coder.json"
    assert json.loads(path.read_text())["$schema"] == f"./{SCHEMA_FILE}"
    path.write_text(TEXT)
    return path


@pytest.mark.slow
@needs_server
def test_the_fields_of_a_hook_are_completed_with_their_descriptions(config: Path) -> None:
    """All that the hook does not have yet."""
    with JsonServer(config) as server:
        fields = server.completion('"timout": 1, ')
        entry = TEXT.split("\n")[3].partition('"on_failure"')[0]  # the field behind the cursor may be replaced
        assert fields == {field.name: field.description for field in HOOK_FIELDS if f'"{field.name}"' not in entry}
        settings = server.completion('"hookrun": {')
        assert settings.items() <= {field.name: field.description for field in SETTINGS}.items()
        assert server.completion('"defaults": {').keys() <= {field.name for field in DEFAULTS_FIELDS}
        assert server.completion('"mode": "').keys() == {'"enforce"', '"advise"', '"off"'}
        assert '"pre_tool_use"' in server.completion('"event": ')


@pytest.mark.slow
@needs_server
def test_hover_and_problems(config: Path) -> None:
    """The description of the field under the cursor; a wrong type and an unknown field are marked."""
    with JsonServer(config) as server:
        assert server.hover('"timeo') == "Timeout in seconds\\."
        assert server.hover('"kee') == "Number of rotated logs to keep\\."
        assert server.diagnostics() == ['Incorrect type. Expected "number".', "Property timout is not allowed."]


@pytest.mark.slow
@needs_server
def test_what_add_writes_has_no_problem_in_the_editor(project: Project) -> None:
    """Also beside others."""
    assert hookrun(project, "add", "no-force-push", "protect-files").status == 0
    with JsonServer(project.root / "coder.json") as server:
        assert server.diagnostics() == []


def test_every_property_is_described() -> None:
    """Also those of Claude Code's form."""
    missing: list[str] = []

    def walk(node: object, path: str) -> None:
        if not isinstance(node, dict):
            return
        properties = node.get("properties")
        for name, each in properties.items() if isinstance(properties, dict) and path.count("not") == 0 else ():
            definition = schema()["$defs"]
            assert isinstance(definition, dict)
            target = definition.get(str(each.get("$ref", "")).rpartition("/")[2], {})
            if "description" not in {**target, **each}:
                missing.append(f"{path}.{name}")
        for key, each in node.items():
            for part in each if isinstance(each, list) else [each]:
                walk(part, f"{path}/{key}")

    walk(schema(), "")
    assert missing == []


def test_a_new_config_in_yaml_names_its_schema_in_a_comment(project: Project) -> None:
    """As the YAML language server reads it; an existing schema is left alone, and so is an existing config."""
    (project.root / SCHEMA_FILE).write_text("{}")
    assert hookrun(project, "new", "guard", "--lang", "sh", "--yaml").status == 0
    text = (project.root / "hookrun.yaml").read_text()
    assert text.startswith(f"# yaml-language-server: $schema=./{SCHEMA_FILE}\nhooks:\n")
    assert (project.root / SCHEMA_FILE).read_text() == "{}"
    assert hookrun(project, "validate").status == 0


def test_a_config_is_given_a_schema_only_when_it_is_made(project: Project) -> None:
    """A dry run only names it; `hookrun add` edits a config that exists and nothing else."""
    done = hookrun(project, "add", "no-force-push", "--dry-run")
    assert f"+++ {project.root}/{SCHEMA_FILE}\n  (generated)\n" in done.stdout
    assert len(done.stdout) < 10_000
    project.hooks({"command": "true"})
    assert hookrun(project, "add", "no-force-push").status == 0
    assert "$schema" not in (project.root / "coder.json").read_text()
    assert not (project.root / SCHEMA_FILE).exists()
