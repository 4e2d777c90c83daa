"""What of the declarations no case has reached: hooks, alternatives of matchers, letting pass and doing something."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookrun.conditions import TOOL_NAMES
from hookrun.globs import glob

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.model import Hook, HookResult
    from hookrun.testing.came import Came
    from hookrun.testing.declared import Declared
    from hookrun.testing.ran import Ran

RAN = "no case in which it runs"
LETS_PASS = "no case in which it has nothing to say"  # noqa: S105  # a sentence
ACTS = "no case in which it says or changes something"

Key = tuple[str, int, str]


@dataclass(slots=True)
class OfHook:
    """What there is to reach of a hook, and what of it was reached."""

    hook: Hook
    wanted: list[str] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)
    actions: set[str] = field(default_factory=set)

    @property
    def missing(self) -> list[str]:
        """What was not reached."""
        return [each for each in self.wanted if each not in self.reached]

    @property
    def told(self) -> list[str]:
        """What a person is told of that: of a hook that never ran, nothing more."""
        return [RAN] if RAN in self.missing else self.missing


class Coverage:
    """The coverage of cases that ran, over everything that the declarations they ran against hold."""

    def __init__(self, results: Iterable[Ran]) -> None:
        self._hooks: dict[Key, OfHook] = {}
        for ran in results:
            if ran.declared is not None:
                self._take(ran.declared)
            if ran.came is not None:
                for run in ran.came.runs:
                    self._note(run, ran.came)

    def _take(self, declared: Declared) -> None:
        for hook in declared.hooks:
            if hook.mode != "off" and _key(hook) not in self._hooks:
                self._hooks[_key(hook)] = OfHook(hook, list(_wanted(hook)))

    def _note(self, run: HookResult, came: Came) -> None:
        of = self._hooks.get(_key(run.hook))
        if of is None:
            return
        of.actions.add(run.action)
        of.reached.add(RAN)
        tools = [name for each in TOOL_NAMES if isinstance(name := came.context.get(each), str)]
        for pattern in run.hook.matcher or ():
            if any(glob(pattern, tool) for tool in tools):
                of.reached.add(_matcher(pattern))
        if run.failure is None:
            of.reached.add(LETS_PASS if run.verdict.to_dict() == {"action": "continue"} else ACTS)

    @property
    def hooks(self) -> list[OfHook]:
        """Every hook, in the order of the declarations."""
        return list(self._hooks.values())

    @property
    def total(self) -> int:
        """How much there is to reach."""
        return sum(len(of.wanted) for of in self._hooks.values())

    @property
    def reached(self) -> int:
        """How much of it was reached."""
        return self.total - sum(len(of.missing) for of in self._hooks.values())

    @property
    def percent(self) -> float:
        """The same in percent, 100 where there is nothing to reach."""
        return 100 * self.reached / self.total if self.total else 100.0

    def to_dict(self) -> dict[str, object]:
        """Return all of it as JSON."""
        return {
            "reached": self.reached,
            "total": self.total,
            "percent": round(self.percent, 1),
            "hooks": [
                {
                    "name": of.hook.name,
                    "where": of.hook.where(),
                    "actions": sorted(of.actions),
                    "missing": of.missing,
                }
                for of in self.hooks
            ],
        }


def _key(hook: Hook) -> Key:
    return hook.source, hook.line, hook.name


def _wanted(hook: Hook) -> Iterable[str]:
    """Return what there is to reach of a hook. Of one that has no say, its actions are not asked for."""
    yield RAN
    if hook.matcher is not None and len(hook.matcher) > 1:
        yield from (_matcher(pattern) for pattern in hook.matcher)
    if hook.enforcing:
        yield LETS_PASS
        yield ACTS


def _matcher(pattern: str) -> str:
    return f"no case with a tool that {pattern} matches"
