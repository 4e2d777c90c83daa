"""A small program on the hook engine of oats-coder, as its documentation uses it; argv[1] says whose engine."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module

module = import_module(sys.argv[1])

CONTEXT = "import json,sys; c = json.load(sys.stdin); "
HOOKS = [
    {"event": "pre_tool_use", "matcher": "bash", "command": 'cat >/dev/null; echo \'{"action": "continue"}\''},
    {
        "event": "pre_tool_use",
        "matcher": "write_*",
        "command": 'cat >/dev/null; echo \'{"action": "block", "message": "read only"}\'',
        "timeout": 5,
    },
    {
        "event": "pre_tool_use",
        "matcher": "fetch",
        "command": "python3 -c '"
        + CONTEXT
        + 'print(json.dumps({"action": "modify", "modified_args": {"url": c["tool_args"]["url"].upper()}}))\'',
    },
    {"event": "post_tool_use", "command": "cat >/dev/null; exit 1"},
    {"event": "session_start", "command": "cat >/dev/null; echo not JSON"},
    {"event": "file_changed", "command": "cat >/dev/null; sleep 30", "timeout": 0.2},
    {
        "event": "assistant_response",
        "matcher": None,
        "command": 'cat >/dev/null; echo \'{"action": "block", "message": "said"}\'',
        "timeout": None,
    },
    {"event": "user_prompt_submit", "matcher": "bash", "command": 'echo \'{"action": "block"}\''},
]
FIRES: list[tuple[str, dict[str, object]]] = [
    ("pre_tool_use", {"tool_name": "bash", "tool_args": {"command": "ls"}}),
    ("pre_tool_use", {"tool_name": "write_file", "tool_args": {"path": "a"}}),
    ("pre_tool_use", {"tool_name": "fetch", "tool_args": {"url": "http://a/b"}}),
    ("pre_tool_use", {"tool_name": "read"}),
    ("post_tool_use", {"tool_name": "bash", "tool_result_output": "x"}),
    ("session_start", {}),
    ("file_changed", {"file_path": "/a/b"}),
    ("user_prompt_submit", {"user_prompt": "hello"}),
    ("assistant_response", {"assistant_response": "hi"}),
]


async def main() -> None:
    """Fire everything once, and print each result."""
    engine = module.HookEngine(HOOKS)
    for name, fields in FIRES:
        event = module.HookEvent(name)
        context = module.HookContext(session_id="s1", event=event, **fields)
        result = await engine.fire(event, context)
        print(json.dumps([event.value, result.action, result.modified_args, result.message]))
    print(json.dumps(context.to_dict()))
    print(json.dumps([module.HookResult.continue_result().action, module.HookResult.block_result("no").message]))
    print(json.dumps(module.HookResult.from_dict({"action": "modify", "modified_args": {"a": 1}}).modified_args))


asyncio.run(main())
