"""Entry point: `fire` is dispatched without loading the command line."""

import gc
import os
import sys

if not __package__:  # run by its path, as agents do: `python -I .../hookrun/__main__.py`
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __import__("hookrun")  # this copy, not another one on the path
    sys.path.append(sys.path.pop(0))  # files beside it must not shadow the standard library's


NO_DESCRIPTOR = (23, 24)
"""ENFILE and EMFILE."""


def main() -> None:
    """Run the command line and exit."""
    argv = sys.argv[1:]
    if argv[:1] == ["fire"]:
        gc.disable()  # the process ends before garbage matters
    else:
        gc.enable()
    if argv[:2] == ["serve", "--daemon"]:
        from hookrun.serve.watched_package import WatchedPackage

        os.closerange(4, os.sysconf("SC_OPEN_MAX"))  # all but its lock
        package = WatchedPackage()  # before what it serves is loaded

        from hookrun.serve.daemon import main as serve

        sys.exit(serve(argv[2:], package))
    if argv[:1] != ["fire"]:
        from hookrun.cli import run

        sys.exit(run(argv))
    try:
        _take_hot_modules()
        from hookrun.fire.command import main as fire

        status = fire(argv[1:])
    except KeyboardInterrupt as interrupt:
        status = 130 if status_without_hooks(argv, interrupt) else 0
    except Exception as error:  # hookrun is being replaced or incomplete, or no descriptor is free
        status = status_without_hooks(argv, error)
        try:
            os.write(2, f"hookrun: cannot be loaded, so no hook has run: {error}\n".encode())
        except OSError:
            pass
    boot = sys.modules.get("hookrun.boot")
    if boot is not None and boot.Boot.stale_since:
        boot.renew()
    os._exit(status)  # nothing is buffered, and the system cleans up faster than the interpreter


def _take_hot_modules() -> None:
    """Load them from one file if possible; else they are imported one by one."""
    try:
        from hookrun import boot

        boot.attach()
    except Exception:  # noqa: S110  # hookrun is being replaced: the next import reports it
        pass


def status_without_hooks(argv: list[str], error: BaseException) -> int:
    """Return the exit status where no hook could run: 1, but 0 for an agent that takes 1 for a refusal.

    It stays 1 without a free descriptor: hooks must not be missing silently.
    """
    if "--agent" not in argv or getattr(error, "errno", 0) in NO_DESCRIPTOR:
        return 1
    try:
        from hookrun import agents

        return agents.status_without_hooks(argv)
    except Exception:  # the agent is unknown: an unseen message is better than a refusal
        return 0


if __name__ == "__main__":
    main()
