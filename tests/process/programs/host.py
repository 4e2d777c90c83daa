import asyncio
import os
import sys
import threading
from typing import Any

from hookrun import Engine


def children() -> list[str]:
    """Return the children of every thread."""
    found: list[str] = []
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/children") as file:
            found += file.read().split()
    return found


engine = Engine.load(sys.argv[1], home=sys.argv[2])
fields: dict[str, Any] = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}
assert engine.fire_sync("stop", **fields).action == "continue"
if sys.argv[3:] == ["closes"]:
    assert len(children()) == 1
    asyncio.run(engine.close())
    assert children() == []
else:
    for _ in range(3):
        threading.Thread(target=lambda: engine.fire_sync("pre_tool_use", **fields)).start()
