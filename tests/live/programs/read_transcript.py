"""A hook written for Claude Code that records the lines of the transcript it is given."""

import json
import sys

message = json.load(sys.stdin)
with open(message["transcript_path"]) as file:
    lines = [json.loads(line) for line in file]
seen = {"event": message["hook_event_name"], "path": message["transcript_path"], "lines": lines}
with open(sys.argv[1], "a") as out:
    out.write(json.dumps(seen) + "\n")
