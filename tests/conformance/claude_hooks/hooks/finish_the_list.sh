#!/bin/bash
# Stop: not before TODO.md is done; but only once, or Claude would never end.
INPUT=$(cat)

if [ "$(echo "$INPUT" | jq -r '.stop_hook_active')" = "true" ]; then
  exit 0
fi

if grep -q '^- \[ \]' "$CLAUDE_PROJECT_DIR/TODO.md" 2>/dev/null; then
  echo '{"decision": "block", "reason": "TODO.md has open items: work on the next one."}'
fi
