"""Start hookrun: `python -I -S -X utf8 .../hookrun/start.py fire ...`. Compiled at every start, so kept short."""

import marshal
import sys
from _frozen_importlib_external import MAGIC_NUMBER
from posix import O_RDONLY, close, open as open_file, read, stat

PACKAGE = __file__.rpartition("/")[0]

head: "tuple[object, ...]" = ()
size = 0
try:
    fd = open_file(f"{PACKAGE}/boot.{sys.implementation.cache_tag}.code", O_RDONLY)
    begin = read(fd, 8)
    size = int.from_bytes(begin[4:], "little")
    if begin[:4] == MAGIC_NUMBER:
        head = marshal.loads(read(fd, size))  # noqa: S302  # code of this package, as in a .pyc
    close(fd)
    source = stat(f"{PACKAGE}/boot.py")
    if head[0] != (source.st_mtime_ns, source.st_size):
        head = ()
except (OSError, ValueError, EOFError, TypeError, IndexError):
    head = ()
if head:
    sys.modules["hookrun.boot"] = boot = type(sys)("hookrun.boot")
    exec(head[1], boot.__dict__)  # type: ignore[arg-type]  # noqa: S102
else:
    sys.path.append(PACKAGE.rpartition("/")[0])
    from hookrun import boot
boot.start(PACKAGE, head, size)
