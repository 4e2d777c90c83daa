"""Predict which hooks an event would run, with a real run's checks, without running anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder

from hookrun.core.conditions import ConditionEvaluator, resolve_path, tool_names
from hookrun.core.events import ALIASES, WITH_TOOL
from hookrun.core.fastjson import format_value
from hookrun.core.globs import glob
from hookrun.core.model import TERMINAL_ACTIONS, UNTRUSTED_LAYERS, Failure, Hook
from hookrun.core.text import did_you_mean, quote
from hookrun.core.verdicts import apply_policies
from hookrun.process.child import cannot_enter
from hookrun.process.prepare import HookEnvironment, prepare, resolve
from hookrun.process.spawn import exec_failure, interpreter_of
from hookrun.trust.approvals import UserDecisions

# The states of a prediction; with DEPENDS the hook runs if unknown fields match.
RUNS, DEPENDS, FAILS, OFF, ENDED, NOT = "runs", "depends", "fails", "off", "ended", "does not apply"

UNAPPROVED = "not approved"
# What every command says about a hook that is not approved, after its name.
RUNS_HERE = "runs here; agents need your approval: `hookrun trust`"

# Keys that a hint lists.
MAX_KEYS = 6


class KnownFields:
    """Which fields of a context are known: all `but` these, or `only` these."""

    def __init__(self, *, but: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> None:
        self._but = but
        self._only = only

    def __contains__(self, path: str) -> bool:
        field = path.partition(".")[0]
        return field not in self._but if self._only is None else field in self._only


class Prediction:
    """What would happen to a hook.

    `why` is the state's reason, `depends` lists unknown fields, `failure` is how the hook would fail. `trust` is the
    user's decision about a project's hook, empty if it needs no approval. A hook that was `never_approved` is not
    checked once the chain has ended.
    """

    def __init__(self, hook: Hook) -> None:
        self.hook = hook
        self.state = RUNS
        self.why = ""
        self.depends: list[str] = []
        self.failure: Failure | None = None
        self.trust = ""
        self.never_approved = False


class DryRun:
    """Predicts a run with its `trust` and `environment`; `off` returns another reason why a hook is off."""

    def __init__(self, trust: UserDecisions, environment: HookEnvironment, off: Callable[[Hook], str | None]) -> None:
        self._trust = trust
        self._environment = environment
        self._off = off

    def predict(self, hooks: Sequence[Hook], context: Mapping[str, object], known: KnownFields) -> list[Prediction]:
        """Return the predictions for the event's hooks, in running order."""
        predictions = [self._predict(hook, context, known) for hook in hooks]
        _mark_unreached(predictions)
        return predictions

    def _predict(self, hook: Hook, context: Mapping[str, object], known: KnownFields) -> Prediction:
        prediction = Prediction(hook)
        refused = self._trust.check_before(hook)
        off = "mode is off" if hook.mode == "off" else self._off(hook) or self._trust.why_off(hook)
        prediction.never_approved = self._trust.refusal(hook) is not None
        if hook.layer in UNTRUSTED_LAYERS and self._trust.need_approval:
            prediction.trust = _trust_state(hook, off, refused)
        decidable, prediction.depends = _split(hook, context, known)
        mismatch = explain_mismatch(decidable, context)
        if mismatch is not None:
            prediction.state, prediction.why, prediction.depends = NOT, mismatch, []
            return prediction
        if off is not None:
            prediction.state, prediction.why = OFF, off
            return prediction
        task = (
            refused
            or _preflight_failure(hook, self._environment)
            or prepare(hook, b"", self._environment, locks=lambda: "/")
        )
        if isinstance(task, Failure):
            prediction.state, prediction.why, prediction.failure = FAILS, f"{task.kind}: {task.detail}", task
        elif prediction.depends:
            prediction.state = DEPENDS
        return prediction


def _mark_unreached(predictions: list[Prediction]) -> None:
    """Mark the hooks after one that will certainly fail and block."""
    ended_by: Hook | None = None
    beside = False
    for each in predictions:
        hook = each.hook
        if each.state in (NOT, OFF):
            continue
        if ended_by is not None:
            beside = beside and hook.parallel and hook.layer == ended_by.layer
            if (not hook.always or each.never_approved) and not beside:
                each.state, each.why = ENDED, f"{ended_by.name}, which fails before it, ends the chain"
        elif (
            each.failure is not None
            and not each.depends
            and apply_policies(hook, each.failure).action in TERMINAL_ACTIONS
        ):
            ended_by, beside = hook, hook.parallel


def is_unapproved(failure: Failure | None) -> bool:
    """Return whether a hook failed because the user has not approved it."""
    return failure is not None and failure.kind == "untrusted"


def runs_here(names: Sequence[str]) -> str:
    """Return the sentence about these hooks, which are not approved."""
    return f"{', '.join(names)} {RUNS_HERE if len(names) == 1 else RUNS_HERE.replace('runs', 'run', 1)}"


def _trust_state(hook: Hook, off: str | None, refused: Failure | None) -> str:
    if hook.error is not None:
        return "declared wrongly"
    if off == "disabled":
        return off
    return UNAPPROVED if refused else "approved"


# --- conditions


def _split(hook: Hook, context: Mapping[str, object], known: KnownFields) -> tuple[Hook, list[str]]:
    """Return the hook with only its decidable conditions, and the fields of the others."""
    depends: list[str] = []
    fields = hook.to_dict()
    if hook.agents is not None and "agent" not in known:
        depends.append(f"the agent ({', '.join(hook.agents)} only)")
        fields["agents"] = None
    if hook.matcher is not None and (tool := _undecided_tool(hook.matcher, context, known)) is not None:
        depends += [tool] if tool else []
        fields["matcher"] = None
    if hook.when is not None:
        depends += [f"{path} ({_format_globs(globs)})" for path, globs in hook.when.items() if path not in known]
        fields["when"] = {path: globs for path, globs in hook.when.items() if path in known}
    if hook.unless is not None and any(path not in known for path in hook.unless):
        decided = {path: globs for path, globs in hook.unless.items() if path in known}
        if ConditionEvaluator(context).unmatched(decided, every=False) is None:
            unknown = [(path, globs) for path, globs in hook.unless.items() if path not in known]
            depends += [f"{path} (not {_format_globs(globs)})" for path, globs in unknown]
        fields["unless"] = None
    return Hook.from_dict(fields), depends


def _undecided_tool(matcher: Sequence[str], context: Mapping[str, object], known: KnownFields) -> str | None:
    """Return what a matcher depends on, "" if it matches any tool, None if it can be decided."""
    if not _has_tool(context):
        return None
    if "tool_name" not in known:
        return "" if "*" in matcher else f"the tool ({_format_globs(matcher)})"
    if "agent" in known or ConditionEvaluator(context).tool_matches(matcher):
        return None
    agents = _agents_using_name(matcher, context.get("tool_name"))
    return f"the agent ({_format_globs(matcher)} is what {', '.join(agents)} call the tool)" if agents else None


def _format_globs(globs: Sequence[str]) -> str:
    return " | ".join(map(format_value, globs))


def _has_tool(context: Mapping[str, object]) -> bool:
    event = context.get("event")
    return event in WITH_TOOL or event not in ALIASES


def explain_mismatch(hook: Hook, context: Mapping[str, object]) -> str | None:
    """Return why the hook's conditions do not match the context, with condition, value and a hint, else None."""
    found = ConditionEvaluator(context).mismatch(hook.matcher, hook.when, hook.unless, hook.agents, hook.claude)
    if found is None:
        return None
    condition, cause = found
    hint = None
    if condition == "agents":
        agents, agent = _format_globs(hook.agents or ()), context.get("agent")
        other = f"{agents} does not include {format_value(agent)}"
        cause = f"agents: {f'only for {agents}, and no agent runs it' if agent is None else other}"
    elif condition == "matcher":
        matcher, tool = hook.matcher or (), format_value(context.get("tool_name"))
        cause = f"matcher: {_format_globs(matcher)} does not match the tool {tool}"
        hint = _hint_for_matcher(matcher, context)
    elif condition == "when":
        hint = _hint_for_path(cause, context)
        globs = _format_globs((hook.when or {})[cause])
        cause = f"when: {_with_value(cause, context)}, which {globs} does not match"
    elif condition == "unless":
        cause = f"unless: {', '.join(_with_value(path, context) for path in hook.unless or ())}"
    return f"{cause} ({hint})" if hint else cause


def _with_value(path: str, context: Mapping[str, object]) -> str:
    found = list(resolve_path(context, path))
    value = " or ".join(format_value(value) for value in found[:3]) if found else "missing"
    return f"{format_value(path)[1:-1]} is {value}"


def _hint_for_matcher(matcher: Sequence[str], context: Mapping[str, object]) -> str | None:
    if not _has_tool(context):
        return f"{context.get('event')} has no tool, so a matcher never matches"
    for name in tool_names(context):
        if any(glob(pattern.lower(), name.lower()) for pattern in matcher):
            return f"names are case-sensitive: write {format_value(name)}"
    agents = _agents_using_name(matcher, context.get("tool_name"))
    return f"{', '.join(agents)} use that name" if agents else None


def _agents_using_name(matcher: Sequence[str], tool: object) -> list[str]:
    """Return the agents whose name for hookrun's `tool` the matcher matches."""
    from hookrun.agents import AGENTS, load  # rarely needed

    names = {agent: [own for own, ours in load(agent).TOOLS.items() if ours == tool] for agent in AGENTS}
    return [agent for agent, own in names.items() if any(glob(pattern, name) for name in own for pattern in matcher)]


def _hint_for_path(path: str, context: Mapping[str, object]) -> str | None:
    """Return what the context has instead of a missing path."""
    if any(True for _ in resolve_path(context, path)):
        return None
    before, _, last = path.rpartition(".")
    parent: object = context
    for step in before.split(".") if before else ():
        parent = parent.get(step) if isinstance(parent, dict) else None
    if not isinstance(parent, dict) or not parent:
        return None
    others = f"{before} has {', '.join(map(str, list(parent)[:MAX_KEYS]))}" if before else None
    return did_you_mean(last, parent, others, lambda near: quote(f"{before}.{near}" if before else near))


# --- programs


def _preflight_failure(hook: Hook, environment: HookEnvironment) -> Failure | None:
    """Detect hooks that cannot start: missing interpreter or module, no shebang, unreadable directory."""
    if hook.error is not None:
        return None
    try:
        variables, directory = environment.variables_and_directory(hook)
        try:
            os.stat(f"{directory}/.")
        except OSError as error:
            return cannot_enter(directory, error).failure
        return _missing_module(hook, directory) or _broken_program(hook, variables, directory)
    except ValueError:  # a lone surrogate: `prepare` reports it
        return None


def _missing_module(hook: Hook, directory: str) -> Failure | None:
    if hook.kind != "python" or hook.interpreter is not None:  # another interpreter has its own path
        return None
    name = str(hook.target).partition(":")[0].partition(".")[0]
    if name in sys.modules or name in sys.builtin_module_names or PathFinder.find_spec(name, [directory, *sys.path]):
        return None
    return Failure("missing", f"no module {name} (looked in {directory} and on the interpreter's own path)")


def _broken_program(hook: Hook, variables: Mapping[bytes, bytes], directory: str) -> Failure | None:
    word = hook.target[0] if hook.kind == "args" else hook.look[0] if hook.look else None
    path = resolve(word, variables, directory) if isinstance(word, str) else None
    if path is None:
        return None
    if hook.kind != "args" and interpreter_of(path) is None:  # a shell runs a script without a shebang
        return None
    return exec_failure(path, directory)
