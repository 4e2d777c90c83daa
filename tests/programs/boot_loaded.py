# Runs `start.py`, and at the end shows the modules, and which of them are from the file.

import posix
import sys

end = posix._exit


def tell(status: int) -> None:
    for name, module in sys.modules.items():
        loader = module.__loader__
        print(name, loader is None or getattr(loader, "__name__", "") == "BootFinder", file=sys.stderr)
    sys.stderr.flush()
    end(status)


vars(posix)["_exit"] = tell
__file__ = sys.argv[0] = sys.argv.pop(1)
with open(__file__) as start:
    exec(compile(start.read(), __file__, "exec"))  # noqa: S102  # as an agent's line does
