# Runs `hookrun ARGUMENTS` with Claude Code's file of an administrator elsewhere.

from __future__ import annotations

import sys

from hookrun.agents import claude
from hookrun.cli import run

claude.INSTALL["managed_hooks"] = sys.argv[1]
sys.exit(run(sys.argv[2:]))
