"""What hooks cost on this machine: each is run for real, many times, and beside it what would cost nothing to run.

Nothing of this is kept in the audit: it is no fire.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from time import monotonic, perf_counter, sleep
from typing import TYPE_CHECKING

import hookrun
from hookrun import context as contexts
from hookrun.conditions import applies
from hookrun.dialects import interpret
from hookrun.engine import HookChain
from hookrun.model import Failure, Hook
from hookrun.process.loop import Loop
from hookrun.process.prepare import HookEnvironment
from hookrun.process.runner import ProcessRunner
from hookrun.process.spawn import catch_signals, release_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrun.model import Outcome, Verdict

NOTHING: dict[str, dict[str, object]] = {
    "command": {"kind": "command", "target": ":"},
    "args": {"kind": "args", "target": ("/bin/sh", "-c", ":")},
    "python": {"kind": "python", "target": "builtins:bool"},
    "url": {"kind": "python", "target": "builtins:bool"},
}
"""How a hook is run -> the least that can be run in that way: what it takes is the price of starting it."""

TOOLS: dict[str, dict[str, object]] = {
    "bash": {"command": "echo hookrun bench"},
    "read": {"file_path": "README.md"},
    "write": {"file_path": "bench.txt", "content": "hookrun bench\n"},
    "edit": {"file_path": "bench.txt", "old_string": "a", "new_string": "b"},
    "delete": {"file_path": "bench.txt"},
    "glob": {"pattern": "*.md"},
    "grep": {"pattern": "hookrun"},
    "web_fetch": {"url": "http://localhost/"},
    "web_search": {"query": "hookrun"},
    "task": {"prompt": "bench"},
}
"""A tool by hookrun's name -> arguments that a made-up call of it has."""

SETTLED = 2.2
"""Seconds after which compiled declarations are kept for the next fire: what it costs before is not what is paid."""

OWN_EVENT = "hookrun_bench"
TESTS = 2000


class Times:
    """Milliseconds, each as it was taken."""

    def __init__(self, values: Sequence[float] = ()) -> None:
        self.values = sorted(values)

    def at(self, share: float) -> float:
        """Return the nearest-rank percentile: a time that was really taken."""
        return self.values[max(0, math.ceil(share * len(self.values)) - 1)] if self.values else 0.0

    @property
    def p50(self) -> float:
        """Half of them took no longer."""
        return self.at(0.5)

    @property
    def p95(self) -> float:
        """All but one in twenty took no longer."""
        return self.at(0.95)


class Cost:
    """What one hook costs: `start` is the least that is run in its way, `whole` the hook itself.

    `failures` counts how it failed, `verdicts` are what it answered when it did not.
    """

    def __init__(self, hook: Hook, event: str) -> None:
        self.hook = hook
        self.event = event
        self.start = Times()
        self.whole = Times()
        self.failures: dict[str, int] = {}
        self.verdicts: list[Verdict] = []
        self.words: tuple[str, ...] = ()
        self.as_words = Times()

    @property
    def never_objected(self) -> bool:
        """Whether every run ended well and had nothing to say."""
        silent = all(each.to_dict() == {"action": "continue"} for each in self.verdicts)
        return silent and bool(self.verdicts) and not self.failures


class Bench:
    """Runs hooks of one project, so often each. `given` is the context, None for one that is made up for each hook."""

    def __init__(
        self,
        project: str,
        policy: object,
        rounds: int,
        given: Mapping[str, object] | None,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._project = project
        self._policy = policy
        self._rounds = rounds
        self._given = given
        self._tick = tick
        self._began = monotonic()

    def cost(self, hook: Hook, event: str) -> Cost:
        """Return what a hook costs. Raises Interrupted when a signal came; then it has been ended."""
        cost = Cost(hook, event)
        context = self.context(hook, event)
        once = _changed(hook, background=False)
        nothing = _changed(once, look=[], words=[], **NOTHING[hook.kind])
        starts, wholes = [], []
        for _ in range(self._rounds):
            starts.append(self._run([nothing], context)[0].ms)
            outcome = self._run([once], context)[0]
            wholes.append(outcome.ms)
            answer, _ = interpret(hook, outcome, event, context)
            if isinstance(answer, Failure):
                cost.failures[answer.kind] = cost.failures.get(answer.kind, 0) + 1
            else:
                cost.verdicts.append(answer)
            self._tick()
        cost.start, cost.whole = Times(starts), Times(wholes)
        return cost

    def as_words(self, cost: Cost, words: tuple[str, ...]) -> None:
        """Measure what a hook that a shell runs costs when these words of its line are run without one."""
        hook = _changed(cost.hook, background=False, kind="args", target=words)
        context = self.context(cost.hook, cost.event)
        cost.words = words
        cost.as_words = Times([self._run([hook], context)[0].ms for _ in range(self._rounds)])

    def side_by_side(self, costs: Sequence[Cost]) -> Times:
        """Return what hooks of one event take together, run side by side."""
        hooks = [_changed(cost.hook, background=False) for cost in costs]
        context = self.context(costs[0].hook, costs[0].event)
        return Times([max(each.ms for each in self._run(hooks, context)) for _ in range(self._rounds)])

    def context(self, hook: Hook, event: str) -> dict[str, object]:
        """Return the context that a hook is run on: the given one, or a made-up one that its matcher applies to."""
        if self._given is not None:
            return contexts.with_defaults(self._given, event, "bench", self._project)
        made = [self._made_up(event, tool) for tool in TOOLS]
        any_condition = _changed(hook, when=None, unless=None, agents=None)
        return next((each for each in made if applies(any_condition, each)), made[0])

    def _made_up(self, event: str, tool: str) -> dict[str, object]:
        fields: dict[str, object] = {"session_id": "bench", "user_prompt": "bench", "assistant_response": "bench"}
        fields |= {"tool_name": tool, "tool_args": TOOLS[tool], "tool_result_output": "bench"}
        return contexts.with_defaults(fields, event, "bench", self._project)

    def _run(self, hooks: Sequence[Hook], context: dict[str, object]) -> list[Outcome]:
        around = HookEnvironment(context, project=self._project, request_id="bench", project_env_policy=self._policy)
        with tempfile.TemporaryDirectory() as locks:
            runner = ProcessRunner(
                around, Loop(wake=catch_signals()), locks=locks, on_background_end=lambda _hook, _outcome: None
            )
            chain = HookChain(str(context["event"]), context, [], off=lambda _hook: None)  # type: ignore[arg-type]  # no candidates: it only says what a hook reads
            try:
                return runner([(hook, chain.stdin(hook)) for hook in hooks])
            finally:
                release_signals()

    def hookrun_itself(self) -> Times:
        """Return what `hookrun fire` takes beside the one hook that it runs, which does nothing."""
        with tempfile.TemporaryDirectory() as home:
            hook = {"event": OWN_EVENT, "args": ["/bin/sh", "-c", ":"]}
            declared = {"hookrun": {"events": [OWN_EVENT]}, "hooks": [hook]}
            with open(f"{home}/coder.json", "w", encoding="ascii") as file:
                json.dump(declared, file)
            with open(f"{home}/context.json", "w", encoding="ascii") as file:
                file.write("{}")
            sleep(SETTLED)
            _fire(home)  # the one that compiles
            return Times([_fire(home) for _ in range(self._rounds)])


def _fire(home: str) -> float:
    main = os.path.join(os.path.dirname(os.path.abspath(hookrun.__file__)), "__main__.py")
    command = [sys.executable, "-I", main, "fire", OWN_EVENT, "--ctx", "context.json", "--home", home]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOOKRUN")}
    began = perf_counter()
    done = subprocess.run(command, cwd=home, env=clean, capture_output=True, check=False)
    ms = (perf_counter() - began) * 1000
    return ms - float(json.loads(done.stdout)["hooks"][0]["ms"])


def of_a_condition(hook: Hook, context: Mapping[str, object]) -> float:
    """Return the milliseconds that it takes to see that a hook with a `when` does not apply."""
    conditional = _changed(hook, when={"tool_args.command": ["*hookrun bench: never*"]})
    began = perf_counter()
    for _ in range(TESTS):
        applies(conditional, context)
    return (perf_counter() - began) * 1000 / TESTS


def _changed(hook: Hook, **fields: object) -> Hook:
    return Hook.from_dict({**hook.to_dict(), **fields})
