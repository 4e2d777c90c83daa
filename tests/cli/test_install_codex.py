"""Codex's trust in its hooks: asked for at a terminal, granted by a flag, never silently, and removed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.agents import codex
from hookrun.wiring.plan import events_to_connect
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.cli.wiring import settings_file
from tests.conftest import Project
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _declared(project: Project) -> None:
    project.hooks({"name": "a", "command": "true"})
    project.approve()


def _config(project: Project) -> Path:
    return project.home / ".codex" / "config.toml"


def test_without_a_terminal_nothing_is_trusted_and_that_is_said(project: Project) -> None:
    """The hooks are written, the trust is not; the status shows that Codex will not run them yet."""
    done = hookrun(project, "install", "codex")
    assert done.status == 1
    assert settings_file(project, "codex").exists()
    assert not _config(project).exists()
    assert "silently skips hooks that are not trusted\nhint: run `hookrun install codex --trust`" in done.stderr


@rows("answer, status", [("n", 1), ("", 1), ("y", 0)])
def test_on_a_terminal_it_is_asked(project: Project, answer: str, status: int) -> None:
    """Only a yes writes the trust."""
    session = at_terminal(project, "install", "codex", answers=(answer,), question="]: ")
    assert "codex runs only hooks that are marked as trusted." in session.screen
    assert (session.status, _config(project).exists()) == (status, answer == "y")


def test_what_changes_needs_trust_anew(project: Project) -> None:
    """Another event is another hook: without a yes to it the first stays trusted and the new one is reported."""
    hookrun(project, "install", "codex", "--trust")
    trusted = _config(project).read_bytes()
    project.hooks({"name": "a", "event": ["pre_tool_use", "before_inference"], "command": "true"})
    done = hookrun(project, "install", "codex")
    assert done.status == 1
    assert _config(project).read_bytes() == trusted
    assert hookrun(project, "install", "codex", "--trust").status == 0
    assert _config(project).read_text().count("trusted_hash") == trusted.decode().count("trusted_hash") + 1


def test_a_stale_digest_is_replaced(project: Project) -> None:
    """Where our hook has changed, the new digest replaces the old one."""
    hookrun(project, "install", "codex", "--trust")
    path = settings_file(project, "codex")
    path.write_text(path.read_text().replace('"timeout": 600', '"timeout": 601'))
    old = _config(project).read_text()
    assert hookrun(project, "install", "codex", "--trust").status == 0
    assert _config(project).read_text() == old
    assert '"timeout": 600' in path.read_text()


@rows(
    "text, error",
    [("hooks = {}\n", "1:1: `hooks.state` is an inline table"), ("a = 1\nb = = 2\n", "2:5: invalid TOML: ")],
)
def test_a_config_that_cannot_be_edited_is_left_alone(project: Project, text: str, error: str) -> None:
    """It has no place for tables, or is not valid: the error has file, line and column."""
    _config(project).parent.mkdir(exist_ok=True)
    _config(project).write_text(text)
    done = hookrun(project, "install", "codex", "--trust")
    assert done.status == 1
    assert f"~/.codex/config.toml:{error}" in done.stderr
    assert _config(project).read_text() == text


def test_both_scopes_trust_stands_in_the_persons_file(project: Project) -> None:
    """A project's hooks are trusted in the user's config.toml, under the project's path; only that entry is removed."""
    _config(project).parent.mkdir()
    _config(project).write_text('model = "m"\n')
    hookrun(project, "install", "codex", "--scope", "project", "--trust")
    assert f'[hooks.state."{project.root}/.codex/hooks.json:pre_tool_use:0:0"]' in _config(project).read_text()
    hookrun(project, "uninstall", "codex", "--scope", "project")
    assert _config(project).read_text() == 'model = "m"\n'


@pytest.mark.slow
@pytest.mark.parametrize("first_out", ["first", "second"])
@pytest.mark.parametrize("before", [{}, {"config.toml": 'model = "m"'}], ids=["none", "some"])
def test_two_projects_trust_is_kept_apart(
    project: Project, tmp_path: Path, first_out: str, before: dict[str, str]
) -> None:
    """Both are in the user's config.toml; each is removed separately, and the last one restores the original text."""
    folder = _config(project).parent
    folder.mkdir()
    for name, text in before.items():
        (folder / name).write_text(text)
    other = Project(tmp_path / "another")
    other.home = project.home
    other.hooks({"name": "a", "command": "true"})
    projects = {"first": project, "second": other}
    for each in projects.values():
        assert hookrun(each, "install", "codex", "--scope", "project", "--trust").status == 0
    assert _config(project).read_text().count("trusted_hash") == 2 * len(events_to_connect(codex, []))
    out = projects.pop(first_out)
    assert hookrun(out, "uninstall", "codex", "--scope", "project").status == 0
    (left,) = projects.values()
    assert f"{left.root}/.codex/hooks.json:pre_tool_use" in _config(project).read_text()
    assert str(out.root) not in _config(project).read_text()
    assert hookrun(left, "doctor", "codex", "--json").stdout.count("Codex CLI does not trust") == 0
    assert hookrun(left, "uninstall", "codex", "--scope", "project").status == 0
    assert {path.name: path.read_text() for path in folder.glob("*") if path.is_file()} == before


def test_codex_may_write_its_config_meanwhile(project: Project) -> None:
    """Lines that Codex or the user adds after install stay when the trust is removed."""
    hookrun(project, "install", "codex", "--trust")
    with _config(project).open("a") as file:
        file.write('\n[projects."/p"]\ntrust_level = "trusted"\n')
    hookrun(project, "uninstall", "codex")
    assert _config(project).read_text() == '\n[projects."/p"]\ntrust_level = "trusted"\n'
