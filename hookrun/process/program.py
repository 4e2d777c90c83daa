"""Run a program for a handler, with limits on time and output, and kill it with everything it started."""

from __future__ import annotations

import asyncio
import os
import shutil
from errno import ENOENT
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from hookrun.process import popen
from hookrun.process.child import Task
from hookrun.process.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrun.model import Outcome

MAX_PROGRAMS = 32
"""Programs that run at the same time; more are queued."""


class ProgramResult(NamedTuple):
    """The result of a program: `exit_code` is None if it was killed at its timeout."""

    exit_code: int | None
    output: str


class ProgramError(Exception):
    """The program could not be started; the message says why."""


async def run_program(
    argv: Sequence[str],
    *,
    timeout: float,  # noqa: ASYNC109  # the pool enforces it, which kills the program
    max_output: int,
    keep: Literal["first", "last", "stderr"] = "stderr",
    cwd: str | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> ProgramResult:
    """Run a program without a shell and return its result, with at most `max_output` bytes of output as text.

    `keep` selects the `first` or `last` bytes of stdout and stderr together, or the last of `stderr` alone. After
    `timeout` seconds, or when this is cancelled, the program is killed with everything it started; processes that it
    leaves running when it exits normally are left alone. `env` is added to the environment. Raises ProgramError.
    """
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[Outcome] = loop.create_future()
    path = shutil.which(argv[0])
    if path is None:
        raise ProgramError(os.strerror(ENOENT))
    own = {os.fsencode(name): os.fsencode(value) for name, value in (env or {}).items()}
    environment = {**os.environb, **own}
    start = popen.program((path, *argv[1:]), environment, cwd or os.getcwd())

    def start_merged(stdin: int, stdout: int, stderr: int) -> int:
        return start(stdin, *((stdout, stdout) if keep == "first" else (stderr, stderr)))

    task = Task(start if keep == "stderr" else start_merged, stdin, timeout=timeout, max_output=max_output)

    pool = _pool()
    batch = pool.submit([task], lambda outcomes: loop.call_soon_threadsafe(finished.set_result, outcomes[0]))
    try:
        outcome = await asyncio.shield(finished)
    except asyncio.CancelledError:
        pool.cancel(batch)
        await finished
        raise
    if outcome.failure is not None and outcome.failure.kind != "timeout":
        raise ProgramError(outcome.failure.detail)
    text = (outcome.stdout if keep == "first" else outcome.stderr).decode("utf-8", "replace")
    return ProgramResult(None if outcome.failure is not None else outcome.exit_code, text)


@cache
def _pool() -> Pool:
    # Its thread is a daemon, and a forked child starts its own: nothing has to be closed.
    return Pool(MAX_PROGRAMS)
