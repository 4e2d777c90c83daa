"""FastAPI: calls that wait, and an endpoint that decides them. Run it: fastapi dev fastapi_approvals.py"""

from typing import Any

from fastapi import FastAPI

from hookrun import Engine, Verdict
from hookrun.events import PreToolUse
from hookrun.integrations.pending import PendingCalls
from hookrun.integrations.tool_loop import run_tool

app, engine, calls = FastAPI(), Engine(), PendingCalls()  # PendingCalls("some/directory") for several workers


@engine.on(PreToolUse, matcher="send_mail")
def ask_first(_: PreToolUse) -> Verdict:
    return Verdict("ask", "Mail leaves the house.")


def send_mail(to: str) -> str:
    return f"sent to {to}"


async def mail(to: str, decision: dict[str, Any] | None) -> dict[str, Any]:
    outcome = await run_tool(engine, "send_mail", {"to": to}, send_mail, pending=calls, decision=decision)
    return {"content": outcome.content, "pending": outcome.pending}


@app.post("/mail")
async def begin(to: str) -> dict[str, Any]:
    return await mail(to, None)


@app.post("/mail/decision")
async def decide(to: str, decision: dict[str, Any]) -> dict[str, Any]:
    return await mail(to, decision)
