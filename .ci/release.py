"""Make what a release consists of: an sdist, wheels for all platforms, an SBOM, and checksums.

They are built from the commit that the version's tag names, not from the working tree, with its time as the time of all
files: who builds the tag again gets the same wheels. Nothing is published.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT

TOOLS = ("cyclonedx-bom==7.5.0", "hatchling==1.27.0", "ziglang==0.14.0")
"""What builds, in these versions: others may make other bytes."""
SUMS = "SHA256SUMS"


class ReleaseError(Exception):
    """The tree cannot be released; the text says what to do."""


def main(arguments: list[str]) -> int:
    """Build a release. Returns the exit status."""
    parser = argparse.ArgumentParser(prog=".ci/release", description=__doc__)
    parser.add_argument("--into", type=Path, default=ROOT / "dist", metavar="DIR", help="an empty or new folder (dist)")
    parser.add_argument("--trial", action="store_true", help="build the current commit, tagged or not")
    options = parser.parse_args(arguments)
    try:
        version = _version("HEAD")
        if not options.trial:
            check(version)
        check_empty(options.into)
        with tempfile.TemporaryDirectory() as directory:
            made = build(Path(directory))
            options.into.mkdir(parents=True, exist_ok=True)
            for path in made:
                shutil.copy(path, options.into)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"{error}\n{error.stdout or ''}{error.stderr or ''}", file=sys.stderr)
        return 1
    print((options.into / SUMS).read_text(), end="")
    return 0


def check(version: str) -> None:
    """Refuse a commit that is not the version's, and a tree whose changes would be left out.

    Raises:
        ReleaseError: The first thing that is in the way.
    """
    if _git("status", "--porcelain"):
        raise ReleaseError("there are changes that are not committed: a release is made from a commit")
    if f"v{version}" not in _git("tag", "--points-at", "HEAD").split():
        raise ReleaseError(
            f"this commit is not tagged v{version}: `git tag -a v{version}`, or `--trial` to build without a tag"
        )
    if f"## [{version}]" not in (ROOT / "CHANGELOG.md").read_text():
        raise ReleaseError(f"CHANGELOG.md has no section {version}: give the one of unreleased changes that name")


def check_empty(directory: Path) -> None:
    """Refuse a folder with files: those of two releases would be mixed.

    Raises:
        ReleaseError: There is something in it, or it is a file.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ReleaseError(f"{directory} is not an empty folder: name another with --into")


def build(directory: Path) -> list[Path]:
    """Build in an empty folder, prove that the wheel of this machine works, and return the files."""
    tree, made = directory / "tree", directory / "made"
    tree.mkdir()
    made.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct")}
    tools = _environment(directory / "tools", *TOOLS)
    _run(tools, "-m", "hatchling", "build", "-t", "sdist", "-d", made, cwd=tree, env=environment)
    for platform in [*_platforms(tree), "pure"]:
        one = {**environment, "HOOKRUN_WHEEL": platform}
        _run(tools, "-m", "hatchling", "build", "-t", "wheel", "-d", made, cwd=tree, env=one)
    version = _version("HEAD")
    fresh = directory / "fresh/bin/python"  # without pip, which is no part of hookrun
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory / "fresh"], check=True)
    wheel = f"hookrun=={version}"
    _run(tools, "-m", "pip", "--python", fresh, "install", "-q", "--find-links", made, wheel, cwd=tree, env=environment)
    said = subprocess.run([fresh.parent / "hookrun", "--version"], capture_output=True, text=True, check=True).stdout
    if version not in said:
        raise ReleaseError(f"the installed hookrun says {said.strip()!r}, not {version}")
    bill = made / f"hookrun-{version}.cdx.json"
    _run(tools, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--pyproject", tree / "pyproject.toml",
         "-o", bill, fresh, cwd=tree, env=environment)  # fmt: skip
    listed = json.loads(bill.read_text())
    listed["metadata"]["component"]["version"] = version  # dynamic in pyproject.toml
    bill.write_text(json.dumps(listed, indent=2) + "\n")
    files = sorted(made.iterdir())
    (made / SUMS).write_text(
        "".join(f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files)
    )
    return [*files, made / SUMS]


def _platforms(tree: Path) -> list[str]:
    """Return the platforms that the build's hook knows, from its table: importing it needs hatchling."""
    text = (tree / "scripts/build_client.py").read_text()
    table = text.partition("\nWHEELS = {\n")[2].partition("\n}")[0]
    return [line.split('"')[1] for line in table.splitlines()]


def _environment(directory: Path, *packages: str) -> Path:
    """Make an environment with packages, and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    python = directory / "bin/python"
    _run(python, "-m", "pip", "install", "--quiet", *packages, cwd=directory, env={**os.environ})
    return python


def _run(*command: str | Path, cwd: Path, env: dict[str, str]) -> None:
    subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=True)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _version(revision: str) -> str:
    text = _git("show", f"{revision}:hookrun/__init__.py")
    return text.partition('__version__ = "')[2].partition('"')[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
