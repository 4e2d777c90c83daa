"""Report internal errors: write the traceback to the account's crash.log. Loaded only after a crash."""

from __future__ import annotations

import os
import sys
from traceback import TracebackException

from hookrun import __version__
from hookrun.core import state
from hookrun.core.credentials import redact
from hookrun.core.state import CurrentRun, NoHomeError
from hookrun.core.text import escape, write_stderr

# Bytes of crash.log after which it is rotated to crash.log.1.
MAX_BYTES = 1 << 20

# Characters written of a traceback.
MAX_ENTRY = 64 << 10

# Exceptions of a chain (`raise ... from`) in a traceback.
MAX_CAUSES = 8


def report(error: BaseException, home: str | None, *, debug: bool) -> str:
    """Write the traceback to crash.log; return the message for the user, which names it. Raises nothing.

    With `debug` and HOOKRUN_DEBUG the traceback is also printed on stderr. It has no values of variables and no
    context; credentials are redacted. Without a home, or if the log cannot be written, only the message is returned.
    """
    message = redact(state.bug_message(error))
    path = f"{home}{state.STATE_DIR}/crash.log" if home is not None else ""
    try:
        text = redact(escape("".join(_traceback(error)), keep_newlines=True))[:MAX_ENTRY]
        if debug and os.environ.get("HOOKRUN_DEBUG", "0") not in {"", "0"}:
            write_stderr(text.rstrip("\n"))
        if home is None or not os.path.isdir(home):
            return message
        python = sys.version.partition(" ")[0]
        _append(path, f"{state.timestamp()} hookrun {__version__}, Python {python}, {sys.platform}\n{text}\n")
    except Exception:  # the first error is the one to report
        return message
    return f"{message} (see {path})"


def report_in_run(error: BaseException, home: str | None = None) -> str:
    """Report an error as `report` does, by default in the home of the current run. Raises nothing.

    HOOKRUN_DEBUG is ignored for an agent: a project may set it, and the agent reads stderr.
    """
    for_agent = CurrentRun.for_agent
    try:
        home = home or CurrentRun.home or (state.line_home() if for_agent else state.home_directory())
    except NoHomeError:
        home = None
    return report(error, home, debug=not for_agent)


def _traceback(error: BaseException, causes: int = MAX_CAUSES) -> list[str]:
    """Return the frames of the error and its explicit causes, without exceptions being handled."""
    lines: list[str] = []
    if error.__cause__ is not None and causes > 1:
        lines = [*_traceback(error.__cause__, causes - 1), "\nwhich caused:\n\n"]
    return [*lines, *TracebackException.from_exception(error, capture_locals=False).format(chain=False)]


def _append(path: str, text: str) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK  # a FIFO would wait for a reader
    fd = state.open_private(path, flags)
    if os.fstat(fd).st_size > MAX_BYTES:
        os.close(fd)
        os.replace(path, f"{path}.1")
        fd = state.open_private(path, flags)
    try:
        os.fchmod(fd, 0o600)  # also for an existing file
        os.write(fd, text.encode("utf-8", "backslashreplace"))
    finally:
        os.close(fd)
