"""The real agents that CI tests for a change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import changed
import pytest
from changed import AGENTS, agents

FILES = [
    ("hookrun/agents/codex.py", ["codex"]),
    ("hookrun/agents/codex_trust.py", ["codex"]),
    ("hookrun/agents/opencode_plugin.js", ["opencode"]),
    ("hookrun/agents/callers.py", ["grok"]),
    ("hookrun/claude/settings.py", ["claude"]),
    ("hookrun_conformance/drivers/qwen.py", ["qwen"]),
    ("tests/live/test_claude_hooks.py", ["claude"]),
    ("tests/live/claude_rows.py", ["claude"]),
    ("hookrun/agents/base.py", list(AGENTS)),
    ("hookrun/agents/payloads.json", list(AGENTS)),
    ("hookrun/wiring/plan.py", list(AGENTS)),
    ("tests/live/agents.json", list(AGENTS)),
    ("hookrun_conformance/drivers/__init__.py", list(AGENTS)),
    ("hookrun/cli/stats.py", []),
    ("tests/agents/test_codex.py", []),
    ("docs/reference/agents.md", []),
]


def test_a_file_concerns_its_agent_or_all() -> None:
    """Or none; several files concern all of theirs, in one order."""
    found = [(file, agents([file]), expected) for file, expected in FILES]
    assert [row for row in found if row[1] != row[2]] == []
    assert agents(["hookrun/agents/qwen.py", "README.md", "hookrun/agents/codex.py"]) == ["codex", "qwen"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a clone with an upstream of two commits, as the one that is looked at."""
    upstream = tmp_path / "upstream"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "upstream")
    for name in ("first", "second"):
        commit(upstream, name)
    git(tmp_path, "clone", "--quiet", "upstream", "clone")
    monkeypatch.setattr(changed, "ROOT", tmp_path / "clone")
    monkeypatch.delenv(changed.SINCE, raising=False)
    return tmp_path / "clone"


def git(directory: Path, *arguments: str) -> None:
    """Run git as an author."""
    author = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    subprocess.run(["git", *author, *arguments], cwd=directory, check=True, capture_output=True)


def commit(repository: Path, name: str) -> None:
    """Commit a new file."""
    (repository / name).touch()
    git(repository, "add", name)
    git(repository, "commit", "--quiet", "-m", name)


def test_a_branch_is_compared_with_its_upstream_and_its_upstream_s_commit_with_the_one_before(repository: Path) -> None:
    """What is not committed yet counts, too."""
    assert changed.changed(changed.base()) == ["second"]
    for name in ("third", "fourth"):
        commit(repository, name)
    (repository / "fifth").touch()
    assert changed.changed(changed.base()) == ["fourth", "third", "fifth"]


def test_a_named_commit_is_compared_with(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the upstream is."""
    commit(repository, "third")
    monkeypatch.setenv(changed.SINCE, "HEAD")
    assert changed.changed(changed.base()) == []


def test_without_history_every_agent_counts_as_changed(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a shallow clone."""
    git(repository.parent, "clone", "--quiet", "--depth=1", f"file://{repository}", "shallow")
    monkeypatch.setattr(changed, "ROOT", repository.parent / "shallow")
    assert changed.main([]) == 0
    assert capsys.readouterr().out == ",".join(AGENTS) + "\n"
