"""The OpenAI Agents SDK: a hook's `ask` is an interruption of the run. Run it: python openai_agent.py"""

import asyncio

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from openai_agents_hooks import ModelEvents, hooked_tool  # the file beside this one

from hookrun import Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.integrations.pending import PendingCalls

engine, calls = Engine(), PendingCalls()


@engine.on(PreToolUse, matcher="send_mail")
def ask_first(_: PreToolUse) -> Verdict:
    return Verdict("ask", "Mail leaves the house.")


@function_tool
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


async def main() -> None:
    model = ScriptedModel([[function_call("send_mail", {"to": "ann"}, call_id="call-1")], [assistant_message("Done.")]])
    agent = Agent(name="helper", model=model, tools=[hooked_tool(engine, send_mail, pending=calls, session_id="s1")])
    hooks, config = ModelEvents(engine, session_id="s1"), RunConfig(tracing_disabled=True)
    result = await Runner.run(agent, "Mail Ann.", hooks=hooks, run_config=config)
    print([(each.tool, each.arguments, each.reason) for each in calls])
    state = result.to_state()  # state.to_string() can be stored
    state.approve(result.interruptions[0])
    result = await Runner.run(agent, state, hooks=hooks, run_config=config)
    print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
