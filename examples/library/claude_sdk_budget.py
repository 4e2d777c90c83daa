"""The Claude Agent SDK: hooks, and a budget that ends the run. Run it: python claude_sdk_budget.py PROMPT"""

import asyncio
import sys
from collections.abc import AsyncIterator

from claude_agent_sdk import ClaudeAgentOptions, Message, ResultMessage, query

from hookrun import Abort, Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.integrations.claude_agent_sdk import hooks_for, with_model_events
from hookrun.observe import CostTracker

engine = Engine()


@engine.on(PreToolUse, matcher="bash")
def no_sudo(ctx: PreToolUse) -> Verdict | None:
    return Verdict.block("No sudo here.") if "sudo" in ctx.tool_args["command"] else None


async def show(messages: AsyncIterator[Message]) -> None:
    try:
        async for message in with_model_events(engine, messages):
            if isinstance(message, ResultMessage):
                print(message.result)
    except Abort as refusal:
        print(refusal.reason)


if __name__ == "__main__":
    engine.use(CostTracker({"claude-*": {"input": 3.0, "output": 15.0}}, budget=1.0))
    prompt = " ".join(sys.argv[1:]) or "What is in this directory?"
    asyncio.run(show(query(prompt=prompt, options=ClaudeAgentOptions(hooks=hooks_for(engine)))))
