"""The right hooks for each type of agent: validation first, the log sees everything, types can be added."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hookrun import Engine
from hookrun.compat.stackbench import AgentLogger, HookManager
from hookrun.recipes.quality_gate import QualityGate
from hookrun.recipes.validate_json import ValidateJSON
from tests.compat.logs import log_of
from tests.compat.test_document_rules import ANALYSIS, VALIDATION


def events(log: AgentLogger) -> list[tuple[str, str]]:
    """Return the entries of the log, in order."""
    entries = [json.loads(line) for line in Path(log.tools_log_file).read_text().splitlines()]
    return [(entry["event_type"], entry["tool_name"]) for entry in entries]


@pytest.mark.parametrize(
    ("agent_type", "name", "document"),
    [
        ("extraction", "a_analysis.json", ANALYSIS),
        ("api_validation", "a_validation.json", VALIDATION),
        ("code_validation", "a_validation.json", VALIDATION),
    ],
)
def test_each_type_checks_its_own_files(agent_type: str, name: str, document: object, tmp_path: Path) -> None:
    """A valid document may be written to its place; an invalid or misplaced one is refused, and logged nevertheless."""
    log = log_of(tmp_path / "logs", "a")
    engine = Engine().use(HookManager(agent_type, log, tmp_path / "out"))

    def write(path: Path, content: object) -> str:
        args = {"file_path": str(path), "content": json.dumps(content)}
        return engine.fire_sync("pre_tool_use", session_id="s1", tool_name="write", tool_args=args).action

    with engine:
        assert write(tmp_path / "out" / name, document) == "continue"
        assert write(tmp_path / "out" / name, {}) == "block"
        assert write(tmp_path / name, document) == "block"
        assert write(tmp_path / "notes.txt", {}) == "continue"
    assert events(log) == [("pre_tool", "write")] * 4
    assert [isinstance(bundle, ValidateJSON) for bundle in HookManager(agent_type, log).bundles] == [True, False]


def test_without_a_log_there_is_only_the_validation() -> None:
    """Both the log and the output directory may be left out."""
    (bundle,) = HookManager("extraction").bundles
    assert isinstance(bundle, ValidateJSON)
    assert bundle.output_dir is None


def test_an_unknown_type_is_refused_with_those_that_are_known() -> None:
    """The message helps."""
    with pytest.raises(
        ValueError, match=r"unknown agent type 'extract', expected one of api_validation, code_validation, extraction$"
    ):
        HookManager("extract")


def test_a_program_adds_types_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The factory is given the output directory; its bundles come before the log."""
    monkeypatch.setattr(HookManager, "types", dict(HookManager.types))
    directories: list[object] = []

    def factory(output_dir: object) -> list[QualityGate]:
        directories.append(output_dir)
        return [QualityGate(90)]

    HookManager.define("reviewer", factory)
    log = log_of(tmp_path, "a")
    hooks = HookManager("reviewer", log, "out")
    assert directories == ["out"]
    assert [type(bundle) for bundle in hooks.bundles] == [QualityGate, AgentLogger]


def test_agents_of_two_types_share_an_engine() -> None:
    """The guard of one does not replace that of the other."""
    engine = Engine().use(HookManager("extraction")).use(HookManager("api_validation"))
    names = ["validate-json-extraction", "validate-json-api_validation"]
    assert [hook.name for hook in engine.hooks("pre_tool_use")] == names
