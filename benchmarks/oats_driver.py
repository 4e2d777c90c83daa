"""Fire one event with the hook engine of oats-coder, as its documentation uses it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from oats.hook.engine import HookContext, HookEngine, HookEvent  # type: ignore[import-not-found, unused-ignore]

event, ctx, config = sys.argv[1:]
context = HookContext(**json.loads(Path(ctx).read_text()) | {"event": HookEvent(event)})
engine = HookEngine(json.loads(Path(config).read_text())["hooks"])
result = asyncio.run(engine.fire(context.event, context))
print(json.dumps({"action": result.action, "message": result.message}))
