"""Compute how Codex CLI records trust in a hook: a digest of its definition in config.toml.

Measured with Codex CLI 0.169.0: a hook of the user or a project runs only if `[hooks.state."FILE:EVENT:GROUP:HANDLER"]`
in the user's config.toml has its digest as `trusted_hash`; all others are silently skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256

from hookrun.agents.codex import DEFAULT_TIMEOUTS

# The file in Codex's directory with its trust in all hooks, the user's and projects'.
CONFIG = "config.toml"

DIGEST = "trusted_hash"
ENABLED = "enabled"

REMEDY = "use /hooks in Codex"


def hook_table(path: str, event: str, group: int, handler: int) -> tuple[str, ...]:
    """Return the key of the table with the trust in one hook of the file at `path`."""
    return ("hooks", "state", f"{path}:{_snake(event)}:{group}:{handler}")


def project_trust(project: str) -> tuple[tuple[str, ...], str]:
    """Return the key of the trust in a project, without which its hooks are skipped, and the value that grants it."""
    return ("projects", project, "trust_level"), "trusted"


def definition_digest(event: str, group: object, handler: Mapping[str, object]) -> str:
    """Return Codex's digest of a hook: of its definition, not of its file or script."""
    seconds = DEFAULT_TIMEOUTS.get(event, DEFAULT_TIMEOUTS[""])
    definition: dict[str, object] = {
        "async": handler.get("async", False),
        "command": handler.get("command"),
        "timeout": handler.get("timeout", int(seconds)),
        "type": handler.get("type"),
    }
    if "statusMessage" in handler:
        definition["statusMessage"] = handler["statusMessage"]
    data: dict[str, object] = {"event_name": _snake(event), "hooks": [definition]}
    if isinstance(group, dict) and "matcher" in group:
        data["matcher"] = group["matcher"]
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + sha256(text.encode()).hexdigest()


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
