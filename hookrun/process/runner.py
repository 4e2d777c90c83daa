"""Run the engine's hooks of every kind: prepare them, run them in the loop, classify failures.

`hookrun fire` catches the ending signals. A background hook runs under a supervisor.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # see child.py
import os
from time import monotonic

from hookrun.core.model import Failure, Interrupted, Outcome
from hookrun.process.child import NEVER, STANDARD, WATCHER, Task
from hookrun.process.loop import ENDING, Loop
from hookrun.process.prepare import HookEnvironment, prepare, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    from hookrun.core.model import Hook
    from hookrun.process.child import Process
    from hookrun.process.recipe_calls import CallSupervisor, RecipeCalls

    class Trust(Protocol):
        """Decides about each hook before it starts and after it has ended."""

        def check_before(self, hook: Hook) -> Failure | None:
            """Return why the hook may not run, or None."""

        def check_after(self, hook: Hook, outcome: Outcome) -> Outcome:
            """Return the outcome, or its replacement."""


# Exit statuses of a shell that could not start a program.
NOT_EXECUTED = (126, 127)
# The pipe of `catch_signals`.
_wakeup: list[int] = []
# Handlers before `catch_signals`; for INT not Python's: a KeyboardInterrupt at exit is no use.
_before: dict[int, object] = {}

# Supervisors, children of this process, that may have ended.
_supervisors: set[int] = set()


class ProcessRunner:
    """Run hooks side by side; a call with [(hook, stdin), ...] returns their outcomes in order.

    `on_background_end` is called in another process when a background hook ends, `on_outcomes` with what hooks read and
    how they ended. `trust` decides about each hook. `waited` is the calls' time in seconds. With `catches_signals` the
    ending signals interrupt the hooks, until `close`. With a `watch` recipes are called in this process. `deadline` and
    `meanwhile` are the loop's.
    """

    def __init__(
        self,
        environment: HookEnvironment,
        *,
        locks: Callable[[], str],
        on_background_end: Callable[[Hook, Outcome], None],
        on_outcomes: Callable[[list[tuple[Hook, bytes]], list[Outcome]], None] | None = None,
        catches_signals: bool = False,
        watch: CallSupervisor | None = None,
        deadline: float = NEVER,
        meanwhile: Sequence[tuple[float, Callable[[], object]]] = (),
    ) -> None:
        self.waited = 0.0
        self.trust: Trust | None = None
        self._on_outcomes = on_outcomes
        self._environment = environment
        self._locks = locks
        self._on_background_end = on_background_end
        self._watch = watch
        self._forks = catches_signals  # a process of hookrun's own, without threads
        self._calls: RecipeCalls | None = None
        self._deadline = deadline
        wake = -1
        if catches_signals:
            for fd in inheritable():  # a process left behind would keep them open
                os.set_inheritable(fd, False)  # noqa: FBT003
            wake = catch_signals()
        self._loop = Loop(deadline=deadline, wake=wake, meanwhile=meanwhile)
        self.is_interrupted = self._loop.is_interrupted

    def __call__(self, jobs: list[tuple[Hook, bytes]]) -> list[Outcome]:
        """Run the hooks. Raises Interrupted after a signal, once every hook has ended."""
        begun = monotonic()
        try:
            outcomes = self._run(jobs)
        finally:
            self.waited += monotonic() - begun
        if self._on_outcomes is not None:
            self._on_outcomes(jobs, outcomes)
        return outcomes

    def _run(self, jobs: list[tuple[Hook, bytes]]) -> list[Outcome]:
        tasks = [self._prepare(hook, stdin) for hook, stdin in jobs]
        try:
            ended = self._loop.run([None if isinstance(task, Outcome) else task for task in tasks])
        except Interrupted as interrupted:  # a refusal survives the signal
            both = zip(tasks, interrupted.outcomes, strict=True)
            interrupted.outcomes = [task if isinstance(task, Outcome) else outcome for task, outcome in both]
            raise
        return [
            task if isinstance(task, Outcome) else self._ended(hook, outcome)
            for (hook, _), task, outcome in zip(jobs, tasks, ended, strict=True)
        ]

    def close(self) -> None:
        """End the watcher, to be reaped later; restore signals."""
        WATCHER.release()
        release_signals()

    def reap(self) -> None:
        """Reap all children but hooks: called late, to give them time."""
        if self._calls is not None:
            self._calls.close()
        WATCHER.close()

    def _prepare(self, hook: Hook, stdin: bytes) -> Task | Failure | Outcome:
        """Return a hook's task, why it cannot run, or its outcome if there is nothing to wait for."""
        refused = self.trust.check_before(hook) if self.trust is not None else None
        if refused is not None:
            self._environment.discard_program(hook)
            return refused
        if hook.kind == "python":
            if self._calls is None:
                from hookrun.process.recipe_calls import RecipeCalls  # most hooks are programs

                self._calls = RecipeCalls(self._environment, self._deadline, self._watch, forks=self._forks)
            if (outcome := self._calls.outcome(hook, stdin)) is not None:  # a recipe that needs no process of its own
                return self._settled(hook, outcome)
        task = prepare(hook, stdin, self._environment, locks=self._locks)
        if isinstance(task, Task):

            def on_end(outcome: Outcome) -> None:
                self._on_background_end(hook, self._ended(hook, outcome))

            if hook.background:
                return _supervise(lambda loop: loop.run([task])[0], on_end) or Outcome()
            if hook.dialect == "claude" and hook.kind == "command":
                task.let_go = lambda process: _let_go(process, on_end)
        return task

    def _ended(self, hook: Hook, outcome: Outcome) -> Outcome:
        return self._settled(hook, classify_failure(hook, outcome, self._environment))

    def _settled(self, hook: Hook, outcome: Outcome) -> Outcome:
        return self.trust.check_after(hook, outcome) if self.trust is not None else outcome


def classify_failure(hook: Hook, outcome: Outcome, environment: HookEnvironment) -> Outcome:
    """Return the outcome with a specific failure if the exit status alone hides the cause."""
    if outcome.failure is not None or outcome.exit_code is None:
        return outcome
    if not outcome.exit_code:
        return _answered(hook, outcome, environment)
    said = outcome.stderr.decode("utf-8", "replace").strip()
    if hook.kind == "url" and outcome.exit_code > 0:
        outcome.failure = Failure("http", said)
    elif hook.kind == "python":
        from hookrun.process.python_hook import NOT_FOUND, NOT_FOUND_MARK

        if outcome.exit_code == NOT_FOUND and said.startswith(NOT_FOUND_MARK):
            outcome.failure = Failure("missing", said.removeprefix(NOT_FOUND_MARK))
    elif hook.kind == "command" and outcome.exit_code in NOT_EXECUTED and hook.look:
        outcome.failure = _no_interpreter(hook, environment)
    return outcome


def _answered(hook: Hook, outcome: Outcome, environment: HookEnvironment) -> Outcome:
    """Return the outcome of a hook that exited with 0; a recipe's process fails if it did not get to its answer."""
    if hook.kind != "python" or hook.interpreter is not None or hook.serve or not environment.may_fork:
        return outcome
    from hookrun.process.python_child import ALLOWED, RECIPES

    if not str(hook.target).startswith(RECIPES):
        return outcome
    if not outcome.stdout:
        outcome.failure = Failure("exit_code", "it ended without an answer")
    elif outcome.stdout == ALLOWED.encode():
        outcome.stdout, outcome.bytes_out = b"", 0
    return outcome


def _no_interpreter(hook: Hook, environment: HookEnvironment) -> Failure | None:
    from hookrun.process import spawn

    path = resolve(hook.look[0], *environment.variables_and_directory(hook))
    interpreter = spawn.interpreter_of(path) if path is not None else None
    if path is None or interpreter is None or os.path.exists(os.fsencode(interpreter)):
        return None
    return spawn.missing_interpreter(path, interpreter)


def _supervise(
    run: Callable[[Loop], Outcome], on_end: Callable[[Outcome], None], kept: Sequence[int] = ()
) -> Outcome | None:
    """Fork a supervisor that calls `on_end` with what `run` returns; return at once, its failure if there is none.

    The supervisor closes every descriptor of ours but those `kept`, so that no reader of our streams waits for it.
    """
    try:
        pid = os.fork()
    except OSError as error:
        return Outcome(Failure("spawn", f"could not start its supervisor: {error.strerror}"))
    if pid:
        _supervisors.add(pid)
        return None
    try:
        from hookrun.process import spawn

        WATCHER.forget()
        _supervisors.clear()
        spawn.become_child([os.open(os.devnull, os.O_RDWR)] * 3, kept)
        try:
            outcome = run(Loop(wake=catch_signals()))
        except Interrupted as interrupted:
            outcome = next(filter(None, interrupted.outcomes), Outcome())
            outcome.failure = Failure("signal", f"ended when its supervisor received signal {interrupted.signal}")
        WATCHER.close()
        on_end(outcome)
    finally:
        os._exit(0)


def _let_go(process: Process, on_end: Callable[[Outcome], None]) -> bool:
    """Leave a running hook to a supervisor if its first line is `{"async": true}`; return whether it is."""
    from hookrun.claude.answer import handshake  # hooks that write a line before they exit are few

    asked = handshake(bytes(process.out_data))
    if asked is None:
        return False
    seconds = asked.get("asyncTimeout")
    limit = process.task.timeout
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0:
        limit = seconds / 1000

    def adopt(loop: Loop) -> Outcome:  # in the supervisor: where that cannot start, the run's own deadline holds
        process.outcome.runs_on = True
        process.task.timeout, process.task.deadline, process.deadline = limit, NEVER, process.started + limit
        return loop.adopt(process)

    kept = [fd for fd in (process.inp, process.out, process.err, process.lock_fd) if fd >= 0]
    if _supervise(adopt, on_end, kept) is not None:
        return False
    _supervisors.add(process.pid)
    return True


def reap_supervisors() -> None:
    """Reap ended supervisors, in a process that lives on."""
    for pid in tuple(_supervisors):
        if os.waitpid(pid, os.WNOHANG)[0]:
            _supervisors.discard(pid)


# Descriptors tried where nothing lists the open ones: a container's limit may be a billion.
MAX_LISTED = 1 << 16


def possible_descriptors() -> Iterable[int]:
    """Return the numbers of all open descriptors, perhaps with others. Sandboxes may lack what lists them."""
    for directory in ("/dev/fd", "/proc/self/fd"):
        try:
            listed = [int(name) for name in os.listdir(directory)]
        except (OSError, ValueError):
            continue
        if listed:  # with that of the listing itself; not in an empty directory of that name
            return listed
    limit = os.sysconf("SC_OPEN_MAX")
    return range(min(limit, MAX_LISTED) if limit > 0 else MAX_LISTED)


def inheritable() -> list[int]:
    """Return the descriptors above 2 that a new process would inherit."""
    found = []
    for fd in possible_descriptors():
        try:
            if fd > STANDARD and os.get_inheritable(fd):
                found.append(fd)
        except OSError:  # closed, like the listing's own
            continue
    return found


def catch_signals() -> int:
    """Deliver the ending signals through the returned descriptor; ignored ones stay ignored.

    Returns -1 without a free descriptor: signals then act as before, and hooks fail at their start.
    """
    # If our parent ignored SIGCHLD, the kernel would discard our children's exit status.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    try:
        read_end, write_end = _wakeup[:] = os.pipe()
    except OSError:
        return -1
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    _signal.set_wakeup_fd(write_end)
    for number in ENDING:
        before = _signal.getsignal(number)
        if before != _signal.SIG_IGN:
            _before[number] = _signal.SIG_DFL if before is _signal.default_int_handler else before
            _signal.signal(number, lambda _number, _frame: None)
    return read_end


def release_signals() -> None:
    """Restore the handlers that `catch_signals` replaced, and close its pipe: descriptors may be scarce."""
    _signal.set_wakeup_fd(-1)
    for number, before in _before.items():
        _signal.signal(number, before)
    _before.clear()
    while _wakeup:
        os.close(_wakeup.pop())
