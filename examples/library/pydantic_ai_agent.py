"""Pydantic AI: `@hooked` on each tool. Run it: python pydantic_ai_agent.py"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hookrun import Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.integrations.hooked import hooked

engine = Engine()


@engine.on(PreToolUse, matcher="send_mail")
def to_the_outbox(ctx: PreToolUse) -> Verdict | None:
    if ctx.tool_args["to"] == "eve":
        return Verdict.block("Eve gets no mail.")
    return Verdict.patch({"to": "outbox"})


def script(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:  # a real program names a model instead
    answers = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    calls = [ToolCallPart("send_mail", {"to": name}) for name in ("ann", "eve")]
    return ModelResponse([TextPart("; ".join(str(each.content) for each in answers))] if answers else calls)


agent = Agent(FunctionModel(script))


@agent.tool_plain
@hooked(engine, session_id="s1", refused=lambda outcome: outcome.content)
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


if __name__ == "__main__":
    print(agent.run_sync("Mail Ann and Eve.").output)
