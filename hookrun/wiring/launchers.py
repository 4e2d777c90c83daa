"""Plan and write the launchers: the files in hookrun's data directory that agents' settings name.

`AGENT` is the compiled client if hookrun has it, else a script; launcher.conf names what it starts, and `gone` prints
an agent's answer if that is missing. For an agent that starts commands without a shell, each event has a link to it,
`AGENT.EVENT`, because another agent that runs the same hooks would leave out arguments.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookrun.agents import AGENTS, env_markers, load
from hookrun.agents.formats import Reply
from hookrun.agents.reply import static_answer
from hookrun.agents.types import Agent, starts_directly
from hookrun.config import discovery
from hookrun.core import files, gate
from hookrun.core.nesting import NESTING
from hookrun.core.state import DATA_DIR, PENDING, STATE_DIR, make_private_dir
from hookrun.edit.file_change import FileChange, FileError, existing, remove_file
from hookrun.launch import launcher_file
from hookrun.launch.client import compiled_client
from hookrun.launch.launcher_file import LauncherFile
from hookrun.launch.server_socket import end_server, servers, socket_base
from hookrun.trust.ancestry import agents_programs
from hookrun.trust.launcher_gate import gate_lines
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.wired_command import HookrunProgram, fallback_commands, this_program

if TYPE_CHECKING:
    from hookrun.wiring.plan import InstallRequest

# The script that answers if hookrun is missing.
GONE = "gone"


def why_unusable(home: str) -> str | None:
    """Return why no launcher can be written and run below a home, or None."""
    directory = home + DATA_DIR
    while not os.path.lexists(directory):
        directory = os.path.dirname(directory)
    if not os.access(directory, os.W_OK | os.X_OK) or not os.path.isdir(directory):
        return f"{home}{DATA_DIR} cannot be written"
    for each in filter(os.path.exists, (home, directory)):
        if os.stat(each).st_uid != os.geteuid():  # with sudo, the account itself could not run the launcher
            return f"{each} belongs to another account"
    if os.statvfs(directory).f_flag & getattr(os, "ST_NOEXEC", 0):
        return f"{directory} is on a file system that runs no programs (noexec)"
    return None


def fallback_when_removed(agent: Agent, event: str, path: str) -> str:
    """Return commands that answer an agent's event once the file at `path` is gone: continue, warn the user."""
    answer, text = _removed(agent, event, path)
    return fallback_commands(answer) if answer else fallback_commands(stderr=text)


def _removed(agent: Agent, event: str, path: str) -> tuple[str, str]:
    text = f"hookrun is no longer at {path}, so no hook has run: put it back, or run `hookrun install {agent.NAME}`"
    return static_answer(agent, event, Reply(user_message=text)), text


def managed_answers(agent: Agent, event: str, path: str) -> tuple[str, ...]:
    """Return the arguments of a managed line's script at a gate (fire_call.GUARDED)."""
    refusal = static_answer(agent, event, Reply("block", gate.alone(agent.EVENTS[event], f"{path} gave no answer")))
    return refusal.rstrip(), _removed(agent, event, path)[0].rstrip(), discovery.MANAGED_DIRECTORY


@dataclass(frozen=True, slots=True)
class LauncherChange(FileChange):
    """The change of a file in the data directory, which then has exactly this mode.

    `is_ours` says that the account already has the file, not as a link. `links` are those to it that are missing, or to
    be removed with it. `served_home` is the home whose servers end with the file.
    """

    is_ours: bool = field(default=True, kw_only=True)
    served_home: str | None = field(default=None, kw_only=True)
    links: list[str] = field(default_factory=list, kw_only=True)

    @property
    def differing(self) -> str | None:
        """The first difference: the file, by bytes, mode or owner, else a link."""
        if self.after != self.now.data or (self.after is not None and not self.is_ours):
            return self.path
        return next(iter(self.links), None)

    @property
    def has_effect(self) -> bool:
        """Whether anything changes."""
        return self.differing is not None

    def write(self) -> None:
        """Write or remove the file. Raises FileError."""
        if not self.has_effect:
            return
        if self.after is None:
            for path in (*self.links, self.path):
                remove_file(path, self.directories)
            for path, pid in servers(self.served_home) if self.served_home is not None else ():
                end_server(path, pid)
            return
        try:
            make_private_dir(os.path.dirname(self.path))
            launcher_file.write(self.path, self.after, self.mode)
            for link in self.links:
                files.atomic_link(link, os.path.basename(self.path))
            if self.links:
                files.sync_directory(os.path.dirname(self.path))
        except OSError as error:
            message = f"{self.path}: cannot be written ({error.strerror})"
            raise FileError(f"{message}\nhint: correct that, and run the command again") from error


def plan_launcher(request: InstallRequest) -> list[LauncherChange]:
    """Return the changes with which an agent's launcher starts a program; none for a project. Raises FileError.

    The last is launcher.conf, after which all agents' launchers start it.
    """
    if request.launcher is None:
        return []
    agent, home, program = request.agent, request.location.home, request.program
    socket, command = socket_base(home, program.python), program.cold_command()
    contents = {
        GONE: (_gone_script(program, home), 0o700),
        gate.DISCONNECT: (_disconnect_script(home), 0o700),
        agent.NAME: (_launcher(agent, command), 0o700),
        launcher_file.NAME: (os.fsencode(LauncherFile(command, socket, gate_lines(home, [agent.NAME])).text()), 0o600),
    }
    return [_change(home, name, data, mode) for name, (data, mode) in contents.items()]


def renew_launchers(home: str, command: list[str]) -> None:
    """Rewrite a home's launchers from another version of hookrun. Raises OSError and FileError.

    They start `command`. A compiled one may not understand this version's server.
    """
    for name in AGENTS:
        launcher = _launcher(load(name), command)
        change = _change(home, name, launcher, 0o700)
        if change.now.data is not None:
            change.write()


def _change(home: str, name: str, data: bytes | None, mode: int = 0o600) -> LauncherChange:
    path, is_conf = launcher_file.path_in(home, name), name == launcher_file.NAME
    try:
        status = os.lstat(path)
        is_ours = (status.st_mode, status.st_uid) == (0o100000 | mode, os.geteuid())
    except OSError:
        is_ours = False
    agent = load(name) if name in AGENTS else None
    links = [f"{path}.{event}" for event in agent.EVENTS] if agent and starts_directly(agent.INSTALL) else []
    if data is None:
        links = [link for link in links if os.path.lexists(link)]
    else:
        links = [link for link in links if not (os.path.islink(link) and os.readlink(link) == name)]
    for link in links:
        if os.path.isdir(link) and not os.path.islink(link):
            raise FileError(f"{link} is not a regular file\nhint: move it away")
    return LauncherChange(
        path,
        existing(path),
        data,
        mode,
        directories=[home + DATA_DIR],  # removed if the user has decided nothing
        is_generated=not is_conf,
        is_ours=is_ours,
        served_home=home if is_conf else None,
        links=links,
    )


def _launcher(agent: Agent, command: list[str]) -> bytes:
    """Return the compiled client if hookrun has it, else a script that starts the command."""
    client = compiled_client()
    if client is not None:
        with open(client, "rb") as file:
            return file.read()
    status = 127 if agent.INSTALL.get("shows_missing_command", False) else 0
    return _filled("launcher.txt", command, agent=agent.NAME, status=status)


def _filled(name: str, command: list[str], **values: object) -> bytes:
    """Return a script beside this module that starts the command."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        text = file.read()
    words = {"python": shlex.quote(command[0]), "file": shlex.quote(command[-2]), "command": shlex.join(command)}
    return text.format(**words, **values).encode()


def _gone_script(program: HookrunProgram, home: str) -> bytes:
    """Return the script with all agents' answers, each different one once."""
    patterns: dict[str, list[str]] = {}
    for agent in map(load, AGENTS):
        for event in agent.EVENTS:
            answer = fallback_when_removed(agent, event, program.main)
            patterns.setdefault(answer, []).append(f"{agent.NAME}:{event}")
    cases = [f"    {'|'.join(words)}) {answer} ;;" for answer, words in patterns.items()]
    removed = shlex.quote(gate.alone("pre_tool_use", gate.REMOVED, launcher_file.path_in(home, gate.DISCONNECT)))
    return _filled("gone.txt", program.cold_command(), cases="\n".join(cases), removed=removed)


def _disconnect_script(home: str) -> bytes:
    """Return the script that takes hookrun out of the settings without it."""
    places = {"directory": shlex.quote(home + DATA_DIR), "backups": shlex.quote(f"{home}{STATE_DIR}/backups")}
    markers = " ".join((*env_markers(), NESTING.decode()))
    found = [each for _, name, *parts in agents_programs() for each in (f"*/{name}", *(f"*{part}*" for part in parts))]
    texts = {"markers": markers, "programs": " | ".join(found), "names": " ".join(AGENTS)}
    return _filled("disconnect.txt", this_program().cold_command(), **places, **texts)


def plan_removal(request: InstallRequest, ledger: Ledger, changes: Sequence[FileChange]) -> list[LauncherChange]:
    """Return the changes that remove an agent's launcher after these and, with the last one, what all need.

    It stays while a line in these files, or the settings in another directory of the agent, name it. Raises FileError.
    """
    if request.scope != "user" or why_kept(request, changes) is not None:
        return []
    agent, home, without = request.agent, request.location.home, {each.path for each in changes}
    if any(
        each.agent == agent.NAME and "user" in each.scopes and settings not in without
        for settings, each in ledger.entries.items()
    ):
        return []
    others = [launcher_file.path_in(home, name) for name in AGENTS if name != agent.NAME]
    every = (GONE, gate.DISCONNECT, os.path.basename(PENDING), "server.lock", launcher_file.NAME)
    shared = () if any(map(os.path.lexists, others)) else every
    removals = [_change(home, name, None) for name in (agent.NAME, *shared)]
    return [each for each in removals if each.has_effect]


def why_kept(request: InstallRequest, changes: Iterable[FileChange]) -> str | None:
    """Return a warning that a line still names an agent's launcher after these changes, None if none does.

    Any line counts: without the launcher it would run no hook, in some agents silently.
    """
    path = launcher_file.path_in("", request.agent.NAME)
    if request.scope != "user" or not os.path.lexists(request.location.home + path):
        return None
    name = re.escape(path).replace("/", r"\\?/")  # JSON may write `/` as `\/`
    launcher = re.compile(os.fsencode(f"{name}(?![a-z0-9_-])"))
    for each in changes:
        found = launcher.search(each.after or b"")
        if found is not None:
            line = found.string.count(b"\n", 0, found.start()) + 1
            kept = files.relative_path(request.location.home + path)
            hint = f"remove the line, then run {request.command('uninstall')} again"
            return f"{files.relative_path(each.path)}:{line} still names {kept}, so that stays\nhint: {hint}"
    return None


def describe(request: InstallRequest, before: HookrunProgram | None) -> str | None:
    """Return a note for the user: no launcher, or launchers no longer start the program `before`."""
    if request.scope != "user":
        return None
    reason = why_unusable(request.location.home)
    if reason is not None:
        return f"starts without a launcher, so never warm: {reason}"
    if before is None or before == request.program or before.missing() is not None:
        return None
    return f"all agents now use {request.program.main} instead of {before.main}"
