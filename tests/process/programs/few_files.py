import os
import resource
import sys
import threading

sys.path.insert(0, sys.argv[1])
from hookrun.core.model import Outcome
from hookrun.process import program as programs
from hookrun.process.child import Task
from hookrun.process.pool import Pool

resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))


def task(number: int) -> Task:
    begin = programs.program(("/bin/sh", "-c", f"echo {number}"), dict(os.environb), "/")
    return Task(begin, b"", timeout=60, max_output=99)


def done(outcomes: list[Outcome]) -> None:
    seen.extend(outcomes)
    over.release()


over, seen = threading.Semaphore(0), list[Outcome]()
pool = Pool(32)
for number in range(50):
    pool.submit([task(number), task(number)], done)
for _ in range(50):
    over.acquire()
pool.close()
print([each.failure for each in seen if each.failure], len({each.stdout for each in seen}), len(os.listdir("/dev/fd")))
