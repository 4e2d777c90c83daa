import json
import os
import sys

for count, line in enumerate(sys.stdin, 1):
    asked = json.loads(line)
    text = f"{os.getpid()} {count} {asked['context'].get('say')} {asked['hook']}"
    print(f"line {count}", file=sys.stderr)
    print(json.dumps({"id": asked["id"], "verdict": {"action": "continue", "system_message": text}}), flush=True)
