"""A look at what Claude Code's hooks run, without running it: scripts that end with 1 where 2 would refuse."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from hookrun.config import command_words
from hookrun.config.problem import Problem, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.model import Hook

LARGEST = 65_536
"""Bytes of a script that is looked at."""

ENDS = re.compile(
    r"\b(?:exit|sys\.exit|process\.exit|raise SystemExit)[ (]+([0-9]+)\b|\b(?:exit|process\.exit)\((1|2)\)"
)
"""How scripts end themselves, and with what."""

ENDS_WITH_TEXT = re.compile(r"\b(?:sys\.exit|raise SystemExit)\(\s*[frbu]*[\"']")
"""How a script in Python ends with 1 and a text on stderr."""

COMMENT = re.compile(r"(?m)(?:^|(?<=\s))(?:#|//)\s.*$")

NOT_SET = re.compile(r"\$\{?((?:CLAUDE_)?(?:TOOL_(?:NAME|INPUT|OUTPUT|RESULT)|FILE_PATHS?|HOOK_EVENT(?:_NAME)?))\b")
"""Variables that people expect, and that Claude Code does not set: what they would hold is on stdin."""

ANSWERS = re.compile(r"permissionDecision|[\"']decision[\"']|hookSpecificOutput")
"""What a script has in it that refuses by its output."""

REFUSES = frozenset({"PreToolUse", "UserPromptSubmit"})
"""The events at which people mean to refuse when they end with something else than 0."""


def doubts(hook: Hook, root: str) -> Iterator[Problem]:
    """Yield what is doubtful about what a hook runs, in the project at `root`."""
    claude = hook.claude or {}
    if hook.error is not None or hook.kind not in ("command", "args") or hook.layer == "managed":
        return
    for word in command_words.relative_words(hook.kind, hook.target):
        if "/" in word and not word.startswith("${CLAUDE_"):
            expected = "a path from the project (the hook runs where the agent is, which changes)"
            yield _warning(hook, f"the relative path {shown(word)}", expected, f'write "$CLAUDE_PROJECT_DIR"/{word}')
    for name in sorted({match[1] for match in NOT_SET.finditer(hook.target if isinstance(hook.target, str) else "")}):
        expected = "input on stdin, as JSON (Claude Code sets no such variable)"
        yield _warning(hook, f"${name}", expected, "read stdin, as in: jq -r .tool_input.command")
    if claude.get("event") in REFUSES and hook.on_failure != "block" and not hook.background:
        for name, text in _texts(hook, root):
            if _ends_with_one(text):
                found = f"{name}, which ends with 1 and never with 2"
                expected = "exit status 2 to refuse (1 is an error that lets it pass; probably 2 was meant)"
                yield _warning(hook, found, expected, "write exit 2, and the reason on stderr")


def _texts(hook: Hook, root: str) -> Iterator[tuple[str, str]]:
    if isinstance(hook.target, str):
        yield "its command", hook.target
    for word in hook.look:
        path = os.path.join(root, word.replace("${CLAUDE_PROJECT_DIR}", root))
        try:
            with open(path, "rb") as file:
                data = file.read(LARGEST)
        except (OSError, ValueError):
            continue
        if b"\0" not in data:
            yield path, data.decode("utf-8", "replace")


def _ends_with_one(text: str) -> bool:
    text = COMMENT.sub("", text)
    codes = {match.group(1) or match.group(2) for match in ENDS.finditer(text)}
    with_one = "1" in codes or ENDS_WITH_TEXT.search(text) is not None
    return with_one and "2" not in codes and not ANSWERS.search(text)


def _warning(hook: Hook, found: str, expected: str, advice: str) -> Problem:
    return Problem(hook.source, hook.line, 1, hook.name, found, expected, advice, severity="warning")
