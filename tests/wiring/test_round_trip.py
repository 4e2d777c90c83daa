"""Install, then uninstall, on settings of every kind: the very bytes are there again, and what others have changed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hookrun.agents import load
from hookrun.edit import file_change
from hookrun.edit.file_change import BOM, FileError, existing
from hookrun.edit.json_edit import Json
from hookrun.wiring import plan
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.plan import InstallChange, InstallRequest
from hookrun.wiring.targets import InstallLocation, hooks_path
from hookrun.wiring.wired_command import this_program
from tests.edit.test_toml_edit import texts
from tests.wiring.texts import FEWER_EXAMPLES, written

EVENTS = {"claude": ["PreToolUse", "Stop"], "codex": ["PreToolUse", "Stop"], "gemini": ["BeforeTool", "AfterAgent"]}


class Machine:
    """A home and a project, with one agent."""

    def __init__(self, directory: str, agent: str) -> None:
        self.home = Path(directory) / "home"
        self.home.mkdir()
        self.wish = InstallRequest(load(agent), "user", InstallLocation(str(self.home), directory, {}), this_program())
        self.settings = Path(hooks_path(self.wish.agent.INSTALL, "user", self.wish.location) or "")
        self.settings.parent.mkdir(parents=True)

    def install(self, events: list[str]) -> list[InstallChange]:
        """Install these events, and let Codex trust them."""
        ledger = Ledger(str(self.home))
        with ledger.locked():
            changes = plan.plan_install(self.wish, events, ledger)
            for each in changes:
                self._write(each, ledger)
            trust = plan.plan_trust(self.wish, changes[0], ledger)
            if trust is not None:
                changes.append(trust)
                self._write(trust, ledger)
        return changes

    @staticmethod
    def _write(each: InstallChange, ledger: Ledger) -> None:
        plan.record_original(each, ledger)
        file_change.apply(each)

    def uninstall(self) -> None:
        """Take hookrun out."""
        ledger = Ledger(str(self.home))
        with ledger.locked():
            for each in reversed(plan.plan_uninstall(self.wish, ledger)):
                file_change.apply(each)
                plan.forget_original(each, ledger)


@pytest.mark.slow
@FEWER_EXAMPLES
@given(st.sampled_from(["claude", "gemini"]), st.data(), st.booleans())
def test_settings_come_back_byte_for_byte(agent: str, data: st.DataObject, mark: bool) -> None:
    """In one step or two, with a byte-order mark or none: what was there is there again; a second install is none."""
    text = (BOM if mark else b"") + data.draw(written(comments=agent == "gemini")).encode()
    first, both = data.draw(st.sampled_from([EVENTS[agent][:1], EVENTS[agent]])), EVENTS[agent]
    with tempfile.TemporaryDirectory() as directory:
        machine = Machine(directory, agent)
        machine.settings.write_bytes(text)
        machine.install(first)
        machine.install(both)
        wired = machine.settings.read_bytes()
        assert {each.event for each in plan.wired_events(machine.wish)} == set(both)
        assert not any(each.has_effect for each in machine.install(both))
        assert machine.settings.read_bytes() == wired
        machine.uninstall()
        assert machine.settings.read_bytes() == text


@pytest.mark.slow
@FEWER_EXAMPLES
@given(written(comments=True), st.sampled_from(["before", "after"]))
def test_what_others_write_meanwhile_stays(text: str, when: str) -> None:
    """A member added after install, or between two installs, is still there after uninstall, and so is all else."""
    with tempfile.TemporaryDirectory() as directory:
        machine = Machine(directory, "gemini")
        machine.settings.write_bytes(text.encode())
        machine.install(EVENTS["gemini"][:1])
        changed = Json(machine.settings.read_bytes().decode(), "jsonc").put(("added since",), {"theirs": [1]})
        machine.settings.write_bytes(changed.text.encode())
        if when == "before":
            machine.install(EVENTS["gemini"])
        machine.uninstall()
        left, members = Json(machine.settings.read_bytes().decode(), "jsonc"), Json(text, "jsonc").data
        assert isinstance(members, dict)
        assert left.data == {**members, "added since": {"theirs": [1]}}
        assert left.text.count("//") >= text.count("//")


def test_what_is_changed_while_install_runs_is_not_lost(tmp_path: Path) -> None:
    """Where an agent writes its settings between our look at them and our write, nothing is written."""
    machine = Machine(str(tmp_path), "claude")
    machine.settings.write_text('{"a": 1}')
    (planned,) = plan.plan_install(machine.wish, ["Stop"], Ledger(str(machine.home)))
    machine.settings.write_text('{"a": 2}')
    with pytest.raises(FileError, match="has just been changed by another program"):
        file_change.apply(planned)
    assert machine.settings.read_text() == '{"a": 2}'


@pytest.mark.slow
@FEWER_EXAMPLES
@given(written(comments=False), texts())
def test_codexs_two_files_come_back_byte_for_byte(hooks: str, config: str) -> None:
    """Hooks and trust go in and out together; foreign trust, comments and line ends stay."""
    with tempfile.TemporaryDirectory() as directory:
        machine = Machine(directory, "codex")
        trust = machine.settings.parent / "config.toml"
        machine.settings.write_bytes(hooks.encode())
        trust.write_bytes(config.encode())
        machine.install(EVENTS["codex"])
        assert trust.read_bytes().startswith(config.encode())
        assert trust.read_bytes() != config.encode()
        machine.uninstall()
        assert machine.settings.read_bytes() == hooks.encode()
        assert trust.read_bytes() == config.encode()


@pytest.mark.parametrize(
    "agent", ["claude", "codex", "gemini", "qwen", "copilot", "cline", "opencode", "kilo", "pi", "vibe", "grok"]
)
def test_without_a_ledger_what_is_ours_goes_all_the_same(agent: str, tmp_path: Path) -> None:
    """If the original text is no longer known, hookrun's entries are removed, and nothing else can be lost."""
    machine = Machine(str(tmp_path), agent)
    machine.install(plan.all_events(machine.wish.agent))
    Path(Ledger(str(machine.home)).path).unlink()
    machine.uninstall()
    assert plan.wired_events(machine.wish) == []
    now = existing(str(machine.settings))
    assert now.data is None or Json(now.text(), "json").data in ({}, {"version": 1})
