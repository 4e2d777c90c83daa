"""LangChain and LangGraph: a hook's `ask` interrupts the graph. Run it: python langgraph_approvals.py"""

from typing import Any

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from hookrun import Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.integrations.langchain import HookrunMiddleware
from hookrun.integrations.pending import Pending, PendingCalls

engine = Engine()


@engine.on(PreToolUse, matcher="send_mail")
def ask_first(_: PreToolUse) -> Verdict:
    return Verdict("ask", "Mail leaves the house.")


@tool
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


class FakeModel(GenericFakeChatModel):  # in a real program: create_agent("openai:...", ...)
    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


if __name__ == "__main__":
    script = [
        AIMessage("", tool_calls=[{"name": "send_mail", "args": {"to": "ann"}, "id": "call-1"}]),
        AIMessage("Done."),
    ]
    hooks = HookrunMiddleware(engine, pending=PendingCalls())
    agent: Any = create_agent(
        FakeModel(messages=iter(script)), [send_mail], middleware=[hooks], checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "t1"}}
    (waits,) = agent.invoke({"messages": [HumanMessage("Mail Ann.")]}, thread)["__interrupt__"]
    pending = Pending.from_dict(waits.value)
    print(pending.tool, pending.arguments, pending.reason)
    for message in agent.invoke(Command(resume=pending.approve()), thread)["messages"]:
        print(f"{message.type}: {message.text}")
