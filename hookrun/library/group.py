"""Run a fire's hooks side by side: configured ones as processes, handlers as tasks and in threads."""

from __future__ import annotations

import asyncio
import contextvars
import weakref
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from hookrun.core.model import AnyHook, Failure, Hook, Outcome
from hookrun.library import Handler
from hookrun.library.calls import HandlerCall, close_awaitable
from hookrun.library.event_contexts import close_unstarted

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from hookrun.library.awaiting import Work
    from hookrun.library.engine_fire import EngineFire
    from hookrun.library.threads import Job
    from hookrun.process.pool import Batch


class _End(asyncio.Event):
    """The end of a batch. A task waits for it without `asyncio.shield`, which takes one more turn of the loop."""

    def notifier(self) -> Callable[[], None]:
        """Return a function that sets it from any thread, without keeping the waiting task alive."""
        loop, found = asyncio.get_running_loop(), weakref.ref(self)

        def note() -> None:
            end = found()
            if end is not None:
                end.set()

        def notify() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(note)

        return notify

    async def wait_shielded(self) -> None:
        """Wait for it, even if the task is cancelled meanwhile."""
        while not self.is_set():
            with suppress(asyncio.CancelledError):
                await self.wait()


class ParallelGroup:
    """A fire's hooks that run side by side."""

    def __init__(self, fire: EngineFire, hooks: Sequence[AnyHook]) -> None:
        self._services = fire.services
        self._processes = fire.processes
        self._fire = fire
        self._handlers = [(n, hook) for n, hook in enumerate(hooks) if isinstance(hook, Handler)]
        self._calls: dict[int, HandlerCall] = {}
        self._declared = [(n, hook) for n, hook in enumerate(hooks) if isinstance(hook, Hook)]
        self._outcomes: dict[int, Outcome] = {}
        self._wanted: list[Any] = []
        self._jobs: dict[int, Job] = {}
        self._count = len(hooks)

    @property
    def outcomes(self) -> list[Outcome]:
        """The hooks' outcomes, in order, after a run."""
        return [self._outcomes[n] for n in range(self._count)]

    # --- in a task

    async def run(self) -> None:
        """Run the hooks. If the task is cancelled, none is left running."""
        calls: list[Coroutine[Any, Any, None]] = []
        end = _End()
        batch = self._start_declared(end.notifier())
        try:
            self._begin_calls(calls.append)
        except BaseException:  # Ctrl-C in a handler
            for each in calls:
                each.close()
            self._dismiss()
            if batch is not None:
                self._services.pool.cancel(batch)
                await end.wait_shielded()
            raise
        work = [self._declared_over(batch, end)] if batch is not None else []
        work += [*(self._thread_over(n, job) for n, job in self._jobs.items()), *calls]
        try:
            if len(work) == 1:
                await work[0]
            elif work:
                await _all(work)
        finally:
            self._dismiss()

    def _dismiss(self) -> None:
        """Close unstarted calls, and abandon unfinished jobs."""
        for wanted in self._wanted:
            close_unstarted(wanted)
        for job in reversed(self._jobs.values()):  # queued before running ones, whose threads would take them
            self._services.workers.abandon(job)

    async def _declared_over(self, batch: Batch, end: _End) -> None:
        try:
            await end.wait()
        except asyncio.CancelledError:
            self._services.pool.cancel(batch)
            await end.wait_shielded()
            raise
        except GeneratorExit:  # the fire is no longer awaited
            self._services.pool.cancel(batch)
            raise
        self._take(batch.outcomes)

    async def _thread_over(self, index: int, job: Job) -> None:
        call = self._calls[index]
        try:
            self._outcomes[index] = await asyncio.wait_for(asyncio.wrap_future(job.done), call.left())
        except TimeoutError:
            self._outcomes[index] = call.abandoned(begun=job.begun)

    # --- in a thread

    def run_sync(self) -> None:
        """Run the hooks without a loop. Whatever is raised, none is left running."""
        if any(handler.is_async for _, handler in self._handlers):
            self._services.loop_thread.check()
        over: Future[None] = Future()
        batch = self._start_declared(lambda: over.set_result(None))
        tasks: list[Work] = []
        try:
            self._begin_calls(lambda each: tasks.append(self._services.loop_thread.start(each)))
            for task in tasks:
                task.wait()
            for n, job in self._jobs.items():
                call = self._calls[n]
                try:
                    self._outcomes[n] = job.done.result(call.left())
                except TimeoutError:
                    self._outcomes[n] = call.abandoned(begun=job.begun)
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

    # --- in a task or a thread

    def _start_declared(self, over: Callable[[], None]) -> Batch | None:
        return self._processes.start([hook for _, hook in self._declared], over) if self._declared else None

    def _begin_calls(self, start: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        """Call the functions, those in threads first; `start` what waits."""
        for n, handler in self._handlers:
            if handler.thread:
                self._calls[n] = call = self._call(handler)
                run = partial(contextvars.copy_context().run, _run, call)
                self._jobs[n] = self._services.workers.submit(run)
        for n, handler in self._handlers:
            if not handler.thread:
                call = self._call(handler)
                wanted = call.begin()
                self._outcomes[n] = call.outcome
                if wanted is not None:
                    self._wanted.append(wanted)
                    start(call.await_result(wanted))

    def _call(self, handler: Handler) -> HandlerCall:
        call = HandlerCall(handler, self._fire.context_for(handler), self._fire.deadline)
        call.clone_state = self._count > 1
        return call

    def _take(self, outcomes: list[Outcome]) -> None:
        hooks = [hook for _, hook in self._declared]
        named = self._processes.named(hooks, outcomes)
        self._outcomes.update(zip([n for n, _ in self._declared], named, strict=True))


def _run(call: HandlerCall) -> Outcome:
    if close_awaitable(call.begin()):
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
