import os
import sys

calls: list[int] = []


def check(context: dict[str, object]) -> dict[str, object]:
    calls.append(1)
    print("noise")
    assert sys.stdin.read() == ""
    return {"action": "continue", "system_message": f"{os.getpid()} {len(calls)} {context['say']} x"}
