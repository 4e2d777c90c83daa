"""Claude, through its Agent SDK, with hooks. Run it: python claude_sdk_agent.py "what it should do"

Needs `pip install "hookrun[claude-agent-sdk]"` and what the SDK needs to reach Claude. Hooks see hookrun's names
(`bash`, `file_path`), so the same ones work for every other agent.
"""

import asyncio
import sys
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from hookrun import Engine, Verdict
from hookrun.events import PostToolFailure, PreToolUse
from hookrun.integrations.claude_agent_sdk import hooks_for

engine = Engine()  # Engine.load() reads the hooks that the user and the project have declared, too


@engine.on("pre_tool_use", matcher="write|edit")
def stay_inside(ctx: PreToolUse) -> Verdict | None:
    if ctx.file_path and ctx.working_dir and not Path(ctx.file_path).is_relative_to(ctx.working_dir):
        return Verdict.block(f"Write inside {ctx.working_dir} only.")
    return None


@engine.on("pre_tool_use", matcher="bash")
def dry_run_first(ctx: PreToolUse) -> Verdict | None:
    command = ctx.tool_args["command"]
    if command.startswith("git push") and "--dry-run" not in command:
        return Verdict.patch({"command": f"{command} --dry-run"}, "The push was made a dry run: the user pushes.")
    return None


@engine.on("post_tool_failure", matcher="bash")
def hint(ctx: PostToolFailure) -> Verdict | None:
    return (
        Verdict.with_context("Programs of this project are run by `make`.")
        if "not found" in ctx.tool_result_error
        else None
    )


async def main(prompt: str) -> None:
    options = ClaudeAgentOptions(
        allowed_tools=["Bash", "Read", "Write", "Edit"], permission_mode="default", hooks=hooks_for(engine)
    )
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            print(message.result)
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "What is in this directory?"))
