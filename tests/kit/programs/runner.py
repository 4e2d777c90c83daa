"""Another hook runner, as the kit's README has it: `runner.py HOOKS` is run at each event."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

text = sys.stdin.read()
message = json.loads(text)
answers = []
for hook in json.loads(Path(sys.argv[1]).read_bytes())["hooks"]:
    if hook["event"] != message["hook_event_name"]:
        continue
    if "matcher" in hook and not re.fullmatch(hook["matcher"], message["tool_name"]):
        continue
    try:
        ran = subprocess.run(
            [hook["program"], *sys.argv[2:]],
            input=text,
            capture_output=True,
            text=True,
            timeout=hook["timeout"],
            check=False,
        )
        status = ran.returncode
    except subprocess.TimeoutExpired:
        status = 1
    if status == 2:
        print(ran.stderr, file=sys.stderr)
        sys.exit(2)
    if status and hook["on_failure"] == "block":
        print(hook["name"], "failed", file=sys.stderr)
        sys.exit(2)
    if not status and ran.stdout:
        answers.append(ran.stdout)
print("".join(answers), end="")
