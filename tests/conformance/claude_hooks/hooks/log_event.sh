#!/bin/bash
# Notification and SessionEnd: a log beside the settings.
mkdir -p "$CLAUDE_PROJECT_DIR/.claude/logs"
jq -c '{event: .hook_event_name, session: .session_id, about: (.message // .reason)}' \
  >> "$CLAUDE_PROJECT_DIR/.claude/logs/events.jsonl"
