"""Run a fire of an embedded engine, from candidate hooks to the result, in a task or a thread."""

from __future__ import annotations

import contextvars
import copy
import logging
from os import register_at_fork, urandom
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from hookrun.agents.known_tools import message_of_program, with_given_names
from hookrun.core import audit, context as contexts
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.engine import HookChain
from hookrun.core.events import GATES
from hookrun.core.gate import conclude, refusal, refuses, with_end
from hookrun.core.model import UNTRUSTED_LAYERS, AnyHook, Failure, Hook, HookResult, Outcome
from hookrun.core.nesting import MAX_NESTING, nesting_depth
from hookrun.core.text import HookrunError, describe_exception
from hookrun.library import Handler, Result
from hookrun.library.calls import FOREVER, HandlerCall, current_task, first_step, is_awaitable
from hookrun.library.event_contexts import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence

    from hookrun.agents.base import Message
    from hookrun.library.engine_state import EngineState
    from hookrun.library.processes import Processes
    from hookrun.library.tables import TableCandidates
    from hookrun.process.prepare import HookEnvironment

T = TypeVar("T")

LOG = logging.getLogger("hookrun")
# Hooks that enclose this process.
OUTSIDE = nesting_depth()
# Fires and outer hooks that enclose the current code.
NESTING: contextvars.ContextVar[int] = contextvars.ContextVar("hookrun_nesting", default=OUTSIDE)


class NestedError(HookrunError, RecursionError):
    """A handler fires an event that calls it again, too many levels deep."""


class EngineFire(HookChain):
    """One fire: its chain in a task or a thread. `deadline` is monotonic, `context_class` that of handlers' contexts.

    The fields of `data` have been checked.
    """

    encodes_changes = False
    deadline = FOREVER
    context_class: type[Context] = Context
    blind: type[AnyHook] = AnyHook  # those that lack arguments that were cut off
    new_environment: Callable[..., HookEnvironment] | None = None
    candidates: TableCandidates
    _processes: Processes | None = None
    _failed: Sequence[tuple[HookResult, str]] = ()

    def __init__(
        self,
        services: EngineState,
        event: str,
        data: Mapping[str, object],
        candidates: TableCandidates,
        state: object = None,
    ) -> None:
        self._started = monotonic()
        self.request_id = new_id()  # of this fire, by which records belong together
        request_id = str(data.get("request_id") or self.request_id)  # one may take several events
        super().__init__(event, contexts.with_defaults(data, event, request_id, services.directory), candidates)
        self.services = services
        self.home = services.home
        self._state = state

    @staticmethod
    def encode(context: Mapping[str, object]) -> bytes:
        """Return a context as JSON."""
        from hookrun.library.encoding import dumps  # for configured hooks and the audit

        return dumps(context)

    def __enter__(self) -> None:
        nesting = NESTING.get()
        # The nesting limit raises here, so that the firing handler sees it.
        if nesting >= MAX_NESTING:
            raise NestedError(
                f"{self.event} is fired inside hooks {nesting} levels deep, so no further hook runs: "
                "does a handler fire an event that calls it again?"
            )
        self._outside = NESTING.set(nesting + 1)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            NESTING.reset(self._outside)
        except ValueError:  # a fire no longer awaited is closed from elsewhere
            pass
        if kind is not None:  # cancelled, or ended by an exception not to be swallowed
            self._log_failures()
            self._audit(self.runs, interrupted=True)

    def run_sync(self) -> Result:
        """Run the chain in this thread, async handlers in the loop of an engine's thread."""
        with self:
            for waits_for in self.drive(sync=True):
                self.services.loop_thread.run(waits_for)
        return self.result()

    def drive(self, *, sync: bool) -> Iterator[Coroutine[Any, Any, None]]:
        """Run the chain, inside `with` this fire; yield what must end before it continues.

        The caller awaits that in its task or, with `sync`, runs it in a loop elsewhere. If it raises, the chain ends,
        with no hook left running.
        """
        task = None if sync else current_task()
        before = None if task is None else task.cancelling()
        # The steps of a single handler are known, which saves a third of its whole cost.
        steps: Iterable[Sequence[Any]] = self.steps() if self.candidates.only is None else (self.candidates.only,)
        for hooks in steps:
            hook = hooks[0]
            if len(hooks) == 1 and isinstance(hook, Handler) and not hook.thread:
                call = HandlerCall(hook, self.context_for(hook), self.deadline, before)
                if (wanted := call.begin()) is not None:
                    yield call.await_result(wanted)
                outcomes = [call.outcome]
            elif sync and not any(isinstance(each, Handler) for each in hooks):
                outcomes = self.processes.run(hooks)
            else:
                from hookrun.library.group import ParallelGroup  # needs asyncio

                group = ParallelGroup(self, hooks)
                if sync:
                    group.run_sync()
                else:
                    yield group.run()
                outcomes = group.outcomes
            if noted := self.record(hooks, outcomes):
                yield from self._report(noted, before)

    def _report(self, noted: Sequence[HookResult], before: int | None) -> Iterator[Coroutine[Any, Any, None]]:
        """Tell of failures and notes, as `drive` does."""
        for run in noted:
            self.log_result(run)
        for run in noted:
            wanted = self._begin_report(run)
            if wanted is not None:
                yield _finish_report(run, wanted, self.deadline, before)

    # --- in a task or a thread

    def disabled_reason(self, hook: AnyHook) -> str | None:
        """Return why the user disabled a configured hook (those disabled by the program are not in the table)."""
        return self.processes.trust.why_off(hook) if isinstance(hook, Hook) and hook.source else None

    def refusal(self, hook: AnyHook) -> Failure | None:
        """Return why a configured hook may not run, or None."""
        return self.processes.trust.refusal(hook) if isinstance(hook, Hook) and hook.source else None

    @property
    def processes(self) -> Processes:
        """Runs the configured hooks; made for the first of them."""
        if self._processes is None:
            from hookrun.library.processes import Processes

            self._processes = Processes(self)
        return self._processes

    def log_result(self, run: HookResult) -> None:
        """Log a hook's notes now, and its failure when the call is decided."""
        for note in run.notes:
            LOG.warning("hook %s: %s", run.hook.name, note)
        if run.failure is not None:
            self._failed = [*self._failed, (run, run.failure.line(f"hook {run.hook.name}"))]

    def _log_failures(self) -> None:
        for run, line in self._failed:
            LOG.warning("%s", with_end(line, run.consequence))

    def background_ended(self, hook: Hook, outcome: Outcome) -> None:
        """Record how a background hook ended; called in another thread."""
        self._keep(lambda: [audit.background_record(hook, outcome, {**self.context, "request_id": self.request_id})])

    def context_for(self, handler: Handler) -> Context:
        """Return the current context, as the handler gets it."""
        return self.context_class.of(self.context, self._state, (self, handler))

    def in_background(self, handler: Handler, work: Any, name: str | None) -> None:
        """Start a handler's background work; its nesting starts over, as no fire waits for it."""
        run = HookResult(handler, Outcome())

        def failed(failure: Failure) -> Coroutine[Any, Any, None] | None:
            run.failure = failure
            wanted = self._begin_report(run)
            return None if wanted is None else _finish_report(run, wanted)

        nesting = NESTING.set(OUTSIDE)
        try:
            self.services.background.start(handler.name, failed, work, name)
        finally:
            NESTING.reset(nesting)

    def _begin_report(self, run: HookResult) -> Any:
        """Call a handler's `on_error`; return its awaitable, or None."""
        handler = run.hook
        if not isinstance(handler, Handler) or handler.on_error is None or run.failure is None:
            return None
        try:
            wanted: Any = handler.on_error(run.failure, self.context_for(handler))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _report_failed(run, error)
            return None
        return wanted if is_awaitable(wanted) else None

    def result(self) -> Result:
        """Return the run's result, and record it in the audit log."""
        services, switched_off = self.services, None
        if (processes := self._processes) is not None:
            self._processes = None  # it refers to the fire: a cycle would wait for the garbage collector
            if any(run.failure and run.failure.kind == "untrusted" for run in self.runs):
                processes.combine_failures()
            switched_off = processes.off
        result = Result()
        if self.objected():
            self.combine_into(result)
        result.runs = self.runs
        result.ended_by = self.ended_by
        result.after = self.context_class, self.context, self._state
        result.problems = services.problems
        result.request_id = self.request_id
        result.ms = (monotonic() - self._started) * 1000
        if (services.unread or "arguments_cut_off" in self.context) and self.event in GATES and result.go_on:
            self._refuse_if_guarded(result)
        if self._failed:
            self._log_failures()
        if services.journal is not None:
            self._audit(self.runs, action=result.action, switched_off=switched_off)
        return result

    def _refuse_if_guarded(self, result: Result) -> None:
        """Make a result a block if a guard may be in a file that cannot be read, or cannot read all arguments."""
        services = self.services
        blind = ", ".join(self._blind_guards() if "arguments_cut_off" in self.context else ())
        if refuses(services.settings.get("on_error"), lambda: bool(blind) or self.may_have_unread_guard()):
            result.unjudged = copy.copy(result)
            result.action, result.modified_args = "block", None
            result.message = refusal(f"hookrun could not judge this: {'; '.join(services.problems)}", services.unread)
            if blind:
                result.message = f"hooks ({blind}) cannot read all of this: {self.context['arguments_cut_off']}"
            concluded = conclude(self.event, self.runs, "block", result)
            result.message, result.system_message = concluded.message, concluded.system_message
        self._processes = None  # as above

    def may_have_unread_guard(self) -> bool:
        """Return whether a guard may be in a file that cannot be read."""
        trusted = UNTRUSTED_LAYERS if self.services.trusted else ()
        return any(layer in trusted or self.processes.trust.may_guard(layer) for layer in self.services.unread)

    def _blind_guards(self) -> Iterator[str]:
        """Yield the names of the hooks that might block this call, but do not get all of its arguments."""
        view = ConditionEvaluator(self.context)
        for hook in map(self.candidates.hook, range(self.candidates.count)):
            may_match = isinstance(hook, self.blind) and hook.enforcing and view.may_match(hook)
            may_run = hook.on_failure == "block" or (may_match and self.refusal(hook) is None)
            if may_match and may_run and self.disabled_reason(hook) is None:
                yield hook.name

    # --- the audit log

    def _audit(self, runs: Sequence[HookResult], **more: Any) -> None:
        self._keep(
            lambda: audit.fire_records(
                runs,
                {**self.given, "request_id": self.request_id},
                ms=(monotonic() - self._started) * 1000,
                problems=self.services.problems,
                setting=self.services.settings.get("audit"),
                project=self.services.project,
                **more,
            )
        )

    def _keep(self, records: Callable[[], list[dict[str, object]]]) -> None:
        """Write records to any audit log. An error never changes the result."""
        journal = self.services.journal
        if journal is None:
            return
        try:
            error = journal.append(b"".join([self.encode(record) + b"\n" for record in records()]))
        except Exception as mistake:  # a program's context may not be valid JSON
            error = describe_exception(mistake)
        if error is not None:
            LOG.warning("the audit could not be written: %s", error)


class AgentNamedFire(EngineFire):
    """A fire for a tool under an agent's name, such as `exec_command`.

    Handlers get the program's own arguments (`cmd`), configured hooks hookrun's (`command`); what these change is
    renamed back.
    """

    blind = Hook

    def __init__(self, tool: object, *args: Any) -> None:
        super().__init__(*args)
        self._tool = tool
        self.given = self._named(self.context)[1]

    def _named(self, context: dict[str, object]) -> tuple[Message | None, dict[str, object]]:
        """Return a context as the agent's message and as configured hooks read it."""
        fields = {"tool_name": self._tool, "tool_args": context["tool_args"]}
        message = message_of_program({"agent_tool_name": context["agent_tool_name"], **fields})
        if message is None:  # a handler has replaced the arguments with others
            return None, context
        named = {**context, **message.calls[0].fields}
        named["file_path"] = contexts.file_path(named)
        return message, named

    def _selected(self, index: int) -> AnyHook | None:
        return self._as_read_by(self.candidates.hook(index), super()._selected, index)

    def stdin(self, hook: AnyHook) -> bytes:
        """Return the hook's input, with hookrun's names."""
        return self._as_read_by(hook, super().stdin, hook)

    def interpret(self, hook: AnyHook, outcome: Outcome, before: dict[str, object]) -> HookResult:
        """Return an ended hook's result, with its changes under the program's names."""
        if isinstance(hook, Handler):
            return super().interpret(hook, outcome, before)
        message, named = self._named(before)
        run = super().interpret(hook, outcome, named)
        if message is not None:
            run.verdict = with_given_names(message, run.verdict)
        return run

    def _as_read_by(self, hook: AnyHook, method: Callable[[Any], T], argument: object) -> T:
        """Call a method with the context as the hook reads it."""
        own = self.context
        if not isinstance(hook, Handler):
            self.context = self._named(own)[1]
        try:
            return method(argument)
        finally:
            self.context = own


_IDS: list[str] = []
register_at_fork(after_in_child=_IDS.clear)


def new_id() -> str:
    """Return 16 hexadecimal digits; not from `random`, which a program may seed alike in several processes."""
    try:
        return _IDS.pop()
    except IndexError:
        digits = urandom(8 * 64).hex()  # a system call for each costs a tenth of a fire
        _IDS.extend(digits[start : start + 16] for start in range(16, len(digits), 16))
        return digits[:16]


async def _finish_report(run: HookResult, wanted: Any, deadline: float = FOREVER, before: int | None = None) -> None:
    """Await an `on_error`'s result, within the time limits of hook and fire."""
    until = monotonic() + run.hook.timeout
    _, error, left = first_step(wanted, min(until, deadline), before)
    if left is not None:
        _, error = await left.outcome()
    if isinstance(error, KeyboardInterrupt):
        raise error
    if left is not None and left.expired:
        when = "by the deadline" if deadline < until else f"after {run.hook.timeout:g} s"
        error = TimeoutError(f"not finished {when}")
    if error is not None:
        _report_failed(run, error)


def _report_failed(run: HookResult, error: BaseException) -> None:
    run.notes.append(f"its on_error failed: {describe_exception(error)}")
    LOG.error("hook %s: %s", run.hook.name, run.notes[-1])
