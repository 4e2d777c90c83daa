"""Run the configured hooks of a fire as processes, as far as the user has approved them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.core.model import Failure, Hook, Outcome
from hookrun.core.state import home_directory
from hookrun.process.prepare import HookEnvironment, prepare
from hookrun.process.program import program
from hookrun.process.runner import classify_failure
from hookrun.trust.approvals import UserDecisions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.library.engine_fire import EngineFire
    from hookrun.process.child import Task
    from hookrun.process.pool import Batch


class Processes:
    """Run a fire's configured hooks. The user may have decided about those of files, which have a `source`."""

    def __init__(self, fire: EngineFire) -> None:
        self._fire = fire
        self._services = fire.services
        self._environment = (fire.new_environment or HookEnvironment)(
            fire.context,
            project=fire.services.project,
            request_id=fire.request_id,
            program=program,
            may_fork=False,
            settings=fire.services.settings,
        )
        self._asked: UserDecisions | None = None

    @property
    def trust(self) -> UserDecisions:
        """The user's decisions, read for each fire, as they may change."""
        if self._asked is None:
            services = self._services
            self._asked = UserDecisions(
                services.home or home_directory(),
                services.project,
                self._environment,
                services.settings,
                services.decisions.load,
                need_approval=not services.trusted,
            )
            self._asked.deadline = self._fire.deadline
        return self._asked

    @property
    def off(self) -> list[str]:
        """The matching hooks that the user has disabled, as `NAME: reason`."""
        return self._asked.switched_off() if self._asked is not None else []

    def combine_failures(self) -> None:
        """Summarize in one text the project's hooks that did not run because of its config."""
        from hookrun.trust.notices import combine_failures, unapproved_behind

        behind = unapproved_behind(self._fire, self._fire.candidates, self.trust)
        combine_failures(self._fire.runs, behind, self._services.project)

    def run(self, hooks: Sequence[Hook]) -> list[Outcome]:
        """Run the hooks side by side, waiting in this thread. Whatever is raised, none is left running."""
        return self.named(hooks, self._services.pool.run([self._task(hook) for hook in hooks]))

    def start(self, hooks: Sequence[Hook], over: Callable[[], None]) -> Batch:
        """Start the hooks side by side; `over` is called, in another thread, when all have ended."""
        return self._services.pool.submit([self._task(hook) for hook in hooks], lambda _: over())

    def named(self, hooks: Sequence[Hook], outcomes: list[Outcome]) -> list[Outcome]:
        """Return the outcomes with specific failures, after the trust checks."""
        ended = [self._ended(hook, outcome) for hook, outcome in zip(hooks, outcomes, strict=True)]
        if self._asked is not None:
            self._asked.keep()
        return ended

    def _ended(self, hook: Hook, outcome: Outcome) -> Outcome:
        outcome = classify_failure(hook, outcome, self._environment)
        return self.trust.check_after(hook, outcome) if hook.source else outcome

    def _task(self, hook: Hook) -> Task | Failure | None:
        """Return the hook's task, or why it cannot run; None for a background hook, started here."""
        refused = self.trust.check_before(hook) if hook.source else None
        if refused is not None:
            return refused
        try:
            stdin = self._fire.stdin(hook)
        except (ValueError, RecursionError) as error:
            # A failure of this hook only: handlers, which need no JSON, run.
            return Failure("spawn", f"the context cannot be passed to it: {error}")
        task = prepare(hook, stdin, self._environment, locks=self._services.locks_directory)
        if isinstance(task, Failure):
            return task
        if hook.background:
            tell = self._fire.background_ended
            over = lambda outcomes: tell(hook, self._ended(hook, outcomes[0]))  # noqa: E731  # what is called once
            self._services.background_pool.submit([task], over)
            return None
        task.deadline = self._fire.deadline
        return task
