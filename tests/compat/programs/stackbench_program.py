import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

stackbench = import_module(sys.argv[1])
AgentLogger, create_agent_hooks = stackbench.AgentLogger, stackbench.create_agent_hooks

# Create logger
logger = AgentLogger(
    log_file=Path("logs/extraction/doc_agent.log"), tools_log_file=Path("logs/extraction/doc_tools.jsonl")
)
# Create combined hooks
hooks = create_agent_hooks(agent_type="extraction", logger=logger, output_dir=Path("data/run_123/results/extraction"))
# Use with ClaudeAgentOptions
options = ClaudeAgentOptions(allowed_tools=["Read", "Write"], permission_mode="acceptEdits", hooks=hooks)
asked: Any = options.hooks


async def sent(event: Any, tool: str, args: dict[str, str], **more: object) -> None:
    """Call the hooks as the SDK does; return the decision and its reason."""
    data = {"hook_event_name": event, "session_id": "s1", "cwd": str(Path.cwd()), "tool_use_id": "toolu_1"}
    for matcher in asked[event]:
        for hook in matcher.hooks:
            answer = await hook({**data, "tool_name": tool, "tool_input": args, **more}, "toolu_1", {"signal": None})
            answer = answer.get("hookSpecificOutput", {})
            print(event, tool, answer.get("permissionDecision"), answer.get("permissionDecisionReason", "")[:45])


async def main() -> None:
    await sent("PreToolUse", "Read", {"file_path": "/a.md"})
    await sent("PostToolUse", "Read", {"file_path": "/a.md"}, tool_response={"content": "..."})
    await sent("PostToolUseFailure", "Read", {"file_path": "/b.md"}, error="no such file")
    target = "data/run_123/results/extraction/a_analysis.json"
    await sent("PreToolUse", "Write", {"file_path": target, "content": "{}"})
    alone = stackbench.create_validation_output_hook(Path("out"))
    asked["PreToolUse"] = [HookMatcher(matcher="Write", hooks=[alone])]
    await sent("PreToolUse", "Write", {"file_path": "out/a_validation.json", "content": "[]"})
    await sent("PreToolUse", "Write", {"file_path": "out/a.json", "content": "[]"})
    asked["PreToolUse"] = [HookMatcher(hooks=[stackbench.create_extraction_validation_hook(output_dir=Path("out"))])]
    await sent("PreToolUse", "Write", {"file_path": "b_analysis.json", "content": "[]"})


asyncio.run(main())
logger.log_message("Debug info")
print(logger.get_stats())
print(sorted(stackbench.create_logging_hooks(logger)), sorted(stackbench.HookManager("api_validation").create_hooks()))
for line in Path("logs/extraction/doc_tools.jsonl").read_text().splitlines():
    entry = json.loads(line)
    print({key: value for key, value in entry.items() if key != "timestamp"})
for line in Path("logs/extraction/doc_agent.log").read_text().splitlines():
    print(line[25:].partition("match")[0])
