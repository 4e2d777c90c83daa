"""Codex's trust: the digests that Codex itself makes, in its config.toml, for our hooks alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun.agents import codex, codex_trust
from hookrun.edit.file_change import ExistingFile
from hookrun.wiring.hook_trust import HookTrust, TrustConfig, required_trust
from hookrun.wiring.targets import SettingsFile
from tests.wiring.texts import wired

if TYPE_CHECKING:
    from pathlib import Path

MINE = {"type": "command", "command": "mine"}
STOP, END = (
    {"type": "command", "command": wired("codex", event), "timeout": seconds}
    for event, seconds in (("Stop", 600), ("SessionEnd", 3))
)
HOOKS = json.dumps({"hooks": {"Stop": [{"hooks": [MINE]}, {"hooks": [STOP]}], "SessionEnd": [{"hooks": [END]}]}})


def _required(path: str, hooks: str) -> list[HookTrust]:
    file = SettingsFile("codex", path, codex.INSTALL)
    return required_trust(file, ExistingFile(path, hooks.encode()), codex, by_any_path=True)


def test_the_digest_is_the_one_that_codex_reports() -> None:
    """The check value was read off Codex CLI 0.169.0: PreToolUse, no matcher, /bin/true, no timeout."""
    handler: dict[str, object] = {"type": "command", "command": "/bin/true"}
    assert codex_trust.definition_digest("PreToolUse", {"hooks": [handler]}, handler) == (
        "sha256:8f7a965a0a9eaa9814cc7d1b5b13a5bec78abd403b73e7e3818b88280da42377"
    )


def test_what_is_trusted_is_named_by_its_place() -> None:
    """The key has the file, the event in snake case, and the places of group and handler; foreign hooks have none."""
    trusts = _required("/h/.codex/hooks.json", HOOKS)
    assert [trust.table[-1] for trust in trusts] == [
        "/h/.codex/hooks.json:stop:1:0",
        "/h/.codex/hooks.json:session_end:0:0",
    ]
    assert len({trust.digest for trust in trusts}) == 2


def test_trust_is_put_in_and_taken_out_alone() -> None:
    """Foreign trust, comments and settings keep their place."""
    text = '# mine\nmodel = "m"\n\n[hooks.state."/h/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:theirs"\n'
    trusts = _required("/h/.codex/hooks.json", HOOKS)
    config = TrustConfig("/h/.codex/config.toml", trusts)
    now = ExistingFile("/h/.codex/config.toml", text.encode())
    put = config.add(now, {})
    assert put.startswith(text)
    assert put.count("trusted_hash") == 3
    later = ExistingFile("/h/.codex/config.toml", put.encode())
    assert (config.has_ours(now), config.has_ours(later)) == (False, True)
    assert config.remove(later, text) == text


def test_trust_that_the_person_has_given_otherwise_is_kept() -> None:
    """A digest that was edited, and is no longer ours, is not removed."""
    trusts = _required("/h/.codex/hooks.json", HOOKS)
    config = TrustConfig("/h/.codex/config.toml", trusts)
    text = '[hooks.state."/h/.codex/hooks.json:stop:1:0"]\ntrusted_hash = "sha256:another"\n'
    assert config.remove(ExistingFile("", text.encode()), text) == text


def test_a_linked_directory_goes_by_both_names(tmp_path: Path) -> None:
    """Where Codex's directory is reached through a link, the trust is noted under both paths."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    keys = [trust.table[-1] for trust in _required(str(tmp_path / "link" / "hooks.json"), HOOKS)]
    assert len(keys) == 4
    assert {key.rpartition("hooks.json")[0] for key in keys} == {f"{tmp_path}/link/", f"{tmp_path}/real/"}
