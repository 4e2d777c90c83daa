"""The short examples for frameworks in `examples/library/`, run as a user runs them, with scripted models."""

from __future__ import annotations

import asyncio
import importlib.util
import runpy
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hookrun import Verdict
from hookrun.observe import CostTracker, ObserverDatabase
from tests.integrations.conftest import EXAMPLES
from tests.rows import rows


def needs(package: str) -> None:
    """Skip a test without this package."""
    if importlib.util.find_spec(package.partition(".")[0]) is None or importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def printed(example: str) -> list[str]:
    """Run an example as a program; return the lines that it prints."""
    done = subprocess.run([sys.executable, EXAMPLES / example], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "package", "lines"),
    [
        ("hooked_loop.py", "hookrun", ["sent to ann@example.com", "Mail to others is not sent."]),
        (
            "langgraph_approvals.py",
            "langgraph",
            [
                "send_mail {'to': 'ann'} Mail leaves the house.",
                "human: Mail Ann.",
                "ai: ",
                "tool: sent to ann",
                "ai: Done.",
            ],
        ),
        ("openai_agent.py", "agents", ["[('send_mail', {'to': 'ann'}, 'Mail leaves the house.')]", "Done."]),
        ("pydantic_ai_agent.py", "pydantic_ai", ["sent to outbox; Eve gets no mail."]),
        ("adk_agent.py", "google.adk", ["[{'result': 'sent to outbox'}, {'error': 'Eve gets no mail.'}]"]),
    ],
)
def test_an_example_prints_what_its_hooks_did(example: str, package: str, lines: list[str]) -> None:
    """Blocked, changed, approved: as the framework hands it to the model."""
    needs(package)
    assert printed(example) == lines


def test_the_halves_of_the_adk_example_take_every_change(capsys: pytest.CaptureFixture[str]) -> None:
    """What a hook leaves out of the arguments is gone, and what replaces a result is all that the model gets."""
    needs("google.adk")
    example: Any = runpy.run_path(str(EXAMPLES / "adk_agent.py"))
    example["engine"].register("pre_tool_use", lambda _: Verdict.modify({"to": "ann"}), matcher="copy")
    example["engine"].register("post_tool_use", lambda _: Verdict.replace_output("[hidden]"))
    asyncio.run(example["main"]())
    assert capsys.readouterr().out == "[{'result': '[hidden]'}, {'error': 'Eve gets no mail.'}]\n"
    args, context = {"to": "ann", "cc": "eve"}, SimpleNamespace(session=SimpleNamespace(id="s1"), function_call_id="1")
    asyncio.run(example["before"](SimpleNamespace(name="copy"), args, context))
    assert args == {"to": "ann"}


def test_the_endpoints_of_the_fastapi_example() -> None:
    """A call waits, is approved once, and for no other recipient."""
    needs("fastapi")
    from fastapi.testclient import TestClient

    client: Any = TestClient(runpy.run_path(str(EXAMPLES / "fastapi_approvals.py"))["app"])
    pending = client.post("/mail", params={"to": "ann"}).json()["pending"]
    assert (pending["tool"], pending["arguments"]) == ("send_mail", {"to": "ann"})
    decision = {"id": pending["id"], "action": "approve", "arguments": {}, "text": ""}

    def decided(to: str, given: dict[str, Any] = decision) -> str:
        return str(client.post("/mail/decision", params={"to": to}, json=given).json()["content"])

    assert decided("eve").startswith("needs the user's approval")
    assert decided("ann") == "sent to ann"
    assert decided("ann").startswith("needs the user's approval")
    assert (
        decided("ann", {"id": 1})
        == "needs the user's approval: no reason given (a decision has id, action, arguments, text)"
    )


def test_the_budget_of_the_claude_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With scripted messages of the SDK's own classes."""
    needs("claude_agent_sdk")
    from claude_agent_sdk import AssistantMessage, ResultMessage, SystemMessage, UserMessage

    async def messages(turns: int) -> AsyncIterator[Any]:
        yield SystemMessage("init", {"session_id": "s1"})
        for number in range(turns):
            usage = {"input_tokens": 1_000_000, "output_tokens": 0}
            yield AssistantMessage([], "claude-5", usage=usage, message_id=f"m{number}")
            yield UserMessage("a tool's result")
        yield ResultMessage("success", 1, 1, is_error=False, num_turns=1, session_id="s1", result="Done.")

    example: Any = runpy.run_path(str(EXAMPLES / "claude_sdk_budget.py"))
    asyncio.run(example["show"](messages(2)))
    example["engine"].use(
        CostTracker({"claude-*": {"input": 3, "output": 15}}, ObserverDatabase(tmp_path / "o.db"), 1.0)
    )
    asyncio.run(example["show"](messages(2)))
    assert capsys.readouterr().out.splitlines() == [
        "Done.",
        "the budget of $1.00 for this session is used up ($3.00)",
    ]


@rows("example", [path.name for path in sorted(EXAMPLES.glob("*.py"))])
def test_the_page_shows_every_short_example(example: str) -> None:
    """By inclusion, so that it shows what runs; the long ones are in the guide for Python."""
    page = (EXAMPLES.parents[1] / "docs" / "guides" / "frameworks.md").read_text(encoding="utf-8")
    long = {"own_loop.py", "claude_sdk_agent.py", "langchain_agent.py"}
    assert (f'--8<-- "examples/library/{example}"' in page) is (example not in long)
