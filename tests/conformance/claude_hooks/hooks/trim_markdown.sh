#!/usr/bin/env bash
# PostToolUse on Edit and Write: format what was written, here without trailing blanks.
set -euo pipefail

file=$(jq -r '.tool_input.file_path')
[[ "$file" == *.md ]] || exit 0
[[ -f "$file" ]] || exit 0

formatted=$(mktemp)
sed -e 's/[[:space:]]*$//' "$file" > "$formatted"
mv "$formatted" "$file"
echo "formatted $file"
