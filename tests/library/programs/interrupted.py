import asyncio
import os
import signal
import subprocess
import sys
from typing import Any

from hookrun import Engine

WAY = sys.argv[3]
FIELDS = {"session_id": "s", "tool_name": "bash", "tool_args": {}}
POPEN: Any = subprocess.Popen
started = POPEN._execute_child


def interrupted(*arguments: object) -> None:
    started(*arguments)
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    engine = Engine.load(sys.argv[1], home=sys.argv[2])
    if WAY == "at a start":
        POPEN._execute_child = interrupted
    try:
        if WAY == "fire":
            asyncio.run(engine.fire("pre_tool_use", FIELDS))
        else:
            engine.fire_sync("pre_tool_use", FIELDS)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
