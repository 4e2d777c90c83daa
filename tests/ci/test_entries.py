"""The stages of .ci/run and .ci/nightly: what they run is there, in an order in which each gets what it waits for."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import common
import every_commit
import nightly
import pytest
from nightly import State
from stages import CANNOT, Result, Stage

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

LANES = {"run": every_commit.LANES, "nightly": nightly.LANES}
STAGES = [stage for lanes in LANES.values() for lane in lanes for stage in lane]


@pytest.mark.parametrize("name", LANES)
def test_no_stage_waits_for_ever(name: str) -> None:
    """Each can begin in the end; none has the name of another."""
    left = [list(lane) for lane in LANES[name]]
    names = [stage.name for lane in left for stage in lane]
    assert len(names) == len(set(names))
    done: set[str] = set()
    while ready := [lane for lane in left if lane and set(lane[0].after) <= done]:
        done |= {lane.pop(0).name for lane in ready}
    assert done == set(names)


def test_the_readme_s_commands_are_run_as_they_stand() -> None:
    """First, and alone in their lane; nothing that needs their environment begins before."""
    first, second, *_ = every_commit.TESTS
    assert (first.lines, second.lines) == (common.readme("try"), common.readme("test"))
    early = [stage.name for stage in every_commit.OTHERS if "test" not in stage.after]
    assert [name for name in early if ".venv/" in lines_of(every_commit.OTHERS, name)] == []
    assert f"{nightly.ENVIRONMENT} && {common.PYTEST}" == common.readme("test")
    assert nightly.ENVIRONMENT.endswith("pip install --quiet -e '.[dev]'")


def lines_of(lane: Sequence[Stage], name: str) -> str:
    """Return the lines of a stage."""
    return next(stage.lines for stage in lane if stage.name == name)


def test_what_the_default_leaves_out_is_run() -> None:
    """Slow tests: a quarter for every commit, all of them in the night; lints for every commit."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"]
    assert "-m 'not slow and not lint'" in options
    assert "-m slow --quarter $(git rev-parse HEAD) " in lines_of(every_commit.TESTS, "slow-quarter")
    assert "-m lint" in lines_of(every_commit.OTHERS, "lint")
    nights = "\n".join(stage.lines for stage in nightly.STAGES if "-m slow" in stage.lines)
    assert [path for path in ("tests/live", *common.NIGHTLY_ONLY) if f" {path}" not in nights] == []
    assert [path for path in (*common.NIGHTLY_ONLY, *common.NEWEST) if not (ROOT / path).exists()] == []


def test_the_lines_of_all_stages_are_bash() -> None:
    """Bash reads them without running them; ROOT's scripts that they name are there."""
    wrong = []
    for stage in STAGES:
        done = subprocess.run(["bash", "-n", "-c", stage.lines], capture_output=True, text=True, check=False)
        missing = [
            word
            for word in stage.lines.split()
            if word.startswith(("scripts/", "benchmarks/", ".ci/"))
            and word.endswith(".py")
            and not Path(ROOT, word).exists()
        ]
        if done.returncode or missing:
            wrong.append((stage.name, done.stderr, missing))
    assert wrong == []


@pytest.mark.parametrize("name", LANES)
def test_the_stages_are_listed(name: str) -> None:
    """By the executable file, from any directory."""
    done = subprocess.run([ROOT / ".ci" / name, "--list"], cwd="/", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    listed = [line.split()[0] for line in done.stdout.splitlines()]
    assert listed == [stage.name for lane in LANES[name] for stage in lane]


def test_a_nightly_run_begins_where_the_last_one_ended(tmp_path: Path) -> None:
    """A stage that passed or failed is not run again unless named; one that the machine kept from running is."""
    state = State(tmp_path)
    for name, status in (("environment", 0), ("slow", 1), ("agents", CANNOT), ("wheels", None)):
        state.add(Result(name, status, 1.0, "last", "log"))
    names = [stage.name for stage in nightly.TESTS]
    state = State(tmp_path)
    assert state.results["slow"] == Result("slow", 1, 1.0, "last", "log")
    left = [stage.name for stage in nightly.chosen(nightly.TESTS, state, [], [])]
    assert left == [name for name in names if name not in ("environment", "slow")]
    assert [stage.name for stage in nightly.chosen(nightly.TESTS, state, ["nice", "slow"], [])] == ["nice"]
    again = [stage.name for stage in nightly.chosen(nightly.TESTS, state, [], ["slow"])]
    assert again == [name for name in names if name != "environment"]


def test_too_many_flakes_of_all_stages_together_are_red(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each pytest judges its own; they are named."""
    path = tmp_path / "flakes.json"
    assert every_commit.too_many_flakes(path) == 0
    for count, status in ((3, 0), (4, 1)):
        path.write_text(json.dumps([{"name": f"tests/a.py::test_{number}", "load": 1.5} for number in range(count)]))
        assert every_commit.too_many_flakes(path) == status
    assert "flaky: tests/a.py::test_3 (load 1.5)" in capsys.readouterr().out


def run_lines(stage: Stage, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a stage's lines in an empty folder, with programs of its own first on PATH."""
    environment = {"PATH": f"{home}/bin:/usr/bin:/bin", "HOME": str(home), "LOGS": str(home), **more}
    command = ["bash", "-euo", "pipefail", "-c", stage.lines]
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)


PYTHON = """#!/bin/bash
echo "$0 $*"
echo "cc: $(command -v cc gcc)"
echo "beside: $(pgrep -P $PPID | wc -l)"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with a stand-in for its Python, which prints how it was called, and what of C it can see."""
    for folder in (tmp_path / "bin", tmp_path / ".venv" / "bin"):
        folder.mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    return tmp_path


def named(name: str) -> Stage:
    """Return a stage of the night."""
    return next(stage for stage in nightly.STAGES if stage.name == name)


def test_without_a_compiler_there_is_none_on_path(home: Path) -> None:
    """Whatever else is on PATH stays."""
    (home / "bin" / "gcc-12").touch(mode=0o755)
    (home / "bin" / "other").touch(mode=0o755)
    done = run_lines(named("without-cc"), home)
    assert done.stdout.startswith(".venv/bin/python -m pytest\ncc: \n"), done
    linked = {path.name for path in (home / "programs").iterdir()}
    assert {"other", "bash", "git"} <= linked
    assert not {"cc", "gcc", "gcc-12", "c++", "g++", "clang"} & linked


def test_hostile_variables_reach_the_tests(home: Path) -> None:
    """The settings of git sign commits, and its hooks refuse them."""
    (home / ".venv" / "bin" / "python").write_text(
        "#!/bin/bash\nenv\ngit init -q r\ncd r\ngit commit --allow-empty -m a\n"
    )
    done = run_lines(named("variables"), home)
    assert {"FORCE_COLOR=1", "CLAUDE_CONFIG_DIR=/x", "CI=1", "COLUMNS=40"} <= set(done.stdout.splitlines())
    assert done.returncode
    assert (home / "hooks" / "pre-commit").exists()


def test_the_load_ends_with_the_tests(home: Path) -> None:
    """Four busy loops run beside them, also if they fail."""
    with (home / ".venv" / "bin" / "python").open("a") as file:
        file.write("exit 3\n")
    done = run_lines(named("load-1"), home)
    assert done.returncode == 3
    assert int(done.stdout.rpartition("beside: ")[2]) == nightly.LOAD + 1
