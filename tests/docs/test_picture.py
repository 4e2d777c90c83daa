"""The picture on the start page: a real agent, refused by today's words (drawn by scripts/record_terminal.py)."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from tests.conftest import Project

IDS = r"\b[0-9a-f]{6,16}\b"


def _plain(text: str) -> str:
    """Return a text without line breaks, borders, quotes of code and ids."""
    return " ".join(re.sub(rf"{IDS}|[`\u2502]", " ", text).split())


def test_the_picture_shows_what_claude_code_is_answered_today(project: Project) -> None:
    """The reason for the model and the message for the user, word for word."""
    project.user_hooks()
    (project.root / "coder.json").write_text('{"hooks": [{"recipe": "block-destructive-commands"}]}')
    project.approve()
    call = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(project.root), "tool_name": "Bash"}
    words = ("--agent", "claude", "--home", str(project.home))
    fired = project.fire({**call, "tool_input": {"command": "rm -rf ~/"}}, *words, event="PreToolUse")
    answer = json.loads(fired.stdout)
    svg = (ROOT / "docs" / "assets" / "start.svg").read_text()
    rows = re.sub(r"<text[^>]*>|</text>", " ", svg.partition('<g class="hookrun-matrix">')[2])
    shown = _plain(html.unescape(re.sub(r"<[^>]*>", "", rows)).replace("\xa0", " "))
    for text in (answer["hookSpecificOutput"]["permissionDecisionReason"], answer["systemMessage"]):
        said = _plain(text.replace(str(project.home), "/home/ada"))
        assert said.replace(" ", "") in shown.replace(" ", ""), shown
