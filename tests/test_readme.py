"""Everything the README shows is run: its tour, in one shell, each command's output compared with what stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT, Project

README = (ROOT / "README.md").read_text()
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "--- end of a command ---"


def commands() -> list[tuple[str, str]]:
    """Return every command of the tour with the output that stands below it."""
    found: list[tuple[str, str]] = []
    for block in CONSOLE.findall(README):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], ""))
            elif line.startswith("> "):
                found[-1] = (f"{found[-1][0]}\n{line[2:]}", "")
            else:
                found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def fits(shown: str, printed: str) -> bool:
    """Tell whether an output is what is shown, where `...` stands for anything within a line."""
    return re.fullmatch("[^\n]*?".join(map(re.escape, shown.split("..."))), printed) is not None


def test_the_tour_is_what_happens(project: Project) -> None:
    """Each command of the five-minute tour, run in order in one shell, prints what the README says."""
    tour = commands()
    assert len(tour) > 10
    script = "".join(f"{command}\n__status=$?\necho '{END}'\n(exit $__status)\n" for command, _ in tour)
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        capture_output=True,
        text=True,
        cwd=project.root.parent,
        env=project.environment(PATH=f"{Path(sys.prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin"),
        check=False,
    )
    printed = done.stdout.split(f"{END}\n")
    for (command, shown), output in zip(tour, printed, strict=False):
        assert fits(shown, output), f"$ {command}\nshown:\n{shown}\nprinted:\n{output}"
    assert len(printed) == len(tour) + 1


def test_the_commands_for_a_fresh_machine_are_where_ci_takes_them_from() -> None:
    """The two commands stand alone in their blocks, one line each."""
    for name in ("try", "test"):
        found = re.findall(rf"<!-- command: {name} -->\n```sh\n(.*?)\n```", README, re.DOTALL)
        assert len(found) == 1
        assert "\n" not in found[0]
        assert "venv" in found[0]


def test_every_link_leads_somewhere() -> None:
    """Files that the README and the docs link to exist."""
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT).glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
