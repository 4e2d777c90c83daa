#!/usr/bin/env -S uv run --script
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""PostToolUse on Edit and Write: report a JSON file that does not parse to Claude."""

import json
import sys
from pathlib import Path


def main() -> int:
    """Exit 2: the tool has run, Claude gets stderr."""
    hook_input = json.load(sys.stdin)
    path = Path(hook_input["tool_input"]["file_path"])
    if path.suffix != ".json" or hook_input["tool_name"] not in ("Edit", "Write"):
        return 0
    try:
        json.loads(path.read_text())
    except json.JSONDecodeError as error:
        print(f"{path.name} is not valid JSON: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
