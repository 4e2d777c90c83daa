"""Runs what a page shows, in the order of the page, in one directory of a new account.

- A `sh` block is run as it would be pasted. A `text` block directly below it is its output: `...` stands for anything
  in a line, and a line of `...` for any lines. Without one, the block must exit with 0.
- A block with `title="FILE"` is written to that file; a command or a setup before it makes the directory.
- `<!-- setup: COMMAND -->` is run without being shown.
- Above a block, `<!-- at a terminal -->` runs it at a pseudo-terminal, `<!-- at a terminal, typing: y Enter -->`
  answers its questions, `<!-- needs: ruby -->` skips it without that program, `<!-- not run: REASON -->`
  never runs it, and a `<!-- command: NAME -->` is one that CI runs by itself.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.cli.terminal import until_closed

if TYPE_CHECKING:
    from tests.conftest import Project

PIECE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)(?: title=\"(?P<title>[^\"\n]+)\")?\n(?P<text>.*?)^(?P=indent)```$"
    r"|^ *<!-- (?P<mark>.*?) -->$",
    re.MULTILINE | re.DOTALL,
)
TERMINAL = "at a terminal"
TYPING = f"{TERMINAL}, typing: "
QUESTION = re.compile(rb"[:?\]>] $")
TIME_LIMIT = 150
"""Seconds: a bound for a block, never waited for."""


class Block(NamedTuple):
    """A block of code on a page, with the comment above it and the output below it."""

    language: str
    title: str
    text: str
    mark: str = ""
    output: str | None = None


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page in order; a `setup` comment is a block too."""
    found: list[Block] = []
    mark, end = "", 0
    for match in PIECE.finditer(page):
        near = not page[end : match.start()].strip()
        end = match.end()
        if match["mark"] is not None:
            if match["mark"].startswith("setup: "):
                found.append(Block("sh", "", match["mark"].removeprefix("setup: ") + "\n"))
            mark = match["mark"]
            continue
        text = re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        if match["language"] == "text" and near and found and found[-1].language == "sh" and not mark:
            found[-1] = Block(*found[-1][:-1], output=text)
        else:
            found.append(Block(match["language"], match["title"] or "", text, mark if near else ""))
        mark = ""
    return found


def matches(shown: str, printed: str) -> bool:
    """Return whether an output is what is shown, blank lines and spaces at the end of a line aside."""
    lines = [".*?" if line.strip() == "..." else _line(line.rstrip()) for line in shown.splitlines() if line.strip()]
    there = [line.rstrip() for line in printed.splitlines() if line.strip()]
    return re.fullmatch("\n?".join(lines), "\n".join(there), re.DOTALL) is not None


def _line(shown: str) -> str:
    return "[^\n]*?".join(map(re.escape, shown.split("...")))


class Tour:
    """Runs blocks in an account with an empty home; remembers the working directory between them."""

    def __init__(self, project: Project, cwd: Path | None = None) -> None:
        self.cwd = cwd or project.root.parent / "work"
        self.cwd.mkdir(exist_ok=True)
        self.left_in = project.root.parent / "left-in"
        path = f"{Path(sys.prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin"
        self.env = project.environment(PATH=path, TERM="dumb", PYTHON_COLORS="0")
        self.skipped: list[str] = []
        """The programs that blocks need and that are not installed."""

    def take(self, page: str) -> None:
        """Run every block of a page."""
        for block in blocks(page):
            self.run(block)

    def run(self, block: Block) -> None:
        """Run one block, or write its file."""
        needed = block.mark.removeprefix("needs: ") if block.mark.startswith("needs: ") else ""
        if needed and shutil.which(needed, path=self.env["PATH"]) is None:
            self.skipped.append(needed)
        elif block.title:
            (self.cwd / block.title).write_text(block.text)
        elif block.language == "sh" and not block.mark.startswith(("not run: ", "command: ")):
            status, printed = self._output(block)
            assert block.output is None or matches(block.output, printed), (
                f"{block.text}\nshown:\n{block.output}\nprinted:\n{printed}"
            )
            assert status == 0 or block.output is not None, f"exit status {status}:\n{block.text}\n{printed}"

    def _output(self, block: Block) -> tuple[int, str]:
        script = f"exec 2>&1\ntrap 'pwd > {self.left_in}' EXIT\n{block.text}"
        if block.mark.startswith(TERMINAL):
            typed = block.mark.removeprefix(TYPING).split() if block.mark.startswith(TYPING) else []
            answers = ["" if key == "Enter" else key for key in typed]
            status, printed = at_terminal(script, self.cwd, self.env, answers)
        else:
            done = subprocess.run(
                ["bash", "-c", script], capture_output=True, text=True, cwd=self.cwd, env=self.env, check=False
            )
            status, printed = done.returncode, done.stdout
        self.cwd = Path(self.left_in.read_text().strip())
        return status, printed


def at_terminal(script: str, cwd: Path, env: dict[str, str], answers: list[str] | None = None) -> tuple[int, str]:
    """Run a script at a pseudo-terminal and type the answers; return its exit status and what was on the screen."""
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
    screen = b""
    for answer in answers or []:
        while not QUESTION.search(screen):
            ready, _, _ = select.select([master], [], [], TIME_LIMIT)
            assert ready, screen
            screen += os.read(master, 65536)
        os.write(master, f"{answer}\n".encode())
        screen += b"\n"
    screen += until_closed(master)
    return process.wait(TIME_LIMIT), screen.decode().replace("\r\n", "\n")
