import asyncio
import logging
import os
import resource
import sys

from hookrun import Engine

logging.getLogger("hookrun").setLevel(logging.CRITICAL)
engine = Engine.load(sys.argv[1], home=sys.argv[2])
context = {"session_id": "s", "tool_name": "bash", "tool_args": {"n": 5}}


async def main() -> None:
    if sys.argv[3] == "used":
        await engine.fire("pre_tool_use", context)
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
    taken = []
    try:
        while True:
            taken.append(os.open("/", os.O_RDONLY))
    except OSError:
        pass
    for result in (engine.fire_sync("pre_tool_use", context), await engine.fire("pre_tool_use", context)):
        print([run.failure.kind for run in result.runs if run.failure], flush=True)
    for fd in taken:
        os.close(fd)
    print((await engine.fire("pre_tool_use", context)).action, flush=True)
    os._exit(0)


asyncio.run(main())
