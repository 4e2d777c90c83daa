"""The files that decide which hooks run, by name, for hooks that guard them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.trust.guarded import guarded_files

if TYPE_CHECKING:
    import pytest

    from tests.conftest import Project


def test_config_files_approvals_and_settings_of_agents_are_guarded_everywhere(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a directory, what holds in every project."""
    monkeypatch.setenv("HOME", str(project.home))
    found = guarded_files()
    assert found["*/coder.json"] == found["/etc/hookrun/hooks.json"] == "a declaration of hooks"
    assert found[f"{project.home}/.local/share/hookrun/*"] == "hookrun's own"
    assert {"*/.claude/settings.json", "*/.codex/hooks.json", "*/.cursor/hooks.json"} <= set(found)
    assert "part of a hook" not in found.values()


def test_the_files_of_hooks_in_force_are_guarded_as_named_and_where_links_lead(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that is a link is guarded under both paths; what a hook reads is not, nor a Makefile."""
    monkeypatch.setenv("HOME", str(project.home))
    (project.root / "real.sh").write_text("#!/bin/sh\n")
    (project.root / "real.sh").chmod(0o755)
    (project.root / "guard.sh").symlink_to("real.sh")
    (project.root / "words.txt").write_text("a\n")
    (project.root / "Makefile").write_text("check:\n")
    project.hooks({"name": "guard", "args": ["./guard.sh", "words.txt"]}, {"name": "make", "command": "make check"})
    found = guarded_files(str(project.root))
    parts = {path for path, what in found.items() if what == "part of a hook"}
    assert parts == {f"{project.root}/guard.sh", f"{project.root}/real.sh"}
