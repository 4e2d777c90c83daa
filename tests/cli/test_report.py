"""`--json` of the commands that write: one shape everywhere, and nothing else on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.cli.printing import KEYS
from tests.cli.command import Done, hookrun
from tests.cli.wiring import launcher, settings_file, tree

if TYPE_CHECKING:
    from tests.conftest import Project

WRITES = (
    ("init", "--yes"),
    ("new", "more", "--lang", "sh"),
    ("add", "no-force-push"),
    ("add", "protect-hooks", "--user"),
    ("update",),
    ("remove", "no-force-push"),
    ("install", "claude"),
    ("uninstall", "claude"),
)


def paths(done: Done, key: str) -> list[str]:
    """Return the value of a key of the object on stdout."""
    found = done.json[key]
    assert isinstance(found, list)
    return [str(each) for each in found]


def launchers(project: Project) -> dict[str, bytes | str | None]:
    """Return the files that hookrun creates for agents to start, and the files that those read."""
    names = ("claude", "gemini", "gone", "disconnect", "launcher.conf")
    return {str(path): path.read_bytes() for path in (launcher(project, name) for name in names) if path.exists()}


@pytest.mark.slow
def test_every_command_that_writes_tells_it_in_one_shape(project: Project) -> None:
    """For each command in turn: files reported as written exist, files reported as removed do not."""
    for words in WRITES:
        before = tree(project.root, project.home) | launchers(project)
        done = hookrun(project, *words, "--json")
        assert (done.status, done.stderr) == (0, ""), (words, done.stderr)
        assert list(done.json) == ["ok", "dry_run", *KEYS]
        after = tree(project.root, project.home) | launchers(project)
        changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        files = {path for path in changed if (after.get(path) or before.get(path)) is not None}
        assert {*paths(done, "written"), *paths(done, "removed")} == files, words
        assert all(path in after for path in paths(done, "written"))
        assert all(path not in after for path in paths(done, "removed"))


@pytest.mark.parametrize("words", [each for each in WRITES if each[-1] not in ("update", "claude")][:4])
def test_a_dry_run_tells_what_would_be_written(project: Project, words: tuple[str, ...]) -> None:
    """With the difference, and without a change."""
    before = tree(project.root, project.home)
    done = hookrun(project, *words, "--dry-run", "--json")
    assert done.json["dry_run"] is True
    assert paths(done, "written")
    assert any(line.startswith("+++ ") for line in paths(done, "diff"))
    assert tree(project.root, project.home) == before


def test_what_agents_run_and_what_waits_for_a_person(project: Project) -> None:
    """A project's hook is not approved, the user's own needs no approval; what is approved already is named as that."""
    done = hookrun(project, "add", "no-force-push", "--json")
    assert (done.json["approved"], done.json["not_approved"]) == ([], ["no-force-push"])
    assert "hookrun trust" in paths(done, "next")
    assert paths(hookrun(project, "add", "protect-hooks", "--user", "--json"), "approved") == ["protect-hooks"]
    assert hookrun(project, "install", "claude", "--json").json["not_approved"] == ["no-force-push"]
    project.approve()
    assert hookrun(project, "install", "claude", "--json").json["approved"] == ["no-force-push"]


def test_a_conflict_is_named(project: Project) -> None:
    """As status and as `ok`."""
    project.hooks({"recipe": "no-force-push@999"})
    done = hookrun(project, "update", "--json")
    assert (done.status, done.json["ok"], done.json["conflicts"]) == (1, False, ["no-force-push"])


def test_an_agent_that_cannot_be_wired_is_told(project: Project) -> None:
    """The others are installed; the status and `ok` show that one is not."""
    project.hooks({"name": "a", "command": "true"})
    settings_file(project, "gemini").parent.mkdir()
    settings_file(project, "gemini").write_text("{,}")
    done = hookrun(project, "install", "gemini", "claude", "--json")
    assert (done.status, done.json["ok"]) == (1, False)
    assert set(paths(done, "written")) == {str(settings_file(project, "claude")), *launchers(project)}
    assert not launcher(project, "gemini").exists()
    assert any(note.startswith("gemini: ") for note in paths(done, "notes"))
