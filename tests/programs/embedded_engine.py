"""Print the modules that are loaded after importing an engine, and after using it."""

import sys

from hookrun import Engine

print(*sys.modules)
with Engine() as engine:
    engine.register("stop", lambda _ctx: None)
    assert engine.fire_sync("stop").runs
print(*sys.modules)
