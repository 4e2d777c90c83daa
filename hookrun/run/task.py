"""One hook ready to be run: what the loop is given, and how a start says that it cannot be."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.model import Failure


class CannotStart(Exception):  # noqa: N818  # the failure is the hook's
    """A hook cannot be started, and not for want of anything that another hook may give back. `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Task:
    """One hook ready to be run: what to start, with what on stdin, and within which bounds.

    `start` starts the process with the three given descriptors as its stdin, stdout and stderr, in a session of its
    own, and returns its id; it raises CannotStart or OSError when it cannot. `trace` is a word that stands in the
    environment of the process and of all that it starts. `lock` is a file that nobody else may hold meanwhile.
    `timeout` is seconds, `max_output` bytes of each stream.
    """

    __slots__ = ("lock", "max_output", "start", "stdin", "timeout", "trace")

    def __init__(
        self,
        start: Callable[[int, int, int], int],
        stdin: bytes,
        *,
        timeout: float,
        max_output: int,
        trace: bytes = b"",
        lock: str | None = None,
    ) -> None:
        self.start = start
        self.stdin = stdin
        self.timeout = timeout
        self.max_output = max_output
        self.trace = trace
        self.lock = lock
