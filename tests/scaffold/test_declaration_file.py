"""Declaring a hook in a file that is there: it is added, everything else stays, and what cannot be is refused."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from hookrun.edit.file_change import FileChange, FileError, apply_all, existing
from hookrun.scaffold.declaration_file import DeclarationFile, ScaffoldError, check_within, project_file, user_file
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

ENTRY = {"name": "new", "event": "stop", "command": "exit 0"}
YAML = """\
# ours
hooks:
  # the first
  - name: one
    event: stop   # at the end
    command: exit 0
# the end
"""


def opened(project: Project, directory: Path | None = None) -> DeclarationFile:
    """Return the project's file."""
    return project_file(str(directory or project.root), str(project.home))


def added(project: Project) -> str:
    """Declare one more hook in the project; return the file's new text."""
    config_file = opened(project)
    config_file.add(ENTRY)
    apply_all(config_file.changes())
    with open(config_file.path, encoding="utf-8", newline="") as file:
        return file.read()


def test_a_new_file_is_written_as_a_person_would(project: Project) -> None:
    """YAML with a line for each field; JSON with two spaces where coder.json is there."""
    assert added(project) == "hooks:\n  - name: new\n    event: stop\n    command: exit 0\n"
    (project.root / "hookrun.yaml").unlink()
    (project.root / "coder.json").write_text("{}\n")
    assert added(project) == json.dumps({"hooks": [ENTRY]}, indent=2) + "\n"
    assert not (project.root / "hookrun.yaml").exists()


@rows(
    "text",
    [
        '{"model": "x", "hooks": []}',
        '{\n\t"hooks": [\n\t\t{"name": "one", "event": "stop", "command": "exit 0"}\n\t],\n\t"theirs": [1,2]\n}',
        '{"hooks": {"hooks": [{"name": "one", "event": "stop", "command": "exit 0"}]}}\r\n',
        '{"theirs": {"a":   1}}\n',
        "\ufeff{}",
    ],
)
def test_json_keeps_everything_that_is_not_ours(project: Project, text: str) -> None:
    """All characters that were there still are, in their order; the hook is at the end of the list."""
    path = project.root / "coder.json"
    path.write_text(text, newline="")
    after = iter(added(project).removeprefix("\ufeff"))
    assert all(character in after for character in text.removeprefix("\ufeff"))
    assert path.read_bytes().startswith(b"\xef\xbb\xbf") == text.startswith("\ufeff")
    assert opened(project).entries[-1] == ENTRY


def test_the_file_is_the_nearest_one_with_hooks_or_the_repositorys(project: Project) -> None:
    """From a directory below the root the root's file is meant, unless there is one with hooks on the way."""
    below = project.root / "a" / "b"
    below.mkdir(parents=True)
    assert opened(project, below).path == str(project.root / "hookrun.yaml")
    (project.root / "a" / "coder.json").write_text('{"theirs": 1}')
    assert opened(project, below).path == str(project.root / "hookrun.yaml")
    (project.root / "a" / "hookrun.yml").write_text("hooks: []\n")
    assert opened(project, below).path == str(project.root / "a" / "hookrun.yml")
    (project.root / ".git").rmdir()
    assert opened(project, below).path == str(below / "hookrun.yaml")


def test_a_persons_own_file_is_found(project: Project) -> None:
    """The one that is there, or a new hooks.json."""
    own = project.home / ".config" / "hookrun"
    assert user_file(str(project.home)).path == str(own / "hooks.json")
    own.mkdir(parents=True)
    (own / "hooks.yml").write_text(YAML)
    config_file = user_file(str(project.home))
    assert (config_file.path, config_file.layer) == (str(own / "hooks.yml"), "user")
    with pytest.raises(ScaffoldError, match="relative path in a user or managed hook"):
        config_file.add({"name": "mine", "event": "stop", "command": "./mine.sh"})


@rows(
    "name, text, reason",
    [
        ("coder.json", '{"hooks": [', "coder.json:1:12: unexpected end of file"),
        ("coder.json", '{"hooks": "none"}', "`hooks` must be a list of hooks"),
        ("coder.json", '{"hooks": {"PreToolUse": [{"hooks": []}]}}', "Claude Code's form"),
        ("hookrun.yaml", "hooks: []\nhoks: 1\n", "hoks"),
        ("hookrun.yaml", "a: &a []\nhooks: *a\n", 'unknown key "a"'),
    ],
)
def test_a_file_that_is_not_understood_is_not_touched(project: Project, name: str, text: str, reason: str) -> None:
    """The error names the location and the fault; nothing is written."""
    path = project.root / name
    path.write_text(text)
    with pytest.raises(ScaffoldError, match=re.escape(reason)):
        added(project)
    assert path.read_text() == text
    path.unlink()


def test_a_list_that_others_share_is_left_to_the_person(project: Project) -> None:
    """A merged value cannot be edited in place: the message has the text to write."""
    text = "hooks: !!seq &all\n  - {name: one, event: stop, command: exit 0}\n"
    (project.root / "hookrun.yaml").write_text(text)
    assert added(project) == f"{text}  - name: new\n    event: stop\n    command: exit 0\n"
    (project.root / "hookrun.yaml").write_text("<<: {hooks: []}\nhookrun: {}\n")
    with pytest.raises(ScaffoldError, match=r"make the change by hand: \{\"name\""):
        added(project)


def test_a_wrong_hook_is_refused_and_a_doubtful_one_told(project: Project) -> None:
    """The config is validated before anything is written."""
    config_file = opened(project)
    with pytest.raises(ScaffoldError, match="nothing was written"):
        config_file.add({**ENTRY, "when": {"": "x"}})
    doubts = opened(project).add({**ENTRY, "matcher": "bash"})
    assert ["never matches" in str(each) for each in doubts] == [True]


def test_a_link_out_of_the_project_is_not_followed(project: Project) -> None:
    """An untrusted repository cannot have hooks written elsewhere."""
    (project.root / "hooks").symlink_to(project.home)
    with pytest.raises(ScaffoldError, match="links out of"):
        check_within(str(project.root / "hooks"), str(project.root))
    check_within(str(project.root / "other"), str(project.root))


def test_all_files_are_written_or_none(project: Project) -> None:
    """Files and directories created earlier are removed when a later file cannot be written."""
    (project.root / "there").write_text("before")
    (project.root / "file").write_text("")
    paths = [str(project.root / "new" / "deep" / "one"), str(project.root / "there")]
    changes = [FileChange(path, existing(path), b"after") for path in paths]
    bad = str(project.root / "file" / "below")
    with pytest.raises(FileError, match=r"parent of this path is a file|Not a directory"):
        apply_all([*changes, FileChange(bad, existing(str(project.root / "none")), b"x")])
    assert sorted(each.name for each in project.root.iterdir()) == [".git", "file", "there"]
    assert (project.root / "there").read_text() == "before"
    apply_all(changes)
    assert (project.root / "new" / "deep" / "one").read_text() == "after"


def test_what_somebody_else_wrote_meanwhile_stays(project: Project) -> None:
    """A file that has changed since it was read is not overwritten, and files written before it are removed."""
    path, first = project.root / "there", project.root / "first"
    changes = [FileChange(str(each), existing(str(each)), b"ours") for each in (first, path)]
    path.write_text("theirs")
    with pytest.raises(FileError, match="changed by another program"):
        apply_all(changes)
    assert (path.read_text(), first.exists()) == ("theirs", False)
