import os
import sys
from importlib import import_module

sys.path.insert(0, os.environ.get("CLAUDE_PLUGIN_ROOT", "/nowhere") + "/core")
try:
    rules = import_module("rules")
except ImportError:
    sys.exit(0)
print(rules.REASON, file=sys.stderr)
sys.exit(2)
