"""The one poll loop that runs hooks: starts them, feeds them, drains them, ends them in time, and reaps them all."""

from __future__ import annotations

import os
import select
from errno import EAGAIN, EMFILE, ENFILE, ENOMEM
from time import monotonic

from hookrun.model import Failure, Interrupted, Outcome
from hookrun.process.child import CHUNK, CLOSED, NEVER, NO_PIDFD, NOT_YET, CannotStart, Process, Task, close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


MAX_PROCESSES = 32
SHORT_READ = 1 << 12
"""Bytes: a read of fewer has emptied the pipe, or the next poll says that there is more."""
MAX_READS = 32
"""Reads from one pipe before the others and the clock have their turn; more than a pipe holds."""
MAX_POLL_MS = 3_600_000
"""Milliseconds: a longer wait is taken in parts."""
AFTER_EXIT = 0.1
"""Seconds that a hook's pipes are read on after it has exited: a child it left behind may hold them for ever."""
TERM_GRACE = 0.25
"""Seconds between TERM and KILL for a hook that is ended."""
KILL_GRACE = 1.0
"""Seconds to wait for a killed hook to be gone: one in an uninterruptible wait is left to the kernel."""
POLL_INTERVAL = 0.01
"""Seconds between looks where the kernel gives no event: a process without a pidfd, a lock held by another."""
FAST_POLL_INTERVAL = 0.001
"""The same for a process that has closed its pipes: it is about to exit."""
MAX_INTERRUPTS = 10
"""How often the ending of hooks is begun anew when Ctrl-C comes in its midst."""
SLOW = 1.0
"""Seconds after which `on_slow` is called."""
TEMPORARY_ERRORS = frozenset({EMFILE, ENFILE, EAGAIN, ENOMEM})
"""What says that a hook cannot start now but may when another has ended."""
TERM, KILL = 15, 9
ENDING = frozenset({1, 2, 15})
"""The signals that are believed to have come; a hook can write other numbers into a descriptor of ours."""
PIDFD_AFTER = 0.02
"""Seconds after which the exit of a hook is waited for: most are gone sooner, and with their pipes."""


class Loop:
    """Runs tasks to their end, at most MAX_PROCESSES at a time. `deadline` (monotonic) bounds them all.

    `wake` is a descriptor from which the numbers of signals can be read; `on_slow` is called once if all this lasts.
    """

    def __init__(
        self,
        *,
        deadline: float = NEVER,
        wake: int = -1,
        on_slow: Callable[[], None] | None = None,
        slow_at: float = NEVER,
    ) -> None:
        self._deadline = deadline
        self._wake = wake
        self._on_slow = on_slow
        self._slow_at = slow_at
        self._poll = select.poll()
        self._of: dict[int, Process] = {}
        self._live: list[Process] = []
        self._waiting: list[tuple[Task, Outcome, float]] = []
        self._retry = False
        self._signal = 0
        if wake >= 0:
            self._poll.register(wake, select.POLLIN)

    def run(self, tasks: Sequence[Task | Failure | None]) -> list[Outcome]:
        """Run the tasks side by side and return their outcomes in the same order; a Failure is its own outcome.

        None is for one that somebody else runs: its outcome says nothing.

        Raises Interrupted after a signal, when all hooks have been ended.
        """
        outcomes = [Outcome(task if isinstance(task, Failure) else None) for task in tasks]
        both = zip(tasks, outcomes, strict=True)
        self._waiting = [(task, outcome, NEVER) for task, outcome in both if isinstance(task, Task)]
        self._waiting.reverse()
        if self._wake >= 0:
            self._on_wake()  # a signal since the last hooks: start no more
        return self._to_end(outcomes)

    def go_on(self, process: Process) -> Outcome:
        """Run a process to its end that somebody else has started. Raises as `run` does."""
        self._adopt(process)
        self._enforce_deadlines(monotonic())
        return self._to_end([process.outcome])[0]

    def abandon(self, process: Process) -> None:
        """End a process that somebody else has started, and all of it, at once."""
        self._live.append(process)
        self._kill_all()

    def _to_end(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Run what waits and what lives to its end."""
        try:
            while self._waiting or self._live:
                if not self._signal:
                    self._start_some()
                elif not self._live:
                    break
                if self._live or self._waiting:
                    self._poll_once()
        except BaseException:
            self._kill_all()
            raise
        if self._signal:
            raise Interrupted(self._signal, outcomes)
        return outcomes

    def _kill_all(self) -> None:
        """Something went wrong in here, or Ctrl-C came: leave no hook running, however often it comes."""
        for _ in range(MAX_INTERRUPTS):
            try:
                now = monotonic()
                self._terminate([process for process in self._live if not process.ending], now)
                self._kill(self._live[:], now, [])
                for process in self._live[:]:
                    self._finish(process)
            except KeyboardInterrupt:
                continue
            return

    # --- starting

    def _start_some(self) -> None:
        """Start what can be started now; what has to wait stays in `_waiting`, the next one last."""
        locked: list[tuple[Task, Outcome, float]] = []
        waiting = self._waiting
        self._retry = False
        while waiting and not self._retry and self._take_place():
            task, outcome, give_up = waiting.pop()
            process = Process(task, outcome, monotonic(), 0.0)
            started = False
            try:
                started = self._start_one(process, give_up, locked)
            except OSError as error:
                if error.errno in TEMPORARY_ERRORS and self._others():
                    waiting.append((task, outcome, give_up))
                    self._retry = True
                else:
                    outcome.failure = Failure("spawn", f"it could not be started: {error.strerror or error}")
            except CannotStart as error:
                outcome.failure = error.failure
            finally:
                if not started:
                    close(process.lock_fd)
                    self._give_place()
            if outcome.failure is not None:
                self._on_finished(outcome)
        if locked:
            waiting.extend(reversed(locked))
            self._retry = True

    def _start_one(self, process: Process, give_up: float, locked: list[tuple[Task, Outcome, float]]) -> bool:
        """Start a process, unless its time is over, or its lock is another's: then it goes into `locked`."""
        task, outcome, now = process.task, process.outcome, process.started
        deadline = min(self._deadline, task.deadline)
        process.deadline = min(now + task.timeout, give_up, deadline)
        if now >= deadline:
            outcome.failure = Failure("timeout", "the fire's deadline had passed before it could start")
        elif now >= give_up:
            outcome.failure = Failure("timeout", f"another run of it held its lock for {task.timeout:g} s")
        elif task.lock is not None and not self._locked(process, task.lock):
            locked.append((task, outcome, min(give_up, now + task.timeout)))
        else:
            self._start(process)
            return True
        return False

    def _take_place(self) -> bool:
        """Tell whether one more may run, and count it as running."""
        return len(self._live) < MAX_PROCESSES

    def _give_place(self) -> None:
        """Let another run in the place of one that does not, or no longer."""

    def _others(self) -> bool:
        """Tell whether something runs whose end may give back what the system is short of."""
        return bool(self._live)

    def _on_finished(self, outcome: Outcome) -> None:
        """Take note that nothing will change in this outcome any more."""

    @staticmethod
    def _locked(process: Process, path: str) -> bool:
        """Take the lock of an exclusive hook; False when another process has it."""
        import fcntl

        from hookrun import state

        state.make_private_dir(os.path.dirname(path))
        process.lock_fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(process.lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            close(process.lock_fd)
            process.lock_fd = -1
            return False
        return True

    def _start(self, process: Process) -> None:
        """Start the process and watch it. Raises OSError or CannotStart."""
        process.spawn()
        self._adopt(process)

    def _adopt(self, process: Process) -> None:
        """Watch a process that has been started."""
        self._live.append(process)
        for fd in (process.out, process.err):
            if fd >= 0:
                os.set_blocking(fd, False)
                self._watch(process, fd, select.POLLIN)
        if process.inp >= 0:
            self._watch(process, process.inp, select.POLLOUT)
        if process.pidfd >= 0:
            self._watch(process, process.pidfd, select.POLLIN)

    # --- one turn of the loop

    def _next_wakeup(self, now: float) -> float:
        """Return when something has to be looked at though nothing may have happened."""
        until = min([self._slow_at, *(p.closing if p.ending or p.exited else p.deadline for p in self._live)])
        if self._retry:
            until = min(until, now + POLL_INTERVAL)
        for process in self._live:
            if process.pidfd == NOT_YET:
                until = min(until, process.started + PIDFD_AFTER)
            elif process.pidfd == NO_PIDFD and not process.exited:
                closed = process.out < 0 and process.err < 0
                until = min(until, now + (FAST_POLL_INTERVAL if closed else POLL_INTERVAL))
        return until

    def _poll_once(self) -> None:
        now = monotonic()
        until = self._next_wakeup(now)
        events = self._poll.poll(max(0, int(min((until - now) * 1000, MAX_POLL_MS)) + 1))
        for fd, _ in events:
            if fd == self._wake:
                self._on_wake()
                continue
            process = self._of.get(fd)
            if process is None:
                continue
            if fd == process.inp:
                self._write_stdin(process)
            elif fd == process.pidfd:
                self._unwatch(fd)
                process.pidfd = CLOSED
                close(fd)
                self._on_exit(process)
            else:
                self._drain(process, fd)
        now = monotonic()
        if now >= self._slow_at:
            self._slow_at = NEVER
            if self._on_slow is not None:
                self._on_slow()
        self._enforce_deadlines(now)

    def _enforce_deadlines(self, now: float) -> None:
        """End the processes that are out of time, kill those that outstay their grace, finish those that are done."""
        over: list[Process] = []
        stubborn: list[Process] = []
        done: list[Process] = []
        for process in self._live:
            if process.pidfd == NOT_YET:
                self._wait_for_exit(process, now)
            elif process.pidfd == NO_PIDFD and not process.exited:
                self._check_exit(process)
            if process.exited and ((process.out < 0 and process.err < 0) or now >= process.closing):
                done.append(process)
            elif process.ending and now >= process.closing:
                (stubborn if process.ending == TERM else done).append(process)
            elif not process.exited and not process.ending and now >= process.deadline:
                process.outcome.failure = Failure("timeout", self._out_of_time(process))
                over.append(process)
        if over:
            self._terminate(over, now)
        if stubborn or done:
            self._kill(stubborn, now, [process for process in done if process.ending])
            for process in done:
                self._finish(process)

    def _out_of_time(self, process: Process) -> str:
        if process.deadline >= min(self._deadline, process.task.deadline):
            return "it had not answered at the fire's deadline"
        return f"it had not answered after {process.task.timeout:g} s"

    def _write_stdin(self, process: Process) -> None:
        """Write what the hook reads of its stdin."""
        if process.write_stdin():
            self._unwatch(process.inp)
            process.close_stdin()

    def _drain(self, process: Process, fd: int) -> None:
        """Read what is there."""
        for _ in range(MAX_READS):
            try:
                data = os.read(fd, CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._unwatch(fd)
                process.close_stream(fd)
                return
            process.collect(fd, data)
            if len(data) < SHORT_READ:  # there is no more, as a rule: asking costs more than being told
                return

    # --- the end of a process

    def _wait_for_exit(self, process: Process, now: float) -> None:
        """Have a process that is not done with its pipes at once, or not gone with them, tell when it has exited."""
        if process.out < 0 and process.err < 0:
            self._check_exit(process)
        elif now < process.started + PIDFD_AFTER:
            return
        if not process.exited:
            self._watch_exit(process)

    def _watch_exit(self, process: Process) -> None:
        """Have the exit of a process be an event."""
        process.pidfd = pidfd(process.pid)
        if process.pidfd >= 0:
            self._watch(process, process.pidfd, select.POLLIN)

    def _check_exit(self, process: Process) -> None:
        if process.is_gone():
            self._on_exit(process)

    def _on_exit(self, process: Process) -> None:
        """The hook itself is gone; its pipes may be held by others."""
        process.exited = True
        if not process.ending:
            process.closing = monotonic() + AFTER_EXIT
        for fd in (process.out, process.err):
            if fd >= 0:
                self._drain(process, fd)

    def _terminate(self, processes: list[Process], now: float) -> None:
        """Ask these hooks and all they have started to end; note who that is while it can be seen."""
        from hookrun.process import orphans

        for process in processes:
            if process.pidfd == NOT_YET:
                self._watch_exit(process)
            process.family = orphans.ProcessFamily(process.pid, process.task.marker)
            process.ending = TERM
            process.closing = now + TERM_GRACE
        orphans.find([process.family for process in processes if process.family is not None])
        for process in processes:
            process.signal_group(TERM)

    @staticmethod
    def _kill(processes: list[Process], now: float, gone: list[Process]) -> None:
        """Kill these hooks, and whatever is left of them and of those that are gone, outside their session too."""
        for process in processes:
            process.ending = KILL
            process.closing = now + KILL_GRACE
        for process in processes + gone:
            process.signal_group(KILL)
        heads = [process.family for process in processes + gone if process.family is not None]
        if heads:
            from hookrun.process import orphans

            orphans.kill(heads)

    def _finish(self, process: Process) -> None:
        """Reap the process and close everything of ours."""
        for fd in (process.out, process.err):
            if fd >= 0:
                self._drain(process, fd)
        for fd in (process.inp, process.out, process.err, process.pidfd):
            if fd >= 0:
                self._unwatch(fd)
        process.finish()
        self._live.remove(process)
        self._give_place()
        self._on_finished(process.outcome)

    def _on_wake(self) -> None:
        """A signal has come: end every hook; at the second one, at once."""
        try:
            numbers = os.read(self._wake, CHUNK)
        except BlockingIOError:
            return
        ending = [number for number in numbers if number in ENDING]
        if not ending:
            return
        now = monotonic()
        self._terminate([process for process in self._live if not process.ending], now)
        if self._signal:
            self._kill([process for process in self._live if process.ending != KILL], now, [])
        self._signal = self._signal or ending[0]

    # --- descriptors

    def _watch(self, process: Process, fd: int, events: int) -> None:
        self._of[fd] = process
        self._poll.register(fd, events)

    def _unregister_wake(self) -> None:
        if self._wake >= 0:
            self._poll.unregister(self._wake)
            self._wake = -1

    def _unwatch(self, fd: int) -> None:
        if self._of.pop(fd, None) is not None:
            self._poll.unregister(fd)


def pidfd(pid: int) -> int:
    """Return a descriptor to read from when the process has exited, NO_PIDFD for none (macOS, too many files)."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return NO_PIDFD
