"""Plan how to install hookrun into an agent or remove it: events, lines, file changes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hookrun.agents import load
from hookrun.agents.base import deadline_for, native_event, timeout_for
from hookrun.agents.formats import STOP_EVENTS, Reply
from hookrun.agents.reply import static_answer
from hookrun.agents.types import Agent, starts_directly
from hookrun.core.events import GATES
from hookrun.edit.file_change import ExistingFile, FileChange, FileError, existing, missing_directories
from hookrun.launch import launcher_file
from hookrun.trust.launcher_gate import guarded_events
from hookrun.wiring import launchers
from hookrun.wiring.forms import install_targets
from hookrun.wiring.hook_trust import TrustConfig, required_trust, trust_format
from hookrun.wiring.ledger import Ledger, LedgerEntry, digest
from hookrun.wiring.targets import (
    HookFile,
    InstallLocation,
    WiredEvent,
    WiredLine,
    agent_directory,
)
from hookrun.wiring.wired_command import BLOCK, GO_ON, WARN, FireFlags, HookrunProgram, PortableForm, WiredCommand

Target = HookFile | TrustConfig

# The place of the message for users without hookrun.
MISSING = "@MISSING@"

NO_SCRIPT = "hookrun: .hookrun/run cannot be started"

# The assumed original of a file not in the ledger: not missing, so that uninstall leaves the file.
UNKNOWN_ORIGINAL = "{}"


def events_for(agent: Agent, declared: Iterable[str]) -> list[str]:
    """Return the agent's events, by its names, that hookrun's `declared` events need."""
    wanted = set(declared)
    sources = {native for event, natives in agent.SYNTHESIZED_FROM.items() if event in wanted for native in natives}
    return [
        native
        for native, event in agent.EVENTS.items()
        if native in sources or (event in wanted and event not in agent.SYNTHESIZED_FROM)
    ]


def all_events(agent: Agent) -> list[str]:
    """Return all the agent's events that hookrun can be installed for."""
    return events_for(agent, set(agent.EVENTS.values()))


def events_to_connect(agent: Agent, declared: Iterable[str]) -> list[str]:
    """Return the agent's events to connect: all that are not only for a hook, and what `declared` events need.

    So a message that waits for a later event gets it, and most new hooks need no change of the agent's settings.
    """
    needed, often = events_for(agent, declared), agent.INSTALL.get("on_demand", {})
    return [event for event in all_events(agent) if event in needed or event not in often]


def unsupported_events(agent: Agent, declared: Iterable[str]) -> list[str]:
    """Return those of hookrun's events that the agent lacks."""
    known = {*agent.EVENTS.values(), *agent.SYNTHESIZED_FROM}
    return sorted(set(declared) - known)


def unsent_events(agent: Agent, declared: Iterable[str]) -> list[str]:
    """Return hookrun's events for which the agent documents an event but never sends it."""
    unsent = set(agent.INSTALL.get("unsent", ()))
    return sorted(event for event in set(declared) if (names := set(events_for(agent, [event]))) and names <= unsent)


def version_number(text: str) -> list[int]:
    """Return a version's numbers for comparison, without what follows a `-` or `+`."""
    return [int(part) for part in re.split(r"[-+]", text)[0].split(".")]


@dataclass(frozen=True, slots=True)
class InstallRequest:
    """An agent in a scope of a home and project to install into, and hookrun's program."""

    agent: Agent
    scope: str
    location: InstallLocation
    program: HookrunProgram

    @property
    def place(self) -> str:
        """The ledger's scope: a project's with its root, for files shared by several projects."""
        return f"project {self.location.project}" if self.scope == "project" else self.scope

    def command(self, verb: str, *options: str) -> str:
        """Return a command about this scope, as proposed in messages."""
        scope = ["--scope", self.scope] if self.scope != "user" else []
        return f"`{shlex.join(['hookrun', verb, self.agent.NAME, *scope, *options])}`"

    @property
    def within(self) -> str | None:
        """The directory that must contain the agent's file."""
        return self.location.project if self.scope == "project" else None

    @property
    def launcher(self) -> str | None:
        """The launcher in the user's settings, or None: in other ones, or if there can be none."""
        if self.scope != "user" or launchers.why_unusable(self.location.home) is not None:
            return None
        return launcher_file.path_in(self.location.home, self.agent.NAME)

    def shut_events(self, when_missing: str) -> set[str]:
        """Return the events at which the agent is to block if hookrun gives no answer; for a project alike for all."""
        if "shut" not in self.agent.INSTALL:
            return set()
        if self.scope != "project":
            return guarded_events(self.agent, self.location.home, managed=self.scope == "managed")
        tools = {native for native, event in self.agent.EVENTS.items() if event == "pre_tool_use"}
        return tools if when_missing == BLOCK else set()

    def line(self, event: str, when_missing: str = WARN, *, shuts: bool = False) -> WiredLine:
        """Return an event's command line, for a project the same on every machine."""
        seconds = timeout_for(self.agent, event)
        if self.scope == "project":
            flags = FireFlags(
                self.agent.NAME, None if self.agent.INSTALL["form"] == "plugin" else event, scope="project"
            )
            root = project_root(self.agent, self.location.project)
            form = PortableForm(root, line_end(self.agent, event, when_missing))
            command, fallback = WiredCommand(flags, form=form), None
        elif self.launcher is not None:
            direct = starts_directly(self.agent.INSTALL) and shlex.quote(self.launcher) == self.launcher
            home = self.location.home if direct else self.location.named_home
            flags = FireFlags(self.agent.NAME, event, home=home)
            command = WiredCommand(flags, launcher=self.launcher, direct=direct)
            shown = self.agent.INSTALL.get("shows_missing_command", False)
            fallback = None if shown else launchers.fallback_when_removed(self.agent, event, self.launcher)
        else:
            home = self.location.named_home if self.scope == "user" else None  # else each user's own
            flags = FireFlags(self.agent.NAME, event, deadline_for(seconds), self.scope, home)
            is_gate = self.scope == "managed" and self.agent.EVENTS[event] in GATES
            place = self.agent, event, self.program.main
            command = WiredCommand(flags, self.program, guard=launchers.managed_answers(*place) if is_gate else ())
            fallback = None if is_gate else launchers.fallback_when_removed(*place)
        return WiredLine(command.line(fallback), command.words, seconds, shuts)

    def uses_script(self, name: str) -> bool:
        """Return whether an agent has entries in the project that start its script. Raises FileError."""
        other = InstallRequest(load(name), "project", self.location, self.program)
        return any(each.command.form is not None and not each.command.form.earlier for each in wired_events(other))

    def targets(self, events: Iterable[str]) -> list[HookFile]:
        """Return the files with these events, none for an agent without this scope."""
        return install_targets(self.agent.NAME, self.agent.INSTALL, self.scope, self.location, events)


def project_root(agent: Agent, project: str) -> str:
    """Return the shell's words for a project's root in an agent's line, "" or with a slash. Raises FileError."""
    root = agent.INSTALL.get("project_root", "")
    if "git" not in root:
        return root
    top = project
    while not os.path.lexists(f"{top}/.git"):
        if top == os.path.dirname(top):
            return ""  # outside of repositories there is only the directory in which the agent was started
        top = os.path.dirname(top)
    below = "" if top == project else f"{os.path.relpath(project, top)}/"
    if not re.fullmatch(r"[\w@%+=:,./-]*", below, re.ASCII):
        raise FileError(f"{below!r}: a shell would need quotes for this path\nhint: rename the directory")
    return root + below


def line_end(agent: Agent, event: str, when_missing: str) -> str:
    """Return what ends a project's line if its script cannot start: with BLOCK the agent's refusal of a tool.

    With WARN that is the shell's own status. Some shells have 2 for a missing script, which most agents take for a
    refusal; but so is the 2 of a hookrun that cannot answer, so no line turns it into anything weaker.
    """
    name = agent.EVENTS[event]
    if when_missing == BLOCK and (name == "pre_tool_use" or agent.INSTALL["form"] == "plugin"):
        if agent.INSTALL["form"] == "script":
            return f" || echo {shlex.quote(static_answer(agent, event, Reply('block', NO_SCRIPT)).rstrip())}"
        return " || exit 2"
    # a stop would never end with that status
    return GO_ON if name in STOP_EVENTS else ""


def answer_when_missing(agent: Agent, event: str, when_missing: str, text: str) -> str:
    """Return the answer of a project's script to an agent's event on a machine without hookrun, or "".

    The user is notified once a session if the agent has an event for that. With BLOCK no tool runs.
    """
    if agent.INSTALL["form"] == "plugin":
        return f'{{"missing":"{text}","block":{str(when_missing == BLOCK).lower()}}}'
    notifies = event == notifying_event(agent)
    # The model also gets it at session start, for runs without a terminal; if only the model can, once.
    begins = agent.EVENTS[event] == "session_start" and _can(agent, event, "context")
    context = MISSING if begins and (not notifies or _can(agent, event, "user_message")) else None
    reply = Reply(user_message=MISSING if notifies else None, context=context)
    if when_missing == BLOCK and agent.EVENTS[event] == "pre_tool_use":
        reply = Reply("block", MISSING)
    return static_answer(agent, event, reply).replace(MISSING, text)


def notifying_event(agent: Agent) -> str:
    """Return the agent's least frequent event that can notify the user, or else the model."""
    for capability in ("user_message", "context"):
        for event in ("session_start", "user_prompt_submit", "stop", "pre_tool_use"):
            for native, name in agent.EVENTS.items():
                if name == event and _can(agent, native, capability):
                    return native
    return native_event(agent, "pre_tool_use")


def _can(agent: Agent, event: str, capability: str) -> bool:
    form = agent.RESPONSE_FORMATS.get(event)
    return form is not None and capability in form.capabilities


@dataclass(frozen=True, slots=True)
class InstallChange(FileChange):
    """A change of a file to which an agent's `scope` contributes.

    `original` is what uninstall will restore, None for no file.
    """

    agent: str = ""
    scope: str = ""
    original: bytes | None = None


def wired_events(request: InstallRequest) -> list[WiredEvent]:
    """Return what fires hookrun, installed or handwritten. Raises FileError for unreadable settings."""
    targets = request.targets(all_events(request.agent))
    return [each for target in targets for each in target.wired(existing(target.path))]


def plan_install(
    request: InstallRequest,
    events: Iterable[str],
    ledger: Ledger,
    when_missing: str = WARN,
    *,
    only: bool = False,
) -> list[InstallChange]:
    """Return the changes that install these events and update those installed. Raises FileError.

    `when_missing` is WARN or BLOCK for a project's entries. With `only`, the entries of other events keep their bytes.
    """
    already = {each.event for each in wired_events(request) if each.command.is_ours}
    kept = () if only and request.agent.INSTALL["form"] != "plugin" else already
    every = [event for event in request.agent.EVENTS if event in {*events, *kept}]
    shut = request.shut_events(when_missing)
    lines = {event: request.line(event, when_missing, shuts=event in shut) for event in every}
    return [_plan_add(request, target, lines, ledger) for target in _changed_targets(request, every)]


def _changed_targets(request: InstallRequest, events: Iterable[str]) -> list[HookFile]:
    found = request.targets(events)
    if not found:
        raise FileError(f"{request.agent.DISPLAY_NAME} reads no hooks of an administrator: there is no managed scope")
    return found


def plan_trust(request: InstallRequest, hooks: InstallChange, ledger: Ledger) -> InstallChange | None:
    """Return the change with which the agent trusts the hooks that `hooks` leaves. Raises FileError.

    None for an agent that requires no trust.
    """
    config = _trust_config(request, hooks)
    return None if config is None else _plan_add(request, config, {}, ledger)


def plan_uninstall(request: InstallRequest, ledger: Ledger) -> list[InstallChange]:
    """Return the changes that remove hookrun, with its trust, from an agent's scope. Raises FileError."""
    targets = _changed_targets(request, all_events(request.agent))
    changes = [_plan_remove(request, target, ledger) for target in targets]
    config = _trust_config(request, changes[0])
    return changes if config is None else [*changes, _plan_remove(request, config, ledger)]


def _trust_config(request: InstallRequest, hooks: InstallChange) -> TrustConfig | None:
    """Return the agent's configuration with the trust that its hooks need after and before the change."""
    form = trust_format(request.agent)
    if form is None or request.scope == "managed":  # which needs none
        return None
    (target,) = request.targets([])
    before, after = (
        required_trust(target, hooks.now.of(data), request.agent, by_any_path=True)
        for data in (hooks.now.data, hooks.after)
    )
    directory = agent_directory(request.agent.INSTALL, request.location)
    return TrustConfig(os.path.join(directory, form.CONFIG), after, before)


def _plan_add(request: InstallRequest, target: Target, lines: Mapping[str, WiredLine], ledger: Ledger) -> InstallChange:
    now = existing(target.path, None if isinstance(target, TrustConfig) else request.within)
    after = now.encoded(target.add(now, lines))
    known, entry = ledger.entries.get(now.path), ledger.unchanged(now.path, now.data)
    directories = known.directories if known is not None else missing_directories(now.path)
    if entry is not None:
        original = ledger.original(entry)
    else:
        original = _without_hookrun(target, now, ledger) if target.has_ours(now) else now.data
    return InstallChange(now.path, now, after, target.mode, directories, request.agent.NAME, request.place, original)


def _plan_remove(request: InstallRequest, target: Target, ledger: Ledger) -> InstallChange:
    """Return the change that removes hookrun from a file.

    It restores the bytes from before install if the file has not changed since and they hold the same data as the rest
    of it, unlike in a file to which another project contributes.
    """
    now = existing(target.path, None if isinstance(target, TrustConfig) else request.within)
    known, entry = ledger.entries.get(now.path), ledger.unchanged(now.path, now.data)
    after = None if now.data is None else _without_hookrun(target, now, ledger)
    original = ledger.original(entry) if entry is not None else None
    if original is not None and after is not None:
        same = target.describe(now.of(original)) == target.describe(now.of(after))
        after = original if same else after
    directories = known.directories if known is not None else []
    return InstallChange(now.path, now, after, target.mode, directories, request.agent.NAME, request.place)


def _without_hookrun(target: Target, now: ExistingFile, ledger: Ledger) -> bytes | None:
    """Return a file without hookrun's part, or None if nothing is left."""
    known = ledger.entries.get(now.path)
    if known is None:
        before: str | None = UNKNOWN_ORIGINAL
    else:
        original = ledger.original(known)
        before = None if original is None else original.decode("utf-8-sig", "replace")
    text = target.remove(now, before)
    return None if text is None else now.encoded(text)


def record_original(change: InstallChange, ledger: Ledger) -> None:
    """Keep a file's original before install writes it. Raises FileError.

    If the process is killed in between, the ledger has an entry that no file matches, which does no harm.
    """
    original = None if change.original is None else digest(change.original)
    known = ledger.entries.get(change.path)
    scopes = list(dict.fromkeys([*(known.scopes if known is not None else ()), change.scope]))
    entry = LedgerEntry(change.agent, scopes, digest(change.after or b""), original, change.directories)
    if known != entry:
        ledger.keep(change.path, entry, change.original)


def forget_original(change: InstallChange, ledger: Ledger) -> None:
    """Update the ledger after uninstall has written a file. Raises FileError.

    A file's original is kept until the last scope with a part in it is removed.
    """
    known = ledger.entries.get(change.path)
    if known is None or change.scope not in known.scopes:
        return
    known.scopes.remove(change.scope)
    if change.after is None or not known.scopes:
        ledger.forget(change.path)
        return
    original = ledger.original(known)
    known.written = digest(change.after)
    ledger.keep(change.path, known, original)
