"""Run the hooks of one fire side by side: configured ones as processes, handlers as tasks and in threads."""

from __future__ import annotations

import asyncio
import contextvars
import weakref
from concurrent.futures import Future
from time import monotonic
from typing import TYPE_CHECKING, Any

from hookrun.library.calls import HandlerCall, close_unstarted
from hookrun.library.threads import Job, Work, settle
from hookrun.model import Failure, Hook, Outcome
from hookrun.process.prepare import HookEnvironment, prepare
from hookrun.process.runner import classify_failure
from hookrun.state import home_directory
from hookrun.trust.approvals import Approvals, UserDecisions

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from hookrun.engine import Candidates, HookChain
    from hookrun.library.engine_state import EngineState
    from hookrun.process.child import Task
    from hookrun.process.pool import Batch


class _End:
    """The end of a batch: reported by the pool's thread, awaited by a task, also again after a cancellation."""

    __slots__ = ("__weakref__", "_come", "_loop", "_waiter")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._come = False

    def notifier(self) -> Callable[[], None]:
        """Return a function that reports the end from any thread, without keeping the waiting task alive."""
        end, loop = weakref.ref(self), self._loop

        def note() -> None:
            waited_for = end()
            if waited_for is not None:
                waited_for.note()

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(note)
            except RuntimeError:  # the loop is closed
                return

        return tell

    def note(self) -> None:
        """Wake the waiting task; call it in the loop."""
        self._come = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def come(self) -> None:
        """Wait for the end."""
        if not self._come:
            self._waiter = self._loop.create_future()
            await self._waiter


async def _shielded(end: _End) -> None:
    """Wait for the end, even if the task is cancelled meanwhile."""
    while True:
        try:
            await end.come()
        except asyncio.CancelledError:
            continue
        return


class ParallelGroup:
    """Hooks of one fire that run side by side. `calls` are those of its handlers, by their index among the hooks."""

    def __init__(
        self, services: EngineState, hooks: Sequence[Hook], calls: dict[int, HandlerCall], processes: Processes
    ) -> None:
        self._services = services
        self._calls = calls
        self._processes = processes
        self._declared = [(n, hook) for n, hook in enumerate(hooks) if n not in calls]
        self._outcomes: dict[int, Outcome] = {}
        self._wanted: list[Any] = []
        self._jobs: dict[HandlerCall, Job] = {}
        self._count = len(hooks)

    def _in_order(self) -> list[Outcome]:
        return [self._outcomes[n] for n in range(self._count)]

    # --- in a task

    async def run(self) -> list[Outcome]:
        """Run the hooks and return their outcomes in order. If the task is cancelled, none is left running."""
        work: list[Coroutine[Any, Any, None]] = []
        end = _End()
        batch = None
        if self._declared:
            batch = self._processes.start([hook for _, hook in self._declared], end.notifier())
            work.append(self._declared_over(batch, end))
        try:
            work += [
                self._thread_over(n, call, self._in_thread(call)) for n, call in self._calls.items() if call.thread
            ]
            for n, call in self._calls.items():
                if not call.thread:
                    wanted = call.begin()
                    self._outcomes[n] = call.outcome
                    if wanted is not None:
                        self._wanted.append(wanted)
                        work.append(call.await_result(wanted))
        except BaseException:  # Ctrl-C in a handler
            for each in work:
                each.close()
            self._dismiss()
            if batch is not None:
                self._services.pool.cancel(batch)
                await _shielded(end)
            raise
        try:
            if len(work) == 1:
                await work[0]
            elif work:
                await _all(work)
        finally:
            self._dismiss()
        return self._in_order()

    def _dismiss(self) -> None:
        """Close calls that have not started, and abandon jobs that have not finished."""
        for wanted in self._wanted:
            close_unstarted(wanted)
        for job in reversed(self._jobs.values()):  # queued before running ones, whose threads would start them
            self._services.workers.abandon(job)

    async def _declared_over(self, batch: Batch, end: _End) -> None:
        try:
            await end.come()
        except asyncio.CancelledError:
            self._services.pool.cancel(batch)
            await _shielded(end)
            raise
        except GeneratorExit:  # the fire is no longer awaited
            self._services.pool.cancel(batch)
            raise
        self._take(batch.outcomes)

    async def _thread_over(self, index: int, call: HandlerCall, future: Future[Outcome]) -> None:
        try:
            self._outcomes[index] = await asyncio.wait_for(asyncio.wrap_future(future), call.left())
        except TimeoutError:
            self._outcomes[index] = call.abandoned(begun=self._jobs[call].begun)

    # --- in a thread

    def run_sync(self) -> list[Outcome]:
        """Run the hooks without a loop. Whatever is raised meanwhile, none is left running."""
        if any(call.is_async for call in self._calls.values()):
            self._services.loop_thread.check()
        over: Future[None] = Future()
        batch = None
        if self._declared:
            batch = self._processes.start([hook for _, hook in self._declared], lambda: over.set_result(None))
        tasks: list[Work] = []
        try:
            self._call_all(tasks)
            if batch is not None:
                over.result()
                self._take(batch.outcomes)
        except BaseException:
            for task in tasks:
                task.cancel()
            if batch is not None:
                self._services.pool.cancel(batch)
                over.result()
            raise
        finally:
            self._dismiss()
        return self._in_order()

    def _call_all(self, tasks: list[Work]) -> None:
        threads = {n: self._in_thread(call) for n, call in self._calls.items() if call.thread}
        for n, call in self._calls.items():
            if not call.thread:
                wanted = call.begin()
                self._outcomes[n] = call.outcome
                if wanted is not None:
                    self._wanted.append(wanted)
                    tasks.append(self._services.loop_thread.start(call.await_result(wanted)))
        for task in tasks:
            task.wait()
        for n, future in threads.items():
            call = self._calls[n]
            try:
                self._outcomes[n] = future.result(call.left())
            except TimeoutError:
                self._outcomes[n] = call.abandoned(begun=self._jobs[call].begun)

    # --- in a task or a thread

    def _take(self, outcomes: list[Outcome]) -> None:
        hooks = [hook for _, hook in self._declared]
        named = self._processes.named(hooks, outcomes)
        self._outcomes.update(zip([n for n, _ in self._declared], named, strict=True))

    def _in_thread(self, call: HandlerCall) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        future.set_running_or_notify_cancel()
        variables = contextvars.copy_context()
        call.time_runs_from(monotonic())
        self._jobs[call] = self._services.workers.submit(lambda: settle(future, lambda: variables.run(_call, call)))
        return future


def _call(call: HandlerCall) -> Outcome:
    wanted = call.begin()
    if wanted is not None:
        close = getattr(wanted, "close", None)
        if close is not None:
            close()
        detail = "it returned an awaitable, which cannot be combined with thread=True"
        call.outcome.failure = Failure("bad_verdict", detail)
    return call.outcome


async def _all(work: list[Coroutine[Any, Any, None]]) -> None:
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


class Processes:
    """Run the configured hooks of one fire. `on_background_end` is called, in another thread, with their outcomes."""

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
        """The user's decisions, read again for each fire: they may change while the program runs."""
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
            self._asked.deadline = self._deadline
        return self._asked

    def _is_asked_about(self, hook: Hook) -> bool:
        """Return whether the user may have decided about the hook; hooks defined by the program have no file."""
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
        """The matching hooks that the user has disabled, as `NAME: reason`."""
        return self._asked.switched_off() if self._asked is not None else []

    def why_off(self, hook: Hook) -> str | None:
        """Return why the user has disabled the hook, or None."""
        return self._trust.why_off(hook) if self._is_asked_about(hook) else None

    def refusal(self, hook: Hook) -> Failure | None:
        """Return why the hook may not run, judging by its declaration and the user's approvals, or None."""
        return self._trust.refusal(hook) if self._is_asked_about(hook) else None

    def combine_failures(self, candidates: Candidates) -> None:
        """Summarize in one text which of the project's hooks did not run because of its config."""
        from hookrun.trust.notices import combine_failures, unapproved_behind

        behind = unapproved_behind(self._chain, candidates, self._trust)
        combine_failures(self._chain.runs, behind, self._services.project)

    def run(self, hooks: Sequence[Hook]) -> list[Outcome]:
        """Run the hooks side by side and wait for them in this thread. Whatever is raised, none is left running."""
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
        outcome = classify_failure(hook, outcome, self._around)
        return self._trust.check_after(hook, outcome) if self._is_asked_about(hook) else outcome

    def _task(self, hook: Hook) -> Task | Failure | None:
        """Return the task that runs the hook, or why it cannot run; None for a background hook, started here."""
        refused = self._trust.check_before(hook) if self._is_asked_about(hook) else None
        if refused is not None:
            return refused
        try:
            stdin = self._chain.stdin(hook)
        except (ValueError, RecursionError) as error:
            # A failure of this hook alone: handlers, which need no JSON, still run.
            return Failure("spawn", f"the context cannot be passed to it: {error}")
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
