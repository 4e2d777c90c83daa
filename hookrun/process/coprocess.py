"""Hooks with `serve`: programs that answer lines of JSON and are kept between runs.

A line is `{"id", "hook", "context"}`, its answer `{"id", "verdict"}`. Without `Coprocesses` the program gets one line
and the end of its input, so the same program works either way.
"""

from __future__ import annotations

import _thread
import os
import select
import sys
from time import monotonic

from hookrun.core.fastjson import WHITESPACE, dumps, loads, scan
from hookrun.core.model import BINDING_ACTIONS, Failure
from hookrun.core.nesting import NESTING
from hookrun.core.state import identity
from hookrun.core.verdicts import excerpt
from hookrun.process.child import CHUNK, Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrun.core.model import Hook
    from hookrun.process.child import Process
    from hookrun.process.prepare import HookEnvironment
    from hookrun.trust.hook_files import LocalFile

    FilesOf = Callable[[Hook, Mapping[bytes, bytes], str, str], Sequence[LocalFile]]
    Owner = tuple[str, str, str, str]

# Seconds without a line after which a program is ended.
IDLE = 600.0
# Programs kept; beyond them, those longest without a line are ended.
MOST = 32
# Seconds for which a failed program is started for each line, not kept. Doubled with each failure.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
# Seconds to exit at the end of the input, to answer after noise, to read the rest of a line already answered.
EXIT_GRACE = 1.0
# Seconds after which dead programs are noticed at the latest.
TEND_INTERVAL = 60.0
# Exit status of a program that blocks without an answer.
VETO = 2
# Quotation marks around an answer's keys and id: with more of them it has more keys.
QUOTES = 6


def wrap(hook: Hook, number: str, stdin: bytes) -> bytes:
    """Return the line for a hook that would otherwise read `stdin`."""
    context = stdin.rstrip(b"\n")
    for separator in (b"\xe2\x80\xa8", b"\xe2\x80\xa9"):  # U+2028 and U+2029, at which Node's readline ends a line
        context = context.replace(separator, dumps(separator.decode())[1:-1].encode())
    return b'{"id":"%b","hook":%b,"context":%b}\n' % (number.encode(), dumps(hook.name).encode(), context)


def owner_of(hook: Hook, project: str) -> Owner:
    """Return what identifies a hook, however its declaration changes."""
    return (project, hook.layer, hook.source, hook.name)


def line_for(
    hook: Hook, variables: Mapping[bytes, bytes], cwd: str, environment: HookEnvironment, program: str | None
) -> Line:
    """Return a hook's line, to run with these variables in `cwd`; its program is kept if that is safe.

    `program` is the path of the program named literally.
    """
    keeper, owner = environment.coprocesses, owner_of(hook, environment.project)
    nested = variables[NESTING].count(b";") > 1  # its environment is one run's
    if keeper is None or hook.background or nested or keeper.is_paused(owner):
        return Line(owner)
    try:
        files = [file.data for file in keeper.files_of(hook, variables, cwd, environment.project)]
        version = identity(program) if program is not None else None
        directory = os.stat(cwd)  # while a program is in it, no other directory gets its number
    except Exception:  # changes of its files would go unnoticed
        return Line(owner)
    fields = {name: value for name, value in hook.to_dict().items() if name != "line"}
    same = frozenset((name, value) for name, value in variables.items() if name != NESTING)
    place = (same, cwd, directory.st_dev, directory.st_ino, keeper.umask)
    return Line(owner, keeper, state=(repr(fields), files, version), place=place)


class Line:
    """A line for a program, and its answer. A `keeper` may keep the program for the next line.

    A kept program is used only if `state` (declaration and files) and `place` (environment, directory, umask) are as at
    its start.
    """

    def __init__(
        self, owner: Owner, keeper: Coprocesses | None = None, *, state: object = None, place: object = None
    ) -> None:
        self.number = os.urandom(8).hex()  # no program can answer an unread line
        self.owner = owner
        self.keeper = keeper
        self.state = state
        self.place = place
        self.marker: bytes | None = None
        self.early = False
        self.kept = False

    def take(self, process: Process) -> None:
        """Turn the process into a kept program for this line, if any."""
        found = self.keeper.take(self) if self.keeper is not None else None
        if found is None:
            return
        self.marker = process.task.marker
        found.lend(process)
        if early := found.unread():  # the line fails at once and is not written
            self.early = True
            process.collect(process.out, early)
            process.stdin = process.stdin[:0]
            process.deadline = process.started

    def ends(self, process: Process, now: float) -> bool:
        """Return whether the program has answered, or written something else."""
        outcome, too_long = process.outcome, process.outcome.bytes_out > process.task.max_output
        at_once, whole = self.early or too_long, b"\n" in process.out_data
        if not (at_once or whole or process.out_data.endswith(b"}")):
            return False
        verdict, problem = self._read(process)
        if verdict is None and not (at_once or whole):
            return False
        waits = not at_once and (verdict is None or not whole)  # noise: the answer may follow, or its newline
        if problem is None and self.keeper is not None and not process.stdin:
            self.kept = True
        elif problem is None or waits:
            process.deadline = min(process.deadline, now + EXIT_GRACE)
            if now < process.deadline:
                return False
        if problem is not None:
            outcome.failure = Failure("bad_verdict", problem)
        return True

    def is_unread(self, process: Process) -> bool:
        """Return whether a kept program ended before reading the line."""
        if self.marker is None or process.ending or process.out_data:
            return False
        import fcntl
        import termios

        try:
            waiting = int.from_bytes(fcntl.ioctl(process.inp, termios.FIONREAD, bytes(4)), sys.byteorder)
        except OSError:
            return False
        return waiting == process.outcome.bytes_in

    def start_again(self, process: Process) -> None:
        """Forget the ended program: the line goes to a new one, which is not kept."""
        if self.keeper is not None and self.marker is not None:
            self.keeper.note(self.owner, failed=True)
            process.task.marker, self.marker, self.keeper = self.marker, None, None
            vars(process.outcome).clear()
            process.outcome.failure = None

    def settle(self, process: Process) -> None:
        """Complete the outcome: stdout becomes the verdict. Without an answer the exit status counts."""
        outcome, veto = process.outcome, process.outcome.exit_code == VETO
        verdict, problem = self._read(process)
        if verdict is not None:
            outcome.stdout, outcome.exit_code, outcome.truncated = verdict, 0, False
        if problem is not None and outcome.failure is None and outcome.exit_code == 0:
            outcome.failure = Failure("bad_verdict", problem)
        if self.keeper is not None:
            self.keeper.note(self.owner, failed=not self.kept and not veto)

    def _read(self, process: Process) -> tuple[bytes | None, str | None]:
        """Return the verdict in the output, if any, and why it is not exactly one answer, or None."""
        verdict, problem = read_answer(bytes(process.out_data), self.number)
        if self.early:  # the line was not written
            verdict, problem = None, f"it wrote to stdout without being asked: {excerpt(process.out_data)}"
        elif process.outcome.bytes_out > process.task.max_output:
            problem = f"its output is longer than max_output ({process.task.max_output} bytes)"
        return verdict, problem


def read_answer(data: bytes, number: str) -> tuple[bytes | None, str | None]:
    """Return the verdict for the line `number`, if any, and why `data` is not exactly one answer.

    Of several verdicts, return one that refuses: it counts whatever else is wrong.
    """
    lines = data.split(b"\n")
    found = [each for line in lines if (each := _verdict_in(line, number)) is not None]
    verdict = next((verdict for verdict, _ in found if _refuses(verdict)), found[0][0] if found else None)
    if not data:
        return None, "it ended without an answer"
    if len(found) > 1:
        return verdict, "it answered more than once"
    if not found or not found[0][1]:
        return verdict, f'stdout is not one line {{"id": "{number}", "verdict": ...}}: {excerpt(data)}'
    if len(lines) == 1:
        return verdict, f"stdout is not one line, for its answer has no newline at the end: {excerpt(data)}"
    if lines[1:] != [b""]:
        return verdict, f"it wrote more than its answer to stdout: {excerpt(data)}"
    return verdict, None


def _verdict_in(line: bytes, number: str) -> tuple[bytes, bool] | None:
    """Return the verdict in an answer to the line `number`, b"" for null, and whether it is sound; None without.

    In an unsound answer, only a refusal is a verdict.
    """
    if number.encode() in line and (verdict := _as_written(line, number)) is not None:
        return verdict, True
    return _as_meant(line, number) if b"verdict" in line or b"\\u" in line else None


def _as_written(line: bytes, number: str) -> bytes | None:
    """Return the verdict in an answer with the usual keys only, else None."""
    try:
        text = line.decode("utf-8")
        start = text.index(":", text.index('"verdict"')) + 1
        start += len(text[start:]) - len(text[start:].lstrip(WHITESPACE))
        value, end = scan(text, start)
        around = f"{text[:start]}null{text[end:]}"
        if loads(around) != {"id": number, "verdict": None} or around.count('"') != QUOTES:
            return None
    except (ValueError, RecursionError):
        return None
    if value is None:
        return b""
    return text[start:end].encode() if isinstance(value, dict) else None


def _as_meant(line: bytes, number: str) -> tuple[bytes, bool] | None:
    """Return the same for an answer with other keys, or unsound, as without id or with two verdicts."""
    import json

    pairs: list[tuple[str, object]] = []

    def note(found: list[tuple[str, object]]) -> dict[str, object]:
        pairs[:] = found  # finally the answer's own
        return dict(sorted(found, key=lambda each: each[0] == "action" and str(each[1]) in BINDING_ACTIONS))

    text = line.decode("utf-8-sig", "replace")
    try:
        if not isinstance(json.loads(text, object_pairs_hook=note, parse_constant=str, strict=False), dict):
            return None
    except (ValueError, RecursionError):
        return None
    ids = [value for name, value in pairs if name == "id"]
    verdicts = [value for name, value in pairs if name == "verdict"]
    if any(str(each) != number for each in ids):  # it answers another line
        return None
    for verdict in verdicts:
        if isinstance(verdict, dict) and str(verdict.get("action")) in BINDING_ACTIONS:
            return json.dumps(verdict).encode(), ids == [number] and len(verdicts) == 1 and _is_sound(line)
    if ids != [number] or len(verdicts) != 1 or not _is_sound(line) or not isinstance(verdicts[0], dict | None):
        return None
    return b"" if verdicts[0] is None else dumps(verdicts[0]).encode(), True


def _is_sound(line: bytes) -> bool:
    """Return whether a line is strict JSON."""
    try:
        loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return True


def _refuses(verdict: bytes) -> bool:
    value = loads(verdict.decode()) if verdict else None
    return isinstance(value, dict) and str(value.get("action")) in BINDING_ACTIONS


class Coprocess:
    """A program between two lines."""

    def __init__(self, line: Line, process: Process) -> None:
        self.owner, self.state, self.place = line.owner, line.state, line.place
        self.marker, self.pid, self.pidfd = process.task.marker, process.pid, process.pidfd
        self.inp, self.out, self.err = process.inp, process.out, process.err
        self.since = monotonic()
        process.inp = process.out = process.err = process.pidfd = -1

    def lend(self, process: Process) -> None:
        """Turn the process into this program."""
        process.task.marker = self.marker
        process.inp, process.out, process.err = self.inp, self.out, self.err
        process.pidfd, process.pid = self.pidfd, self.pid

    def has_ended(self) -> bool:
        """Return whether it has closed its stdout, or exited."""
        poll = select.poll()
        poll.register(self.out, 0)
        return bool(poll.poll(0))

    def unread(self) -> bytes:
        """Return its stdout since its answer; drop its stderr."""
        try:
            while os.read(self.err, CHUNK):
                pass
        except BlockingIOError:
            pass
        try:
            return os.read(self.out, CHUNK)
        except BlockingIOError:
            return b""


class _EndOfInput(Line):
    """The end of a program's input, sent as a line."""

    def __init__(self, coprocess: Coprocess) -> None:
        super().__init__(coprocess.owner)
        self._coprocess = coprocess

    def take(self, process: Process) -> None:
        """Turn the process into the program."""
        self._coprocess.lend(process)

    def ends(self, process: Process, now: float) -> bool:  # noqa: ARG002  # as a line has it
        """Wait for its exit, whatever it still writes."""
        return False

    def settle(self, process: Process) -> None:
        """Record nothing: it gets no further line."""


class Coprocesses:
    """The programs that a process keeps between runs. Thread-safe.

    `files_of` returns a hook's files (trust.hook_files). `umask` is the programs'. Only `tend` and `close` wait for
    programs to end.
    """

    def __init__(self, files_of: FilesOf) -> None:
        self.files_of = files_of
        self.umask = 0
        self._lock = _thread.allocate_lock()
        self._kept: list[Coprocess] = []  # the longest without a line first
        self._unfit: list[Coprocess] = []
        self._pauses: dict[Owner, tuple[float, float]] = {}

    def is_paused(self, owner: Owner) -> bool:
        """Return whether the hook's program failed recently: it is started for each line."""
        return monotonic() < self._pauses.get(owner, (0.0, 0.0))[0]

    def note(self, owner: Owner, *, failed: bool) -> None:
        """Record the end of a line whose program could be kept."""
        if failed:
            pause = min(LONGEST_PAUSE, 2 * self._pauses.get(owner, (0.0, FIRST_PAUSE / 2))[1])
            self._pauses[owner] = (monotonic() + pause, pause)
        else:
            self._pauses.pop(owner, None)

    def take(self, line: Line) -> Coprocess | None:
        """Remove and return a program for the line; those of an older declaration or file are unfit."""
        with self._lock:
            self._discard(lambda each: each.owner == line.owner and each.state != line.state)
            found = [each for each in self._kept if each.owner == line.owner and each.place == line.place]
            for last in found[-1:]:
                self._kept.remove(last)
            return found[-1] if found else None

    def keep(self, line: Line, process: Process) -> None:
        """Keep a process's program, with its descriptors."""
        with self._lock:
            self._kept.append(Coprocess(line, process))

    def discard(self, hook: Hook, project: str) -> None:
        """Keep no program of a hook that may not run."""
        owner = owner_of(hook, project)
        with self._lock:
            self._discard(lambda each: each.owner == owner)

    def _discard(self, is_meant: Callable[[Coprocess], bool]) -> None:
        if meant := [each for each in self._kept if is_meant(each)]:
            self._unfit += meant
            self._kept = [each for each in self._kept if each not in meant]

    def pids(self) -> list[int]:
        """Return the process ids of the programs."""
        with self._lock:
            return [each.pid for each in (*self._kept, *self._unfit)]

    def tend(self) -> float | None:
        """End unfit, dead or idle programs; return the seconds until the next call, None if none is kept."""
        now = monotonic()
        with self._lock:
            extra = self._kept[: max(0, len(self._kept) - MOST)]
            self._discard(lambda each: each in extra or now >= each.since + IDLE or each.has_ended())
            self._pauses = {owner: each for owner, each in self._pauses.items() if now < each[0] + LONGEST_PAUSE}
            unfit, self._unfit = self._unfit, []
        _end(unfit)
        return min([TEND_INTERVAL, *(each.since + IDLE - now for each in self._kept[:1])]) if self._kept else None

    def close(self) -> None:
        """End all programs and the processes they started."""
        with self._lock:
            unfit, self._kept, self._unfit = self._kept + self._unfit, [], []
        _end(unfit)


def _end(coprocesses: list[Coprocess]) -> None:
    """Close the programs' input, and kill those that do not exit and what they leave behind."""
    if not coprocesses:
        return
    from hookrun.process.loop import Loop

    tasks = [Task(_cannot_start, b"", timeout=EXIT_GRACE, max_output=1, marker=each.marker) for each in coprocesses]
    for task, each in zip(tasks, coprocesses, strict=True):
        task.line = _EndOfInput(each)
    outcomes = Loop().run(tasks)
    left = [each for each, outcome in zip(coprocesses, outcomes, strict=True) if outcome.processes_left]
    if left:
        from hookrun.process import orphans

        orphans.kill([orphans.ProcessFamily(each.pid, each.marker) for each in left])


def _cannot_start(_stdin: int, _stdout: int, _stderr: int) -> int:
    raise NotImplementedError
