"""How many lines of both corpora the rule of what an approval covers gets right, and that their code is run."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrun.config.executed import executed as executed_by
from tests.conftest import ROOT, Project
from tests.trust.corpus import CHANGED, Place, covers_code, covers_data, lines, title

if TYPE_CHECKING:
    from pathlib import Path

    from tests.trust.corpus import Line

NEEDS = {
    "javascript": "node",
    "perl": "perl",
    "awk": "awk",
    "jq": "jq",
    "gdb": "gdb",
    "make": "make",
    "package": "npm",
    "sql": "sqlite3",
}
UNPROVEN = frozenset({"ruby", "just", "java", "library", "configuration"})
"""Languages of which no test runs code: not every machine has them, or their bytes are no text."""


def proven(line: Line) -> object:
    """Return a line for a test, which is skipped where the program is missing that runs its code."""
    needs = "npx" if title(line).startswith("npx") else NEEDS.get(line["language"], "sh")
    return pytest.param(line, id=title(line), marks=pytest.mark.skipif(not shutil.which(needs), reason=f"no {needs}"))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("line", [proven(each) for each in lines("executed") if each["language"] not in UNPROVEN])
def test_the_changed_bytes_of_a_line_run(tmp_path: Path, line: Line) -> None:
    """Whether each line of executed.json names code: if changed, it prints the changed text."""
    project = Project(tmp_path)
    place = Place(project, line)
    place.write(line["code"], CHANGED[line["language"]])
    subprocess.run(["git", "init", "-q", "."], cwd=project.root, check=True)
    command = line["command"]
    done = subprocess.run(
        command if isinstance(command, list) else ["/bin/sh", "-c", command],
        cwd=project.root,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(project.home),
            "CLAUDE_PROJECT_DIR": str(project.root),
            "CLAUDE_PLUGIN_ROOT": str(project.root / "plugin"),
            **line.get("env", {}),
            "TMPDIR": str(tmp_path),  # a line's own is /tmp, where another account may have left its file
        },
        input="{}\n",
        text=True,
        capture_output=True,
        check=False,
    )
    assert "CHANGED" in done.stdout + done.stderr


@pytest.mark.slow
def test_how_many_lines_are_covered_as_they_should_be(tmp_path: Path) -> None:
    """Of 66 lines that run code at least 60 are covered, and at most one of those that name data."""
    executed, data = lines("executed"), lines("data")
    assert (len(executed) >= 66, len(data) >= 51) == (True, True)
    missed = [line for number, line in enumerate(executed) if not covers_code(Project(tmp_path / f"e{number}"), line)]
    alarms = [
        f"{title(line)}: {line['data']}"
        for number, line in enumerate(data)
        if covers_data(Project(tmp_path / f"d{number}"), line)
    ]
    print(f"{len(executed) - len(missed)} of {len(executed)} covered, {len(alarms)} of {len(data)} false alarms")
    print(*map(title, missed), "", *alarms, sep="\n")
    page = (ROOT / "docs" / "reference" / "approvals.md").read_text()
    for line in missed:  # the page lists them, and an approval warns that only a run shows them
        assert line["command"].split("; ")[-1].strip("'") in page
        assert executed_by("command", line["command"]).unknown
    assert len(missed) <= len(executed) * 6 // 66
    assert len(alarms) <= 1


def test_a_program_called_like_a_part_of_a_known_one_may_execute_what_it_is_given() -> None:
    """Only the whole name is known: `format guard.sh` may run the script."""
    code = {
        name: str(executed_by("command", f"{name} guard.sh").code) for name in ("clang-", "format", "notify-", "send")
    }
    assert [name for name, references in code.items() if "guard.sh" not in references] == []
