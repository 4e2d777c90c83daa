"""Connect Belay (agentbelay) to Claude Code: a policy that decides as the hooks do, then its own `install`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ARGUMENTS = ("command", "file_path", "path", "prompt")
"""The arguments of the tools in the scenarios."""

rules = []
for hook in json.loads(Path(sys.argv[1]).read_bytes())["hooks"]:
    if hook["event"] != "PreToolUse":
        print(f"without {hook['name']}: a policy is about calls of tools, before they run")
    elif hook.get("decision") not in ("deny", "ask"):
        print(f"without {hook['name']}: a policy denies and asks; it runs no programs and changes no arguments")
    else:
        match: dict[str, object] = {"tool": hook["matcher"].split("|")}
        if "contains" in hook:
            match["any"] = [{"args": {name: {"contains": hook["contains"]}}} for name in ARGUMENTS]
        rules.append({"id": hook["name"], "action": hook["decision"], "message": hook["reason"], "match": match})
policy = Path.home() / "belay.yaml"
policy.write_text(json.dumps({"version": 1, "name": "conformance", "default": "allow", "rules": rules}, indent=2))
subprocess.run(["belay", "validate", "--policy", str(policy)], check=True, stdout=sys.stderr)
install = ["belay", "install", "claude-code", "--scope", "user", "--policy", str(policy)]
subprocess.run(install, check=True, stdout=sys.stderr)
