import json
import sys

from hookrun import Engine
from hookrun.integrations.pending import PendingCalls
from hookrun.integrations.tool_loop import run_tool_sync


def send(to: str) -> str:
    return f"sent to {to}"


calls, decision = PendingCalls(sys.argv[1]), json.loads(sys.argv[2])
for _ in range(2):
    outcome = run_tool_sync(
        Engine(), "send", {"to": "ann"}, send, session_id="s1", tool_use_id="t1", pending=calls, decision=decision
    )
    print(outcome.content)
