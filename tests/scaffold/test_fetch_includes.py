"""Configs from git repositories: pinned, fetched by `hookrun update`, never when hooks run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.config.config_file import GitInclude
from tests.cli.command import hookrun

if TYPE_CHECKING:
    from tests.conftest import Project

SCRIPT = '#!/bin/sh\necho \'{"action": "block", "message": "by the team"}\'\n'


class Shared:
    """A repository of a team, with a config and a script."""

    def __init__(self, directory: Path) -> None:
        self.path = directory
        directory.mkdir()
        self.git("init", "-q")
        (directory / "check.sh").write_text(SCRIPT)
        (directory / "check.sh").chmod(0o755)
        hook = {"name": "team", "event": "pre_tool_use", "command": '"${HOOKRUN_CONFIG_DIR}"/check.sh'}
        (directory / "coder.json").write_text(json.dumps({"hooks": [hook]}))

    def git(self, *arguments: str) -> str:
        """Run git in the repository and return its output."""
        identity = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        settings = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        done = subprocess.run(
            ["git", *settings, "-C", str(self.path), *arguments],
            capture_output=True,
            check=True,
            env={**os.environ, **identity},
        )
        return done.stdout.decode().strip()

    def commit(self) -> str:
        """Commit everything and return the commit's id."""
        self.git("add", "-A")
        self.git("commit", "-qm", "change")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    """Return a repository to include."""
    return Shared(tmp_path / "shared")


def include(project: Project, **fields: str) -> None:
    """Let the project's config include a repository."""
    (project.root / "coder.json").write_text(json.dumps({"hooks": [], "hookrun": {"include": [fields]}}))


def test_a_pinned_config_is_fetched_once_and_then_runs(project: Project, shared: Shared) -> None:
    """Before, its hooks are unknown, which is an error; after, they need approval as the project's own do."""
    rev = shared.commit()
    include(project, git=str(shared.path), rev=rev)
    before = hookrun(project, "validate")
    assert before.status == 1
    assert "is not fetched yet" in before.stdout
    assert "hookrun update" in before.stdout
    done = hookrun(project, "update")
    assert done.status == 0, done.stderr
    assert f"{shared.path} at {rev}: fetched" in done.stdout
    shutil.rmtree(shared.path)  # no run needs the repository
    assert hookrun(project, "validate").status == 0
    (hook,) = json.loads(hookrun(project, "trust", "--json").stdout)
    assert (hook["name"], hook["state"]) == ("team", "new")
    assert project.fire({"tool_name": "bash"}).action == "block"
    assert f"{shared.path} at {rev}: up to date" in hookrun(project, "update").stdout


def test_a_branch_is_pinned_by_a_digest(project: Project, shared: Shared) -> None:
    """Without one it is refused; a branch that has moved on is refused, too."""
    shared.commit()
    branch = shared.git("branch", "--show-current")
    include(project, git=str(shared.path), rev=branch)
    assert "must be a whole commit id, unless `digest` pins the files" in hookrun(project, "validate").stdout
    include(project, git=str(shared.path), rev=branch, digest="sha256:" + "0" * 64)
    wrong = hookrun(project, "update")
    assert wrong.status == 1
    digest = wrong.stderr.split("digest ")[1][:71]
    include(project, git=str(shared.path), rev=branch, digest=digest)
    assert hookrun(project, "update").status == 0
    assert hookrun(project, "validate").status == 0
    (shared.path / "check.sh").write_text("#!/bin/sh\n: changed\n")
    shared.commit()
    stored = GitInclude(str(shared.path), branch, digest, "coder.json").directory(str(project.home))
    shutil.rmtree(stored)
    assert "have the digest" in hookrun(project, "update").stderr


def test_a_copy_that_was_changed_is_no_copy(project: Project, shared: Shared) -> None:
    """With a digest, its files are compared when the config is loaded."""
    rev = shared.commit()
    include(project, git=str(shared.path), rev=rev, digest="sha256:" + "0" * 64)
    digest = hookrun(project, "update").stderr.split("digest ")[1][:71]
    include(project, git=str(shared.path), rev=rev, digest=digest)
    assert hookrun(project, "update").status == 0
    stored = Path(GitInclude(str(shared.path), rev, digest, "coder.json").directory(str(project.home)))
    (stored / "check.sh").write_text("#!/bin/sh\nexit 0\n")
    assert "was changed" in hookrun(project, "validate").stdout
    (stored / "check.sh").unlink()
    os.mkfifo(stored / "check.sh")
    assert "check.sh: not a regular file" in hookrun(project, "validate").stdout
    assert digest in hookrun(project, "update").stdout
    assert (stored / "check.sh").read_text() == SCRIPT
    assert hookrun(project, "validate").status == 0


def test_a_repository_beside_the_project_is_named_relative_to_the_config(project: Project, shared: Shared) -> None:
    """As other included files are, below a hook of git, too; the digest is printed; a missing file is an error."""
    rev = shared.commit()
    include(project, git=os.path.relpath(shared.path, project.root), rev=rev)
    done = hookrun(project, "update")
    assert done.status == 0, done.stderr
    assert "digest sha256:" in done.stdout
    shutil.rmtree(project.home / ".local/share/hookrun/includes")
    assert hookrun(project, "update", GIT_COMMON_DIR="/nowhere", GIT_DIR="/nowhere").status == 0
    include(project, git=str(shared.path), rev=rev, path="x.json")
    assert f'no file "x.json" in {shared.path} at {rev}' in hookrun(project, "validate").stdout
    assert hookrun(project, "update").status == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"git": "ext::sh -c 'touch OWNED'", "rev": "0" * 40}, "ext"),
        ({"git": "--upload-pack=touch OWNED", "rev": "0" * 40}, "hint: check `git` and `rev`"),
        ({"git": "NOWHERE", "rev": "0" * 40}, "hint: check `git` and `rev`"),
    ],
)
def test_git_runs_nothing_that_a_project_names(project: Project, fields: dict[str, str], message: str) -> None:
    """And a failed fetch is a two-line error."""
    include(project, **fields)
    done = hookrun(project, "update")
    assert (done.status, message in done.stderr) == (1, True), done.stderr
    assert not (project.root / "OWNED").exists()
    assert done.stderr.count("\n") <= 3


def test_a_commit_that_is_no_branch_is_fetched(project: Project, shared: Shared) -> None:
    """A server that gives only branches and tags is asked for all of them."""
    rev = shared.commit()
    (shared.path / "later").write_text("")
    shared.commit()
    include(project, git=str(shared.path), rev=rev)
    assert hookrun(project, "update").status == 0
    include(project, git=str(shared.path), rev=rev[:12])
    assert "must be a whole commit id" in hookrun(project, "validate").stdout


def test_links_and_missing_files_are_refused(project: Project, shared: Shared) -> None:
    """Nothing is left behind."""
    rev = shared.commit()
    include(project, git=str(shared.path), rev=rev, path="other.json")
    assert "no file `other.json`" in hookrun(project, "update").stderr
    (shared.path / "link").symlink_to("/etc/passwd")
    include(project, git=str(shared.path), rev=shared.commit())
    assert "has a link, `link`" in hookrun(project, "update").stderr
    assert list((project.home / ".local/share/hookrun/includes").iterdir()) == []
