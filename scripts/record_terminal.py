"""Record docs/assets/start.svg: real hookrun commands, at a pseudo-terminal, in a new account.

python scripts/record_terminal.py
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "assets" / "start.svg"
WIDTH, HEIGHT = 80, 24
COMMANDS = (
    "hookrun init --agent claude --recipe block-destructive-commands",
    'hookrun try "rm -rf /usr"',
    'hookrun try "rm -r build"',
)
TYPING, READING, LINE = 0.6, 0.8, 0.04
"""Seconds before a command appears, after its output, and between lines of output."""

FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: system-ui, sans-serif; }}
@keyframes appear {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}
@media (prefers-reduced-motion: no-preference) {{ .row {{ animation: appear 0.05s both; }} }}
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
    """Record the commands and write the picture."""
    with tempfile.TemporaryDirectory() as place:
        screens = [(command, _run(command, Path(place))) for command in COMMANDS]
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(_picture(screens))


def _run(command: str, place: Path) -> str:
    """Return what a command writes to a terminal of WIDTH columns, in a project beside an empty home."""
    home, project = place / "home", place / "shop"
    home.mkdir(exist_ok=True)
    (project / ".git").mkdir(parents=True, exist_ok=True)
    env = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=project,
        env=env,
        start_new_session=True,
    )
    os.close(terminal)
    written = b""
    try:
        while more := os.read(master, 65536):
            written += more
            if written.endswith((b": ", b"? ")):  # a question: take the default
                os.write(master, b"\n")
    except OSError:  # the last program at the terminal has ended
        pass
    os.close(master)
    if process.wait():
        raise SystemExit(f"{command}: exit status {process.returncode}:\n{written.decode()}")
    shown = re.sub(r".*\x1b\[2K|.*\r(?!\n)", "", written.decode())  # what a progress bar has overwritten
    return shown.replace("\r\n", "\n").replace(str(home), "~").replace(str(project), "~/shop")


def _picture(screens: list[tuple[str, str]]) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    delays: list[float] = []
    now = -TYPING
    for command, screen in screens:
        now += TYPING
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        delays.append(now)
        for line in screen.rstrip("\n").splitlines():
            for row in Text.from_ansi(line).wrap(console, WIDTH):
                now += LINE
                console.print(row)
                delays.append(now)
        console.print()
        delays.append(now)
        now += READING
    svg = console.export_svg(title="hookrun", theme=DIMMED_MONOKAI, code_format=FORMAT, unique_id="hookrun")
    return re.sub(
        r'<text class="(hookrun-r\d+)"([^>]*clip-path="url\(#hookrun-line-(\d+)\)")',
        lambda text: (
            f'<text class="{text[1]} row" style="animation-delay: {delays[min(int(text[3]), len(delays) - 1)]:.2f}s"'
            f"{text[2]}"
        ),
        svg,
    )


if __name__ == "__main__":
    main()
