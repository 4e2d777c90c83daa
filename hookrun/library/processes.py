"""The declared hooks of one fire: made ready, given to the pool, their outcomes named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.config.discovery import home_directory
from hookrun.model import Failure
from hookrun.process.prepare import prepare
from hookrun.process.runner import classify_failure
from hookrun.trust.approvals import Approvals, UserDecisions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.engine import HookChain
    from hookrun.library.services import EngineState
    from hookrun.model import Hook, Outcome
    from hookrun.process.child import Task
    from hookrun.process.pool import Batch
    from hookrun.process.prepare import HookEnvironment


class Processes:
    """Runs the declared hooks of one fire. `on_background_end` is told, in another thread, how one ended."""

    def __init__(
        self,
        services: EngineState,
        chain: HookChain,
        *,
        request_id: str,
        deadline: float,
        on_background_end: Callable[[Hook, Outcome], None],
    ) -> None:
        self._services = services
        self._chain = chain
        self._deadline = deadline
        self._on_background_end = on_background_end
        self._request_id = request_id
        self._surroundings: HookEnvironment | None = None
        self._asked: UserDecisions | None = None
        self._undecided: bool | None = None

    @property
    def _around(self) -> HookEnvironment:
        if self._surroundings is None:
            self._surroundings = self._services.environment(self._chain.context, self._request_id)
        return self._surroundings

    @property
    def _trust(self) -> UserDecisions:
        """Who is asked about each hook: read anew in each fire, for a person decides while the program runs."""
        if self._asked is None:
            services = self._services
            kind = UserDecisions if services.trusted else Approvals
            self._asked = kind(
                services.home or home_directory(),
                services.project,
                self._around,
                services.settings,
                services.decisions.load,
            )
        return self._asked

    def _is_asked_about(self, hook: Hook) -> bool:
        """Tell whether somebody has a word on the hook: those of the program itself have no file."""
        if not hook.source:
            return False
        if self._undecided is None:
            services = self._services
            self._undecided = services.trusted and services.decisions.are_none(
                services.home or home_directory(), services.settings
            )
        return not self._undecided

    @property
    def off(self) -> list[str]:
        """What the person has switched off of the hooks that would have run: `NAME: why`."""
        return self._asked.switched_off() if self._asked is not None else []

    def why_off(self, hook: Hook) -> str | None:
        """Return why the person has switched the hook off, None if they have not."""
        return self._trust.why_off(hook) if self._is_asked_about(hook) else None

    def run(self, hooks: Sequence[Hook]) -> list[Outcome]:
        """Run the hooks side by side and wait for them in this thread. Whatever is raised, none is left running."""
        return self.named(hooks, self._services.pool.run([self._task(hook) for hook in hooks]))

    def start(self, hooks: Sequence[Hook], over: Callable[[], None]) -> Batch:
        """Start the hooks side by side; `over` is called, in another thread, when all have ended."""
        return self._services.pool.submit([self._task(hook) for hook in hooks], lambda _: over())

    def named(self, hooks: Sequence[Hook], outcomes: list[Outcome]) -> list[Outcome]:
        """Return the outcomes, each failure by its true name."""
        ended = [self._ended(hook, outcome) for hook, outcome in zip(hooks, outcomes, strict=True)]
        if self._asked is not None:
            self._asked.keep()
        return ended

    def _ended(self, hook: Hook, outcome: Outcome) -> Outcome:
        outcome = classify_failure(hook, outcome, self._around)
        return self._trust.check_after(hook, outcome) if self._is_asked_about(hook) else outcome

    def _task(self, hook: Hook) -> Task | Failure | None:
        """Return what runs the hook, or why it cannot run; None for one in the background, which is on its way."""
        refused = self._trust.check_before(hook) if self._is_asked_about(hook) else None
        if refused is not None:
            return refused
        try:
            stdin = self._chain.stdin(hook)
        except (ValueError, RecursionError) as error:
            # A failure of this hook alone: handlers, which need no JSON, still run.
            return Failure("spawn", f"the context cannot be given to it: {error}")
        task = prepare(hook, stdin, self._around, locks=self._services.locks)
        if isinstance(task, Failure):
            return task
        if hook.background:
            tell = self._on_background_end
            over = lambda outcomes: tell(hook, self._ended(hook, outcomes[0]))  # noqa: E731  # what is called once
            self._services.background_pool.submit([task], over)
            return None
        task.deadline = self._deadline
        return task
