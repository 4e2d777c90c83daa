import asyncio
import logging
import os
import signal
import sys
import threading

from hookrun import Engine

logging.getLogger("hookrun").setLevel(logging.CRITICAL)


def reap() -> None:
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            pass


if sys.argv[3] == "ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
else:
    threading.Thread(target=reap, daemon=True).start()
engine = Engine.load(sys.argv[1], home=sys.argv[2])
context = {"session_id": "s", "tool_name": "bash", "tool_args": {"n": 5}}
for event in ("pre_tool_use", "stop", "post_tool_use"):
    for _ in range(10):
        for result in (engine.fire_sync(event, context), asyncio.run(engine.fire(event, context))):
            print(event, result.action, [run.failure.kind if run.failure else None for run in result.runs])
engine.close_sync()
