"""Kilo, a fork of OpenCode: hookrun's plugin for OpenCode, in Kilo's own directories.

Source: what Kilo 7.7.9 passed to plugins in each directory, with a scripted model. It does not read OpenCode's.
"""

from __future__ import annotations

from hookrun.agents import opencode, plugin
from hookrun.agents.base import Message, NameMap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.types import InstallSpec

NAME = "kilo"
DISPLAY_NAME = "Kilo"
EVENTS, SYNTHESIZED_FROM = opencode.EVENTS, opencode.SYNTHESIZED_FROM
TOOLS = {**opencode.TOOLS, "background_process": "bash"}
NAMES = NameMap(TOOLS, opencode.ARGUMENTS)
PROJECT_ENV_VARS = opencode.PROJECT_ENV_VARS
ENV_MARKERS = ("KILO", "KILO_PID")
DEFAULT_TIMEOUTS, MAX_TIMEOUTS = opencode.DEFAULT_TIMEOUTS, opencode.MAX_TIMEOUTS
NOTES = tuple(note.replace("opencode", "kilo") for note in opencode.NOTES)
RESPONSE_FORMATS = opencode.RESPONSE_FORMATS


def read(payload: dict[str, object], event: str) -> Message:
    """Return a message of the plugin. Raises UnreadableMessageError if it is not hookrun's plugin."""
    return opencode.read(payload, event, NAME, NAMES)


SERVERS = (("{home}/.config/kilo/kilo.json", "mcp"), ("{project}/kilo.json", "mcp"))
INSTALL: InstallSpec = {
    **opencode.INSTALL,
    "program": "kilo",
    "processes": ("/@kilocode/",),
    "directory": ".config/kilo",
    "project": ".kilo/plugin/hookrun.js",
    "plugin": plugin.Plugin(NAME, "opencode_plugin.js", "tool.execute.before"),
    "mcp": {**opencode.INSTALL["mcp"], "servers": SERVERS},
    "shell_lines": dict.fromkeys((".kilo/command*/**/*.md", "kilo.json*", ".kilo/*.json*"), r"!`([^`]+)`"),
    "elsewhere": ("{directory}/plugins/hookrun.js", ".kilo/plugins/hookrun.js", ".kilocode/plugin/hookrun.js"),
}
