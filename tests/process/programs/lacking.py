import os
import resource
import sys
from errno import EAGAIN, EMFILE

from hookrun.process.program import program

if sys.argv[1] == "processes":
    if os.getuid() == 0:
        os.setuid(65534)  # no limit holds for root
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
else:  # there is one to spare, and three are needed because the streams are 0, 1 and 2
    while (fd := os.open("/", os.O_RDONLY)) < 9:
        pass
    os.close(8)
    resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 1, fd + 1))
before = [fd for fd in range(20) if os.path.exists(f"/dev/fd/{fd}")]
try:
    program(("/bin/sh", "-c", "true"), {}, "/")(0, 1, 2)
except OSError as error:
    found = error.errno
else:
    raise AssertionError("it was started")
assert found == {"processes": EAGAIN, "descriptors": EMFILE}[sys.argv[1]]
assert [fd for fd in range(20) if os.path.exists(f"/dev/fd/{fd}")] == before
