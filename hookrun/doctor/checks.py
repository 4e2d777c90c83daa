"""The checks of `hookrun doctor`: one small function each, in a table. To add one is to write one more."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from hookrun import state
from hookrun.agents import AGENTS
from hookrun.config import command_words
from hookrun.config.diagnostics import key_text
from hookrun.config.document import line_and_column
from hookrun.config.parse import ParseError
from hookrun.doctor.agent_state import NOTE, OK, PROBLEM, AgentState, Finding
from hookrun.edit.file_change import FileError, existing
from hookrun.edit.json_edit import Json
from hookrun.edit.toml_edit import Toml
from hookrun.text import quote
from hookrun.wiring import hook_trust, plan, wired_command
from hookrun.wiring.targets import EVENT, SettingsFile, agent_directory, resolve_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.wiring.targets import WiredEvent

    Check = Callable[[AgentState], Iterable[Finding]]
    from collections.abc import Callable, Iterable

    from hookrun.config.parse import KeyPath

    Wrong = Iterable[tuple[KeyPath, str]]
    """What makes the agent drop a file: where it stands, and what is expected there."""
    from collections.abc import Callable, Iterable

    from hookrun.wiring.entries import WiredEntry
    from hookrun.wiring.hook_trust import HookTrust

    Kind = Callable[[AgentState], Iterable[Finding]]
    from collections.abc import Iterable


def check_settings(case: AgentState) -> Iterable[Finding]:
    """Are the files in which the agent reads its hooks valid?"""
    for message in case.unreadable.values():
        cause = f"what {case.agent.DISPLAY_NAME} cannot read, it does not obey"
        yield Finding("settings", PROBLEM, message, cause, "correct the file")


def check_wired(case: AgentState) -> Iterable[Finding]:
    """Is hookrun in its settings, and for which events?"""
    for scope, found in case.wired.items():
        if found:
            events = ", ".join(dict.fromkeys(each.event for each in found))
            files = ", ".join(dict.fromkeys(each.path for each in found))
            yield Finding("wired", OK, f"for the {scope}: {events} in {files}")
    if not case.all_wired and not case.unreadable:
        cause = f"{case.agent.DISPLAY_NAME} fires hooks only through what stands in its settings"
        yield Finding("wired", PROBLEM, "hookrun is not in its settings", cause, _install(case))


def check_matchers(case: AgentState) -> Iterable[Finding]:
    """Does a matcher keep hookrun from a part of an event?"""
    for each in case.all_wired:
        if each.only:
            found = f"{each.path}:{each.line}: {each.event} reaches hookrun only where {each.only} fits"
            cause = "for everything else no hook runs: which of them are meant is said in their declarations"
            yield Finding("matcher", PROBLEM, found, cause, _install(case))


def check_missing_events(case: AgentState) -> Iterable[Finding]:
    """Is every event wired for which a hook is declared?"""
    have = {each.event for each in case.all_wired}
    missing = [event for event in plan.events_for(case.agent, case.declared) if event not in have]
    if missing and have:
        found = f"hooks are declared for {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not wired"
        yield Finding("declared", PROBLEM, found, "the wiring has fallen behind the declarations", _install(case))
    unknown = plan.unsupported_events(case.agent, case.declared)
    if unknown:
        found = f"hooks are declared for {', '.join(unknown)}"
        cause = f"{case.agent.DISPLAY_NAME} has no such event: these hooks never run there"
        yield Finding("declared", NOTE, found, cause, "nothing, or declare them for another event")


def check_declarations(case: AgentState) -> Iterable[Finding]:
    """Can all declaration files be read?"""
    for problem in case.problems:
        yield Finding("declarations", PROBLEM, problem, "nobody knows which hooks it holds", "run `hookrun validate`")


def check_approval(case: AgentState) -> Iterable[Finding]:
    """Has a person approved the project's hooks?"""
    if case.undecided is not None:
        cause = "nothing counts as approved, so that no hook of a project runs"
        yield Finding("approved", PROBLEM, case.undecided, cause, "correct it")
    if case.unapproved:
        names = ", ".join(f"{name} ({state})" for name, state in case.unapproved.items())
        cause = "an agent runs a project's hooks only when a person has approved them: these fail as `untrusted`"
        yield Finding("approved", PROBLEM, f"nobody has approved {names}", cause, "run `hookrun trust`")


def check_protection(case: AgentState) -> Iterable[Finding]:
    """Does a hook keep the agent from editing what guards it?"""
    if case.unprotected and case.all_wired:
        cause = "an agent that edits hooks, its own settings or what is approved has switched its guards off"
        remedy = "declare the recipe for yourself: `hookrun add protect-hooks --user`"
        yield Finding("protected", NOTE, "no hook keeps the agent from editing hooks", cause, remedy)


def check_program(case: AgentState) -> Iterable[Finding]:
    """Is what the wired command runs still there, and is it this hookrun?"""
    for each in _one_of_each_command(case):
        where = f"{each.path}:{each.line}"
        runs, fires = wired_command.parse(each.text)
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


def _one_of_each_command(case: AgentState) -> list[WiredEvent]:
    """Return of the wiring the first that runs each program: what is wrong with it is told once."""
    first: dict[tuple[object, object], WiredEvent] = {}
    for each in case.all_wired:
        runs, fires = wired_command.parse(each.text)
        first.setdefault((runs, fires.home), each)
    return list(first.values())


def check_timeouts(case: AgentState) -> Iterable[Finding]:
    """Does the agent wait longer than hookrun's deadline?"""
    for each in case.all_wired:
        ours = wired_command.parse(each.text)[1].deadline
        theirs = each.limit if each.limit is not None else plan.timeout_for(case.agent, each.event)
        if ours is None or ours >= theirs:
            mine = "none" if ours is None else f"{ours:g} s"
            found = f"{each.path}:{each.line}: {each.event}: the agent waits {theirs:g} s, hookrun's deadline is {mine}"
            cause = "the agent would end hookrun before it has answered, and go on as if there were no hook"
            yield Finding("limits", PROBLEM, found, cause, _install(case))


def check_audit(case: AgentState) -> Iterable[Finding]:
    """Can the audit be written?"""
    directory = state.state_dir(case.spot.home)
    while not os.path.exists(directory):
        directory = os.path.dirname(directory)
    if not os.access(directory, os.W_OK | os.X_OK):
        found = f"{directory} cannot be written"
        yield Finding("home", PROBLEM, found, "no run is recorded", "correct its permissions")


def check_last_fired(case: AgentState) -> Iterable[Finding]:
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


def _install(case: AgentState) -> str:
    """Return the command that mends it."""
    scope = "project" if case.wired.get("project") and not case.wired.get("user") else "user"
    return f"run `hookrun install {case.agent.NAME}{'' if scope == 'user' else ' --scope project'}`"


def check_dropped_settings(case: AgentState) -> Iterable[Finding]:
    """Look through the files in which hookrun is wired for what its agent is known to drop a file for."""
    dropped_if = case.agent.INSTALL.get("dropped_if")
    if dropped_if is None:
        return
    for path in dict.fromkeys(each.path for each in case.all_wired):
        try:
            now = existing(path)
            text = Json(now.text(), "json")
        except (FileError, ParseError):  # that is told already
            continue
        for where, expected in dropped_if(text.data, now.data or b""):
            line, column = line_and_column(text.text, text.offset(where))
            at = key_text(where) or "the file"
            found = f"{path}:{line}:{column}: {at} is {quote(text.at(where))}, expected {expected}"
            cause = f"{case.agent.DISPLAY_NAME} drops the whole file for that, hookrun's hooks with it"
            yield Finding("settings", PROBLEM, found, cause, "correct that entry")


def check_switched_off(case: AgentState) -> Iterable[Finding]:
    """Look for each setting that switches hooks off in the file that counts most of those that have it."""
    wiring = case.agent.INSTALL
    paths = [resolve_path(each, wiring, case.spot) for each in wiring.get("settings", ())]
    for key, off in wiring.get("off", {}).items():
        found = next(((path, value) for path in paths if (value := setting(path, key)) is not None), None)
        if found is not None and _switches_off(found[1], off):
            where = f"{found[0]}: {key} is {quote(found[1])}"
            cause = f"{case.agent.DISPLAY_NAME} runs no hook of hookrun's then"
            yield Finding("switched off", PROBLEM, where, cause, "take that setting out")


def _switches_off(value: object, off: object) -> bool:
    return off in value if isinstance(value, list) else value == off


def setting(path: str, key: str) -> object:
    """Return a setting by its path with dots, of a JSON or TOML file; None where it is not set or cannot be read."""
    try:
        text = existing(path).text()
        if path.endswith(".toml"):
            return Toml(text).at(tuple(key.split(".")))
        return Json(text, "jsonc").at(tuple(key.split(".")))
    except (FileError, ParseError):
        return None


FOLDERS = "trustedFolders.json"
TRUSTED, DISTRUSTED = ("TRUST_FOLDER", "TRUST_PARENT"), "DO_NOT_TRUST"


def check_trust(case: AgentState) -> Iterable[Finding]:
    """Ask in the agent's own way, if it has one."""
    kind = KINDS.get(case.agent.INSTALL.get("trust", ""))
    return kind(case) if kind is not None and case.all_wired else ()


def digests(case: AgentState) -> Iterable[Finding]:
    """Every hook needs its digest in the user's config.toml; a project's besides a project that is trusted."""
    name = case.agent.DISPLAY_NAME
    where = os.path.join(agent_directory(case.agent.INSTALL, case.spot), hook_trust.CONFIG)
    try:
        config = Toml(existing(where).text())
    except (FileError, ParseError) as error:
        cause = f"whether {name} trusts the hooks is unknown"
        yield Finding("trust", PROBLEM, f"{where}: {error}", cause, "correct it")
        return
    for scope, found in case.wired.items():
        events = [each.event for each, trust in _needed(case, scope) if not trust.given(config)]
        if events:
            missing = f"{name} does not trust the hook{'s' if len(events) > 1 else ''} for {', '.join(events)}"
            remedy = f"run `hookrun install {case.agent.NAME} --scope {scope} --trust`, or say so with /hooks in it"
            yield Finding("trust", PROBLEM, missing, "it skips them in silence", remedy)
        off = [each.event for each, trust in _needed(case, scope) if trust.switched_off(config)]
        if off:
            disabled = f"{where}: the hook for {', '.join(off)} is switched off (enabled = false)"
            yield Finding("trust", PROBLEM, disabled, "it is skipped in silence", "switch it on with /hooks in it")
        level = config.at(("projects", case.spot.project, "trust_level"))
        if scope == "project" and found and level != "trusted":
            folder = f"{case.spot.project} is not trusted in {where}"
            yield Finding("trust", PROBLEM, folder, "a project's hooks are skipped then", f"trust it in {name}")


def _needed(case: AgentState, scope: str) -> Iterable[tuple[WiredEntry, HookTrust]]:
    """Give our hooks of a scope with the trust that each needs, under the path that its file is written with."""
    for target in case.wish(scope).targets([]):
        if isinstance(target, SettingsFile):
            hooks = target.read(existing(target.path))
            yield from hook_trust.required_trust(target.path, hooks, target.form)


def folders(case: AgentState) -> Iterable[Finding]:
    """Without trust in the folder it does not start headless, and with --skip-trust leaves out a project's hooks."""
    yield from _folders(case, unset=True)


def folders_if_asked(case: AgentState) -> Iterable[Finding]:
    """The same, where folder trust is switched on."""
    yield from _folders(case, unset=False)


def _folders(case: AgentState, *, unset: bool) -> Iterable[Finding]:
    wiring = case.agent.INSTALL
    paths = [resolve_path(each, wiring, case.spot) for each in wiring.get("settings", ())]
    values = [value for path in paths if (value := setting(path, "security.folderTrust.enabled")) is not None]
    if not (values[0] if values else unset):
        return
    where = os.path.join(agent_directory(wiring, case.spot), FOLDERS)
    level = _level(case.spot.project, setting_map(where))
    if level in TRUSTED:
        return
    found = f"{case.spot.project} is {'not trusted' if level == DISTRUSTED else 'not yet trusted'} in {where}"
    level_of = PROBLEM if case.wired.get("project") or level == DISTRUSTED else NOTE
    cause = f"without a terminal {case.agent.DISPLAY_NAME} does not start there, and it leaves out a project's hooks"
    remedy = f"start {case.agent.NAME} in it once and trust the folder"
    yield Finding("trust", level_of, found, cause, remedy)


def _level(project: str, folders: dict[str, object]) -> object:
    """Return what is said of a directory: of itself, or that one above it is trusted."""
    if project in folders:
        return folders[project]
    for folder, level in folders.items():
        root = os.path.dirname(folder) if level == "TRUST_PARENT" else folder
        if level in TRUSTED and (project + "/").startswith(root.rstrip("/") + "/"):
            return level
    return None


def setting_map(path: str) -> dict[str, object]:
    """Return the object that a JSON file holds, empty where it cannot be read."""
    from hookrun.edit.json_edit import Json

    try:
        data = Json(existing(path).text(), "jsonc").data
    except (FileError, ParseError):
        return {}
    return data if isinstance(data, dict) else {}


def listed_folders(case: AgentState) -> Iterable[Finding]:
    """A project's hooks are skipped in silence where the folder is not trusted; a user's are not."""
    if not case.wired.get("project"):
        return
    where = os.path.join(agent_directory(case.agent.INSTALL, case.spot), "config.json")
    config = setting_map(where)
    listed = [folder for key in ("trusted_folders", "trustedFolders") for folder in _texts(config.get(key))]
    if not any((case.spot.project + "/").startswith(folder.rstrip("/") + "/") for folder in listed):
        found = f"{case.spot.project} is not among the trusted folders of {where}"
        cause = f"{case.agent.DISPLAY_NAME} skips a project's hooks in silence then"
        remedy = f"trust the folder in {case.agent.DISPLAY_NAME}, or start it with --trust-folder"
        yield Finding("trust", PROBLEM, found, cause, remedy)


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


KINDS: dict[str, Kind] = {
    "digests": digests,
    "folders": folders,
    "folders if asked": folders_if_asked,
    "listed folders": listed_folders,
}
"""What an agent's WIRING calls its way of trusting -> how it is asked."""


CAUSE = "each of its hooks runs twice for one event"


def check_double_wiring(case: AgentState) -> Iterable[Finding]:
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


def _in_another_file(case: AgentState, path: str, agent: str) -> Finding:
    if agent == case.agent.NAME:
        return Finding("twice", PROBLEM, f"{path} fires hookrun too", CAUSE, "take hookrun out of that file")
    found = f"{case.agent.DISPLAY_NAME} reads {path} too, where hookrun is wired for {agent}"
    cause = f"hookrun sees who is calling, and is silent there while {case.agent.NAME} itself is wired"
    return Finding("twice", NOTE, found, cause, "nothing")


def _others(case: AgentState) -> list[str]:
    written = {os.path.realpath(each.path) for each in case.all_wired}
    paths = [
        resolve_path(each.replace(EVENT, event), case.agent.INSTALL, case.spot)
        for each in case.agent.INSTALL.get("elsewhere", ())
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


CHECKS: tuple[Check, ...] = (
    check_settings,
    check_dropped_settings,
    check_wired,
    check_matchers,
    check_missing_events,
    check_declarations,
    check_approval,
    check_protection,
    check_program,
    check_timeouts,
    check_switched_off,
    check_trust,
    check_double_wiring,
    check_audit,
    check_last_fired,
)
"""Every check, in the order in which they are told."""


def run_checks(case: AgentState) -> list[Finding]:
    """Return what all checks find about one agent."""
    return [finding for check in CHECKS for finding in check(case)]
