"""Run hooks of every kind for the engine: prepare them, run them in the loop, classify their failures."""

from __future__ import annotations

from os import fsencode
from os.path import exists
from time import monotonic

from hookrun.fastjson import loads
from hookrun.model import Failure, Interrupted, Outcome
from hookrun.process import spawn
from hookrun.process.child import Task
from hookrun.process.prepare import prepare, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from hookrun.model import Hook
    from hookrun.process.loop import Loop
    from hookrun.process.prepare import HookEnvironment

    class Trust(Protocol):
        """Decides about each hook before it starts and after it has ended."""

        def check_before(self, hook: Hook) -> Failure | None:
            """Return why the hook may not run, or None."""

        def check_after(self, hook: Hook, outcome: Outcome) -> Outcome:
            """Return the outcome, or its replacement."""


RECIPES = "hookrun.recipes."
"""Beginning of the functions that may have a look (recipes/looks.py, which is above this room)."""
MAX_LOOKED = 1 << 14
"""Bytes of a context that is looked at."""
NOT_EXECUTED = (126, 127)
"""Exit statuses of a shell that could not start a program."""
NOT_FOUND = 127
NOT_FOUND_MARK = "hookrun: "
"""How `python_hook` reports a missing function; not imported from there, because it imports `json`."""


class ProcessRunner:
    """Run hooks side by side; called with [(hook, stdin), ...] it returns their outcomes in order.

    `on_background_end` is called in another process when a background hook ends, `on_outcomes` with what hooks read and
    how they ended. `trust` decides about each hook. `waited` is the time in seconds that all calls took.
    """

    def __init__(
        self,
        environment: HookEnvironment,
        loop: Loop,
        *,
        locks: str,
        on_background_end: Callable[[Hook, Outcome], None],
        on_outcomes: Callable[[list[tuple[Hook, bytes]], list[Outcome]], None] | None = None,
        trust: Trust | None = None,
    ) -> None:
        self.waited = 0.0
        self._on_outcomes = on_outcomes
        self._trust = trust
        self._environment = environment
        self._loop = loop
        self._locks = locks
        self._on_background_end = on_background_end

    def __call__(self, jobs: list[tuple[Hook, bytes]]) -> list[Outcome]:
        """Run the hooks. Raises Interrupted after a signal, once every hook has been ended."""
        begun = monotonic()
        try:
            outcomes = self._run(jobs)
        finally:
            self.waited += monotonic() - begun
        if self._on_outcomes is not None:
            self._on_outcomes(jobs, outcomes)
        return outcomes

    def _run(self, jobs: list[tuple[Hook, bytes]]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        waited_for: list[int] = []
        tasks: list[Task | Failure] = []
        for index, (hook, stdin) in enumerate(jobs):
            task = self._prepare(hook, stdin)
            if isinstance(task, Outcome):
                outcomes.append(self._ended(hook, task))
            elif hook.background and isinstance(task, Task):
                outcomes.append(self._in_background(hook, task))
            else:
                outcomes.append(Outcome())
                waited_for.append(index)
                tasks.append(task)
        try:
            ended = self._loop.run(tasks)
        except Interrupted as interrupted:
            were_running = dict(zip(waited_for, interrupted.outcomes, strict=True))
            raise Interrupted(interrupted.signal, [were_running.get(i) for i in range(len(jobs))]) from None
        for index, outcome in zip(waited_for, ended, strict=True):
            outcomes[index] = self._ended(jobs[index][0], outcome)
        return outcomes

    def _prepare(self, hook: Hook, stdin: bytes) -> Task | Failure | Outcome:
        refused = self._trust.check_before(hook) if self._trust is not None else None
        if refused is not None:
            self._environment.discard_program(hook)
        if refused is None and hook.kind == "python" and str(hook.target).startswith(RECIPES):
            outcome = self._glance(hook, stdin)
            if outcome is not None:
                return outcome
        return refused or prepare(hook, stdin, self._environment, locks=self._locks)

    def _glance(self, hook: Hook, stdin: bytes) -> Outcome | None:
        """Return the outcome of a recipe that does not object to this context, by its look; None to run it.

        A look is a few string operations of hookrun's own: on a long context it could take long, and is left out.
        """
        if len(stdin) > MAX_LOOKED or hook.interpreter is not None or hook.error is not None or hook.background:
            return None
        begun = monotonic()
        may_matter = __import__("hookrun.recipes.looks", fromlist=["may_matter"]).may_matter
        try:
            context = loads(stdin.decode())
            variables = self._environment.variables(hook, b"")
        except ValueError:
            return None
        if may_matter(str(hook.target), context, variables):
            return None
        outcome = Outcome()
        outcome.exit_code, outcome.bytes_in = 0, len(stdin)
        outcome.ms = (monotonic() - begun) * 1000
        return outcome

    def _ended(self, hook: Hook, outcome: Outcome) -> Outcome:
        outcome = classify_failure(hook, outcome, self._environment)
        return self._trust.check_after(hook, outcome) if self._trust is not None else outcome

    def _in_background(self, hook: Hook, task: Task) -> Outcome:
        from hookrun.process import supervisor

        return supervisor.start(task, lambda outcome: self._on_background_end(hook, self._ended(hook, outcome)))


def classify_failure(hook: Hook, outcome: Outcome, environment: HookEnvironment) -> Outcome:
    """Return the outcome with a specific failure if its exit status alone would hide the cause."""
    if outcome.failure is not None or not outcome.exit_code:
        return outcome
    said = outcome.stderr.decode("utf-8", "replace").strip()
    if hook.kind == "url" and outcome.exit_code > 0:
        outcome.failure = Failure("http", said)
    elif hook.kind == "python" and outcome.exit_code == NOT_FOUND and said.startswith(NOT_FOUND_MARK):
        outcome.failure = Failure("missing", said.removeprefix(NOT_FOUND_MARK))
    elif hook.kind == "command" and outcome.exit_code in NOT_EXECUTED and hook.look:
        outcome.failure = _no_interpreter(hook, environment)
    return outcome


def _no_interpreter(hook: Hook, environment: HookEnvironment) -> Failure | None:
    variables = environment.variables(hook, b"")
    path = resolve(hook.look[0], variables, environment.directory(hook, variables))
    interpreter = spawn.interpreter_of(path) if path is not None else None
    if path is None or interpreter is None or exists(fsencode(interpreter)):
        return None
    return spawn.missing_interpreter(path, interpreter)
