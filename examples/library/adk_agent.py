"""Google ADK: the two halves of a call are its tool callbacks. Run it: python adk_agent.py"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content, Part

from hookrun import Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.integrations.hooked import HookedCall

engine = Engine()
calls: dict[str, HookedCall] = {}


@engine.on(PreToolUse, matcher="send_mail")
def to_the_outbox(ctx: PreToolUse) -> Verdict | None:
    return Verdict.block("Eve gets no mail.") if ctx.tool_args["to"] == "eve" else Verdict.patch({"to": "outbox"})


async def before(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
    session, number = tool_context.session.id, tool_context.function_call_id
    call = HookedCall(engine, tool.name, args, session_id=session, tool_use_id=number)
    if (refused := await call.before()) is not None:
        return {"error": refused.content}
    args.clear()
    args.update(call.args)  # what ADK calls the tool with
    calls[number or ""] = call
    return None


async def after(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any) -> Any:
    call = calls.pop(tool_context.function_call_id or "", None)  # None for one that was refused
    outcome = None if call is None else await call.after(tool_response)
    return {"result": outcome.content} if outcome and (outcome.notes or outcome.output is not None) else None


async def failed(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception) -> Any:
    call = calls.pop(tool_context.function_call_id or "", None)
    return None if call is None else {"error": (await call.failed(error)).content}


def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


class Script(BaseLlm):  # a real program names a model instead
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        answers = [part.function_response for part in llm_request.contents[-1].parts or [] if part.function_response]
        said = [Part(text=str([each.response for each in answers]))]
        mails = [Part.from_function_call(name="send_mail", args={"to": name}) for name in ("ann", "eve")]
        yield LlmResponse(content=Content(role="model", parts=said if answers else mails))


async def main() -> None:
    agent = LlmAgent(
        name="helper",
        model=Script(model="script"),
        tools=[send_mail],
        before_tool_callback=before,
        after_tool_callback=after,
        on_tool_error_callback=failed,
    )
    runner = InMemoryRunner(agent, app_name="mail")
    session = await runner.session_service.create_session(app_name="mail", user_id="u1")
    prompt = Content(role="user", parts=[Part(text="Mail Ann and Eve.")])
    async for event in runner.run_async(user_id="u1", session_id=session.id, new_message=prompt):
        if event.is_final_response() and event.content and event.content.parts:
            print(event.content.parts[0].text)


if __name__ == "__main__":
    asyncio.run(main())
