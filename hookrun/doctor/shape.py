"""Does a foreign part of the settings make the agent drop the whole file, hookrun's hooks with it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.config.parsed import ParseError
from hookrun.config.problem import key_text, shown
from hookrun.config.source import place
from hookrun.doctor.case import PROBLEM, Case, Finding
from hookrun.edit.json_edit import Json
from hookrun.wiring.files import MARK, Existing, WiringError, existing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.config.parsed import KeyPath

    Wrong = Iterable[tuple[KeyPath, str]]
    """What makes the agent drop a file: where it stands, and what is expected there."""

CODEX_KEYS = ("hooks", "description")


def dropped(case: Case) -> Iterable[Finding]:
    """Look through the files in which hookrun is wired for what its agent is known to drop a file for."""
    drops = DROPS.get(case.agent.WIRING.get("drops", ""))
    if drops is None:
        return
    for path in dict.fromkeys(each.path for each in case.all_wired):
        try:
            now = existing(path)
            text = Json(now.text(), "json")
        except (WiringError, ParseError):  # that is told already
            continue
        for where, expected in drops(text, now):
            line, column = place(text.text, text.offset(where))
            at = key_text(where) or "the file"
            found = f"{path}:{line}:{column}: {at} is {shown(text.at(where))}, expected {expected}"
            cause = f"{case.agent.TITLE} drops the whole file for that, hookrun's hooks with it"
            yield Finding("settings", PROBLEM, found, cause, "correct that entry")


def claude(text: Json, _now: Existing) -> Wrong:
    """Claude Code 2.1.197 and 2.1.329, measured: a matcher that is no text, a handler without a type, a flat entry."""
    events = text.at(("hooks",))
    for event, groups in events.items() if isinstance(events, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            path: KeyPath = ("hooks", event, number)
            if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
                yield path, "an object with a list of hooks"
                continue
            if not isinstance(group.get("matcher", ""), str):
                yield (*path, "matcher"), "a text, or no matcher"
            for each, handler in enumerate(group["hooks"]):
                if not isinstance(handler, dict) or not isinstance(handler.get("type"), str):
                    yield (*path, "hooks", each), "an object with a type"


def codex(text: Json, now: Existing) -> Wrong:
    """Codex CLI: another key at the top (0.169.0, measured), a byte-order mark (reported by others)."""
    if now.data is not None and now.data.startswith(MARK):
        yield (), "no byte-order mark before it"
    for key in text.data if isinstance(text.data, dict) else ():
        if key not in CODEX_KEYS:
            yield (key,), f"no other key than {' and '.join(CODEX_KEYS)}"


DROPS: dict[str, Callable[[Json, Existing], Wrong]] = {"claude": claude, "codex": codex}
"""What an agent's WIRING calls its way of dropping files -> what it is looked for with."""
