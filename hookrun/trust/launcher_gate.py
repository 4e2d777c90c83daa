"""Write into launcher.conf what launchers answer where hookrun gives no answer, or was removed.

Launchers know their agent and event, the working directory and the agent's variables for the project; the script `gone`
also looks for a tool in the message. The format is in launch/client/gate.h.
"""

from __future__ import annotations

import os
from functools import partial

from hookrun.agents import AGENTS, known_tools, load
from hookrun.agents.base import installed_deadline, placeholder_message
from hookrun.agents.reply import refusing_answer
from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find, guards_file
from hookrun.core import gate
from hookrun.core.events import GATES
from hookrun.core.model import UNTRUSTED_LAYERS, Hook
from hookrun.core.state import report_bug
from hookrun.launch import launcher_file
from hookrun.process.prepare import HookEnvironment
from hookrun.trust import store as stores
from hookrun.trust.approvals import UserDecisions, can_be_off, is_about, is_in_force

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookrun.agents.types import Agent
    from hookrun.trust.store import Store

    # The events, a root, the Unix time from which on it is in force, and the hook; None for any.
    LauncherGuard = tuple[Iterable[str], str, int, Hook | None]

# In globs; no tool's name has one.
WILD = frozenset("*?[ ")
# Arguments of tools that only read, too: they tell no tool.
VAGUE = frozenset({"file_path", "pattern", "url", "query", "prompt"})
# Of more a launcher need not know which one it is: it reads all lines at every call.
MAX_GUARDS = 100


def renew(home: str) -> bool:
    """Write the lines of a home's launchers again; return whether they are as they should be.

    Else what is there stays, and the next run tries again. A failure of ours is reported.
    """
    try:
        launcher_file.update_gate(launcher_file.path_in(home), gate_lines(home))
    except OSError:  # a full disk
        return False
    except Exception as error:  # the decision or the run before it stands
        report_bug(error, home)
        return False
    return True


def gate_lines(home: str, more: Iterable[str] = ()) -> list[str]:
    """Return the lines for the agents that have a launcher, and `more`."""
    guards = list(_guards(home))
    if len(guards) > MAX_GUARDS:
        guards = [(GATES, "/", 0, None)]
    names = [name for name in AGENTS if name in more or os.path.exists(launcher_file.path_in(home, name))]
    script = launcher_file.path_in(home, gate.DISCONNECT)
    return [line for name in names for line in _lines_of(load(name), guards, script)]


def guarded_events(agent: Agent, home: str, *, managed: bool = False) -> set[str]:
    """Return the agent's events at which a guard in force may be asked; with `managed`, one of the administrator's."""
    found = [each for each in _guards(home) if not managed or (each[3] is not None and each[3].layer == "managed")]
    return {native for native, _ in _at_gates(agent, found)}


def _at_gates(agent: Agent, guards: list[LauncherGuard]) -> Iterator[tuple[str, LauncherGuard]]:
    """Yield each gate of an agent with each guard that may be asked there."""
    for native, event in _gates(agent).items():
        for guard in guards:
            events, _, _, hook = guard
            if event in events and (hook is None or hook.agents is None or agent.NAME in hook.agents):
                yield native, guard


def _gates(agent: Agent) -> dict[str, str]:
    return {native: event for native, event in agent.EVENTS.items() if event in GATES}


def _lines_of(agent: Agent, guards: list[LauncherGuard], script: str) -> Iterator[str]:
    found = [
        " ".join(("guard", agent.NAME, native, str(since), *_tokens(agent, hook), root))
        for native, (_, place, since, hook) in _at_gates(agent, guards)
        for root in ({place, os.path.realpath(place)} if "\n" not in place else "/")
    ]
    if not found:
        return
    yield from (f"place {agent.NAME} {name}" for name in agent.PROJECT_ENV_VARS)
    yield from dict.fromkeys(found)
    for native, event in _gates(agent).items():
        limit = f"{installed_deadline(agent, native):g} "
        for word, cause, seconds in (("lost", gate.UNANSWERED, limit), ("gone", gate.REMOVED, "")):
            text = gate.alone(event, cause, script)
            status, stdout, _ = refusing_answer(agent, placeholder_message(agent, native), text)
            yield f"{word} {agent.NAME} {native} {seconds}{status} {stdout.decode().rstrip()}"
    yield f"because {gate.alone('pre_tool_use', gate.UNANSWERED, script)}"


def _tokens(agent: Agent, hook: Hook | None) -> list[str]:
    """Return JSON strings of which a message about a hook's tools has one; none for any tool."""
    if hook is None or hook.claude is not None or not hook.matcher or not WILD.isdisjoint("".join(hook.matcher)):
        return []
    found: dict[str, None] = {}
    for tool in hook.matcher:
        named = (own for own, ours in known_tools.native_tools(agent.NAME).items() if ours == tool)
        arguments = [each for each in known_tools.ARGUMENTS.get(tool, ()) if each not in VAGUE]
        others = (other for each in arguments for other in known_tools.OTHER_NAMES.get(each, ()))
        found |= dict.fromkeys((tool, *named, *arguments, *others))
    return [f'"{each}"' for each in found]


def _guards(home: str) -> Iterator[LauncherGuard]:
    """Yield the guards in force: those of every project, and of each one with an approved guard."""
    try:
        store = stores.load(home)
    except stores.StoreError:  # what is approved is not known
        yield GATES, "/", 0, None
        return
    roots = {root for each in store.approved.values() if each["guards"] for root in each["roots"]}
    for root in (None, *sorted(roots)):
        yield from _guards_at(root, home, store)


def _since(store: Store, root: str, layer: str, hook: Hook | None = None) -> int:
    """Return when a guard that is disabled for a time, or any of a layer, is in force again; 0 if it is now."""
    if layer == "managed" and (hook is None or not can_be_off(hook)):
        return 0
    for each in store.disabled:
        is_meant = each["name"] is None or (hook is not None and is_about(each, hook, root))
        if is_meant and each["until"] is not None and is_in_force(each):
            return int(each["until"])
    return 0


def _guards_at(root: str | None, home: str, store: Store) -> Iterator[LauncherGuard]:
    compiled = load_compiled(find(root, home))
    on_error = compiled.settings.get("on_error") if compiled is not None else None
    if compiled is None or not gate.refuses(on_error, lambda: True):
        return
    place, lasting = root or "/", stores.Store()  # a time ends, and nothing is written then
    lasting.approved = store.approved
    lasting.disabled = [each for each in store.disabled if each["until"] is None]
    environment = HookEnvironment({}, project=place, request_id="")
    trust = UserDecisions(home, place, environment, compiled.settings, lambda *_: lasting)
    since = partial(_since, store, place)

    if gate.refuses(on_error, lambda: False):  # whether there is a guard or not
        yield GATES, "/", since("user"), None
    # A missing root may come back (a drive, a worktree): it has the guards on record, without one any.
    is_unknown = root is not None and not os.path.isdir(root) and not os.path.exists(guards_file(home, root))
    for layer in (*compiled.unread, *(["project"] if is_unknown else ())):
        if (layer in UNTRUSTED_LAYERS) == (root is not None) and trust.may_guard(layer):
            yield GATES, place, since(layer), None
    for hook in compiled.hooks():
        is_guard = hook.enforcing and hook.on_failure == "block" and trust.reason_off(hook) is None
        if is_guard and (hook.layer in UNTRUSTED_LAYERS) == (root is not None):
            yield hook.events, place, since(hook.layer, hook), hook
