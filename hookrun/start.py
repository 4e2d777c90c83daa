"""Start hookrun: `python -I -S -X utf8 .../hookrun/start.py fire ...`. Compiled at every start, so kept short."""

import marshal
import posix
import sys
from _frozen_importlib_external import MAGIC_NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

package = __file__[:-9]
fd, code = -1, None
head: "tuple[Any, ...]" = ()
try:
    fd = posix.open(f"{package}/boot.{MAGIC_NUMBER.hex()}.code", posix.O_RDONLY)
    head = marshal.loads(posix.read(fd, 1 << 15))  # noqa: S302  # code of this package, as in a .pyc
    source = posix.stat(package + "/boot.py")
    if head[:2] == (source.st_mtime_ns, source.st_size):
        code = marshal.loads(head[2])  # noqa: S302
except (OSError, ValueError, EOFError, TypeError, IndexError):
    pass
if code:
    sys.modules["hookrun.boot"] = boot = type(sys)("hookrun.boot")
    exec(code, boot.__dict__)  # noqa: S102
else:
    head = ()
    sys.path.append(package[:-8])
    from hookrun import boot
boot.start(package, fd, head)
