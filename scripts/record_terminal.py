"""Draw docs/assets/start.svg: the real Claude Code, refused by a hook, as its terminal shows it.

HOOKRUN_AGENTS=DIRECTORY python scripts/record_terminal.py [--check]

It needs the agents of the live tests and `pip install pyte`, a terminal in memory. The model is the tests' own; what is
refused, by which words, is hookrun's and Claude Code's. With `--check`, as in CI, nothing is written: it exits with 1
if the picture would be another one, but for ids. tests/docs/test_picture.py compares the words without an agent.
"""

from __future__ import annotations

import fcntl
import importlib
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from difflib import unified_diff
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hookrun_conformance.driver import put  # noqa: E402  # the tests beside this program
from hookrun_conformance.drivers.claude import Claude  # noqa: E402
from hookrun_conformance.model import ScriptedModel, say, use  # noqa: E402
from tests.live.installed import PINS  # noqa: E402
from tests.live.run import Place  # noqa: E402

PICTURE = ROOT / "docs" / "assets" / "start.svg"
WIDTH, HEIGHT = 80, 40
HOME = "/home/ada"
"""What the picture has for the home of the recording."""
PROMPT = "Make some room on the disk"
ANSWER = "Your hook refused `rm -rf ~/`. Which directory may I clean up?"
TURNS = (use("Bash", command="rm -rf ~/", description="Free some space"), say(ANSWER))
ID = re.compile(r"(?<=why&#160;)[0-9a-f]{8}|(?<=allow&#160;)[0-9a-f]{6}")
"""An id, which is another one each time."""
TIME_LIMIT = 180.0
"""Seconds for Claude Code to show the answer."""

FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: system-ui, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""The format of rich without its font, which would be loaded from another host."""


def main() -> None:
    """Record the session and draw the picture."""
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        environment = place.environment(TERM="xterm-256color", COLORTERM="truecolor")
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        for command in ("add block-destructive-commands", "install claude"):
            _converse(["hookrun", *command.split()], place.project, environment, until=None)
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        known = {"approved": ["none"], "rejected": []}
        settings = {"hasCompletedOnboarding": True, "customApiKeyResponses": known, "theme": "dark"}
        put(place.home / ".claude.json", {**settings, "projects": {str(place.project): project}})
        with ScriptedModel(TURNS) as model:
            environment |= Claude().environment(model.url)
            command = [str(PINS["claude"].program), PROMPT]
            screen = _converse(command, place.project, environment, until=ANSWER[-20:])
        drawn = _picture(_rows(screen, str(place.home)))
    if "--check" not in sys.argv:
        PICTURE.write_text(drawn)
        return
    was, now = (ID.sub("", text).splitlines() for text in (PICTURE.read_text(), drawn))
    sys.exit("\n".join(unified_diff(was, now, str(PICTURE), "drawn now", lineterm="")) or None)


def _converse(command: list[str], directory: Path, environment: dict[str, str], until: str | None) -> Any:
    """Run a program at a terminal in memory until it shows a text, by default until it ends; return the screen."""
    pyte: Any = importlib.import_module("pyte")
    screen = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.ByteStream(screen)
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    process = subprocess.Popen(
        command,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=directory,
        env=environment,
        start_new_session=True,
    )
    os.close(terminal)
    end = time.monotonic() + TIME_LIMIT
    try:
        while time.monotonic() < end and not (until and any(until in line for line in screen.display)):
            if select.select([master], [], [], 0.2)[0]:
                stream.feed(os.read(master, 65536))
    except OSError:  # the last program at the terminal has ended
        pass
    if until is not None:
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    os.close(master)
    if status and until is None:
        raise SystemExit(f"{command}: exit status {status}")
    return screen


def _rows(screen: Any, home: str) -> list[Text]:
    """Return the lines from the prompt to the answer, in their colors."""
    display = [line.replace(home, HOME).replace("\u23bf", "\u2514") for line in screen.display]  # few fonts have it
    first = next(index for index, line in enumerate(display) if PROMPT in line)
    last = next(index for index, line in enumerate(display) if ANSWER[-20:] in line)
    return [_row(screen.buffer[index], display[index]) for index in range(first, last + 1)]


def _row(cells: Any, line: str) -> Text:
    if HOME in line:  # shorter than what was shown: of one color
        return Text(line.rstrip(), style=_color(cells[len(line) - len(line.lstrip())].fg))
    styles = [f"{'bold ' if cell.bold else ''}{_color(cell.fg)}" for cell in (cells[at] for at in range(len(line)))]
    row = Text()
    for style, run in groupby(zip(styles, line.rstrip(), strict=False), key=lambda each: each[0]):
        row.append("".join(character for _, character in run), style=style)
    return row


def _color(name: str) -> str:
    """Return a color of pyte as rich names it."""
    if re.fullmatch("[0-9a-f]{6}", name):
        return f"#{name}"
    return "yellow" if name == "brown" else name.replace("bright", "bright_")


def _picture(rows: list[Text]) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for row in rows:
        console.print(row)
    return console.export_svg(title="Claude Code", theme=DIMMED_MONOKAI, code_format=FORMAT, unique_id="hookrun")


if __name__ == "__main__":
    main()
