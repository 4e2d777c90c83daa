"""What a page shows in a console, run: each command in one shell, its output compared with what stands below it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.terminal import until_closed

if TYPE_CHECKING:
    from tests.conftest import Project

CONSOLE = re.compile(r"^(<!-- at a terminal -->\n)?```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "--- end of a command ---"
PATIENCE = 150
"""Seconds: a bound for a tour, never waited for."""


def commands(page: str, *, terminal: bool) -> list[tuple[str, str]]:
    """Return every command of a page's consoles, of those at a terminal or the others, with the output below it."""
    found: list[tuple[str, str]] = []
    for mark, block in CONSOLE.findall(page):
        if bool(mark) != terminal:
            continue
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


def take(project: Project, tour: list[tuple[str, str]], *, terminal: bool = False) -> None:
    """Run a tour in the directory beside the project, and hold every output to what is shown."""
    script = "".join(f"{command}\n__status=$?\necho '{END}'\n(exit $__status)\n" for command, _ in tour)
    run = at_terminal if terminal else _piped
    path = f"{Path(sys.prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    printed = run(f"exec 2>&1\n{script}", project.root.parent, project.environment(PATH=path, TERM="dumb"))
    outputs = printed.split(f"{END}\n")
    for (command, shown), output in zip(tour, outputs, strict=False):
        assert fits(shown, output), f"$ {command}\nshown:\n{shown}\nprinted:\n{output}"
    assert len(outputs) == len(tour) + 1


def _piped(script: str, cwd: Path, env: dict[str, str]) -> str:
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=cwd, env=env, check=False)
    return done.stdout


def at_terminal(script: str, cwd: Path, env: dict[str, str]) -> str:
    """Run a script at a pseudo-terminal; return what was on the screen, without empty lines."""
    master, terminal = os.openpty()
    process = subprocess.Popen(
        ["bash", "-c", script],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )
    os.close(terminal)
    screen = until_closed(master)
    process.wait(PATIENCE)
    lines = screen.decode().replace("\r\n", "\n").splitlines(keepends=True)
    return "".join(line for line in lines if line.strip())
