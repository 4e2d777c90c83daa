"""The checks of `hookrun doctor`: one small function each, in a table. To add one is to write one more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrun import state
from hookrun.doctor.case import NOTE, OK, PROBLEM, Case, Finding
from hookrun.doctor.shape import dropped
from hookrun.doctor.switches import switched_off
from hookrun.doctor.trust import trusted
from hookrun.doctor.twice import twice
from hookrun.wiring import command, install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.wiring.targets import Wired

    Check = Callable[[Case], Iterable[Finding]]


def settings(case: Case) -> Iterable[Finding]:
    """Are the files in which the agent reads its hooks valid?"""
    for message in case.unreadable.values():
        cause = f"what {case.agent.TITLE} cannot read, it does not obey"
        yield Finding("settings", PROBLEM, message, cause, "correct the file")


def wired(case: Case) -> Iterable[Finding]:
    """Is hookrun in its settings, and for which events?"""
    for scope, found in case.wired.items():
        if found:
            events = ", ".join(dict.fromkeys(each.event for each in found))
            files = ", ".join(dict.fromkeys(each.path for each in found))
            yield Finding("wired", OK, f"for the {scope}: {events} in {files}")
    if not case.all_wired and not case.unreadable:
        cause = f"{case.agent.TITLE} fires hooks only through what stands in its settings"
        yield Finding("wired", PROBLEM, "hookrun is not in its settings", cause, _install(case))


def narrowed(case: Case) -> Iterable[Finding]:
    """Does a matcher keep hookrun from a part of an event?"""
    for each in case.all_wired:
        if each.only:
            found = f"{each.path}:{each.line}: {each.event} reaches hookrun only where {each.only} fits"
            cause = "for everything else no hook runs: which of them are meant is said in their declarations"
            yield Finding("matcher", PROBLEM, found, cause, _install(case))


def behind(case: Case) -> Iterable[Finding]:
    """Is every event wired for which a hook is declared?"""
    have = {each.event for each in case.all_wired}
    missing = [event for event in install.events_for(case.agent, case.declared) if event not in have]
    if missing and have:
        found = f"hooks are declared for {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not wired"
        yield Finding("declared", PROBLEM, found, "the wiring has fallen behind the declarations", _install(case))
    unknown = install.unknown_to(case.agent, case.declared)
    if unknown:
        found = f"hooks are declared for {', '.join(unknown)}"
        cause = f"{case.agent.TITLE} has no such event: these hooks never run there"
        yield Finding("declared", NOTE, found, cause, "nothing, or declare them for another event")


def declarations(case: Case) -> Iterable[Finding]:
    """Can all declaration files be read?"""
    for problem in case.problems:
        yield Finding("declarations", PROBLEM, problem, "nobody knows which hooks it holds", "run `hookrun validate`")


def approved(case: Case) -> Iterable[Finding]:
    """Has a person approved the project's hooks?"""
    if case.undecided is not None:
        cause = "nothing counts as approved, so that no hook of a project runs"
        yield Finding("approved", PROBLEM, case.undecided, cause, "correct it")
    if case.unapproved:
        names = ", ".join(f"{name} ({state})" for name, state in case.unapproved.items())
        cause = "an agent runs a project's hooks only when a person has approved them: these fail as `untrusted`"
        yield Finding("approved", PROBLEM, f"nobody has approved {names}", cause, "run `hookrun trust`")


def protected(case: Case) -> Iterable[Finding]:
    """Does a hook keep the agent from editing what guards it?"""
    if case.unprotected and case.all_wired:
        cause = "an agent that edits hooks, its own settings or what is approved has switched its guards off"
        remedy = "declare the recipe for yourself: `hookrun add protect-hooks --user`"
        yield Finding("protected", NOTE, "no hook keeps the agent from editing hooks", cause, remedy)


def program(case: Case) -> Iterable[Finding]:
    """Is what the wired command runs still there, and is it this hookrun?"""
    for each in _one_of_each_command(case):
        where = f"{each.path}:{each.line}"
        runs, fires = command.parse(each.text)
        if runs is None:
            found = f"{where}: the command is not as `hookrun install` writes it"
            yield Finding("program", NOTE, found, "whether it runs cannot be told", _install(case))
        elif (missing := runs.missing()) is not None:
            cause = "no hook runs: the agent goes on, and the person is told"
            yield Finding("program", PROBLEM, f"{where}: {missing} is not there any more", cause, _install(case))
        elif runs != case.program:
            found = f"{where}: runs {runs.main} with {runs.python}"
            cause = f"this hookrun is {case.program.main} with {case.program.python}"
            yield Finding("program", NOTE, found, cause, f"if this one is meant: {_install(case)}")
        elif each.handler is not None and each.text != case.wish(fires.scope).line(each.event).text:
            found = f"{where}: the command is not as this version of hookrun writes it"
            yield Finding("program", NOTE, found, "another version has written it, or somebody by hand", _install(case))
        if fires.home is not None and not os.path.isdir(fires.home):
            found = f"{where}: its home {fires.home} is no directory"
            yield Finding("program", PROBLEM, found, "hookrun finds neither hooks nor audit", _install(case))


def _one_of_each_command(case: Case) -> list[Wired]:
    """Return of the wiring the first that runs each program: what is wrong with it is told once."""
    first: dict[tuple[object, object], Wired] = {}
    for each in case.all_wired:
        runs, fires = command.parse(each.text)
        first.setdefault((runs, fires.home), each)
    return list(first.values())


def limits(case: Case) -> Iterable[Finding]:
    """Does the agent wait longer than hookrun's deadline?"""
    for each in case.all_wired:
        ours = command.parse(each.text)[1].deadline
        theirs = each.limit if each.limit is not None else install.limit(case.agent, each.event)
        if ours is None or ours >= theirs:
            mine = "none" if ours is None else f"{ours:g} s"
            found = f"{each.path}:{each.line}: {each.event}: the agent waits {theirs:g} s, hookrun's deadline is {mine}"
            cause = "the agent would end hookrun before it has answered, and go on as if there were no hook"
            yield Finding("limits", PROBLEM, found, cause, _install(case))


def home(case: Case) -> Iterable[Finding]:
    """Can the audit be written?"""
    directory = state.state_dir(case.spot.home)
    while not os.path.exists(directory):
        directory = os.path.dirname(directory)
    if not os.access(directory, os.W_OK | os.X_OK):
        found = f"{directory} cannot be written"
        yield Finding("home", PROBLEM, found, "no run is recorded", "correct its permissions")


def fired(case: Case) -> Iterable[Finding]:
    """When did each wired event last fire?"""
    if not case.all_wired:
        return
    last = [f"{event} {when}" for event, when in sorted(case.fired.items(), key=lambda item: item[1], reverse=True)]
    newest = max((os.path.getmtime(each.path) for each in case.all_wired if os.path.exists(each.path)), default=0.0)
    if not last:
        cause = "agents read their hooks when a session begins: one that runs since before does not have them"
        yield Finding("fired", NOTE, "no event of it is in the audit yet", cause, "begin a new session")
    elif max(case.fired.values()) < _rfc3339(newest):
        cause = "a session that runs since before may still have the hooks of then"
        found = f"nothing since the wiring changed; before: {', '.join(last)}"
        yield Finding("fired", NOTE, found, cause, "begin a new session")
    else:
        yield Finding("fired", OK, f"last: {', '.join(last)}")


def _rfc3339(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(seconds * 1000) % 1000:03d}Z"


def _install(case: Case) -> str:
    """Return the command that mends it."""
    scope = "project" if case.wired.get("project") and not case.wired.get("user") else "user"
    return f"run `hookrun install {case.agent.NAME}{'' if scope == 'user' else ' --scope project'}`"


CHECKS: tuple[Check, ...] = (
    settings,
    dropped,
    wired,
    narrowed,
    behind,
    declarations,
    approved,
    protected,
    program,
    limits,
    switched_off,
    trusted,
    twice,
    home,
    fired,
)
"""Every check, in the order in which they are told."""


def examine(case: Case) -> list[Finding]:
    """Return what all checks find about one agent."""
    return [finding for check in CHECKS for finding in check(case)]
