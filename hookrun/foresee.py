"""What would become of each declared hook if an event were fired now: asked of what a fire asks, and nothing is run."""

from __future__ import annotations

from hookrun.agents import AGENTS, load
from hookrun.conditions import TOOL_NAMES, ConditionEvaluator, format_value, mismatch_reason, resolve_path
from hookrun.config.diagnostics import closest
from hookrun.events import ALIASES, WITH_TOOL
from hookrun.globs import glob
from hookrun.model import TERMINAL_ACTIONS, UNTRUSTED_LAYERS, Failure, Hook
from hookrun.process.prepare import prepare
from hookrun.startable import cannot_start
from hookrun.trust.approvals import Approvals
from hookrun.verdicts import apply_policies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrun.process.prepare import HookEnvironment
    from hookrun.trust.approvals import UserDecisions

RUNS, DEPENDS, FAILS, OFF, ENDED, NOT = "runs", "depends", "fails", "off", "ended", "does not apply"
"""What can become of a hook: `depends` is for one that runs if what is not known is as it wants it."""

MOST_KEYS = 6


class Known:
    """Which fields of a context are known: all `but` these, or `only` these."""

    __slots__ = ("_but", "_only")

    def __init__(self, *, but: frozenset[str] = frozenset(), only: frozenset[str] | None = None) -> None:
        self._but = but
        self._only = only

    def __contains__(self, path: str) -> bool:
        field = path.partition(".")[0]
        return field not in self._but if self._only is None else field in self._only


class Fate:
    """What would become of one hook.

    `why` is what makes it so, `depends` what that depends on, `failure` how it would fail. `trust` is what is decided
    about a hook of the project, empty for any other and where nobody asks.
    """

    __slots__ = ("depends", "failure", "hook", "state", "trust", "why")

    def __init__(self, hook: Hook) -> None:
        self.hook = hook
        self.state = RUNS
        self.why = ""
        self.depends: list[str] = []
        self.failure: Failure | None = None
        self.trust = ""


class Foresight:
    """Looks ahead: `trust` and `around` are those of the fire, `off` says why a hook is switched off besides."""

    def __init__(self, trust: UserDecisions, around: HookEnvironment, off: Callable[[Hook], str | None]) -> None:
        self._trust = trust
        self._around = around
        self._off = off

    def of(self, hooks: Sequence[Hook], context: Mapping[str, object], known: Known) -> list[Fate]:
        """Return the fates of the hooks that are declared for a context's event, in their order."""
        fates = [self._alone(hook, context, known) for hook in hooks]
        self._end_chain(fates)
        return fates

    def _alone(self, hook: Hook, context: Mapping[str, object], known: Known) -> Fate:
        fate = Fate(hook)
        refused = self._trust.before(hook)
        off = "mode is off" if hook.mode == "off" else self._off(hook) or self._trust.why_off(hook)
        if hook.layer in UNTRUSTED_LAYERS and isinstance(self._trust, Approvals):
            fate.trust = _decided(hook, off, refused)
        decidable, fate.depends = _split(hook, context, known)
        not_applying = why(decidable, context)
        if not_applying is not None:
            fate.state, fate.why, fate.depends = NOT, not_applying, []
            return fate
        if off is not None:
            fate.state, fate.why = OFF, off
            return fate
        task = refused or cannot_start(hook, self._around) or prepare(hook, b"", self._around, locks="/")
        if isinstance(task, Failure):
            fate.state, fate.why, fate.failure = FAILS, f"{task.kind}: {task.detail}", task
        elif fate.depends:
            fate.state = DEPENDS
        return fate

    @staticmethod
    def _end_chain(fates: list[Fate]) -> None:
        """Note which hooks are never reached: one before them is sure to fail, and its failure is a block."""
        ended_by: Hook | None = None
        beside = False
        for fate in fates:
            hook = fate.hook
            if fate.state in (NOT, OFF):
                continue
            if ended_by is not None:
                beside = beside and hook.parallel and hook.layer == ended_by.layer
                if not hook.always and not beside:
                    fate.state, fate.why = ENDED, f"{ended_by.name}, which fails before it, ends the chain"
            elif (
                fate.failure is not None
                and not fate.depends
                and apply_policies(hook, fate.failure).action in TERMINAL_ACTIONS
            ):
                ended_by, beside = hook, hook.parallel


def _decided(hook: Hook, off: str | None, refused: Failure | None) -> str:
    """Return what is said of the trust in a project's hook."""
    if hook.error is not None:
        return "declared wrongly"
    if off in ("denied", "disabled"):
        return str(off)
    return "not approved" if refused else "approved"


def _split(hook: Hook, context: Mapping[str, object], known: Known) -> tuple[Hook, list[str]]:
    """Return the hook with those conditions that can be decided, and what the others depend on."""
    depends: list[str] = []
    fields = hook.to_dict()
    if hook.agents is not None and "agent" not in known:
        depends.append(f"the agent ({', '.join(hook.agents)} only)")
        fields["agents"] = None
    if hook.matcher is not None and (tool := _undecided_tool(hook.matcher, context, known)) is not None:
        depends += [tool] if tool else []
        fields["matcher"] = None
    if hook.when is not None:
        depends += [f"{path} ({_either(globs)})" for path, globs in hook.when.items() if path not in known]
        fields["when"] = {path: globs for path, globs in hook.when.items() if path in known}
    if hook.unless is not None and any(path not in known for path in hook.unless):
        decided = {path: globs for path, globs in hook.unless.items() if path in known}
        if ConditionEvaluator(context).all_match(decided, every=False):
            depends += [f"{path} (not {_either(globs)})" for path, globs in hook.unless.items() if path not in known]
        fields["unless"] = None
    return Hook.from_dict(fields), depends


def _undecided_tool(matcher: Sequence[str], context: Mapping[str, object], known: Known) -> str | None:
    """Return what a matcher depends on, nothing where it does not matter; None where it can be decided."""
    if not _has_tool(context):
        return None
    if "tool_name" not in known:
        return "" if "*" in matcher else f"the tool ({_either(matcher)})"
    if "agent" in known or ConditionEvaluator(context).tool_matches(matcher):
        return None
    callers = _called_so(matcher, context.get("tool_name"))
    return f"the agent ({_either(matcher)} is what {', '.join(callers)} call the tool)" if callers else None


def _either(globs: Sequence[str]) -> str:
    return " | ".join(map(format_value, globs))


def _has_tool(context: Mapping[str, object]) -> bool:
    event = context.get("event")
    return event in WITH_TOOL or event not in ALIASES


def why(hook: Hook, context: Mapping[str, object]) -> str | None:
    """Return why the hook does not apply in this context, and what may have been meant; None when it applies."""
    cause = mismatch_reason(hook, context)
    if cause is None:
        return None
    hint = None
    if cause.startswith("matcher: "):
        hint = _about_matcher(hook.matcher or (), context)
    elif cause.startswith("when: "):
        view = ConditionEvaluator(context)
        path = next(path for path, globs in (hook.when or {}).items() if not view.matches(path, globs))
        hint = _about_path(path, context)
    return f"{cause} ({hint})" if hint else cause


def _about_matcher(matcher: Sequence[str], context: Mapping[str, object]) -> str | None:
    if not _has_tool(context):
        return f"{context.get('event')} has no tool: a matcher never matches there"
    tools = [name for field in TOOL_NAMES if isinstance(name := context.get(field), str)]
    for tool in tools:
        if any(glob(pattern.lower(), tool.lower()) for pattern in matcher):
            return f"upper and lower case count: write {format_value(tool)}"
    callers = _called_so(matcher, context.get("tool_name"))
    return f"it is what {', '.join(callers)} call it" if callers else None


def _called_so(matcher: Sequence[str], tool: object) -> list[str]:
    """Return the agents that call hookrun's `tool` by a name that the matcher matches."""
    return [
        name
        for name in AGENTS
        if any(ours == tool and any(glob(each, own) for each in matcher) for own, ours in load(name).TOOLS.items())
    ]


def _about_path(path: str, context: Mapping[str, object]) -> str | None:
    """Return what is there beside a path that is not."""
    if any(True for _ in resolve_path(context, path)):
        return None
    before, _, last = path.rpartition(".")
    around: object = context
    for step in before.split(".") if before else ():
        around = around.get(step) if isinstance(around, dict) else None
    if not isinstance(around, dict) or not around:
        return None
    near = closest(last, around)
    if near is not None:
        return f"did you mean {f'{before}.' if before else ''}{near}?"
    keys = ", ".join(map(str, list(around)[:MOST_KEYS])) if before else ""
    return f"{before} has {keys}" if keys else None
