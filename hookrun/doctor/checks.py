"""The checks of `hookrun doctor`: one small function each, in a table. To add one is to write one more."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hookrun import state
from hookrun.agents import AGENTS
from hookrun.agents.callers import CALLERS, UNKNOWN
from hookrun.config.diagnostics import key_text
from hookrun.config.document import line_and_column
from hookrun.config.parse import ParseError
from hookrun.doctor.agent_state import NOTE, OK, PROBLEM, AgentState, Finding
from hookrun.doctor.settings_checks import (
    check_folder_trust,
    check_hook_trust,
    check_managed_only,
    check_switched_off,
    read_settings,
)
from hookrun.edit.file_change import BOM, FileError, existing
from hookrun.edit.json_edit import Json
from hookrun.shell.fire_call import fire_calls
from hookrun.text import quote
from hookrun.wiring import ephemeral, plan
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.targets import EVENT, resolve_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.agents.types import InstallSpec
    from hookrun.wiring.targets import WiredEvent

    Check = Callable[[AgentState], Iterable[Finding]]

TWICE = "each of its hooks runs twice for one event"


def check_settings(agent: AgentState) -> Iterable[Finding]:
    """Are the files in which the agent reads its hooks valid?"""
    for message in agent.unreadable.values():
        yield Finding("settings", PROBLEM, message, f"{agent.title} ignores what it cannot read", "correct the file")


def check_dropped_settings(agent: AgentState) -> Iterable[Finding]:
    """Does another part of the settings make the agent drop the whole file, hookrun's hooks with it?"""
    dropped_if = agent.spec.get("dropped_if")
    for path in dict.fromkeys(each.path for each in agent.all_wired if dropped_if is not None):
        try:
            now = existing(path)
            text = Json(now.text(), "json")
        except (FileError, ParseError):  # check_settings reports it
            continue
        has_bom = now.data is not None and now.data.startswith(BOM)
        for where, expected in dropped_if(text.data, has_bom) if dropped_if is not None else ():
            line, column = line_and_column(text.text, text.offset(where))
            at = key_text(where) or "the file"
            found = f"{path}:{line}:{column}: {at} is {quote(text.at(where))}, expected {expected}"
            cause = f"{agent.title} drops the whole file for that, hookrun's hooks with it"
            yield Finding("settings", PROBLEM, found, cause, "correct that entry")


def check_wired(agent: AgentState) -> Iterable[Finding]:
    """Is hookrun in its settings, and for which events?"""
    for scope, found in agent.wired.items():
        ours = [each for each in found if each.is_ours]
        if ours:
            events = ", ".join(dict.fromkeys(each.event for each in ours))
            files = ", ".join(dict.fromkeys(each.path for each in ours))
            yield Finding("wired", OK, f"for the {scope}: {events} in {files}")
        for each in found:
            if not each.is_ours:
                line = f"{each.path}:{each.line}: {each.event} fires hookrun by a line written by hand"
                cause = "hookrun neither changes nor starts it: whether a hook's answer reaches the agent is unknown"
                remedy = f"to have hookrun's own, remove it and run {agent.request(scope).command('install')}"
                yield Finding("wired", NOTE, f"{line}: {quote(each.text)}", cause, remedy)
    if not agent.all_wired and not agent.unreadable:
        cause = f"{agent.title} runs hooks only through its own settings"
        yield Finding("wired", PROBLEM, "hookrun is not in its settings", cause, _install(agent))


def check_matchers(agent: AgentState) -> Iterable[Finding]:
    """Does a matcher keep hookrun from a part of an event?"""
    for each in agent.all_wired:
        if each.only:
            found = f"{each.path}:{each.line}: {each.event} reaches hookrun only where {each.only} fits"
            cause = "no hook runs for anything else; a hook's own declaration says what it is for"
            yield Finding("matcher", PROBLEM, found, cause, _install(agent))


def check_missing_events(agent: AgentState) -> Iterable[Finding]:
    """Is hookrun installed for every event that has a hook?"""
    have = {each.event for each in agent.all_wired}
    missing = [event for event in plan.events_for(agent.agent, agent.declared) if event not in have]
    if missing and have:
        found = f"hooks are declared for {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not wired"
        yield Finding("declared", PROBLEM, found, "the settings are older than the declarations", _install(agent))
    unsupported = plan.unsupported_events(agent.agent, agent.declared)
    if unsupported:
        found = f"hooks are declared for {', '.join(unsupported)}"
        cause = f"{agent.title} has no such event: these hooks never run there"
        yield Finding("declared", NOTE, found, cause, "nothing, or declare them for another event")


def check_unsent_events(agent: AgentState) -> Iterable[Finding]:
    """Does the agent send the events that have hooks at all?"""
    for event in plan.unsent_events(agent.agent, agent.declared):
        found = f"hooks are declared for {event}, which {agent.title} never sends"
        cause = f"in no run up to {plan.newest_measured(agent.agent)} it came: these hooks do not run there"
        yield Finding("declared", NOTE, found, cause, "declare them for another event")


def check_version(agent: AgentState) -> Iterable[Finding]:
    """Was this version of the agent measured, or a newer one?"""
    version = agent.installed.version if agent.installed is not None else None
    newest = plan.newest_measured(agent.agent)
    if version is not None and plan.version_number(version) > plan.version_number(newest):
        found = f"version {version} is newer than {newest}, the newest that was measured"
        cause = "it may send or obey something else than hookrun expects"
        yield Finding("version", NOTE, found, cause, f"run `hookrun doctor {agent.agent.NAME} --prove`")


def check_declarations(agent: AgentState) -> Iterable[Finding]:
    """Can all declaration files be read?"""
    for problem in agent.problems:
        yield Finding("declarations", PROBLEM, problem, "the hooks in it are unknown", "run `hookrun validate`")


def check_approval(agent: AgentState) -> Iterable[Finding]:
    """Has the user approved the project's hooks?"""
    if agent.undecided is not None:
        cause = "nothing counts as approved, so that no hook of a project runs"
        yield Finding("approved", PROBLEM, agent.undecided, cause, "correct it")
    if agent.unapproved:
        names = ", ".join(f"{name} ({state})" for name, state in agent.unapproved.items())
        cause = "an agent runs a project's hooks only after you approve them: until then they fail as `untrusted`"
        yield Finding("approved", PROBLEM, f"nobody has approved {names}", cause, "run `hookrun trust`")


def check_protection(agent: AgentState) -> Iterable[Finding]:
    """Does a hook keep the agent from editing what guards it?"""
    if agent.unprotected and agent.all_wired:
        cause = "an agent that edits hooks, its own settings or approvals can switch its guards off"
        remedy = "add the recipe for yourself: `hookrun add protect-hooks --user`"
        yield Finding("protected", NOTE, "no hook keeps the agent from editing hooks", cause, remedy)


def check_program(agent: AgentState) -> Iterable[Finding]:
    """Does what the command runs still exist, and is it this hookrun?"""
    first: dict[tuple[object, object], WiredEvent] = {}  # one finding for all events with the same program
    for each in agent.all_wired:
        if each.is_ours:
            first.setdefault((each.command.program, each.command.flags.home), each)
    for each in first.values():
        yield from _check_command(agent, each)


def _check_command(agent: AgentState, each: WiredEvent) -> Iterable[Finding]:
    where = f"{each.path}:{each.line}"
    program, flags = each.command.program, each.command.flags
    if program is None:
        return
    if (missing := program.missing()) is not None:
        cause = "no hook runs: the agent continues, and you get a warning"
        yield Finding("program", PROBLEM, f"{where}: {missing} is not there any more", cause, _install(agent))
    elif program != agent.program:
        found = f"{where}: runs {program.main} with {program.python}"
        cause = f"this hookrun is {agent.program.main} with {agent.program.python}"
        yield Finding("program", NOTE, found, cause, f"if this one is meant: {_install(agent)}")
    elif each.handler is not None and each.text != agent.request(flags.scope).line(each.event).text:
        found = f"{where}: the command is not as this version of hookrun writes it"
        yield Finding("program", NOTE, found, "another version wrote it, or it was edited", _install(agent))
    if flags.home is not None and not os.path.isdir(flags.home):
        found = f"{where}: its home {flags.home} is no directory"
        yield Finding("program", PROBLEM, found, "hookrun finds neither hooks nor audit", _install(agent))


def check_place(agent: AgentState) -> Iterable[Finding]:
    """Will what the command runs last, or is it in a cache or temporary directory?"""
    for program in {each.command.program for each in agent.all_wired}:
        directory = ephemeral.ephemeral_directory(program, agent.spot.home) if program is not None else None
        if program is None or directory is None or program.missing() is not None:
            continue
        chosen = program.main in _from_here(agent)
        found = f"the hookrun that runs, {program.main}, is in {directory}{', as `--from-here` allowed' * chosen}"
        cause = "that may be cleaned at any time: then no hook runs"
        remedy = _install(agent)
        if program == agent.program:
            remedy = f"run {ephemeral.lasting_installation()}, then {remedy.removeprefix('run ')}"
        yield Finding("place", NOTE if chosen else PROBLEM, found, cause, remedy)


def _from_here(agent: AgentState) -> list[str]:
    """Return the programs that the user installed although they may be cleaned away."""
    try:
        return Ledger(agent.spot.home).from_here
    except FileError:
        return []


def check_timeouts(agent: AgentState) -> Iterable[Finding]:
    """Does the agent wait longer than hookrun's deadline?"""
    for each in agent.all_wired:
        ours = each.command.flags.deadline
        theirs = each.limit if each.limit is not None else plan.timeout_for(agent.agent, each.event)
        if ours is None and not each.is_ours:
            continue  # then it takes the agent's default, less a margin
        if ours is None or ours >= theirs:
            mine = "none" if ours is None else f"{ours:g} s"
            found = f"{each.path}:{each.line}: {each.event}: the agent waits {theirs:g} s, hookrun's deadline is {mine}"
            cause = "the agent would end hookrun before it answers, and continue as if there were no hook"
            yield Finding("limits", PROBLEM, found, cause, _install(agent))


def check_double_wiring(agent: AgentState) -> Iterable[Finding]:
    """Does one event fire hookrun twice: by the same file, the other scope, or another file that the agent reads?"""
    name = agent.agent.NAME
    for scope, found in agent.wired.items():
        for event, count in Counter(each.event for each in found).items():
            if count > 1:
                where = found[0].path
                by_hand = any(not each.is_ours for each in found if each.event == event)
                remedy = f"run {agent.request(scope).command('install')}"
                remedy = "remove the line written by hand" if by_hand else remedy
                yield Finding("twice", PROBLEM, f"{where}: {event} is wired {count} times", TWICE, remedy)
    if agent.wired.get("user") and agent.wired.get("project"):
        files = f"{agent.wired['user'][0].path} and {agent.wired['project'][0].path}"
        cause = "hookrun is silent in the project's while the user's is there: it costs a start for nothing"
        yield Finding("twice", NOTE, f"wired in {files}", cause, f"run `hookrun uninstall {name} --scope project`")
    for path in _other_files(agent):
        for other in _fired_for(path, agent.spec):
            if other == name:
                yield Finding("twice", PROBLEM, f"{path} fires hookrun too", TWICE, "remove hookrun from that file")
            else:
                where = f"{agent.title} reads {path} too, where hookrun is wired for {other}"
                cause = f"hookrun sees who is calling, and is silent there while {name} itself is wired"
                yield Finding("twice", NOTE, where, cause, "nothing")


def _other_files(agent: AgentState) -> list[str]:
    written = {os.path.realpath(each.path) for each in agent.all_wired}
    paths = [
        resolve_path(each.replace(EVENT, event), agent.spec, agent.spot)
        for each in agent.spec.get("elsewhere", ())
        for event in (agent.agent.EVENTS if EVENT in each else ("",))
    ]
    return [path for path in paths if os.path.realpath(path) not in written]


def _fired_for(path: str, spec: InstallSpec) -> list[str]:
    """Return the agents for which the hooks in a file fire hookrun, none where it cannot be read."""
    try:
        text = existing(path).text()
    except FileError:
        return []
    if spec["form"] == "plugin":
        parsed = spec["parse_plugin"](text)
        lines = [shlex.join(parsed["command"])] if parsed is not None else []
    elif spec["form"] == "script":
        lines = [text]
    else:
        lines = list(_strings(read_settings(path).at(("hooks",))))
    fired = {call.agent for line in lines for call in fire_calls(line)}
    return [name for name in AGENTS if name in fired]


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def check_audit(agent: AgentState) -> Iterable[Finding]:
    """Can the audit be written?"""
    directory = state.state_dir(agent.spot.home)
    while not os.path.exists(directory):
        directory = os.path.dirname(directory)
    if not os.access(directory, os.W_OK | os.X_OK):
        found = f"{directory} cannot be written"
        yield Finding("home", PROBLEM, found, "no run is recorded", "correct its permissions")


def check_last_fired(agent: AgentState) -> Iterable[Finding]:
    """When did each event last fire?"""
    if not agent.all_wired:
        return
    last = [f"{event} {when}" for event, when in sorted(agent.fired.items(), key=lambda item: item[1], reverse=True)]
    newest = max((os.path.getmtime(each.path) for each in agent.all_wired if os.path.exists(each.path)), default=0.0)
    changed = datetime.fromtimestamp(newest, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if not last:
        cause = "agents read their hooks when a session begins: running sessions do not have them"
        yield Finding("fired", NOTE, "no event of it is in the audit yet", cause, "start a new session")
    elif max(agent.fired.values()) < changed:
        cause = "running sessions may still have the hooks from before"
        found = f"nothing since the wiring changed; before: {', '.join(last)}"
        yield Finding("fired", NOTE, found, cause, "start a new session")
    else:
        yield Finding("fired", OK, f"last: {', '.join(last)}")


def check_callers(agent: AgentState) -> Iterable[Finding]:
    """Do other agents run the hooks in its settings?"""
    for name, when in agent.callers.items():
        caller = CALLERS.get(name, UNKNOWN)
        found = f"{caller.DISPLAY_NAME}, last {when}"
        if caller is not UNKNOWN:
            yield Finding("also fired by", OK, found)
            continue
        cause = "it has tools that are not in hookrun's tables: their arguments tell what they are"
        yield Finding("also fired by", NOTE, found, cause, "see `hookrun log` for its tools")


def _install(agent: AgentState) -> str:
    """Return the command that installs hookrun again."""
    scope = "project" if agent.wired.get("project") and not agent.wired.get("user") else "user"
    return f"run {agent.request(scope).command('install')}"


CHECKS: tuple[Check, ...] = (
    check_settings,
    check_dropped_settings,
    check_wired,
    check_matchers,
    check_missing_events,
    check_unsent_events,
    check_version,
    check_declarations,
    check_approval,
    check_protection,
    check_program,
    check_place,
    check_timeouts,
    check_switched_off,
    check_managed_only,
    check_hook_trust,
    check_folder_trust,
    check_double_wiring,
    check_audit,
    check_last_fired,
    check_callers,
)
"""Every check, in the order of the report."""


def run_checks(agent: AgentState) -> list[Finding]:
    """Return the findings of all checks about one agent."""
    return [finding for check in CHECKS for finding in check(agent)]
