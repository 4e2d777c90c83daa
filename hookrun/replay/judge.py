"""Judge calls of the past by a configuration: conditions and recipes in this process, without running a program.

Recipes that keep a state, and all other hooks, are not judged: they count as having no objection, and are named.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any, NamedTuple

from hookrun.core import context as contexts
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.engine import HookChain
from hookrun.core.fastjson import dumps
from hookrun.core.globs import matcher_of_any
from hookrun.core.model import LAYERS, AnyHook, Hook, Outcome
from hookrun.library.tables import TableCandidates
from hookrun.process import git_query
from hookrun.process.prepare import HookEnvironment
from hookrun.process.python_hook import answer
from hookrun.process.recipe_calls import Variables, functions_of, is_usual

# Sets of hooks that are kept: the names of tools come from outside.
MOST_KEPT = 1024
# One recipe at a time has this process's environment: a worker of a cluster judges in several threads.
ENVIRONMENT = Lock()
# Return the functions of a recipe, imported once.
FUNCTIONS = cache(functions_of)
# What git says about the settings in a directory.
ANSWERS: dict[tuple[str, ...], str | None] = {}


class Judged(NamedTuple):
    """The verdict on a call: its action, the hooks whose action it is, its message and the arguments after it.

    `unjudged` are matching hooks that were not asked.
    """

    action: str = "continue"
    hooks: tuple[str, ...] = ()
    message: str = ""
    args: object = None
    unjudged: tuple[str, ...] = ()


NOTHING = Judged()


class HooksOfTool(TableCandidates):
    """The hooks of an event that may be for a tool, in the engine's form.

    The globs of each path are one pattern, which most contexts do not match: then no hook with that path is looked at.
    """

    def __init__(self, hooks: list[AnyHook]) -> None:
        super().__init__(hooks)
        globs: dict[str, list[str]] = {}
        for hook in hooks:
            for path, patterns in (hook.when or {}).items():
                globs.setdefault(path, []).extend(patterns)
        self._paths = {path: matcher_of_any(patterns) for path, patterns in globs.items()}
        self._needed = [frozenset(hook.when or ()) for hook in hooks]
        self._view: tuple[object, ConditionEvaluator, set[str]] | None = None

    def may_match(self, context: Mapping[str, object]) -> bool:
        """Return whether a hook may match a context: False where that is plain without looking at any."""
        return any(map(self._at(context)[1].issuperset, self._needed))

    def selects(self, index: int, context: Mapping[str, object]) -> bool:
        """Return whether the hook matches this context."""
        hook, (view, met) = self._hooks[index], self._at(context)
        claude = getattr(hook, "claude", None)
        return met >= self._needed[index] and view.mismatch(when=hook.when, unless=hook.unless, claude=claude) is None

    def _at(self, context: Mapping[str, object]) -> tuple[ConditionEvaluator, set[str]]:
        """Return a context's evaluator, and the paths at which one of the globs matches."""
        if self._view is None or self._view[0] is not context:
            view = ConditionEvaluator(context)
            met = {path for path, matches in self._paths.items() if any(map(matches, view.texts(path)))}
            self._view = context, view, met
        return self._view[1:]


class Judge:
    """Judges calls by these hooks, as in `project` and with `settings`; `home` is the account's."""

    def __init__(self, hooks: Iterable[Hook], project: str, home: str, settings: Mapping[str, object]) -> None:
        ordered = sorted(hooks, key=lambda hook: (LAYERS.index(hook.layer), hook.priority))
        self._hooks = [hook for hook in ordered if hook.mode != "off" and not hook.background]
        self._project, self._home, self._settings = project, home, settings
        self._kept: dict[tuple[object, ...], HooksOfTool] = {}
        _refuse_changes()

    def verdict(self, event: str, data: Mapping[str, object]) -> Judged:
        """Return the verdict on the context of an event (its canonical name), which may lack fields that are null."""
        candidates = self._candidates(event, data)
        if not candidates.count:
            return NOTHING
        context = contexts.with_defaults(data, event, str(data.get("request_id") or "replay"), self._project)
        if not candidates.may_match(context):
            return NOTHING
        chain, unjudged = HookChain(event, context, candidates), []
        for hooks in chain.steps():
            outcomes = [self.outcome(hook, chain.context) for hook in hooks]
            unjudged += [hook.name for hook, outcome in zip(hooks, outcomes, strict=True) if outcome is None]
            chain.record(hooks, [outcome or _silent() for outcome in outcomes])
        if contexts.is_cut(context):
            unjudged += ["(arguments that were cut off)"]
        verdict = chain.combine()
        deciding = (run.name for run in chain.runs if run.verdict.action == verdict.action != "continue")
        return Judged(
            verdict.action,
            tuple(dict.fromkeys(deciding)),
            verdict.message or "",
            verdict.modified_args,
            tuple(dict.fromkeys(unjudged)),
        )

    def _candidates(self, event: str, data: Mapping[str, object]) -> HooksOfTool:
        possible = data.get("possible_tool_names")
        about = (data.get(name) for name in ("tool_name", "agent_tool_name", "agent", "fired_through"))
        key = (event, *about, None if possible is None else str(possible))
        if (known := self._kept.get(key)) is None:
            view = ConditionEvaluator(data)
            hooks = [hook for hook in self._hooks if event in hook.events]
            known = HooksOfTool([hook for hook in hooks if view.mismatch(hook.matcher, agents=hook.agents) is None])
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = known
        return known

    def outcome(self, hook: Hook, context: Mapping[str, object]) -> Outcome | None:
        """Return what a recipe says of a context, None where it is not judged."""
        functions = FUNCTIONS(str(hook.target)) if is_usual(hook, b"") else None
        if functions is None:
            return None
        seen = {name: value for name, value in context.items() if name != "payload" or hook.payload}
        environment = HookEnvironment(
            context, project=self._project, request_id="replay", settings=self._settings, home=self._home
        )
        try:
            with _as_in_a_run(environment.variables(hook, b"")):
                concerns, function, _ = functions
                text = answer(function, {"hook": hook.name, **seen}, dumps) if concerns(context) else None
        except (Exception, SystemExit):  # a wrong option, a bug, or it wants to ask git
            return None
        if WATCH.has_tried:  # it does more than judge
            return None
        outcome = _silent()
        outcome.stdout = (text or "").encode()
        return outcome


def _silent() -> Outcome:
    outcome = Outcome()
    outcome.exit_code = 0
    return outcome


class _Watch(local):
    """Whether a recipe runs in this thread, and whether it tried to change something."""

    is_on = has_tried = False


WATCH = _Watch()
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# The interpreter's events of what a recipe must not do; see `sys.addaudithook`.
CHANGING = frozenset(
    {*("os.fork", "os.exec", "os.system", "subprocess.Popen", "socket.connect", "sqlite3.connect", "os.kill")}
    | {f"os.{name}" for name in ("mkdir", "rename", "remove", "rmdir", "link", "symlink", "truncate", "chmod", "utime")}
)


@cache
def _refuse_changes() -> None:
    """Have the interpreter refuse what recipes do beside judging, from now on."""

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if WATCH.is_on and (
            event in CHANGING
            or (event == "open" and isinstance(args[2], int) and args[2] & WRITING)
            or (event == "os.posix_spawn" and "config" not in args[1])  # git's settings: see `git_query`
        ):
            WATCH.has_tried = True
            raise PermissionError(f"{event}: not in a replay")

    sys.addaudithook(refuse)


@contextmanager
def _as_in_a_run(variables: Mapping[bytes, bytes]) -> Iterator[None]:
    """Have recipes read a hook's variables, and ask git about settings only."""
    with ENVIRONMENT:
        before, writes = os.environ, sys.dont_write_bytecode
        os.environ = Variables(variables)  # type: ignore[assignment]  # noqa: B003  # for recipes, which only read
        git_query.kept_answers, sys.dont_write_bytecode = ANSWERS, True
        WATCH.is_on, WATCH.has_tried = True, False
        try:
            yield
        finally:
            WATCH.is_on = False
            os.environ = before  # noqa: B003
            git_query.kept_answers, sys.dont_write_bytecode = None, writes
