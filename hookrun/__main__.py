"""The door: `fire` goes straight to fire.py, everything else to cli/."""

from __future__ import annotations

import gc
import os
import sys

if not __package__:  # run by its path, as agents do: `python -I .../hookrun/__main__.py`, wherever that lies
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __import__("hookrun")  # this one, and no other
    sys.path.append(sys.path.pop(0))  # its neighbours must not stand in for the interpreter's own modules


def main() -> None:
    """Run the command line of this process and end it."""
    argv = sys.argv[1:]
    if argv[:1] != ["fire"]:
        from hookrun.cli import run

        sys.exit(run(argv))
    gc.disable()  # a fire is over before garbage matters
    try:
        from hookrun.fire.command import main as fire

        status = fire(argv[1:])
    except KeyboardInterrupt:
        status = 130
    except ImportError as error:  # hookrun is just being replaced, or not whole
        os.write(2, f"hookrun: cannot be loaded, no hook has run: {error}\n".encode())
        status = 0 if "copilot" in argv else 1  # to Copilot any other status is a refusal
    os._exit(status)  # nothing is buffered: what the interpreter would tidy up, the system does faster


if __name__ == "__main__":
    main()
