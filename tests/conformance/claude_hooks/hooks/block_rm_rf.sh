#!/bin/bash
# PreToolUse on Bash: exit 2 blocks the call, and Claude is told what is on stderr.
COMMAND=$(jq -r '.tool_input.command // empty')

if echo "$COMMAND" | grep -qE '(^|[;&|[:space:]])rm[[:space:]]+-([a-zA-Z]*r[a-zA-Z]*f|[a-zA-Z]*f[a-zA-Z]*r)'; then
  echo "BLOCKED: rm -rf is not allowed here, name the files instead" >&2
  exit 2
fi

exit 0
