"""Show whether guards are alive: by their runs in the audit, and by proofs that they block what they must."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from hookrun.agents.base import native_event
from hookrun.agents.known_tools import message_from_context
from hookrun.cli.log_filter import RunFilter
from hookrun.cli.printing import count
from hookrun.config.approved_guards import is_guard
from hookrun.core import audit_reader
from hookrun.core.audit_reader import FireRecords
from hookrun.core.events import resolve_event
from hookrun.core.model import BINDING_ACTIONS, UNTRUSTED_LAYERS, Hook, as_object
from hookrun.core.text import quote
from hookrun.doctor.agent_state import NOTE, OK, PROBLEM, AgentState, Finding, Findings
from hookrun.doctor.own_settings import why_not_run
from hookrun.doctor.prove import filled, recorded, run_wired, why_not_started
from hookrun.recipes import catalog
from hookrun.testing.cases import Case, find_case_files, load
from hookrun.trust.project import Project
from hookrun.wiring.targets import WiredEvent

# Runs of the audit that are read, the newest: status has to be quick.
MOST_RUNS = 20_000


@dataclass(slots=True)
class GuardState:
    """One guard's record; times are those of the audit's records.

    `silent_since` is the first call since its last run that was not even compared with it or, if it has not run since
    its config changed, the first one since then; calls before it was `approved` do not count. `calls` is the number of
    calls of its events without a run.
    """

    hook: Hook
    approved: str = ""
    last_run: str | None = None
    last_refusal: str | None = None
    silent_since: str | None = None
    calls: int = 0
    first_call: str | None = None


def guard_states(hooks: Iterable[tuple[Hook, str, bool]], runs: RunFilter, project: Project) -> list[dict[str, object]]:
    """Return what `status --json` has of each guard among hooks, by the newest of these runs. Raises OSError.

    With each hook come its state, and whether an agent does not call it. Only one that is `ready` can be silent.
    """
    given = [each for each in hooks if is_guard(each[0])]
    states = [GuardState(hook, _approved(hook, project) if state == "ready" else "") for hook, state, _ in given]
    changed = {each.hook.source: _changed(each.hook.source) for each in states}
    for run in islice(runs.selected(), MOST_RUNS) if states else ():
        header = run.header
        for each in states if run.fire is not None else ():
            if header.get("event") in each.hook.events and not (each.last_run and each.last_refusal):
                _take(each, run, str(header.get("time")), max(changed[each.hook.source], each.approved))
    found: list[dict[str, object]] = []
    for each, (hook, state, unconnected) in zip(states, given, strict=True):
        has_run = each.last_run is not None and each.last_run >= changed[hook.source]
        silent = each.silent_since if has_run else each.first_call
        about = {"name": hook.name, "layer": hook.layer, "state": state, "approved": state.startswith(APPROVED)}
        times = {"last_run": each.last_run, "last_refusal": each.last_refusal}
        now = {"silent_since": silent if state == "ready" else None, "calls_since": each.calls}
        now["approved_at"] = each.approved or None
        found.append({**about, "connected": not unconnected, **times, **now})
    return found


# How the states of approved guards begin.
APPROVED = ("ready", "not connected", "disabled until")
COLUMNS = ("GUARD", "STATE", "LAST RUN", "LAST REFUSAL", "SILENT")
NEVER_SILENT = "-"


def guard_row(guard: Mapping[str, object]) -> list[str]:
    """Return a guard's row in a table with these columns."""
    times = [audit_reader.local_time(guard[name]) if guard[name] else "never" for name in ("last_run", "last_refusal")]
    calls = count(int(str(guard["calls_since"])), "call")
    silent = NEVER_SILENT
    if guard["silent_since"]:
        silent = f"since {audit_reader.local_time(guard['silent_since'])}: {calls} without a run"
    elif guard["approved_at"] and not guard["last_run"] and not guard["calls_since"]:
        silent = f"- (approved {audit_reader.local_time(guard['approved_at'])}, no call since)"
    return [str(guard["name"]), str(guard["state"]), *times, silent]


def _take(guard: GuardState, run: FireRecords, time: str, begin: str) -> None:
    """Take a run, older than those before, into a guard's state; calls before `begin` are none without a run."""
    name, source = guard.hook.name, guard.hook.source
    own = [each for each in run.hooks if each.get("hook") == name and str(each.get("source")).startswith(f"{source}:")]
    if own and own[0].get("failure") == "untrusted":  # it did not run
        guard.last_refusal = guard.last_refusal or (time if own[0].get("action") in BINDING_ACTIONS else None)
    elif own:
        guard.last_run = guard.last_run or time
        if any(each.get("action") in BINDING_ACTIONS for each in own):
            guard.last_refusal = guard.last_refusal or time
    elif guard.last_run is None and time >= begin:
        guard.calls, guard.first_call = guard.calls + 1, time
        not_run = as_object(run.header.get("not_run"))  # each reason has its hooks
        if not_run and not any(name in names for names in not_run.values() if isinstance(names, list)):
            guard.silent_since = time


def _approved(hook: Hook, project: Project) -> str:
    """Return when a project's hook was approved here, in the form of a record's time; "" for any other."""
    last = project.last_approved(hook) if hook.layer in UNTRUSTED_LAYERS else None
    return _time(project.store.approved[last]["time"]) if last is not None else ""


def _changed(path: str) -> str:
    """Return when a config file changed, in the same form; "" if it is gone."""
    try:
        return _time(os.path.getmtime(path))
    except OSError:
        return ""


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")


# --- proofs

# Calls that each guard must allow.
MOST_PASSING = 10


def prove_guards(state: AgentState, guards: Iterable[Hook], root: str) -> Findings:
    """Send each guard of tool calls a call that it must block, and ten that it must allow, through the agent's command.

    Only the guard runs. The calls are from its tests: those of its recipe, or those in the project.
    """
    payloads = recorded(state.agent.NAME)
    native = native_event(state.agent, "pre_tool_use")
    wired = [each for each in state.all_wired if each.event == native and native in payloads]
    wired = [each for each in wired if why_not_started(state, each) is None and why_not_run(state, each) is None]
    for guard in guards if wired else ():
        cases = [*_cases_of(guard, root)]
        blocked = [each for each in cases if each.expect.get("action") == ["block"]]
        passing = [each for each in cases if each.expect.get("action") == ["continue"]]
        proof = GuardProof(state, wired[0], payloads[native], guard.name, root)
        stopped = next(filter(None, map(proof.ends, blocked)), None)
        if stopped is None:
            cause = "it has no test that blocks a call, needs no files, and fits this agent and its options"
            remedy = "write one, in a file that ends in .hooktest.yaml"
            yield Finding("guards", NOTE, f"{guard.name}: not proved", cause, remedy)
            continue
        passed = [*islice(filter(None, map(proof.ends, passing)), MOST_PASSING)]
        wrong = [f"did not block {stopped.call}"] if not stopped.refused else []
        wrong += [f"blocked {each.call}, which must pass" for each in passed if each.refused is not False]
        if wrong:
            cause = f"{state.title} was answered so; the tests of the guard expect otherwise"
            remedy = "`hookrun test` runs its tests"
            yield Finding("guards", PROBLEM, f"{guard.name}: {'; '.join(wrong)}", cause, remedy)
        else:
            harmless = count(len(passed), "harmless call")
            yield Finding("guards", OK, f"{guard.name}: blocked {stopped.call}; {harmless} passed")


def _cases_of(guard: Hook, root: str) -> Iterator[Case]:
    """Yield the tests of a guard that need no more than the call: no files, no other context, no other options."""
    recipes = map(catalog.find, catalog.names())
    own = [(recipe, entry) for recipe in recipes for entry in recipe.hooks if entry.get("python") == guard.target]
    files = [catalog.cases_path(recipe.name) for recipe, _ in own[:1]] or find_case_files([root])
    names = {str(entry["name"]) for _, entry in own} or {guard.name}
    options = {each.variable: each.default for recipe, _ in own for each in recipe.options} | {**(guard.env or {})}
    for case in (case for file in files for case in load(file).cases):
        plain = not (case.problems or case.files or case.setup or case.agents) and case.context.keys() <= TOLD
        same = all(options.get(name, "").split() == value.split() for name, value in case.env.items())
        is_for_it = case.hooks is None or not names.isdisjoint(case.hooks)
        if plain and same and is_for_it and resolve_event(case.event) == "pre_tool_use":
            yield case


# The context's fields that a message can be given.
TOLD = frozenset({"tool_name", "tool_args"})


class ProofEnd(NamedTuple):
    """The end of a run: the call, and whether the agent was made to refuse it; None if it is not known."""

    call: str
    refused: bool | None


class GuardProof(NamedTuple):
    """Runs of one guard through an agent's command, with the recorded message of the event."""

    state: AgentState
    wired: WiredEvent
    payload: Mapping[str, object]
    guard: str
    root: str

    def ends(self, case: Case) -> ProofEnd | None:
        """Send a case's call and return the end, None if the agent has no such call."""
        agent, home, session = self.state.agent, self.state.location.home, f"hookrun-proof-{os.urandom(8).hex()}"
        recorded_call = filled(self.payload, cwd=self.root, home=home)
        before = agent.read(recorded_call, self.wired.event)
        wanted = message_from_context(agent, "pre_tool_use", case.context)
        args = wanted.to_native_args([None])
        text = json.dumps(_with_call(recorded_call, before.tool, wanted.tool, args)).replace(
            str(before.session_id), session
        )
        calls = agent.read(json.loads(text), self.wired.event).calls
        if [(each.fields.get("tool_name"), each.fields.get("tool_args")) for each in calls if each.event] != [
            (case.context.get("tool_name"), case.context.get("tool_args"))
        ]:
            return None
        done = run_wired(self.state, self.wired, text.encode(), "--proof", self.guard, work=self.root)
        found = (each for each in audit_reader.newest_first(home) if each.get("session_id") == session)
        record = next((each for each in found if each.get("kind") == audit_reader.FIRE), None)
        shown = f"{case.context.get('tool_name')} {next(iter(as_object(case.context.get('tool_args')).values()), '')}"
        call = quote(shown)
        if record is None or done is None:
            return ProofEnd(call, None)
        answered = record.get("answered") or record.get("action")
        return ProofEnd(call, answered in BINDING_ACTIONS and bool(done.stdout or done.returncode))


def _with_call(value: object, tool: str | None, new: str | None, args: object) -> object:
    """Return a recorded message with another tool and its arguments; recorded calls run a command."""
    if isinstance(value, dict):
        if not COMMANDS.isdisjoint(value):
            return args
        return {name: _with_call(each, tool, new, args) for name, each in value.items()}
    return new if value == tool else value


COMMANDS = frozenset({"command", "commands"})
