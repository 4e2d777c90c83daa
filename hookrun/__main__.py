"""Entry point: `fire` is dispatched without loading the command line."""

from __future__ import annotations

import gc
import os
import sys
from errno import EMFILE, ENFILE

if not __package__:  # run by its path, as agents do: `python -I .../hookrun/__main__.py`
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __import__("hookrun")  # this copy, not another one on the path
    sys.path.append(sys.path.pop(0))  # files beside it must not shadow the standard library


NEEDS_ZERO = "copilot"
"""The agent with EXIT_ZERO_ONLY: no module of the agents may be loadable when this is asked."""


def main() -> None:
    """Run the command line and exit."""
    argv = sys.argv[1:]
    if argv[:1] == ["fire"]:
        gc.disable()  # the process ends before garbage matters
    else:
        gc.enable()
    if argv[:2] == ["serve", "--daemon"]:
        from hookrun.serve.daemon import main as serve

        sys.exit(serve(argv[2:]))
    if argv[:1] != ["fire"]:
        from hookrun.cli import run

        sys.exit(run(argv))
    try:
        from hookrun.fire.command import main as fire

        status = fire(argv[1:])
    except KeyboardInterrupt:
        status = 130
    except Exception as error:  # hookrun is being replaced or incomplete, or no descriptor is free
        status = status_without_hooks(argv, error)
        try:
            os.write(2, f"hookrun: cannot be loaded, so no hook has run: {error}\n".encode())
        except OSError:
            pass
    if "hookrun.boot" in sys.modules:
        sys.modules["hookrun.boot"].renew()
    os._exit(status)  # nothing is buffered, and the system cleans up faster than the interpreter


def status_without_hooks(argv: list[str], error: Exception) -> int:
    """Return the exit status where no hook could run: 1, which agents show; but 0 for Copilot, which it would refuse.

    It stays 1 where no descriptor is free: that may be wanted. `start.py` does the same, as this file may be missing.
    """
    return 0 if NEEDS_ZERO in argv and getattr(error, "errno", 0) not in (ENFILE, EMFILE) else 1


if __name__ == "__main__":
    main()
