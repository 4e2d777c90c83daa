import asyncio
import os
import sys
import threading
from typing import Any

from hookrun import Engine

engine = Engine.load(sys.argv[1], home=sys.argv[2])
fields: dict[str, Any] = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}
assert engine.fire_sync("stop", **fields).action == "continue"
if sys.argv[3:] == ["closes"]:
    children = f"/proc/self/task/{os.getpid()}/children"
    with open(children) as file:
        assert len(file.read().split()) == 1
    asyncio.run(engine.close())
    with open(children) as file:
        assert file.read() == ""
else:
    for _ in range(3):
        threading.Thread(target=lambda: engine.fire_sync("pre_tool_use", **fields)).start()
