"""Run hooks in one poll loop: start them, feed and drain their pipes, enforce timeouts, and reap every one."""

from __future__ import annotations

import os
from time import monotonic

from hookrun.core.model import Failure, Interrupted, Outcome
from hookrun.process.child import CHUNK, CLOSED, ENDED, NEVER, NO_PIDFD, WATCHER, CannotStart, Process, Task, close

TYPE_CHECKING = False
if TYPE_CHECKING:
    import select
    from collections.abc import Callable, Sequence

# Processes that run at once; the others are queued.
MAX_PROCESSES = 32
# Bytes: a shorter read empties the pipe, or the next poll reports the rest.
SHORT_READ = 1 << 12
# Reads from one pipe before the others and the clock are checked; more than a pipe holds.
MAX_READS = 32
# Longest wait of one poll, in milliseconds.
MAX_POLL_MS = 3_600_000
# Seconds to read a hook's pipes after its exit: a child left behind may hold them open indefinitely.
AFTER_EXIT = 0.1
# Seconds between TERM and KILL.
TERM_GRACE = 0.25
# Seconds to wait for a killed hook; one in an uninterruptible wait is left to the kernel.
KILL_GRACE = 1.0
# Seconds between checks where the kernel gives no event: no pidfd, a lock held elsewhere.
POLL_INTERVAL = 0.01
# The same for a process that has closed its pipes and is about to exit.
FAST_POLL_INTERVAL = 0.001
# How often Ctrl-C may interrupt the termination of hooks before retries stop.
MAX_INTERRUPTS = 10
# ENOMEM, ENFILE and EMFILE: a hook may start once another has ended. (EAGAIN is BlockingIOError.)
TEMPORARY_ERRORS = frozenset({12, 23, 24})
TERM, KILL = 15, 9
# Accepted signals: a hook can write any number into an inherited descriptor.
ENDING = frozenset({1, 2, 15})
# As in `select`, which is loaded while the first hook runs.
POLLIN, POLLOUT, POLLHUP = 1, 4, 16


class Loop:
    """Run tasks to their end, at most `limit` at a time and none past `deadline` (monotonic).

    `wake` is a descriptor that delivers signal numbers. The functions of `meanwhile`, in order of their (monotonic)
    times, are called once their time has passed and a process runs. `has_ended_hooks`: a hook did
    not end by itself, in any loop of this process; programs that serve do not count.
    """

    has_ended_hooks = False

    def __init__(
        self,
        *,
        deadline: float = NEVER,
        wake: int = -1,
        limit: int = MAX_PROCESSES,
        meanwhile: Sequence[tuple[float, Callable[[], object]]] = (),
    ) -> None:
        self._deadline = self.deadline = deadline
        self._wake = wake
        self._limit = limit
        self._meanwhile = [*meanwhile]
        self._polled: select.poll | None = None
        self._of: dict[int, Process] = {}
        self._live: list[Process] = []
        self._waiting: list[tuple[Task, Outcome, float]] = []
        self._retry = False
        self._signal = 0

    def run(self, tasks: Sequence[Task | Failure | None]) -> list[Outcome]:
        """Run the tasks side by side and return their outcomes in order; a Failure is its own.

        None, a hook that runs elsewhere, has an empty one. Raises Interrupted after a signal, once all have ended.
        """
        outcomes = [Outcome(task if isinstance(task, Failure) else None) for task in tasks]
        both = zip(tasks, outcomes, strict=True)
        self._waiting = [(task, outcome, NEVER) for task, outcome in both if isinstance(task, Task)][::-1]
        if self._wake >= 0 and (self._polled is None or self._polled.poll(0)):
            self._on_wake()  # a signal received since the last run
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

    def is_interrupted(self) -> bool:
        """Return whether a signal came since the last run; the next run raises Interrupted."""
        return self._wake >= 0 and bool(self._poll().poll(0))

    def _kill_all(self) -> None:
        """End all hooks after an error or Ctrl-C, however often Ctrl-C comes."""
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
        """Start what can start now; the rest stays in `_waiting`, the next one last."""
        locked: list[tuple[Task, Outcome, float]] = []
        waiting = self._waiting
        self._retry = False
        while waiting and not self._retry and len(self._live) < self._limit:
            task, outcome, give_up = waiting.pop()
            process = Process(task, outcome, monotonic())
            try:
                self._start_one(process, give_up, locked)
            except OSError as error:
                temporary = isinstance(error, BlockingIOError) or error.errno in TEMPORARY_ERRORS
                if temporary and self._live:  # whose end may free what the system is short of
                    waiting.append((task, outcome, give_up))
                    self._retry = True
                else:
                    from hookrun.process.spawn import start_failure

                    outcome.failure = start_failure(error)
            except CannotStart as error:
                outcome.failure = error.failure
            except BaseException:
                if process.pid and process not in self._live:
                    self._live.append(process)  # started, but not yet watched
                raise
            finally:
                if process not in self._live:
                    WATCHER.note(task.marker, ENDED)
                    close(process.lock_fd)
            if outcome.failure is not None:
                self._on_finished(outcome)
        if locked:
            waiting.extend(reversed(locked))
            self._retry = True

    def _start_one(self, process: Process, give_up: float, locked: list[tuple[Task, Outcome, float]]) -> None:
        """Start a process if its time has not passed; if its lock is held elsewhere, add it to `locked`."""
        task, outcome, now = process.task, process.outcome, process.started
        deadline = min(self._deadline, task.deadline)
        process.deadline = min(now + task.timeout, give_up, deadline)
        if now >= deadline:
            outcome.failure = Failure("timeout", "the deadline passed before the hook could start")
        elif now >= give_up:
            outcome.failure = Failure("timeout", f"another run of the hook held its lock for {task.timeout:g} s")
        elif task.lock is not None and not self._locked(process, task.lock):
            locked.append((task, outcome, min(give_up, now + task.timeout)))
        else:
            if task.line is not None:
                task.line.take(process)
            process.spawn()
            self._watch_process(process)

    def _on_finished(self, outcome: Outcome) -> None:
        """Note that this outcome is final: for loops that report each."""

    @staticmethod
    def _locked(process: Process, path: str) -> bool:
        """Take an exclusive hook's lock; return False if another process holds it."""
        import fcntl

        from hookrun.core import state

        state.make_private_dir(os.path.dirname(path))
        process.lock_fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(process.lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            close(process.lock_fd)
            process.lock_fd = -1
            return False
        return True

    def _watch_process(self, process: Process) -> None:
        self._live.append(process)
        for fd in (process.out, process.err):
            if fd >= 0:
                os.set_blocking(fd, False)
                self._watch(process, fd, POLLIN)
        if process.inp >= 0 and process.stdin:
            self._watch(process, process.inp, POLLOUT)
        if process.pidfd >= 0:
            self._watch(process, process.pidfd, POLLIN)
        elif process.task.line is not None:
            self._watch_exit(process)

    # --- polling

    def _next_wakeup(self, now: float) -> float:
        """Return when to poll again even if no descriptor is ready."""
        until = self._meanwhile[0][0] if self._meanwhile else NEVER
        if self._retry:
            until = min(until, now + POLL_INTERVAL)
        for process in self._live:
            until = min(until, process.closing if process.ending or process.exited else process.deadline)
            if process.pidfd == NO_PIDFD and not process.exited:
                closed = process.out < 0 and process.err < 0
                until = min(until, now + (FAST_POLL_INTERVAL if closed else POLL_INTERVAL))
        return until

    def _poll_once(self) -> None:
        now = monotonic()
        while self._meanwhile and now >= self._meanwhile[0][0] and self._live:
            self._meanwhile.pop(0)[1]()
        until = self._next_wakeup(now)
        events = self._poll().poll(max(0, int(min((until - now) * 1000, MAX_POLL_MS)) + 1))
        for fd, mask in events:
            if fd == self._wake:
                self._on_wake()
                continue
            process = self._of.get(fd)
            if process is None:
                continue
            if fd == process.inp:
                if process.write_stdin():
                    self._unwatch(fd)
                    process.close_stdin()
            elif fd == process.pidfd:
                self._unwatch(fd)
                process.pidfd = CLOSED
                os.close(fd)
                self._on_exit(process)
            else:
                self._drain(process, fd, ended=bool(mask & POLLHUP))
                if process.task.let_go is not None and process.out >= 0 and b"\n" in process.out_data:
                    self._let_go(process, process.task.let_go)
        self._enforce_deadlines(monotonic())

    def _enforce_deadlines(self, now: float) -> None:
        """Terminate processes out of time, kill those that ignore it, finish those done."""
        over: list[Process] = []
        stubborn: list[Process] = []
        done: list[Process] = []
        for process in self._live:
            if process.pidfd == NO_PIDFD and not process.exited:
                self._look_for_exit(process, now)
            if process.exited and ((process.out < 0 and process.err < 0) or now >= process.closing):
                done.append(process)
            elif process.ending and now >= process.closing:
                (stubborn if process.ending == TERM else done).append(process)
            elif not process.exited and not process.ending and self._is_over(process, now):
                (done if process.task.line is not None and process.task.line.kept else over).append(process)
        if over:
            self._terminate(over, now)
        if stubborn or done:
            self._kill(stubborn, now, [process for process in done if process.ending])
            for process in done:
                self._finish(process)

    def _is_over(self, process: Process, now: float) -> bool:
        """Return whether a program has answered its line, or run out of time."""
        if process.task.line is not None and process.task.line.ends(process, now):
            return True
        if now < process.deadline:
            return False
        task = process.task
        late = process.deadline >= min(self._deadline, task.deadline)
        when = "by the deadline" if late else f"after {task.timeout:g} s"
        process.outcome.failure = Failure("timeout", f"no answer {when}")
        return True

    def _drain(self, process: Process, fd: int, *, ended: bool = False) -> None:
        """Read what is in a pipe; `ended`: its other end is closed."""
        for _ in range(MAX_READS):
            try:
                data = os.read(fd, CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._unwatch(fd)
                if fd == process.out:
                    process.out = -1
                else:
                    process.err = -1
                os.close(fd)
                return
            process.collect(fd, data)
            # Usually the pipe is empty: another read costs more than the next poll, except at the end.
            if len(data) < SHORT_READ and not ended:
                return

    def _let_go(self, process: Process, let_go: Callable[[Process], bool]) -> None:
        """Leave a process to its supervisor if its first line asks for that: it is this loop's no longer."""
        process.task.let_go = None  # only the first line counts
        if process.ending or process.exited or not let_go(process):
            return
        for fd in (process.inp, process.out, process.err, process.pidfd):
            self._unwatch(fd)
        self._live.remove(process)
        process.close()
        WATCHER.note(process.task.marker, ENDED)
        close(process.lock_fd)  # the supervisor has it, too: the lock holds
        process.outcome.runs_on, process.outcome.ms = True, (monotonic() - process.started) * 1000
        self._on_finished(process.outcome)

    def adopt(self, process: Process) -> Outcome:
        """Run a process to its end that another process has started, and return its outcome.

        Its exit status is that other's to know. Raises Interrupted after a signal, once it has ended.
        """
        process.is_child, process.pidfd = False, NO_PIDFD
        WATCHER.note(process.task.marker, process.pid)
        self._watch_process(process)
        self._watch_exit(process)
        self.run([])
        return process.outcome

    # --- the end of a process

    def _look_for_exit(self, process: Process, now: float) -> None:
        """Note a process's exit, or have it reported if the process runs on."""
        # Most hooks have ended when their pipes are closed: they need no pidfd, which takes longer than this look.
        if (process.out < 0 and process.err < 0) or now >= process.started + POLL_INTERVAL:
            pid = status = 0
            try:
                if process.is_child:
                    pid, status = os.waitpid(process.pid, os.WNOHANG)
                else:
                    os.kill(process.pid, 0)
            except (ChildProcessError, ProcessLookupError):  # reaped by others
                self._on_exit(process)
                return
            if pid:
                process.status = status
                self._on_exit(process)
            else:
                self._watch_exit(process)

    def _watch_exit(self, process: Process) -> None:
        # One more descriptor in the same poll shows the exit without thread or signal handler.
        try:
            process.pidfd = os.pidfd_open(process.pid)
        except (AttributeError, OSError):  # macOS; too many open files
            return
        self._watch(process, process.pidfd, POLLIN)

    def _on_exit(self, process: Process) -> None:
        """Read the rest in an exited hook's pipes; other processes may still hold them."""
        process.exited = True
        if not process.ending:
            process.closing = monotonic() + AFTER_EXIT
        for fd in (process.out, process.err):
            if fd >= 0:
                self._drain(process, fd)

    def _terminate(self, processes: list[Process], now: float) -> None:
        from hookrun.process import orphans

        if any(process.task.line is None for process in processes):
            Loop.has_ended_hooks = True
        for process in processes:
            process.family = orphans.ProcessFamily(process.pid, process.task.marker)
            process.ending = TERM
            process.closing = now + TERM_GRACE
        orphans.terminate(processes)

    @staticmethod
    def _kill(processes: list[Process], now: float, gone: list[Process]) -> None:
        """Kill these hooks and all that is left of them and the `gone` ones, also outside their sessions."""
        for process in processes:
            process.ending = KILL
            process.closing = now + KILL_GRACE
        if processes or gone:
            from hookrun.process import orphans

            orphans.kill_hooks(processes + gone)

    def _finish(self, process: Process) -> None:
        line = process.task.line
        kept = line is not None and line.kept
        for fd in (process.out, process.err)[kept:]:  # stdout after an answer is not wanted
            if fd >= 0:
                self._drain(process, fd)
        for fd in (process.inp, process.out, process.err, process.pidfd):
            self._unwatch(fd)
        again = line is not None and line.is_unread(process)
        process.finish()
        self._live.remove(process)
        if line is not None and again:
            line.start_again(process)
            self._waiting.append((process.task, process.outcome, NEVER))
        else:
            self._on_finished(process.outcome)

    def _on_wake(self) -> None:
        """End every hook after a signal; kill them after a second one."""
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

    def _poll(self) -> select.poll:
        """Return the poll object, made on first use: loading `select` takes a third as long as a small hook."""
        if self._polled is None:
            import select

            self._polled = select.poll()
            if self._wake >= 0:
                self._polled.register(self._wake, POLLIN)
        return self._polled

    def _watch(self, process: Process, fd: int, events: int) -> None:
        self._of[fd] = process
        self._poll().register(fd, events)

    def _unwatch(self, fd: int) -> None:
        """Stop watching a descriptor, if it is watched."""
        if self._of.pop(fd, None) is not None:
            self._poll().unregister(fd)
