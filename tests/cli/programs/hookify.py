import os
import sys

sys.path.insert(0, os.environ.get("CLAUDE_PLUGIN_ROOT", "/nowhere") + "/core")
try:
    import rules
except ImportError:
    sys.exit(0)
print(rules.REASON, file=sys.stderr)
sys.exit(2)
