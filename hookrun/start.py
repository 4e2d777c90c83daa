"""Start hookrun: `python -I -S -X utf8 [-c START] .../hookrun/start.py fire ...`. Kept short: START may be missing."""

import marshal
import posix
import sys
from _frozen_importlib_external import MAGIC_NUMBER

package = __file__[:-9]
boot = type(sys)("hookrun.boot")
fd, head = -1, b""
try:
    try:
        fd = posix.open(f"{package}/boot.{MAGIC_NUMBER.hex()}.code", posix.O_RDONLY)
        head = posix.read(fd, 36 << 10)
        exec(marshal.loads(head), boot.__dict__)  # noqa: S102, S302  # code of this package, as in a .pyc
        prepare, sys.modules["hookrun.boot"] = boot.prepare, boot
    except Exception:  # no file, or another version's
        sys.path.insert(0, package[:-8])
        from hookrun.boot import prepare
    prepare(package, fd, head)
    from hookrun.__main__ import main

    main()
except KeyboardInterrupt:  # as in __main__
    posix._exit(130)  # noqa: SLF001
except Exception as error:  # as in __main__, which may be missing itself
    status = 1
    try:
        posix.write(2, f"hookrun: cannot be loaded, so no hook has run: {error}\n".encode())
        from hookrun.__main__ import status_without_hooks

        status = status_without_hooks(sys.argv, error)
    except Exception:
        status = 0 if "--agent" in sys.argv and getattr(error, "errno", 0) not in (23, 24) else 1
    finally:
        posix._exit(status)  # noqa: SLF001
