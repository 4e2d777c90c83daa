"""Record what every command shows at terminals of several widths, in a fixed project: `python -m tests.cli.screens`.

The records are tests/cli/screens/NAME.txt. Read each of them before you commit a change: it is what users see.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path

from tests.cli.terminal import at_terminal
from tests.conftest import ROOT, Project

DIRECTORY = Path(__file__).parent / "screens"
WIDTHS = (80, 120, 200)

GUARD = """\
#!/bin/sh
grep -q 'git push' || exit 0
echo 'push from CI only' >&2
exit 2
"""
TESTS = """\
cases:
  - name: a push is blocked
    event: pre_tool_use
    tool: bash
    args: {command: git push}
    expect: {action: block, message: push from CI only}
  - name: a list of files is allowed
    event: pre_tool_use
    tool: bash
    args: {command: ls}
    expect: {action: block, fired: [guard]}
"""
HOOKS: tuple[dict[str, object], ...] = (
    {
        "name": "guard",
        "event": "pre_tool_use",
        "matcher": "bash",
        "command": "./hooks/guard.sh",
        "timeout": 5,
        "on_failure": "block",
    },
    {"name": "format", "event": "post_tool_use", "matcher": "write|edit", "command": "true", "mode": "off"},
    {"name": "notes", "event": ["session_start", "stop"], "command": "cat hooks/notes.txt"},
    {"name": "typo", "event": "stop", "command": "true", "timout": 3},
)
CLAUDE = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./hooks/guard.sh"}]}]}}

WITHOUT_CLIENT = "not used: hookrun was installed without its compiled client, so every run starts Python"
"""Shown about the server if the package of these tests was installed without a compiler."""

Step = tuple[str, tuple[str, ...], tuple[str, ...]]
STEPS: tuple[Step, ...] = (
    ("help", ("--help",), ()),
    ("version", ("--version",), ()),
    ("list", ("list",), ()),
    ("validate", ("validate",), ()),
    ("explain", ("explain", "pre_tool_use", "--tool", "bash", "--arg", "command=git push"), ()),
    ("trust", ("trust",), ("y", "s", "n", "n")),
    ("trust-list", ("trust", "--list"), ()),
    ("try-long", ("try", "git push", "--long"), ()),
    ("fire", ("fire", "pre_tool_use", "--ctx", "context.json"), ()),
    ("try", ("try", "git push"), ()),
    ("test", ("test", "-v"), ()),
    ("why", ("why",), ()),
    ("log", ("log",), ()),
    ("stats", ("stats",), ()),
    ("report", ("report", "--html", "report.html"), ()),
    ("export", ("export", "--otlp", "http://127.0.0.1:4318", "--dry-run"), ()),
    ("replay", ("replay",), ()),
    ("record", ("record",), ()),
    ("undo", ("undo",), ()),
    ("disable", ("disable", "guard"), ()),
    ("enable", ("enable", "guard"), ()),
    ("allow", ("allow",), ()),
    ("disable-all", ("disable", "--all", "--for", "10m"), ()),
    ("status-off", ("status",), ()),
    ("enable-all", ("enable", "--all"), ()),
    ("trust-forget", ("trust", "--forget"), ()),
    ("install", ("install", "claude"), ("a", "y")),
    ("status", ("status",), ()),
    ("doctor", ("doctor", "claude"), ()),
    ("uninstall", ("uninstall", "claude"), ()),
    ("recipes", ("recipes",), ()),
    ("recipes-show", ("recipes", "show", "no-force-push"), ()),
    ("new", ("new", "lint", "--lang", "sh", "--event", "post_tool_use"), ()),
    ("add", ("add", "no-force-push"), ()),
    ("remove", ("remove", "no-force-push"), ()),
    ("config-show", ("config", "show"), ()),
    ("migrate", ("migrate", "--dry-run"), ()),
    ("error", ("lst",), ()),
)
"""Name of the record, arguments, answers."""


def screens(width: int) -> dict[str, str]:
    """Return the screen of each step at this width. The directory's name has a fixed length: text is wrapped."""
    directory = Path(tempfile.mkdtemp(prefix="screens-", dir="/tmp"))  # not TMPDIR, for its length
    usual, tempfile.tempdir = tempfile.tempdir, None  # the account's own is used
    try:
        project = _project(directory)
        found = {}
        for name, arguments, answers in STEPS:
            environment = {
                "PATH": f"{directory}/bin:/usr/bin:/bin",
                "TZ": "UTC",
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "HISTFILE": "",
            }
            session = at_terminal(project, *arguments, answers=answers, question="[y", env=environment, columns=width)
            lines = [line.rstrip() for line in normalized(session.screen, directory).rstrip().split("\n")]
            shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
            found[name] = "\n".join(
                [f"$ hookrun {shown}", *lines, *([f"[{session.status}]"] if session.status else [])]
            )
        return found
    finally:
        tempfile.tempdir = usual
        shutil.rmtree(directory)


def _project(directory: Path) -> Project:
    project = Project(directory)
    (project.root / "coder.json").write_text(json.dumps({"hooks": HOOKS}, indent=2) + "\n")
    project.user_hooks({"name": "bell", "event": "notification", "command": "/bin/echo bell"})
    project.script("hooks/guard.sh", GUARD)
    project.script("hooks/guard.hooktest.yaml", TESTS, 0o644)
    project.script("hooks/notes.txt", "Run the tests before you push.\n", 0o644)
    project.script("context.json", '{"tool_name": "bash", "tool_args": {"command": "git push"}}\n', 0o644)
    project.script(".claude/settings.json", json.dumps(CLAUDE), 0o644)
    (directory / "bin").mkdir()
    agent = directory / "bin" / "claude"
    agent.write_text("#!/bin/sh\necho '2.1.58 (Claude Code)'\n")
    agent.chmod(0o755)
    return project


def normalized(screen: str, directory: Path) -> str:
    """Return a screen with what differs from run to run replaced by text of the same length."""
    screen = screen.replace(str(directory), "/home/ada/src/ourshop"[: len(str(directory))])
    screen = screen.replace(sys.executable, "python").replace(str(ROOT), "/hookrun")
    screen = screen.replace(f"Python {platform.python_version()}", "Python 3.11.2")
    screen = screen.replace(WITHOUT_CLIENT, "not running; the next run of an agent starts it")
    screen = re.sub(r"(?<=  ) *\d+(\.\d)? ms", lambda found: "7 ms".rjust(len(found[0])), screen)
    screen = re.sub(r"(?<! )( ?)\b\d+(\.\d)? ms", r"\g<1>7 ms", screen)
    screen = re.sub(r'"ms":[0-9.]+', '"ms":7.0', screen)
    screen = re.sub(r"in \d+\.\d s$", "in 0.1 s", screen, flags=re.MULTILINE)
    screen = re.sub(r"\b[0-9a-f]{16}\b", "9db9ad05a220fadd", screen)
    screen = re.sub(r"(?<=  )[0-9a-f]{8}(?=  )", "9db9ad05", screen)
    screen = re.sub(r"(?<=hookrun allow )[0-9a-f]{6}", "3f2a91", screen)
    screen = re.sub(r"(?<=  )\d{4}-\d\d-\d\d(?=  )", "2026-05-04", screen)
    screen = re.sub(r"sha256:[0-9a-f]{64}", f"sha256:{'5891b5b5' * 8}", screen)
    return re.sub(r"(?:(\d{4}-\d\d-\d\d[ T])|\b)\d\d:\d\d(:\d\d(\.\d+)?)?", _fixed_time, screen)


def _fixed_time(found: re.Match[str]) -> str:
    return "2026-05-04T13:37:42.125"[0 if found[1] else 11 :][: len(found[0])]


def record(by_width: dict[int, dict[str, str]], name: str) -> str:
    """Return the text of a record: the first width whole, each other where it differs from the one before."""
    parts, before = [], ""
    for width in WIDTHS:
        screen = by_width[width][name]
        if screen != before:
            parts.append(f"--- {width} columns\n{screen}\n")
        before = screen
    return "\n".join(parts)


def main() -> None:
    """Write all records anew."""
    by_width = {width: screens(width) for width in WIDTHS}
    DIRECTORY.mkdir(exist_ok=True)
    for path in DIRECTORY.glob("*.txt"):
        path.unlink()
    for name, _, _ in STEPS:
        (DIRECTORY / f"{name}.txt").write_text(record(by_width, name))


if __name__ == "__main__":
    os.umask(0o022)
    main()
