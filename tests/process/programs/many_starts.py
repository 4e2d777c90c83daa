import os
import sys

from hookrun.process.child import CannotStart
from hookrun.process.program import program


def many(count: int, argv: tuple[str, ...], cwd: str) -> None:
    start = program(argv, {b"A": b"1"}, cwd)
    for _ in range(count):
        try:
            os.waitpid(start(0, null, 2), 0)
        except CannotStart:
            pass


def measure() -> tuple[int, int]:
    with open("/proc/self/statm") as file:
        return len(os.listdir("/proc/self/fd")), int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def all_kinds(count: int) -> None:
    many(2 * count, ("/bin/true",), long)
    many(count, ("/no/such/program",), long)
    many(count, ("/bin/true",), long + "/gone")
    many(count, ("/bin/true", chr(0)), long)


long, null = sys.argv[1], os.open(os.devnull, os.O_RDWR)
all_kinds(50)
before = measure()
all_kinds(500)
after = measure()
print(after[0] - before[0], after[1] - before[1])
