"""Is hookrun fired twice for one event of an agent, by another scope, another file, or another agent's settings?"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from hookrun.agents import AGENTS
from hookrun.config import command_words
from hookrun.doctor.case import NOTE, PROBLEM, Case, Finding
from hookrun.wiring.places import EVENT, written_as

if TYPE_CHECKING:
    from collections.abc import Iterable

CAUSE = "each of its hooks runs twice for one event"


def twice(case: Case) -> Iterable[Finding]:
    """Look for a second wiring in the same file, in the other scope, and in all other files that the agent reads."""
    name = case.agent.NAME
    for scope, found in case.wired.items():
        for event, count in Counter(each.event for each in found).items():
            if count > 1:
                where = found[0].path
                remedy = f"run `hookrun install {name} --scope {scope}`"
                yield Finding("twice", PROBLEM, f"{where}: {event} is wired {count} times", CAUSE, remedy)
    if case.wired.get("user") and case.wired.get("project"):
        files = f"{case.wired['user'][0].path} and {case.wired['project'][0].path}"
        cause = "hookrun is silent in the project's while the user's is there: it costs a start for nothing"
        yield Finding("twice", NOTE, f"wired in {files}", cause, f"run `hookrun uninstall {name} --scope project`")
    for path in _others(case):
        for agent in _fired_for(path):
            yield _in_another_file(case, path, agent)


def _in_another_file(case: Case, path: str, agent: str) -> Finding:
    if agent == case.agent.NAME:
        return Finding("twice", PROBLEM, f"{path} fires hookrun too", CAUSE, "take hookrun out of that file")
    found = f"{case.agent.TITLE} reads {path} too, where hookrun is wired for {agent}"
    cause = f"hookrun sees who is calling, and is silent there while {case.agent.NAME} itself is wired"
    return Finding("twice", NOTE, found, cause, "nothing")


def _others(case: Case) -> list[str]:
    written = {os.path.realpath(each.path) for each in case.all_wired}
    paths = [
        written_as(each.replace(EVENT, event), case.agent.WIRING, case.spot)
        for each in case.agent.WIRING.get("elsewhere", ())
        for event in (case.agent.EVENTS if EVENT in each else ("",))
    ]
    return [path for path in paths if os.path.realpath(path) not in written]


def _fired_for(path: str) -> list[str]:
    """Return the agents for which hookrun is fired in a file, none where that cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return []
    fired = {match.group(1) for match in command_words.FIRES.finditer(text)}
    return [agent for agent in AGENTS if agent in fired]
