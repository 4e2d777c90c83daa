#!/bin/bash
# SessionStart: give Claude the project's notes.
notes="$CLAUDE_PROJECT_DIR/NOTES.md"
if [ ! -f "$notes" ]; then
  exit 0
fi

source=$(jq -r '.source')
jq -n --arg context "Notes of this project (at $source): $(cat "$notes")" \
  '{hookSpecificOutput: {hookEventName: "SessionStart", additionalContext: $context}}'
