"""What VS Code shows in a config file: its JSON language server reads the schema that the file names."""

from __future__ import annotations

import json
from email.message import Message
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from hookrun.config.schema import DEFAULTS_FIELDS, HOOK_FIELDS, SETTINGS, schema
from hookrun.scaffold import declaration_file
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
    """A config file beside the schema that `hookrun config schema` prints."""
    path = project.root / "coder.json"
    path.write_text(TEXT)
    (project.root / "hookrun.schema.json").write_text(hookrun(project, "config", "schema").stdout)
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
    (project.root / "coder.json").write_text('{"hooks": []}\n')
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


ADDRESS = "https://docs.example/hookrun"


SCHEMA = f"{ADDRESS}/schemas/config.json"
SOURCE = "Source, https://source.example"


@pytest.mark.parametrize(
    ("urls", "in_json", "in_yaml"),
    [
        ([SOURCE, f"Documentation, {ADDRESS}"], SCHEMA, f"# yaml-language-server: $schema={SCHEMA}\n"),
        ([f"Documentation, {ADDRESS}/"], SCHEMA, f"# yaml-language-server: $schema={SCHEMA}\n"),
        ([SOURCE], None, ""),
    ],
)
def test_a_new_config_names_its_schema_in_the_documentation(
    project: Project, monkeypatch: pytest.MonkeyPatch, urls: list[str], in_json: str | None, in_yaml: str
) -> None:
    """At the address that the package names, in JSON and in YAML; no file is written beside it."""
    metadata = Message()
    for url in urls:
        metadata["Project-URL"] = url
    monkeypatch.setattr(declaration_file, "distribution", lambda _name: SimpleNamespace(metadata=metadata))
    texts = []
    for config in (
        declaration_file.user_file(str(project.home)),
        declaration_file.project_file(str(project.root), str(project.home)),
    ):
        config.add({"name": "new", "event": "stop", "command": "exit 0"})
        (change,) = config.changes()
        texts.append((change.after or b"").decode())
    assert json.loads(texts[0]).get("$schema") == in_json
    assert texts[1].startswith(f"{in_yaml}hooks:\n")
