"""Hookrun's plugins: their source, written for an agent, and the JSON that they obey.

A plugin obeys `refuse` (the reason for which nothing runs), `args` (all new arguments), `output` (instead of a tool's),
`prompt` (instead of the user's), `context` (text for the model), `person` (text for the user) and `go_on` (the next
instruction: the session continues).
"""

from __future__ import annotations

from hookrun.agents.formats import STOP_EVENTS, parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrun.agents.base import Message
    from hookrun.agents.formats import Json, Reply
    from hookrun.agents.types import PluginParts

# The constants in the source that hold the installation, and the template's values.
CONSTANTS = {"COMMAND": "[]", "EVENTS": "[]", "PATIENCE": "65000"}


class Plugin:
    """An agent's plugin: `plugin_head.js`, then what is specific to the agent, in the file `tail`.

    `gate` is the agent's name of the event before a tool; `earlier` are SHA-256 digests of earlier templates, with
    which a plugin is hookrun's, too.
    """

    def __init__(self, agent: str, tail: str, gate: str, earlier: frozenset[str] = frozenset()) -> None:
        self._agent = agent
        self._tail = tail
        self._gate = gate
        self._earlier = earlier

    def source(self, command: Sequence[str], events: Iterable[str]) -> str:
        """Return the JavaScript source that calls hookrun for these events (the agent's names).

        `command` is the launcher, or the program (an absolute path) and its arguments without the event;
        for a project the shell and a line, which runs in its root and gets the event as `$0`.
        """
        import json

        text = self._template().replace("const COMMAND = []", f"const COMMAND = {json.dumps(list(command))}", 1)
        return text.replace("const EVENTS = new Set([])", f"const EVENTS = new Set({json.dumps(sorted(events))})", 1)

    def _template(self) -> str:
        import os

        text = ""
        for name in ("plugin_head.js", self._tail):
            with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
                text += file.read()
        return text.replace("AGENT_GATE", self._gate).replace("AGENT", self._agent)

    def parse(self, text: str) -> PluginParts | None:
        """Return the constants in a plugin's source, or None if they are missing."""
        import hashlib
        import json
        import re

        values = {}
        for name, empty in CONSTANTS.items():
            match = re.search(rf"^const {name} = (?:new Set\()?(.+?)\)? //", text, re.MULTILINE)
            if match is None:
                return None
            try:
                values[name] = json.loads(match.group(1))
            except ValueError:
                return None
            text = text[: match.start(1)] + empty + text[match.end(1) :]
        command, events, patience = values.values()
        words = [*command, *events] if isinstance(command, list) and isinstance(events, list) else [None]
        if not all(isinstance(word, str) for word in words) or not isinstance(patience, (int, float)):
            return None
        unchanged = hashlib.sha256(text.encode()).hexdigest() in self._earlier or text == self._template()
        return {"command": command, "events": events, "seconds": patience / 1000, "unchanged": unchanged}


def answer(reply: Reply, message: Message) -> Json:
    """Render a reply as the plugins obey it; a block at the end of a turn makes the agent go on."""
    refusal = "go_on" if message.event in STOP_EVENTS else "refuse"
    refused: Json = {refusal: reply.reason} if reply.action == "block" else {}
    return {
        **refused,
        **parts(reply, args="args", output="output", prompt="prompt", context="context", user_message="person"),
    }
