"""The files that an agent's installation needs, each of the agent's form, and the form TOML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hookrun.agents.types import InstallSpec
from hookrun.config.parse import KeyPath
from hookrun.edit.file_change import ExistingFile, FileError
from hookrun.edit.json_edit import EditError
from hookrun.edit.toml_edit import TomlTables
from hookrun.wiring.targets import (
    EVENT,
    TOP,
    Editor,
    HookFile,
    InstallLocation,
    PluginFile,
    ScriptFile,
    SettingsFile,
    hooks_path,
    problems_in,
)


def install_targets(
    agent: str, spec: InstallSpec, scope: str, location: InstallLocation, events: Iterable[str]
) -> list[HookFile]:
    """Return the files that are or may have been written for these events."""
    path = hooks_path(spec, scope, location)
    if path is None:
        return []
    if spec["form"] == "script":
        return [ScriptFile(agent, path.replace(EVENT, event), event) for event in events]
    if spec["form"] == "toml":
        return [TomlFile(agent, path, spec, scope)]
    return [PluginFile(agent, path, spec) if spec["form"] == "plugin" else SettingsFile(agent, path, spec)]


class TomlFile(SettingsFile):
    """TOML settings with hookrun's handlers among others: under `[[hooks]]`, each with its event as `type`."""

    def _parsed(self, text: str) -> TomlTables:
        with problems_in(self.path, text):
            return TomlTables(text)

    def remove(self, now: ExistingFile, before: str | None) -> str | None:
        """Return the text without our handlers, or None if there was no file and nothing is left."""
        left = self.remove_handlers(self.read(now), None)
        return left.text if before is not None or left.text.strip() else None

    def _handlers(self, json: Editor) -> Iterator[tuple[KeyPath, dict[str, object]]]:
        items = json.at(TOP)
        for number, each in enumerate(items if isinstance(items, list) else ()):
            if isinstance(each, dict):
                yield (*TOP, number), each

    def _event(self, _at: KeyPath, handler: Mapping[str, object]) -> str:
        return str(handler.get("type"))

    def add_handlers(self, json: Editor, wanted: Mapping[str, dict[str, object]]) -> Editor:
        """Return the file with one handler for each event as `wanted`. Raises FileError where `hooks` is inline."""
        try:
            return super().add_handlers(json, wanted)
        except EditError:
            message = (
                f"{self.path}: `hooks` is not written as tables\nhint: write each as [[hooks]]; nothing was changed"
            )
            raise FileError(message) from None

    def _check_form(self, json: Editor, events: Iterable[str]) -> None: ...

    def _with(self, json: Editor, _event: str, handler: dict[str, object]) -> Editor:
        return json.add(TOP, handler)

    def _without(self, json: Editor, path: KeyPath, _before: Editor | None) -> Editor:
        items = json.at(TOP)
        return json.remove(TOP if isinstance(items, list) and len(items) == 1 else path)
