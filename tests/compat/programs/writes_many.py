import sys

from hookrun.compat.stackbench import AgentLogger


def write_many(log: AgentLogger, name: str) -> None:
    for number in range(200):
        log.log_tool_call({"event_type": "pre_tool", "tool_name": name, "tool_input": {"n": number, "x": "y" * 5000}})
        log.log_message(f"{name} {number} " + "z" * 5000)


if __name__ == "__main__":
    write_many(AgentLogger(sys.argv[1] + "/a.log", sys.argv[1] + "/a.jsonl"), sys.argv[2])
