import asyncio
import os
import sys
from typing import Any

from hookrun import Engine

os.dup2(os.dup(1), 60)
for fd in map(int, sys.argv[3].split()):
    os.close(fd)
engine = Engine.load(sys.argv[1], home=sys.argv[2])
context = {"session_id": "s", "tool_name": "bash", "tool_args": {"n": 5}}
said: list[Any] = [engine.fire_sync("pre_tool_use", context)]


async def both() -> tuple[Any, Any]:
    return await asyncio.gather(engine.fire("pre_tool_use", context), engine.fire("pre_tool_use", context))


said += asyncio.run(both())
engine.close_sync()
os.write(60, repr([(r.action, r.message, [run.failure for run in r.runs if run.failure]) for r in said]).encode())
os._exit(0)
