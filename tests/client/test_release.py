"""`.ci/release`: what it refuses, and the files it makes."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@localhost")


def release(tree: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run it in a checkout."""
    command = [sys.executable, tree / ".ci/release.py", *arguments]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def commit(tree: Path) -> None:
    """Commit all that is in a checkout."""
    subprocess.run([*GIT, "add", "-A"], cwd=tree, check=True)
    subprocess.run([*GIT, "commit", "-q", "--allow-empty", "-m", "x"], cwd=tree, check=True)


def test_what_is_not_released(tmp_path: Path) -> None:
    """Changes, a commit without the version's tag, a changelog without its section, a folder in use."""
    tree = tmp_path / "tree"
    (tree / "hookrun").mkdir(parents=True)
    shutil.copytree(ROOT / ".ci", tree / ".ci", ignore=shutil.ignore_patterns("logs", "__pycache__"))
    (tree / ".gitignore").write_text("__pycache__\n")
    (tree / "hookrun/__init__.py").write_text('__version__ = "7.8.9"\n')
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n")
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    commit(tree)

    def refused(*arguments: str | Path) -> str:
        done = release(tree, "--into", tmp_path / "dist", *arguments)
        assert (done.returncode, done.stdout, (tmp_path / "dist").exists()) == (1, "", False), done
        return done.stderr.strip()

    assert "not tagged v7.8.9: `git tag -a v7.8.9`, or `--trial`" in refused()
    subprocess.run([*GIT, "tag", "v7.8.9"], cwd=tree, check=True)
    assert refused() == "CHANGELOG.md has no section 7.8.9: give the one of unreleased changes that name"
    (tree / "new").touch()
    assert "there are changes that are not committed" in refused()
    assert refused("--trial", "--into", tree).endswith("is not an empty folder: name another with --into")
    assert refused("--trial", "--into", tree / "new").endswith("is not an empty folder: name another with --into")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_what_is_released(tmp_path: Path) -> None:
    """An sdist, a wheel for each platform and one for the others, an SBOM, checksums; a second build has the same."""
    tree = tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
    names = [
        "hookrun-0.1.0-py3-none-any.whl",
        "hookrun-0.1.0-py3-none-macosx_11_0_arm64.whl",
        "hookrun-0.1.0-py3-none-macosx_11_0_x86_64.whl",
        *(f"hookrun-0.1.0-py3-none-manylinux_2_17_{each}.manylinux2014_{each}.musllinux_1_1_{each}.whl"
          for each in ("aarch64", "x86_64")),
        "hookrun-0.1.0.cdx.json",
        "hookrun-0.1.0.tar.gz",
    ]  # fmt: skip
    sums = []
    for into in (tmp_path / "first", tmp_path / "second"):
        done = release(tree, "--trial", "--into", into)
        if "could not find a version" in done.stderr.lower() or "Temporary failure in name resolution" in done.stderr:
            pytest.skip(f"the tools of a release cannot be installed: {done.stderr.strip()[-200:]}")
        assert done.returncode == 0, done.stderr
        assert done.stdout == (into / "SHA256SUMS").read_text()
        sums.append(done.stdout)
    assert sums[0] == sums[1]
    rows = [row.split("  ") for row in sums[0].splitlines()]
    assert [name for _, name in rows] == names
    for digest, name in rows:
        assert hashlib.sha256((tmp_path / "first" / name).read_bytes()).hexdigest() == digest
    bill = json.loads((tmp_path / "first/hookrun-0.1.0.cdx.json").read_text())
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", "0.1.0")
    listed = {each["name"].lower() for each in bill["components"]}
    assert listed >= {"click", "orjson", "pyyaml", "rich", "tree-sitter", "tree-sitter-bash"}
    assert not listed & {"pip", "pytest", "setuptools"}
    assert str(tmp_path) not in json.dumps(bill)
    with tarfile.open(tmp_path / "first/hookrun-0.1.0.tar.gz") as archive:
        assert {"hookrun-0.1.0/LICENSE", "hookrun-0.1.0/hookrun/launch/client/client.c"} <= {*archive.getnames()}
