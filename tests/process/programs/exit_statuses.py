import os
import queue
import signal
import sys
import threading

sys.path.insert(0, sys.argv[1])
from hookrun.core.model import Outcome
from hookrun.process import program as programs
from hookrun.process.child import Task
from hookrun.process.pool import Pool


def task(line: str, timeout: float = 60) -> Task:
    begin = programs.program(("/bin/sh", "-c", line), dict(os.environb), "/")
    return Task(begin, b"", max_output=99, timeout=timeout)


def reap() -> None:
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            pass


def submitted() -> list[Outcome]:
    outcomes: queue.SimpleQueue[list[Outcome]] = queue.SimpleQueue()
    pool.submit(tasks, outcomes.put)
    return outcomes.get()


if sys.argv[2] == "ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
else:
    threading.Thread(target=reap, daemon=True).start()
pool = Pool(4)
tasks = [task("exit 0"), task("exit 2"), task("exec sleep 60", 0.2), task("trap '' TERM; sleep 60", 0.2)]
for outcomes in (pool.run(tasks), submitted()):
    print(*(each.failure.kind if each.failure else each.exit_code for each in outcomes))
pool.close()
