import ast
import fcntl
import os
import sys

from hookrun.process.program import program


def cross(places: tuple[int, int, int]) -> None:
    names = ("in", os.O_RDONLY), (f"out{places}", os.O_WRONLY | os.O_CREAT), (f"err{places}", os.O_WRONLY | os.O_CREAT)
    ends = [fcntl.fcntl(os.open(name, mode, 0o600), fcntl.F_DUPFD_CLOEXEC, 50) for name, mode in names]
    os.closerange(0, 50)
    for end, place in zip(ends, places, strict=True):
        os.dup2(end, place, inheritable=False)
    os.closerange(50, 53)
    before = os.listdir("/dev/fd")
    pid = program(("/bin/sh", "-c", "cat; echo problem >&2"), dict(os.environb), "/")(*places)
    assert os.listdir("/dev/fd") == before
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


os.chdir(sys.argv[1])
for each in ast.literal_eval(sys.argv[2]):
    child = os.fork()
    if child == 0:
        try:
            cross(each)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0, each
