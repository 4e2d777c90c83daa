#!/usr/bin/env python3
"""PreToolUse on Bash: this project uses pnpm, so npm commands are rewritten."""

import json
import re
import sys

data = json.load(sys.stdin)
tool_input = data["tool_input"]
command = tool_input["command"]
rewritten = re.sub(r"\bnpm (install|ci|run|test)\b", r"pnpm \1", command)
if rewritten != command:
    output = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "npm -> pnpm",
        "updatedInput": {**tool_input, "command": rewritten},
    }
    print(json.dumps({"hookSpecificOutput": output}))
