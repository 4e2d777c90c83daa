"""A whole little agent with hooks: a loop, three tools, a model. Run it: python own_loop.py

The model is a list here, so that it runs anywhere: replace `ask_model` with a call to a real one. It gets the messages,
and answers with a text, or with a tool and its arguments.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from hookrun import Engine, Verdict
from hookrun.events import PostToolUse, PreToolUse, Stop, UserPromptSubmit
from hookrun.integrations.tool_loop import ToolFailed, run_tool

engine = Engine()
MOST_BLOCKS = 8
Messages = list[dict[str, str]]


# The hooks: what must hold, whatever the model wants.
@engine.on("user_prompt_submit")
def no_keys_in_prompts(ctx: UserPromptSubmit) -> Verdict | None:
    return Verdict.block("Take the key out of your message first.") if "sk-" in ctx.user_prompt else None


@engine.on("pre_tool_use", matcher="bash", priority=10)
def no_sudo(ctx: PreToolUse) -> Verdict | None:
    return Verdict.block("No sudo: what needs it, the user does.") if "sudo" in ctx.tool_args["command"] else None


@engine.on("pre_tool_use", matcher="bash", priority=20, when={"tool_args.command": "python3 *"})
def warnings_are_errors(ctx: PreToolUse) -> Verdict:
    return Verdict.patch({"command": ctx.tool_args["command"].replace("python3", "python3 -W error", 1)})


@engine.on("post_tool_use", matcher="write")
def remind_of_tests(ctx: PostToolUse) -> Verdict | None:
    ctx.state["written"] = True
    return Verdict.with_context(f"{ctx.file_path} has changed: run the tests before you are done.")


@engine.on("post_tool_use", matcher="bash")
def tests_ran(ctx: PostToolUse) -> None:
    ctx.state["written"] = ctx.state.get("written") and "check.py" not in ctx.tool_args["command"]


@engine.on("stop")
def not_without_tests(ctx: Stop) -> Verdict | None:
    return Verdict.block("Files have changed since the tests ran: run them.") if ctx.state.get("written") else None


# The tools: plain functions.
async def bash(command: str) -> str:
    shell = await asyncio.create_subprocess_shell(f"({command}) 2>&1", stdout=asyncio.subprocess.PIPE)
    output, _ = await shell.communicate()
    if shell.returncode:
        raise ToolFailed(f"exit status {shell.returncode}\n{output.decode()}")
    return output.decode()


def read(file_path: str) -> str:
    return Path(file_path).read_text(encoding="utf-8")


def write(file_path: str, content: str) -> str:
    return f"{Path(file_path).write_text(content, encoding='utf-8')} characters written"


TOOLS: dict[str, Callable[..., object]] = {"bash": bash, "read": read, "write": write}


@dataclass
class Turn:
    """The model's answer: a tool to call, or a text that ends its turn."""

    text: str = ""
    tool: str = ""
    args: dict[str, object] = field(default_factory=dict[str, object])


# The loop.
async def run_agent(prompt: str, ask_model: Callable[[Messages], Awaitable[Turn]]) -> Messages:
    state: dict[str, object] = {}  # every hook gets the same, as ctx.state
    session = "s1"
    start = await engine.fire("session_start", session_id=session, state=state, source="startup")
    asked = await engine.fire("user_prompt_submit", session_id=session, state=state, user_prompt=prompt)
    if not asked.go_on:  # the model never sees the prompt
        return [{"role": "assistant", "content": asked.message or "refused"}]
    messages = [{"role": "user", "content": prompt}]
    messages += [{"role": "user", "content": text} for each in (start, asked) if (text := each.additional_context)]
    blocks = 0
    while True:
        turn = await ask_model(messages)
        if turn.tool:
            messages.append({"role": "assistant", "content": f"{turn.tool} {turn.args}"})
            tool = TOOLS[turn.tool]
            outcome = await run_tool(engine, turn.tool, turn.args, tool, session_id=session, state=state)
            messages.append({"role": "tool", "content": outcome.content})
            if outcome.stop:
                return messages
            continue
        messages.append({"role": "assistant", "content": turn.text})
        end = Stop(session_id=session, assistant_response=turn.text, stop_hook_active=blocks > 0)
        ended = await engine.fire(end, state=state)
        if ended.action != "block" or blocks == MOST_BLOCKS:  # "not done yet", but not for ever
            return messages
        blocks += 1
        messages.append({"role": "user", "content": ended.message or "Go on."})


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/check.py"
        turns = iter([
            Turn(tool="bash", args={"command": f"sudo touch {folder}/owned"}),
            Turn(tool="write", args={"file_path": file, "content": "assert 1 + 1 == 2\n"}),
            Turn("Done."),
            Turn(tool="bash", args={"command": f"python3 {file}"}),
            Turn("Done, and tested."),
        ])  # fmt: skip

        async def ask_model(_: Messages) -> Turn:
            return next(turns)

        for message in await run_agent("Test that one and one is two.", ask_model):
            print(f"{message['role']:>9}: {message['content'].strip()}")
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main())
