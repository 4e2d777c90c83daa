import sys

from hookrun.compat.stackbench import AgentLog

log = AgentLog(sys.argv[1] + "/a.log", sys.argv[1] + "/a.jsonl")
for number in range(200):
    log.log_tool_call(
        {"event_type": "pre_tool", "tool_name": sys.argv[2], "tool_input": {"n": number, "x": "y" * 5000}}
    )
    log.log_message(f"{sys.argv[2]} {number} " + "z" * 5000)
