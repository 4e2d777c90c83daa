"""Failed tests of processes are tried again, and what passes then is seen; shown with small runs of pytest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.conftest import ROOT
from tests.flakes import ROOMS

if TYPE_CHECKING:
    from pathlib import Path

CONFTEST = "from tests import flakes\ndef pytest_configure(config): flakes.register(config)\n"
SETTINGS = "[pytest]\naddopts = -p xdist\nmarkers =\n process\n no_second_try\n"
FLAKY = "def test_{0}(): passes_from({1!r}, 2)\n"
DEFECT = "@pytest.mark.no_second_try\n" + FLAKY.format("defect", "defect")
PROCESS = "import pytest\npytestmark = pytest.mark.process\n"
COUNT = """
import pathlib
def passes_from(name, run):
    with open(name, "a") as file: file.write("run\\n")
    assert pathlib.Path(name).read_text().count("run") >= run, "the first failure"
"""


class Run(NamedTuple):
    """A run of pytest."""

    status: int
    output: str
    flakes: list[dict[str, Any]]


def run(directory: Path, *options: str, **files: str) -> Run:
    """Run the tests in these files."""
    (directory / "pytest.ini").write_text(SETTINGS)
    (directory / "conftest.py").write_text(CONFTEST)
    for name, text in files.items():
        (directory / f"test_{name}.py").write_text(text + COUNT)
    # without the plugins installed here: each is imported anew for each try
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    path = directory / "flakes.json"
    return Run(done.returncode, done.stdout, json.loads(path.read_text()) if path.exists() else [])


def runs(directory: Path, name: str) -> int:
    """Return how often a test was run."""
    return (directory / name).read_text().count("run")


def test_a_test_of_processes_that_fails_once_is_flaky(tmp_path: Path) -> None:
    """With workers: the run is green and names the test, its failure and the machine's load, also in the file."""
    text = PROCESS + FLAKY.format("once", "once") + "def test_good(): pass\n"
    done = run(tmp_path, "-n", "2", "--dist", "worksteal", processes=text)
    assert done.status == 0, done.output
    assert "1 passed, 1 flaky in" in done.output
    assert "FLAKY test_processes.py::test_once: failed (load " in done.output
    assert "AssertionError: the first failure" in done.output
    (entry,) = done.flakes
    assert (entry["name"], entry["tries"]) == ("test_processes.py::test_once", 1)
    assert "the first failure" in entry["failure"]
    assert runs(tmp_path, "once") == 2


def test_only_tests_of_processes_are_tried_again_and_twice_at_most(tmp_path: Path) -> None:
    """A flaky one beside others that fail is named, but the run is red for those. A skipped one has not passed.

    Nor is one whose single failure is a defect.
    """
    skipped = "def test_skipped(): passes_from('skipped', 2); pytest.skip()\n"
    never = "def test_never(): passes_from('never', 9)\n"
    processes = PROCESS + FLAKY.format("once", "once") + never + skipped + DEFECT
    done = run(tmp_path, "-n", "0", processes=processes, others=FLAKY.format("not_marked", "not marked"))
    assert done.status == 1
    assert "4 failed, 1 flaky in" in done.output
    assert [entry["name"] for entry in done.flakes] == ["test_processes.py::test_once"]
    assert [runs(tmp_path, name) for name in ("once", "never", "skipped", "defect", "not marked")] == [2, 3, 3, 1, 1]


@pytest.mark.slow
def test_more_than_three_flaky_tests_are_red(tmp_path: Path) -> None:
    """All are named."""
    names = ("one", "two", "three", "four")
    done = run(tmp_path, "-n", "0", processes=PROCESS + "".join(FLAKY.format(name, name) for name in names))
    assert done.status == 1
    assert "4 flaky tests: more than 3 make a run red" in done.output
    assert len(done.flakes) == 4


@pytest.mark.slow
def test_many_failures_are_no_flakes(tmp_path: Path) -> None:
    """Nothing is tried again."""
    names = [f"number_{number}" for number in range(11)]
    done = run(tmp_path, "-n", "0", processes=PROCESS + "".join(FLAKY.format(name, name) for name in names))
    assert (done.status, done.flakes) == (1, [])
    assert {runs(tmp_path, name) for name in names} == {1}


def test_the_rooms_exist(request: pytest.FixtureRequest) -> None:
    """Each is a folder or a file; the tests of this file belong to none of them."""
    assert [room for room in ROOMS if not (ROOT / "tests" / room).exists()] == []
    assert request.node.get_closest_marker("process") is None
