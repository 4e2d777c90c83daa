"""Entry point: `fire` is dispatched without loading the command line.

Launchers run it by its path, `python -I -S -X utf8 .../hookrun/__main__.py fire ...`: this package is then the one that
runs, whatever else the environment has. Without `site` Python starts in three quarters of the time.
"""

import gc
import os
import sys

# What hookrun depends on. Each may be elsewhere than hookrun, and without one a guard could not be read or run.
DEPENDENCIES = ("click", "orjson", "rich", "tree_sitter", "tree_sitter_bash", "yaml")
# ENOMEM, ENFILE and EMFILE.
SCARCE = (12, 23, 24)
# The exit status below a launcher that stays (launch/client/gate.h): nothing of the message was read, so try again.
NOT_LOADED = 75


def main() -> None:
    """Run the command line and exit."""
    argv = sys.argv[1:]
    if argv[:1] == ["fire"]:
        os._exit(_fire(argv))  # nothing is buffered, and the system cleans up faster than the interpreter
    _find_this_copy()
    if sys.flags.no_site:
        _load_site()
    if argv[:2] == ["serve", "--daemon"]:
        from hookrun.launch.watched_package import WatchedPackage

        os.closerange(4, os.sysconf("SC_OPEN_MAX"))  # all but its lock
        package = WatchedPackage()  # before what it serves is loaded

        from hookrun.launch.daemon import main as serve

        sys.exit(serve(argv[2:], package))

    from hookrun.cli import run

    sys.exit(run(argv))


def _fire(argv: list[str]) -> int:
    """Return the exit status of `hookrun fire`; a traceback would end in one that is a refusal to some agents."""
    gc.disable()  # the process ends before garbage matters
    try:
        _find_this_copy()
        from hookrun.fire.command import main as fire

        return fire(argv[1:])
    except KeyboardInterrupt as interrupt:
        return 130 if status_without_hooks(argv, interrupt) else 0
    except Exception as error:  # hookrun is being replaced or incomplete, or no descriptor is free
        if "--answered" in argv:
            return NOT_LOADED
        status = status_without_hooks(argv, error)
        try:
            os.write(2, f"hookrun: cannot be loaded, so no hook has run: {str(error) or 'no memory'}\n".encode())
        except OSError:
            pass
        return status


def _find_this_copy() -> None:
    """Have `hookrun` be this package, not another one on the path, where this file was run by its path.

    Raises ImportError for an incomplete package.
    """
    if not __package__:
        package = os.path.dirname(os.path.abspath(__file__))
        sys.path.insert(0, os.path.dirname(package))
        if __import__("hookrun").__file__ != f"{package}/__init__.py":
            raise ImportError(f"{package} has no __init__.py")
        sys.path.append(sys.path.pop(0))  # last: files beside it must not shadow the standard library
        beside = os.path.dirname(package)
        if not all(os.path.exists(f"{beside}/{each}") for each in DEPENDENCIES):
            _load_site()  # an editable installation, or one that uses the system's packages, too


def _load_site() -> None:
    from hookrun.process.python_child import load_site

    load_site()


def status_without_hooks(argv: list[str], error: BaseException) -> int:
    """Return the exit status where no hook could run: 1, but 0 for an agent that takes 1 for a refusal.

    Without a free descriptor or memory whether there is a guard is not known either: it is a refusal, 2, unless all
    that is named are events that are no gates.
    """
    try:
        from hookrun import agents
        from hookrun.core.events import EVENTS, GATES

        if not _is_scarcity(error):
            return agents.status_without_hooks(argv)
        named = {EVENTS[word] for word in argv if word in EVENTS}
        return 1 if named and not named & GATES else 2
    except Exception as another:  # the agent is unknown: an unseen message is better than a refusal
        if _is_scarcity(error) or _is_scarcity(another):
            return 2
        return 0 if "--agent" in argv else 1


def _is_scarcity(error: BaseException) -> bool:
    return isinstance(error, (MemoryError, SystemError)) or getattr(error, "errno", 0) in SCARCE


if __name__ == "__main__":
    main()
