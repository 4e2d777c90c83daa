"""A program on session_buddy's hooks as documented: only the module that it imports is given to it."""

import asyncio
import sys
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

hooks = import_module(sys.argv[1])
Hook, HookContext, HookResult, HookType = hooks.Hook, hooks.HookContext, hooks.HookResult, hooks.HookType


async def my_handler(ctx: Any) -> Any:
    seen = sorted(ctx.metadata)
    return HookResult(success=True, modified_context={"auto_format": f"{ctx.file_path} after {seen}"})


async def first(ctx: Any) -> Any:
    return HookResult(success=True, modified_context={"first": ctx.hook_type.value})


async def broken(_ctx: Any) -> Any:
    raise ValueError("no disk")


async def complains(_ctx: Any) -> Any:
    return HookResult(success=False, error="too large")


async def told(error: Any) -> None:
    print("told", type(error).__name__, error)


async def main() -> None:
    manager = hooks.HooksManager()
    event = HookType.POST_FILE_EDIT
    print(await manager.execute_hooks(event, HookContext(event, "s1", datetime.now(UTC))), manager.list_hooks())
    await manager.register_hook(Hook(name="broken", hook_type=event, priority=300, handler=broken, error_handler=told))
    await manager.register_hook(Hook(name="auto_format", hook_type=event, priority=100, handler=my_handler))
    await manager.register_hook(Hook(name="first", hook_type=event, priority=10, handler=first, metadata={"by": "me"}))
    await manager.register_hook(Hook(name="complains", hook_type=event, priority=400, handler=complains))
    await manager.register_hook(Hook(name="off", hook_type=event, priority=200, handler=broken, enabled=False))
    await manager.register_hook(Hook(name="first", hook_type=HookType.SESSION_END, priority=1, handler=broken))
    context = HookContext(hook_type=event, session_id="s1", timestamp=datetime.now(UTC), file_path="/a.py")
    for result in await manager.execute_hooks(event, context):
        print(result.success, result.modified_context, result.error, result.execution_time_ms >= 0)
    print(context.metadata)
    print(manager.list_hooks(event)[event])
    await manager.register_hook(Hook(name="broken", hook_type=event, priority=300, handler=complains))
    print([result.error for result in await manager.execute_hooks(event, context)])
    print({each.value: [hook["name"] for hook in listed] for each, listed in manager.list_hooks().items()})


asyncio.run(main())
