#!/usr/bin/env python3
"""PreToolUse on file tools: only users change .env files."""

import json
import sys
from pathlib import Path

input_data = json.load(sys.stdin)
file_path = input_data.get("tool_input", {}).get("file_path", "")

if Path(file_path).name.startswith(".env"):
    print(
        json.dumps(
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": f"{Path(file_path).name} holds secrets: ask the user to change it",
                }
            }
        )
    )

sys.exit(0)
