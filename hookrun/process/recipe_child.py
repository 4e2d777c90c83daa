"""Call recipes in one forked child of a run: what native code does to it, it does not do to hookrun.

It needs no watcher: it ends when hookrun does, within a call at its deadline.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # see child.py
import marshal
import os
from time import monotonic

from hookrun.process.child import WATCHER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO

    Answer = Callable[[str, bytes, Mapping[bytes, bytes]], str | None]

# Seconds that a timer takes.
LONGEST = 1e6
# Seconds after the deadline at which the system ends the child, if hookrun has ended before.
LATER = 1.0


class ChildError(Exception):
    """The child gave no answer: the function raised an error, or the process is gone."""


class RecipeChild:
    """A process that calls recipes with `answer`, forked at the first call. It takes the form of a worker's watch."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._pid = 0
        self._until = 0.0

    def begin(self, deadline: float) -> None:
        """Have the next call end by this (monotonic) time."""
        self._until = deadline

    def end(self) -> None:
        """Do nothing: the call has ended."""

    def ask(self, target: str, stdin: bytes, variables: Mapping[bytes, bytes]) -> str | None:
        """Return what a recipe's function answers. Raises ChildError, and whatever interrupts the wait."""
        try:
            if not self._pid:
                self._fork()
            seconds = min(max(self._until - monotonic(), 0.0), LONGEST) + LATER
            request = (target, stdin, dict(variables), seconds)
            marshal.dump(request, self._requests)
            self._requests.flush()
            is_answered, text = marshal.load(self._answers)  # noqa: S302  # of our own child
        except (OSError, EOFError, ValueError, TypeError) as error:
            self.close()
            raise ChildError from error
        except BaseException:
            self.close()
            raise
        if not is_answered:
            raise ChildError
        return text  # type: ignore[no-any-return]  # as `_serve` writes it

    def close(self) -> None:
        """End the child."""
        if self._pid:
            os.kill(self._pid, _signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0
            self._answers.close()
            try:
                self._requests.close()
            except OSError:  # a part of the request is left
                pass

    def _fork(self) -> None:
        requests, answers = os.pipe(), os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.close(requests[1])  # else it would not see hookrun's end
                os.close(answers[0])
                self._serve(open(requests[0], "rb"), open(answers[1], "wb"))  # noqa: SIM115  # until its end
            finally:
                os._exit(1)
        os.close(requests[0])
        os.close(answers[1])
        self._pid = pid
        self._requests: BinaryIO = open(requests[1], "wb")  # noqa: SIM115
        self._answers: BinaryIO = open(answers[0], "rb")  # noqa: SIM115

    def _serve(self, requests: BinaryIO, answers: BinaryIO) -> None:
        from hookrun.process.spawn import become_child

        WATCHER.forget()
        # SIGALRM at its default ends this process, whatever it does.
        become_child([os.open(os.devnull, os.O_RDWR)] * 3, kept=(requests.fileno(), answers.fileno()))
        while True:
            target, stdin, variables, seconds = marshal.load(requests)  # noqa: S302  # of hookrun; raises at its end
            _signal.setitimer(_signal.ITIMER_REAL, seconds)
            try:
                answer = True, self._answer(target, stdin, variables)
            except (Exception, SystemExit):  # a process of its own reports it
                answer = False, None
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            marshal.dump(answer, answers)
            answers.flush()
