"""Checks."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from typing import Any

Context = dict[str, Any]
NUMBER = 1


class Answer:
    def to_dict(self) -> Context:
        return {"action": "block", "message": "from an object"}


class Checks:
    @staticmethod
    def strict(_context: Context) -> object:
        return {"action": "block", "message": "from a dotted path"}

    NOT_A_FUNCTION = 1


class Awaitable:
    def __await__(self) -> Generator[Any, Any, Context]:
        yield from asyncio.sleep(0).__await__()
        return {"action": "block", "message": "from an awaitable"}


def says(context: Context) -> object:
    return {"action": "block", "message": "from " + context["tool_name"]}


def nothing(context: Context) -> object:
    return None


def an_object(context: Context) -> object:
    return Answer()


async def later(context: Context) -> object:
    await asyncio.sleep(0)
    return {"action": "block", "message": "from a coroutine"}


async def later_nothing(context: Context) -> object:
    return None


async def later_raises(context: Context) -> object:
    raise LookupError("later than expected")


def awaitable(context: Context) -> object:
    return Awaitable()


def deeper(context: Context) -> None:
    raise ValueError("not what was hoped for")


def raises(context: Context) -> None:
    deeper(context)


def vetoes(context: Context) -> None:
    print("not on a Friday", file=sys.stderr)
    sys.exit(2)


def exits_with_text(context: Context) -> None:
    sys.exit("nothing doing")


def exits_well(context: Context) -> None:
    sys.exit()


def prints(context: Context) -> object:
    print("checking " * 1000)
    os.write(1, b"raw bytes\n")
    subprocess.run(["echo", "from a child"], check=True)
    return {"action": "block", "message": "printed first"}


def a_list(context: Context) -> object:
    return [1, 2]


def a_set(context: Context) -> object:
    return {1, 2}


def hangs(context: Context) -> None:
    subprocess.run(["sh", "-c", "setsid sleep 300 & sleep 300"], check=True)


def hangs_and_ignores(context: Context) -> None:
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(300)


def sees(context: Context) -> object:
    return {"action": "block", "message": json.dumps(dict(os.environ))}


def measures(context: Context) -> object:
    return {"action": "block", "message": str(len(context["tool_args"]["content"]))}


def counts_stdin(context: Context) -> object:
    return {"action": "block", "message": str(len(sys.stdin.read()))}


def where(context: Context) -> object:
    return {"action": "block", "message": json.dumps([os.getcwd(), sys.executable, sys.version_info[:2], __name__])}


def asks_the_net(context: Context) -> object:
    import http.client
    import urllib.request

    return {"action": "block", "message": http.client.HTTPConnection.__name__ + urllib.request.Request.__name__}


def dies(context: Context) -> None:
    os.kill(os.getpid(), 11)


def shell_like(context: Context) -> None:
    print("the linter ended with 127", file=sys.stderr)
    sys.exit(127)
