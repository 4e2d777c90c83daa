"""Connect rulesync to Claude Code: the hooks in its form, then `rulesync generate`. The agent itself runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

EVENTS = {
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "SessionStart": "sessionStart",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "Stop": "stop",
}
"""Its names."""

written: dict[str, list[dict[str, object]]] = {}
for hook in json.loads(Path(sys.argv[1]).read_bytes())["hooks"]:
    if hook["on_failure"] == "block":
        print(f"without {hook['name']}: it passes failClosed on to other agents only")
        continue
    entry = {"type": "command", "command": hook["program"], "timeout": hook["timeout"]}
    if "matcher" in hook:
        entry["matcher"] = hook["matcher"]
    written.setdefault(EVENTS[hook["event"]], []).append(entry)
source = Path.home() / ".rulesync" / "hooks.json"
source.parent.mkdir()
source.write_text(json.dumps({"version": 1, "hooks": written}, indent=2))
generate = ["rulesync", "generate", "--targets", "claudecode", "--features", "hooks", "--global"]
subprocess.run(generate, cwd=Path.home(), check=True, stdout=sys.stderr)
