"""The table of checks of `hookrun doctor`, one small function each."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from glob import escape, glob

from hookrun.agents import AGENTS, load_sender
from hookrun.agents.callers import UNKNOWN
from hookrun.agents.grades import measured
from hookrun.agents.types import InstallSpec
from hookrun.config.document import key_text, line_and_column, problem_message
from hookrun.config.parse import ParseError
from hookrun.core import state
from hookrun.core.audit_reader import gaps, local_time
from hookrun.core.files import read_or_none
from hookrun.core.text import quote
from hookrun.doctor import agent_state, own_settings
from hookrun.doctor.agent_state import NOTE, OK, PROBLEM, AgentState, Finding, Findings, read_settings
from hookrun.edit.file_change import BOM, FileError, existing
from hookrun.edit.json_edit import Json
from hookrun.launch.running import describe
from hookrun.recipes.protect_hooks import enforcing_layers
from hookrun.shell.fire_call import fire_calls
from hookrun.wiring import plan
from hookrun.wiring.targets import EVENT, resolve_path

Check = Callable[[AgentState], Findings]


def check_settings(agent: AgentState) -> Findings:
    """Are the files with the agent's hooks valid?"""
    for message in agent.unreadable.values():
        yield Finding("settings", PROBLEM, message, f"{agent.title} ignores files it cannot read", "correct the file")


def check_dropped_settings(agent: AgentState) -> Findings:
    """Do other settings make the agent drop the whole file, with hookrun's hooks?"""
    dropped_if = agent.spec.get("dropped_if")
    if dropped_if is None:
        return
    for path in dict.fromkeys(each.path for each in agent.all_wired):
        try:
            now = existing(path)
            text = Json(now.text(), "json")
        except (FileError, ParseError):  # check_settings reports it
            continue
        for where, expected in dropped_if(text.data, (now.data or b"").startswith(BOM)):
            line, column = line_and_column(text.text, text.offset(where))
            at = key_text(where) or "the file"
            found = f"{path}:{line}:{column}: {at} is {quote(text.at(where))}, expected {expected}"
            cause = f"{agent.title} ignores the whole file because of this, including hookrun's hooks"
            yield Finding("settings", PROBLEM, found, cause, "correct that entry")


def check_unsent_events(agent: AgentState) -> Findings:
    """Does the agent ever send the events that have hooks?"""
    for event in plan.unsent_events(agent.agent, agent.declared):
        found = f"there are hooks for {event}, which {agent.title} never sends"
        cause = f"in no run up to {measured(agent.agent)['version']} it was sent, so these hooks do not run there"
        yield Finding("declared", NOTE, found, cause, "use another event")


def check_version(agent: AgentState) -> Findings:
    """Was this version of the agent measured, or a newer one?"""
    version, newest = agent.version, measured(agent.agent)["version"]
    if version is not None and plan.version_number(version) > plan.version_number(newest):
        found = f"version {version} is newer than {newest}, the newest measured version"
        cause = "its messages may have changed"
        yield Finding("version", NOTE, found, cause, f"run `hookrun doctor {agent.agent.NAME} --measure`")


def check_declarations(agent: AgentState) -> Findings:
    """Can all declaration files be read?"""
    kept, unknown = "what it held before counts", "its hooks are unknown"
    declared = agent.declarations
    problems = [(each, kept if each in declared.kept else unknown) for each in declared.problems]
    problems += [(hook.error, f"{hook.name} fails") for hook in agent.declarations.hooks if hook.error is not None]
    for problem, effect in problems:
        found, _, hint = problem_message(problem).partition("\nhint: ")
        yield Finding("declarations", PROBLEM, found, effect, hint or "run `hookrun validate`")
    if not agent.declarations.hooks and not agent.declarations.problems:
        remedy = "add some with `hookrun init`; `hookrun status` names a config file that is ignored here"
        yield Finding("declarations", NOTE, "no hooks are configured here", "nothing is checked or blocked", remedy)


def check_approval(agent: AgentState) -> Findings:
    """Has the user approved the project's hooks?"""
    if agent.undecided is not None:
        cause = "no hook counts as approved, so no hook of a project runs"
        found, _, hint = agent.undecided.partition("\nhint: ")
        yield Finding("approved", PROBLEM, found, cause, hint or "correct it")
    if agent.unapproved:
        names = ", ".join(f"{name} ({state})" for name, state in agent.unapproved.items())
        cause = "agents run a project's hooks only after you approve them; until then they fail as `untrusted`"
        yield Finding("approved", PROBLEM, f"not approved: {names}", cause, "run `hookrun trust`")


def check_shell_lines(agent: AgentState) -> Findings:
    """Do the project's command files have shell lines, which the agent runs without asking a hook?"""
    for pattern, line in agent.spec.get("shell_lines", {}).items():
        for path in sorted(glob(os.path.join(escape(agent.location.project), pattern), recursive=True)):
            text = (read_or_none(path) or b"").decode("utf-8", "replace")
            for match in re.finditer(line, text):
                place = f"{path}:{text[: match.start()].count(chr(10)) + 1}"
                cause = f"{agent.title} runs shell lines of a command file without asking a hook: no guard sees them"
                found = f"{place}: the command runs {quote(match[1].strip())}"
                yield Finding("shell line", NOTE, found, cause, "read it before you use the command")


def check_protection(agent: AgentState) -> Findings:
    """Does a hook keep the agent from editing its guards?"""
    layers = enforcing_layers(agent.declarations.hooks)
    if agent.all_wired and layers.isdisjoint({"managed", "user"}):
        found = "no hook stops the agent from editing hooks"
        cause = "an agent that edits hooks, settings or approvals can disable its guards"
        if layers:
            found = "only this project's own hook stops the agent from editing hooks"
            cause = "other projects have none, and this one can remove it"
        yield Finding("protected", NOTE, found, cause, "run `hookrun add protect-hooks --user`")


def check_audit(agent: AgentState) -> Findings:
    """Can the audit be written?"""
    directory = agent.location.home + state.STATE_DIR
    while not os.path.exists(directory):
        directory = os.path.dirname(directory)
    if not os.access(directory, os.W_OK | os.X_OK):
        found = f"{directory} cannot be written"
        yield Finding("home", PROBLEM, found, "no run is recorded", "correct its permissions")
    if (lost := gaps(agent.location.home)) is not None:
        yield Finding("log", NOTE, *lost)


def check_server(agent: AgentState) -> Findings:
    """Does the server that speeds up runs start?"""
    well, found = describe(agent.location.home)
    if not well:
        remedy = "correct that; a run tries it again after a minute"
        yield Finding("server", NOTE, found, "each run starts Python anew", remedy)
    elif found and agent.all_wired:
        yield Finding("server", OK, found)


def check_last_fired(agent: AgentState) -> Findings:
    """When did the agent last send each event?"""
    if agent.unread_log is not None:
        yield Finding("fired", PROBLEM, agent.unread_log, "the last runs are unknown", "correct its permissions")
        return
    if not agent.all_wired:
        return
    newest_first = sorted(agent.fired.items(), key=lambda item: item[1], reverse=True)
    last = [f"{event} {local_time(when, with_date=True)}" for event, when in newest_first]
    newest = max((os.path.getmtime(each.path) for each in agent.all_wired if os.path.exists(each.path)), default=0.0)
    changed = datetime.fromtimestamp(newest, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if not last:
        cause = "running sessions do not have the hooks yet"
        yield Finding("fired", NOTE, "no run in the log yet", cause, "start a new session")
    elif max(agent.fired.values()) < changed:
        cause = "running sessions may still have the old hooks"
        found = f"no run since the settings changed; before: {', '.join(last)}"
        yield Finding("fired", NOTE, found, cause, "start a new session")
    else:
        yield Finding("fired", OK, f"last: {', '.join(last)}")


def check_callers(agent: AgentState) -> Findings:
    """Do other agents run the hooks in its settings?"""
    for name, when in agent.callers.items():
        caller = load_sender(name)
        found = f"{caller.DISPLAY_NAME}, last {local_time(when, with_date=True)}"
        if caller is not UNKNOWN:
            yield Finding("also fired by", OK, found)
            continue
        cause = "hookrun does not know its tools by name and identifies them by their arguments"
        yield Finding("also fired by", NOTE, found, cause, "see `hookrun log` for its tools")


# --- more than one installation

TWICE = "each hook runs twice for one event"


def check_double_wiring(agent: AgentState) -> Findings:
    """Does one event run hookrun twice: by the same file, the other scope, or another file of the agent?"""
    name = agent.agent.NAME
    for scope, found in agent.wired.items():
        for event, count in Counter(each.event for each in found).items():
            if count > 1:
                where = found[0].path
                by_hand = any(not each.command.is_ours for each in found if each.event == event)
                remedy = "remove the handwritten line" if by_hand else agent.remedy(scope)
                yield Finding("twice", PROBLEM, f"{where}: {event} is installed {count} times", TWICE, remedy)
    if agent.wired.get("user") and agent.wired.get("project"):
        files = f"{agent.wired['user'][0].path} and {agent.wired['project'][0].path}"
        if any(each.command.flags.scope == "user" for each in agent.wired["project"]):
            remedy = "remove the line from the project's settings"
            yield Finding("twice", PROBLEM, f"installed in {files}", TWICE, remedy)
        else:
            cause = "events that are in your settings are skipped in the project's"
            yield Finding("twice", NOTE, f"installed in {files}", cause)
    for path in _other_files(agent):
        for other in _fired_for(path, agent.spec):
            if other == name:
                yield Finding("twice", PROBLEM, f"{path} also runs hookrun", TWICE, "remove hookrun from that file")
            else:
                where = f"{agent.title} reads {path} too, where hookrun is installed for {other}"
                cause = f"hookrun detects the caller, so nothing runs twice while {name} itself is installed"
                yield Finding("twice", NOTE, where, cause)


def _other_files(agent: AgentState) -> list[str]:
    written = {os.path.realpath(each.path) for each in agent.all_wired}
    paths = [
        resolve_path(each.replace(EVENT, event), agent.spec, agent.location)
        for each in agent.spec.get("elsewhere", ())
        for event in (agent.agent.EVENTS if EVENT in each else ("",))
    ]
    return [path for path in paths if os.path.realpath(path) not in written]


def _fired_for(path: str, spec: InstallSpec) -> list[str]:
    """Return the agents for which a file's hooks run hookrun, none if unreadable."""
    try:
        text = existing(path).text()
    except FileError:
        return []
    if spec["form"] == "plugin":
        parsed = spec["plugin"].parse(text)
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


# --- the table


# Every check, in report order.
CHECKS: tuple[Check, ...] = (
    check_settings,
    check_dropped_settings,
    agent_state.check_wired,
    agent_state.check_matchers,
    agent_state.check_missing_events,
    check_unsent_events,
    check_version,
    check_declarations,
    check_approval,
    check_shell_lines,
    check_protection,
    agent_state.check_program,
    agent_state.check_text,
    agent_state.check_place,
    agent_state.check_timeouts,
    own_settings.check_switched_off,
    own_settings.check_managed_only,
    own_settings.check_managed_wiring,
    own_settings.check_hook_trust,
    own_settings.check_folder_trust,
    check_double_wiring,
    check_audit,
    check_server,
    check_last_fired,
    check_callers,
)
