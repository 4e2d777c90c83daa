"""The declared hooks of one fire: made ready, given to the pool, their outcomes named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.model import Failure
from hookrun.run import spawn_at
from hookrun.run.prepare import Surroundings, prepare
from hookrun.run.runner import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.engine import Chain
    from hookrun.library.services import Services
    from hookrun.model import Hook, Outcome
    from hookrun.run.pool import Batch
    from hookrun.run.task import Task

STRANGERS = frozenset({"project", "local"})
"""The layers whose hooks are a stranger's code until somebody approves them."""
UNTRUSTED = "a project's hook runs in a program only if that says so: Engine.load(trust_project=True)"


class Processes:
    """Runs the declared hooks of one fire. `on_background_end` is told, in another thread, how one ended."""

    def __init__(
        self,
        services: Services,
        chain: Chain,
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
        self._surroundings: Surroundings | None = None

    @property
    def _around(self) -> Surroundings:
        if self._surroundings is None:
            self._surroundings = Surroundings(
                self._chain.context,
                project=self._services.project,
                request_id=self._request_id,
                program=spawn_at.program,
                may_fork=False,
            )
        return self._surroundings

    def run(self, hooks: Sequence[Hook]) -> list[Outcome]:
        """Run the hooks side by side and wait for them in this thread. Whatever is raised, none is left running."""
        return self.named(hooks, self._services.pool.run([self._task(hook) for hook in hooks]))

    def start(self, hooks: Sequence[Hook], over: Callable[[], None]) -> Batch:
        """Start the hooks side by side; `over` is called, in another thread, when all have ended."""
        return self._services.pool.submit([self._task(hook) for hook in hooks], lambda _: over())

    def named(self, hooks: Sequence[Hook], outcomes: list[Outcome]) -> list[Outcome]:
        """Return the outcomes, each failure by its true name."""
        return [named(hook, outcome, self._around) for hook, outcome in zip(hooks, outcomes, strict=True)]

    def _task(self, hook: Hook) -> Task | Failure | None:
        """Return what runs the hook, or why it cannot run; None for one in the background, which is on its way."""
        if hook.layer in STRANGERS and not self._services.trusted:
            return Failure("untrusted", UNTRUSTED)
        try:
            stdin = self._chain.stdin(hook)
        except (ValueError, RecursionError) as error:
            return Failure("spawn", f"the context cannot be given to it: {error}")
        task = prepare(hook, stdin, self._around, locks=self._services.locks)
        if isinstance(task, Failure):
            return task
        if hook.background:
            around, tell = self._around, self._on_background_end
            over = lambda outcomes: tell(hook, named(hook, outcomes[0], around))  # noqa: E731  # what is called once
            self._services.background_pool.submit([task], over)
            return None
        task.deadline = self._deadline
        return task
