"""A project with hooks as users write them for Claude Code: ten scripts, and the settings that run them.

They are in `claude_hooks/` rather than in a `.claude/`, where an agent that works on this repository would run them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent / "claude_hooks"
PROGRAMS = ("bash", "git", "jq", "node", "python3")
"""The programs that the scripts need, as do Claude Code's own documentation and most published hooks."""


def why_not(path: str | None = None) -> str:
    """Return which of these programs are not on a PATH, by default our own; empty where all are."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    return f"the hooks need {', '.join(missing)}: not installed" if missing else ""


def furnish(project: Path) -> None:
    """Put the settings and the scripts where Claude Code looks for them, byte for byte."""
    shutil.copytree(SOURCE / "hooks", project / ".claude" / "hooks", dirs_exist_ok=True)
    shutil.copy(SOURCE / "settings.json", project / ".claude" / "settings.json")


def handlers(event: str) -> list[dict[str, Any]]:
    """Return the settings' hooks for an event, in order."""
    settings = json.loads((SOURCE / "settings.json").read_bytes())
    return [handler for group in settings["hooks"][event] for handler in group["hooks"]]
