import sys
from pathlib import Path

from hookrun import Engine

engine = Engine.load(sys.argv[1], home=sys.argv[2])
engine.fire_sync("pre_tool_use", session_id="s", tool_name="bash", tool_args={})
Path(sys.argv[1], "begun").read_bytes()  # a pipe: until the hook has begun
