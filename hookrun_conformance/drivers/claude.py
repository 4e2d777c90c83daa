"""Claude Code, headless."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hookrun_conformance.driver import change, groups
from hookrun_conformance.model import Json, Turn, use


class Claude:
    """`claude -p`, with the Messages API."""

    name = "claude"
    before_a_tool = "PreToolUse"
    lacks: tuple[str, ...] = ("block a terminal",)

    def environment(self, url: str) -> Mapping[str, str]:
        """Lead it to the model, and keep it from everybody else."""
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def settle(self, home: Path, url: str) -> None:
        """Nothing is needed."""

    def arguments(self, prompt: str) -> list[str]:
        """One prompt, and all that a terminal would show as JSON: plain text leaves things out."""
        return ["-p", prompt, "--output-format", "stream-json", "--verbose"]

    def allowing(self) -> list[str]:
        """Five tools, and the server's."""
        return ["--allowedTools", "Bash,Edit,Monitor,Read,Write,mcp__my_files__make_it"]

    def shell(self, command: str) -> Turn:
        """Ask for Bash."""
        return use("Bash", command=command)

    def write(self, path: Path, content: str) -> tuple[Turn, ...]:
        """Ask for Write."""
        return (use("Write", file_path=str(path), content=content),)

    def edit(self, path: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Ask for Edit, after Read."""
        return (
            use("Read", file_path=str(path)),
            use("Edit", file_path=str(path), old_string=old, new_string=new),
        )

    def wire(self, home: Path, commands: Mapping[str, str]) -> None:
        """Use the user's settings."""
        change(home / ".claude" / "settings.json", hooks=groups(commands))

    def serve(self, home: Path, server: list[str], arguments: Json) -> tuple[Turn, ...]:
        """Use the user's servers."""
        change(home / ".claude.json", mcpServers={"my_files": {"command": server[0], "args": server[1:]}})
        return (use("mcp__my_files__make_it", **arguments),)

    def subagent(self, prompt: str) -> Turn:
        """Ask for Agent."""
        return use("Agent", description="look", prompt=prompt, subagent_type="general-purpose")
