"""Run a fire of an embedded engine, from candidate hooks to the result, in a task or a thread."""

from __future__ import annotations

import contextvars
import logging
from asyncio import current_task
from os import register_at_fork, urandom
from time import monotonic
from typing import TYPE_CHECKING, Any

from hookrun import audit, context as contexts
from hookrun.engine import HookChain, is_plain_continue
from hookrun.library import Result
from hookrun.library.calls import FOREVER, HandlerCall, TimeLimited, as_coroutine, close_unstarted, is_awaitable
from hookrun.library.event_contexts import CLASSES, Context
from hookrun.library.fire_context import dumps
from hookrun.library.group import ParallelGroup, Processes
from hookrun.library.handlers import Handler
from hookrun.model import Failure, Hook, HookResult, Outcome
from hookrun.nesting import MAX_NESTING, nesting_depth
from hookrun.text import describe_exception

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence

    from hookrun.engine import Steps
    from hookrun.library.engine_state import EngineState
    from hookrun.library.handlers import TableCandidates

LOG = logging.getLogger("hookrun")
# Hooks that enclose this process.
OUTSIDE = nesting_depth()
# Fires and outer hooks that enclose the current code.
NESTING: contextvars.ContextVar[int] = contextvars.ContextVar("hookrun_nesting", default=OUTSIDE)


class NestedError(RecursionError):
    """A handler fires an event that calls it again, too many levels deep."""


class EngineFire:
    """One fire. `deadline` is monotonic; the fields of `data` have been checked."""

    __slots__ = (
        "_class", "_deadline", "_event", "_given", "_made", "_outside", "_processes", "_quiet", "_reported",
        "_request_id", "_selection", "_services", "_started", "_state", "_steps",
    )  # fmt: skip

    def __init__(
        self,
        services: EngineState,
        event: str,
        data: Mapping[str, object],
        selection: TableCandidates,
        *,
        state: object,
        deadline: float,
    ) -> None:
        self._started = monotonic()
        self._services = services
        self._event = event
        self._state = state
        self._deadline = deadline
        self._class = CLASSES.get(event, Context)
        self._processes: Processes | None = None
        self._reported = 0
        self._request_id = _new_id()
        self._selection = selection
        self._given = contexts.with_defaults(data, event, self._request_id, services.directory)
        self._made: HookChain | None = None
        self._steps: Steps | None = None
        self._quiet: HookResult | None = None

    @property
    def _chain(self) -> HookChain:
        """The chain, created on first use: a single hook that continues needs none."""
        if self._made is None:
            self._made = HookChain(
                self._event,
                self._given,
                self._selection,
                disabled_reason=self._why_off,
                refusal=self._refusal,
                encode=dumps,
                encode_changes=False,
                save_text=self._save_text,
            )
        return self._made

    @property
    def _data(self) -> dict[str, object]:
        """The current context, with or without a chain."""
        return self._given if self._made is None else self._made.context

    def __enter__(self) -> None:
        nesting = NESTING.get()
        # The nesting limit raises here, so that the firing handler sees it.
        if nesting >= MAX_NESTING:
            raise NestedError(
                f"{self._event} is fired inside hooks {nesting} levels deep, so no further hook runs: "
                "does a handler fire an event that calls it again?"
            )
        self._outside = NESTING.set(nesting + 1)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            NESTING.reset(self._outside)
        except ValueError:  # a fire no longer awaited is closed from elsewhere
            pass
        if kind is not None:  # cancelled, or ended by an exception not to be swallowed
            self._audit(self._made.runs if self._made is not None else (), interrupted=True)

    def run_sync(self) -> Result:
        """Run the chain in this thread, async handlers in the loop of an engine's thread."""
        with self:
            for waits_for in self.steps(sync=True):
                self._services.loop_thread.run(waits_for)
        return self.result()

    def steps(self, *, sync: bool) -> Iterator[Coroutine[Any, Any, None]]:
        """Run the chain, inside `with` this fire; yield what must end before it continues.

        The caller awaits that in its task or, with `sync`, runs it in a loop elsewhere. If it raises, the chain ends,
        with no hook left running.
        """
        hooks = self._first()
        before = None  # no earlier hook can have cancelled the task
        if not sync and self._steps is not None and (task := current_task()) is not None:
            before = task.cancelling()
        while hooks is not None:
            hook = hooks[0]
            if len(hooks) == 1 and isinstance(hook, Handler) and not hook.thread:
                call = HandlerCall(hook, self._context(hook), self._deadline, before)
                wanted = call.begin()
                if wanted is not None:
                    try:
                        yield call.await_result(wanted)
                    finally:
                        if sync:
                            close_unstarted(wanted)
                outcomes = [call.outcome]
            elif sync and not any(isinstance(each, Handler) for each in hooks):
                outcomes = self._to_run().run(hooks)
            else:
                group = self._group(hooks)
                if sync:
                    group.run_sync()
                else:
                    yield group.run()
                outcomes = group.outcomes
            hooks = self._next(hooks, outcomes)
            if self._made is not None and (failed := self._new_failures()):
                yield from self._report_failures(failed, before)

    # --- in a task or a thread

    def _first(self) -> list[Hook] | None:
        alone = self._selection.only_candidate()
        if alone is not None and (isinstance(alone, Handler) or self._why_off(alone) is None):
            return [alone]
        self._steps = self._chain.steps()
        return next(self._steps, None)

    def _next(self, hooks: list[Hook], outcomes: list[Outcome]) -> list[Hook] | None:
        """Pass the chain the outcomes of hooks; return the next ones, None at the end."""
        if self._steps is None:
            outcome = outcomes[0]
            if is_plain_continue(hooks[0], outcome):
                self._quiet = HookResult(hooks[0], outcome=outcome)
            else:
                self._chain.record_outcomes([(0, hooks[0])], outcomes, recheck=False)
            return None
        try:
            return self._steps.send(outcomes)
        except StopIteration:
            return None

    def _save_text(self, text: str) -> str | None:
        from hookrun.session import save_overflow_text

        home = self._services.home
        return save_overflow_text(home, text) if home is not None else None

    def _group(self, hooks: Sequence[Hook]) -> ParallelGroup:
        calls: dict[int, HandlerCall] = {}
        for index, hook in enumerate(hooks):
            if isinstance(hook, Handler):
                context = self._context(hook)
                calls[index] = HandlerCall(hook, context, self._deadline, clone_state=len(hooks) > 1)
        return ParallelGroup(self._services, hooks, calls, self._to_run())

    def _to_run(self) -> Processes:
        if self._processes is None:
            self._processes = Processes(
                self._services,
                self._chain,
                request_id=self._request_id,
                deadline=self._deadline,
                on_background_end=self._record_background,
            )
        return self._processes

    def _why_off(self, hook: Hook) -> str | None:
        """Return why the user disabled a configured hook (those disabled by the program are not in the table)."""
        return None if isinstance(hook, Handler) else self._to_run().why_off(hook)

    def _refusal(self, hook: Hook) -> Failure | None:
        return None if isinstance(hook, Handler) else self._to_run().refusal(hook)

    def _context(self, handler: Handler) -> Context:
        data = (self._given if self._made is None else self._made.context).copy()  # as `_data`, with a call less
        data["hook"] = handler.name
        return self._class.of(data, self._state, (self, handler))

    def in_background(self, handler: Handler, work: Any, name: str | None) -> None:
        """Start a handler's background work; its nesting starts over, as no fire waits for it."""
        run = HookResult(handler, outcome=Outcome())

        def failed(failure: Failure) -> Coroutine[Any, Any, None] | None:
            run.failure = failure
            wanted = self._begin_report(run)
            return None if wanted is None else _finish_report(run, wanted)

        nesting = NESTING.set(OUTSIDE)
        try:
            self._services.background.start(handler.name, failed, work, name)
        finally:
            NESTING.reset(nesting)

    def _new_failures(self) -> list[HookResult]:
        """Log notes and failures of the latest hooks; return the failed runs."""
        runs = self._chain.runs[self._reported :]
        self._reported += len(runs)
        for run in runs:
            if run.notes or run.failure is not None:
                self._services.log_result(run)
        return [run for run in runs if run.failure is not None]

    def _report_failures(self, runs: Iterable[HookResult], before: int | None) -> Iterator[Coroutine[Any, Any, None]]:
        """Call the `on_error` of the runs' hooks; yield what to await."""
        for run in runs:
            wanted = self._begin_report(run)
            if wanted is not None:
                yield _finish_report(run, wanted, self._deadline, before)

    def _begin_report(self, run: HookResult) -> Any:
        """Call a handler's `on_error`; return its awaitable, or None."""
        handler = run.hook
        if not isinstance(handler, Handler) or handler.on_error is None or run.failure is None:
            return None
        try:
            wanted: Any = handler.on_error(run.failure, self._context(handler))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _report_failed(run, error)
            return None
        return wanted if is_awaitable(wanted) else None

    def result(self) -> Result:
        """Return the run's result, and record it in the audit log."""
        services = self._services
        result = Result()
        if self._quiet is not None:
            result.runs = (self._quiet,)
        else:
            chain = self._chain
            if self._processes is not None and any(
                run.failure is not None and run.failure.kind == "untrusted" for run in chain.runs
            ):
                self._processes.combine_failures(self._selection)
            chain.combine(result)
            result.runs = chain.runs
            result.ended_by = chain.ended_by
        result.context_after = self._context_after
        result.problems = services.problems
        result.request_id = self._request_id
        result.ms = (monotonic() - self._started) * 1000
        if services.journal is not None:
            off = self._processes.off if self._processes is not None else None
            self._audit(result.runs, action=result.action, switched_off=off)
        if self._made is not None:
            # The chain refers to the fire: a cycle would wait for the garbage collector.
            self._given, self._made, self._processes = self._made.context, None, None
        return result

    def _context_after(self) -> Context:
        return self._class.of(self._data, self._state)

    # --- the audit log

    def _audit(self, runs: Sequence[HookResult], **more: Any) -> None:
        self._keep(
            lambda: audit.fire_records(
                runs,
                self._given,
                ms=(monotonic() - self._started) * 1000,
                problems=self._services.problems,
                setting=self._services.settings.get("audit"),
                project=self._services.project,
                **more,
            )
        )

    def _record_background(self, hook: Hook, outcome: Outcome) -> None:
        """Record how a background hook ended."""
        if self._services.on_background_end is not None:
            self._services.on_background_end(hook, outcome, self._data)
        else:
            self._keep(lambda: [audit.background_record(hook, outcome, self._data)])

    def _keep(self, records: Callable[[], list[dict[str, object]]]) -> None:
        """Write records to any audit log. An error never changes the result."""
        journal = self._services.journal
        if journal is None:
            return
        try:
            error = journal.append(b"".join([dumps(record) + b"\n" for record in records()]))
        except Exception as mistake:  # a program's context may not be valid JSON
            error = describe_exception(mistake)
        if error is not None:
            LOG.warning("the audit could not be written: %s", error)


_IDS: list[str] = []
register_at_fork(after_in_child=_IDS.clear)


def _new_id() -> str:
    """Return 16 hexadecimal digits; not from `random`, which a program may seed alike in several processes."""
    try:
        return _IDS.pop()
    except IndexError:
        digits = urandom(8 * 64).hex()  # a system call for each costs a tenth of a fire
        _IDS.extend(digits[start : start + 16] for start in range(16, len(digits), 16))
        return digits[:16]


async def _finish_report(run: HookResult, wanted: Any, deadline: float = FOREVER, before: int | None = None) -> None:
    """Await an `on_error`'s result, within the time limits of hook and fire."""
    bounded = None
    until = monotonic() + run.hook.timeout
    try:
        coroutine = as_coroutine(wanted)
        first = coroutine.send(None)
        bounded = TimeLimited(coroutine, first, min(until, deadline), before)
        await bounded
    except StopIteration:
        return
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if bounded is not None and (bounded.dropped or bounded.cancelled):
            raise
        if bounded is None or not bounded.expired:
            _report_failed(run, error)
    if bounded is not None and bounded.expired:
        when = "by the deadline" if deadline < until else f"after {run.hook.timeout:g} s"
        _report_failed(run, TimeoutError(f"not finished {when}"))


def _report_failed(run: HookResult, error: BaseException) -> None:
    run.notes.append(f"its on_error failed: {describe_exception(error)}")
    LOG.error("hook %s: %s", run.hook.name, run.notes[-1])
