"""Give cc-safety-net rules that decide as the hooks do. Its own `install` fetches a plugin: `--fire` replaces it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

project = Path(sys.argv[2])
rules: list[dict[str, object]] = []
paths: list[str] = []
for hook in json.loads(Path(sys.argv[1]).read_bytes())["hooks"]:
    tools = hook.get("matcher", "").split("|")
    if hook.get("decision") != "deny" or hook["event"] != "PreToolUse":
        print(f"without {hook['name']}: its rules deny calls of tools, and do nothing else")
    elif "Bash" in tools:
        about = {"command": "echo", "block_args": [hook["contains"]]}
        rules.append({"name": hook["name"], **about, "reason": hook["reason"]})
    elif "Write" in tools:
        paths.append(str(project / hook["contains"].strip("/")))
    elif "contains" in hook:  # the hook that never matches has nothing to measure
        print(f"without {hook['name']}: its rules are about shell commands and files")
home = Path.home() / ".cc-safety-net"
book = {"rulebook_version": 1, "name": "conformance", "version": "1", "allowed_commands": ["echo"], "rules": rules}
files = {
    "policy.json": {"version": 1, "secret_protection": {"deny_paths": paths}},
    "rules/rule.json": {"version": 1, "rules": ["conformance"]},
    "rules/conformance/rulebook.json": book,
}
for name, content in files.items():
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(json.dumps(content, indent=2))
subprocess.run(["cc-safety-net", "rule", "verify", "--global"], check=True, stdout=sys.stderr)
