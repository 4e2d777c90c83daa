import builtins
import json
import os
import signal
import sys
import threading


def look(context: dict[str, object]) -> dict[str, object]:
    mask = os.umask(0o22)
    os.umask(mask)
    return {
        "action": "continue",
        "system_message": json.dumps(
            {
                "pid": os.getpid(),
                "parent": os.getppid(),
                "session": os.getsid(0),
                "cwd": os.getcwd(),
                "umask": mask,
                "environ": {k: v for k, v in os.environ.items() if k not in ("HOOKRUN_CHAIN", "HOOKRUN_HOOK")},
                "path": sys.path,
                "streams": [
                    type(sys.stdout).__name__,
                    type(sys.stderr).__name__,
                    sys.stdout.fileno(),
                    sys.stderr.fileno(),
                ],
                "signals": [str(signal.getsignal(n)) for n in (1, 2, 13, 14, 15, 17)],
                "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
                "timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
                "threads": threading.active_count(),
                "files": sorted(os.listdir("/dev/fd")),
                "builtins": len(vars(builtins)),
                "recursion": sys.getrecursionlimit(),
                "helper": "helper" in sys.modules,
                "open": open is __import__("io").open,
                "getcwd": os.getcwd.__module__,
                "left": getattr(sys, "left", None),
            }
        ),
    }
