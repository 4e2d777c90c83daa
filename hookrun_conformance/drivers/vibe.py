"""Mistral Vibe, headless."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hookrun_conformance.driver import put
from hookrun_conformance.model import Json, Turn, use

_CONFIG = """\
active_model = "scripted"
enable_telemetry = false
enable_update_checks = false

[[providers]]
name = "scripted"
api_base = "{url}/v1"
api_key_env_var = ""

[[models]]
name = "scripted"
provider = "scripted"
alias = "scripted"
"""

_SERVER = """

[[mcp_servers]]
name = "my_files"
transport = "stdio"
command = {command}
args = {args}
"""

_HOOK = """\
[[hooks]]
name = {event!r}
type = {event!r}
command = '''{command}'''
"""


class Vibe:
    """`vibe -p`, with chat completions."""

    name = "vibe"
    before_a_tool = "pre_tool"
    lacks: tuple[str, ...] = ("block a terminal",)

    def environment(self, url: str) -> Mapping[str, str]:
        """It is kept from everybody but the model by its settings."""
        return {}

    def settle(self, home: Path, url: str) -> None:
        """Name the model's address."""
        put(home / ".vibe" / "config.toml", _CONFIG.format(url=url))

    def arguments(self, prompt: str) -> list[str]:
        """One prompt in a trusted folder, where a project's hooks run, too."""
        return ["--trust", "-p", prompt]

    def allowing(self) -> list[str]:
        """Every tool."""
        return ["--auto-approve"]

    def shell(self, command: str) -> Turn:
        """Ask for bash."""
        return use("bash", command=command)

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Ask for write_file."""
        return (use("write_file", path=str(path), content=content),)

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Ask for edit, after a look at the file."""
        return (
            use("read_file", path=str(path)),
            use("edit", file_path=str(path), old_string=old, new_string=new),
        )

    def serve(self, home: Path, server: list[str], arguments: Json) -> tuple[Turn, ...]:
        """Use the user's settings; its model calls a server's tools in a script and in no other way."""
        with (home / ".vibe" / "config.toml").open("a") as config:
            config.write(_SERVER.format(command=json.dumps(server[0]), args=json.dumps(server[1:])))
        return (_scripted("tools.mcp_my_files.make_it", arguments),)

    def subagent(self, prompt: str) -> Turn:
        """Ask for a script that spawns one."""
        return _scripted("tools.agents.spawn", {"name": "looker", "message": prompt})

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Write hooks that run the commands."""
        text = "\n".join(_HOOK.format(event=event, command=command) for event, command in commands.items())
        put(home / ".vibe" / "hooks.toml", text)


def _scripted(function: str, arguments: Json) -> Turn:
    """Return the turn that runs a script with one call."""
    return use("run_typescript", code=f"async function main() {{ return await {function}({json.dumps(arguments)}) }}")
