# Parses a line with the modules of the file alone, after a change to what the file was written for.

import marshal
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

package, file, change = sys.argv[1:]
fd = posix.open(file, posix.O_RDONLY)
head = posix.read(fd, 36 << 10)
boot: "Any" = type(sys)("hookrun.boot")
sys.modules["hookrun.boot"] = boot
exec(marshal.loads(head), boot.__dict__)  # noqa: S102, S302  # our own


def parse_line() -> None:
    exec(change)  # noqa: S102  # the row of the test
    from hookrun.shell.syntax_tree import parse

    print(parse(b"ls | cat").type, *sorted({"site", "enum", "re"} & sys.modules.keys()))


boot.prepare(package, fd, head)
parse_line()
