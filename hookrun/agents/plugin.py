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

# SHA-256 of all agents' earlier templates: such a plugin is hookrun's, too.
EARLIER_TEMPLATES = frozenset(
    {
        "9a6bc62ad1028cdbab471d47c99303c2a09d42704a68791db0e533f83f5be2db",
        "b2448778fe1a7cc32d8e7fc489b13cc96e8a864f31cbd87df5ff45306e600ed8",
        "e67797573a093a8abf26c3325ea001216a9511ebff672be371d4dc6c4d5d6015",
        "3f8fb77f57eda9618106d598de4ff9fbc04deb89b3cfc9aca509e98c7eda505b",
        "ebe4eb5fd56870292508a95d096959405e6a5db674697950f3d869dc04c31efa",
        "065f6cd77a5c25c243cf475d5e96f710d097da025e8f2112a979963a19f1c938",
        "01e91c5fcd5cbb4a24d8bf25af7e7e59c2c444c67668607ba60741a2f4974b46",
        "3e72412e760281b73a1f64a7fc6e2675dfda488dd3f821c2fcbff20e4f356c0a",
        "2f8e1ea3988560288023175e68d56186ee228421e53e64a3e419a889decb26a6",
        "dc333b86ca3ecd714a77f78df098bcb818821d34abd027e06ca448e6c25c0c72",
        "e9505c474211b14a4b38bec4bae30d852b889267bd91122eedb100bbe5ac238b",
        "8da4d6dff240a9764e573ec3040495f7c961cea312a400a5392498b4b94dd2ff",
        "149ac0d8fd147d59d61a665aa1bcf8ab63e1f3af76a20edd92c2707dccb7cf13",
        "8eb1814b51e7b74041af3d031d0d7d3b7fa1adbf15a1c4bba71674d23d3a7955",
        "80c5be397bb70cc81d64bd8a92c9a654d2d936a40dc8ebc9c63efa8f0b405804",
        "4f358f6e47359a270c1334508e8e82d370837bef0cb1dc9e2e928d9c0dbfdfad",
        "04cc5e7e9b3da3376fd71758db828e398bdd1e1163e63ba29c7951e8d1a149ba",
        "5551b1d75edcd0e0f93c8b50fbdf9931ebcc4006661d616b66a605c7432c560f",
    }
)


class Plugin:
    """An agent's plugin: `plugin_head.js`, then what is specific to the agent, in the file `tail`.

    `gate` is the agent's name of the event before a tool.
    """

    def __init__(self, agent: str, tail: str, gate: str) -> None:
        self._agent = agent
        self._tail = tail
        self._gate = gate

    def source(self, command: Sequence[str], events: Iterable[str]) -> str:
        """Return the JavaScript source that calls hookrun for these events (the agent's names).

        `command` is the launcher, or the program (an absolute path) and its arguments without the event;
        for a project the shell and a line, which runs in its root and gets the event as `$0`.
        """
        import json

        text = self._template().replace("const COMMAND = []", f"const COMMAND = {json.dumps(list(command))}", 1)
        return text.replace("const EVENTS = new Set([])", f"const EVENTS = new Set({json.dumps(sorted(events))})", 1)

    def _template(self) -> str:
        from pathlib import Path

        text = "".join(Path(__file__).with_name(name).read_text("utf-8") for name in ("plugin_head.js", self._tail))
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
        unchanged = hashlib.sha256(text.encode()).hexdigest() in EARLIER_TEMPLATES or text == self._template()
        return {"command": command, "events": events, "seconds": patience / 1000, "unchanged": unchanged}


def answer(reply: Reply, message: Message) -> Json:
    """Render a reply as the plugins obey it; a block at the end of a turn makes the agent go on."""
    refusal = "go_on" if message.event in STOP_EVENTS else "refuse"
    refused: Json = {refusal: reply.reason} if reply.action == "block" else {}
    return {
        **refused,
        **parts(reply, args="args", output="output", prompt="prompt", context="context", user_message="person"),
    }
