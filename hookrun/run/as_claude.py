"""Where Claude Code runs its hooks, and with what in their environment and arguments: for hooks in its dialect."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.model import Hook

PROJECT, PLUGIN = "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"
LAST_RESORT = "/tmp"  # noqa: S108  # a working directory, where even the home directory is gone; nothing is put there


def variables(hook: Hook, project: str) -> dict[bytes, bytes]:
    """Return what a hook in Claude's dialect has in its environment besides what every hook has."""
    own = {PROJECT.encode(): os.fsencode(project)}
    plugin = hook.claude.get("plugin_root") if hook.claude is not None else None
    if isinstance(plugin, str):
        own[PLUGIN.encode()] = os.fsencode(plugin)
    return own


def arguments(words: list[str], environment: Mapping[bytes, bytes]) -> list[str]:
    """Return the words of `args` with `${CLAUDE_PROJECT_DIR}` and `${CLAUDE_PLUGIN_ROOT}` filled in, as plain text."""
    for name in (PROJECT, PLUGIN):
        value = environment.get(name.encode())
        if value is not None:
            words = [word.replace(f"${{{name}}}", os.fsdecode(value)) for word in words]
    return words


def directory(path: str, project: str, environment: Mapping[bytes, bytes]) -> str:
    """Return a working directory that is there: where the agent is, else the project, else home, else LAST_RESORT."""
    home = os.fsdecode(environment.get(b"HOME", b""))
    return next((each for each in (path, project, home) if os.path.isdir(each)), LAST_RESORT)
