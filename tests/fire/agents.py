"""Send events as an agent does: the recorded payload, and the effect of the answer on the agent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.conftest import Project

Json = dict[str, Any]
PROGRAMS = Path(__file__).with_name("programs")

AGENTS = ("claude", "codex", "gemini", "qwen", "copilot", "cline", "opencode", "kilo", "pi", "vibe", "grok")
SAYS = "cat >/dev/null; echo '{answer}'"


def says(**answer: object) -> str:
    """Return a shell line that answers with this verdict."""
    return SAYS.format(answer=json.dumps(answer))


NATIVE: dict[str, dict[str, str]] = {
    "claude": {"pre": "PreToolUse", "post": "PostToolUse", "prompt": "UserPromptSubmit", "stop": "Stop"},
    "codex": {"pre": "PreToolUse", "post": "PostToolUse", "prompt": "UserPromptSubmit", "stop": "Stop"},
    "grok": {"pre": "PreToolUse", "post": "PostToolUse", "prompt": "UserPromptSubmit", "stop": "Stop"},
    "gemini": {"pre": "BeforeTool", "post": "AfterTool", "prompt": "BeforeAgent", "stop": "AfterAgent"},
    "qwen": {"pre": "PreToolUse", "post": "PostToolUse", "prompt": "UserPromptSubmit", "stop": "Stop"},
    "copilot": {"pre": "PreToolUse", "post": "PostToolUse", "prompt": "UserPromptSubmit", "stop": "Stop"},
    "cline": {"pre": "PreToolUse", "post": "PostToolUse", "prompt": "UserPromptSubmit", "stop": "TaskComplete"},
    "opencode": {
        "pre": "tool.execute.before",
        "post": "tool.execute.after",
        "prompt": "chat.message",
        "stop": "session.idle",
    },
    "pi": {"pre": "tool_call", "post": "tool_result", "prompt": "input", "stop": "agent_before_settle"},
    "vibe": {"pre": "pre_tool", "post": "post_tool", "stop": "post_agent"},
}
NATIVE["kilo"] = NATIVE["opencode"]
PLUGINS = ("opencode", "kilo", "pi")
"""What each agent calls these events."""

SHELL = {
    "gemini": "run_shell_command",
    "qwen": "run_shell_command",
    "cline": "run_commands",
    **dict.fromkeys(PLUGINS, "bash"),
    "vibe": "file_system.bash",
    "grok": "run_terminal_command",
}
WRITES: dict[str, tuple[str, Json]] = {
    "claude": ("Write", {"file_path": "{path}", "content": "x"}),
    "codex": ("apply_patch", {"command": "*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"}),
    "gemini": ("write_file", {"file_path": "{path}", "content": "x"}),
    "qwen": ("write_file", {"file_path": "{path}", "content": "x"}),
    "copilot": ("Write", {"path": "{path}", "file_text": "x"}),
    "cline": ("editor", {"path": "{path}", "new_text": "x"}),
    **dict.fromkeys(("opencode", "kilo"), ("write", {"filePath": "{path}", "content": "x"})),
    "pi": ("write", {"path": "{path}", "content": "x"}),
    "vibe": ("file_system.write_file", {"file_path": "{path}", "content": "x"}),
    "grok": ("write", {"file_path": "{path}", "content": "x"}),
}
"""What each agent calls the tool that writes a file, and its arguments."""


def run(
    project: Project,
    command: list[str],
    *,
    stdin: object = b"{}",
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in the project with this on stdin, bytes unchanged."""
    return subprocess.run(
        command,
        input=stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode(),
        capture_output=True,
        cwd=cwd or project.root,
        env=project.environment(**(env or {})),
        check=False,
    )


def call(project: Project, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run `hookrun` with these arguments; the options are those of `run`."""
    return run(project, project.command(*arguments), **options)


class Agent:
    """An agent that runs hooks through the real command."""

    def __init__(self, name: str, project: Project) -> None:
        self.name = name
        self.project = project
        self.events = NATIVE[name]

    def shell(self, command: str = "ls", **more: object) -> Json:
        """Return the message before a shell command is run, with `more` arguments."""
        return self._message("pre", *self._shell_call(command, more))

    def call(self, tool: str, args: Json) -> Json:
        """Return the message before any tool is called."""
        return self._message("pre", tool, args)

    def ran(self, command: str = "ls", output: str = "out") -> Json:
        """Return the message after a shell command was run."""
        return self._message("post", *self._shell_call(command, {}), output)

    def _shell_call(self, command: str, more: Json) -> tuple[str, Json]:
        about: Json = {"commands": [command]} if self.name == "cline" else {"command": command}
        return SHELL.get(self.name, "Bash"), {**about, **more}

    def write(self, path: str, when: str = "pre", **more: object) -> Json:
        """Return the message before or after a file is written."""
        tool, args = WRITES[self.name]
        filled = json.loads(json.dumps(args).replace("{path}", path))
        return self._message(when, tool, {**filled, **more}, "written" if when == "post" else None)

    def prompt(self, text: str = "do it") -> Json:
        """Return the message about a prompt."""
        if self.name in ("opencode", "kilo"):
            output = {"parts": [{"type": "text", "text": text}]}
            return {"hook": "chat.message", **self._around(), "input": {"sessionID": "s1"}, "output": output}
        return {**self._about("prompt"), "prompt": text}

    def stop(self) -> Json:
        """Return the message about the end of a turn."""
        if self.name in ("opencode", "kilo"):
            event = {"type": "session.idle", "properties": {"sessionID": "s1"}}
            return {"hook": "event", "event": event, **self._around()}
        return self._about("stop")

    def _around(self) -> Json:
        return {"directory": str(self.project.root), "worktree": str(self.project.root)}

    def _about(self, event: str) -> Json:
        native = self.events[event]
        root = str(self.project.root)
        if self.name == "cline":
            return {"hookName": native, "taskId": "s1", "workspaceRoots": [root]}
        about: Json = {"hook_event_name": native, "session_id": "s1", "cwd": root}
        if self.name == "copilot":
            return {**about, "timestamp": "2026-11-20T15:58:02.545Z"}
        return {**about, "transcript_path": "/t.jsonl"}

    def _message(self, when: str, tool: str, args: Json, output: str | None = None) -> Json:
        if self.name in ("opencode", "kilo"):
            given = {"tool": tool, "sessionID": "s1", "callID": "c1"}
            if when == "pre":
                return {"hook": self.events[when], **self._around(), "input": given, "output": {"args": args}}
            result: Json = {"output": output, "title": "", "metadata": {}}
            return {"hook": self.events[when], **self._around(), "input": {**given, "args": args}, "output": result}
        if self.name == "cline":
            about: Json = {"id": "c1", "name": tool, "input": args}
            if when == "post":
                about["output"] = [{"query": "", "result": output, "success": True}]
            return {**self._about(when), ("tool_call" if when == "pre" else "tool_result"): about}
        message = {**self._about(when), "tool_name": tool, "tool_input": args}
        if when == "post" and self.name == "copilot":
            message["tool_result"] = {"result_type": "success", "text_result_for_llm": output}
        elif when == "post" and self.name == "vibe":
            message |= {"tool_status": "success", "tool_output": None, "tool_output_text": output, "tool_error": None}
        elif when == "post":
            message["tool_response"] = {"llmContent": output} if self.name in ("gemini", "qwen") else output
        return message

    def fire(
        self,
        message: object,
        *arguments: str,
        env: dict[str, str] | None = None,
        event: str = "",
        cwd: Path | None = None,
        approved: bool = True,
    ) -> Told:
        """Send a message and return the answer; without HOME, or with any other environment variables.

        The project's hooks are `approved` first.
        """
        if approved:
            self.project.approve()
        given = [event] if event else []
        line = ("fire", "--agent", self.name, *given, "--home", str(self.project.home), *arguments)
        return Told(self, call(self.project, *line, stdin=message, cwd=cwd, env=env))

    def fire_changed(self, program: str, message: Json | bytes, *arguments: str, **env: str) -> Told:
        """Send a message to a hookrun that has been changed, by a file of `programs`, and return the answer."""
        changed = [sys.executable, str(PROGRAMS / program), "fire", "--agent", self.name, *arguments]
        return Told(self, run(self.project, changed, stdin=message, env=env))


ONCE = r"through once: `(?:hookrun allow [0-9a-f]{6}[^`]*)`"
ORIGIN = re.compile(
    r"(?:\n\n)?hookrun: blocked[^\n`]*`(hookrun why [0-9a-f]{8}[^`]*)` shows why"
    rf"(?:; to let this call {ONCE} in your own terminal)?(?:\n\n)?"
    rf"| \((?:hook [^`()]*, )?`(hookrun why [0-9a-f]{{8}}[^`]*)`(?:, the user can let it {ONCE})?\)"
)
"""Which hook blocked, how to ask why, and how to let the call through once, for the user."""


def without_origin(text: str) -> str:
    """Return a text for an agent without the words about the hook that it is from."""
    return ORIGIN.sub("", text)


class Told:
    """The answer that an agent got."""

    def __init__(self, agent: Agent, done: subprocess.CompletedProcess[bytes]) -> None:
        self.agent = agent
        self.status = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr.decode()
        self.json: Json = json.loads(done.stdout) if done.stdout.strip() else {}
        self.own: Json = self.json.get("hookSpecificOutput", self.json.get("hook_specific_output", {}))

    @property
    def reason(self) -> str | None:
        """The hook's reason for refusing the tool; None if the tool runs."""
        refusal = self.refusal
        return without_origin(refusal) if refusal is not None else None

    @property
    def refusal(self) -> str | None:
        """The whole text of a refusal, None if there is none: by the fields that the agent was measured to obey."""
        assert self.status == 0, (self.status, self.stderr)
        match self.agent.name:
            case "claude" | "codex" | "qwen" | "grok":
                refused = self.own.get("permissionDecision") == "deny"
                return str(self.own["permissionDecisionReason"]) if refused else None
            case "gemini" | "vibe":
                return str(self.json["reason"]) if self.json.get("decision") == "deny" else None
            case "copilot":
                refused = self.json.get("permissionDecision") == "deny"
                return str(self.json["permissionDecisionReason"]) if refused else None
            case "cline":
                return (
                    str(self.json["context"]) if self.json.get("overrideInput") == {"refused_by_a_hook": True} else None
                )
            case _:
                return str(self.json["refuse"]) if "refuse" in self.json else None

    @property
    def person(self) -> str:
        """What the user is shown, or the model for them, besides which hook blocked."""
        return without_origin(self.shown)

    @property
    def shown(self) -> str:
        """All that the user is shown, or the model for them."""
        if self.agent.name in PLUGINS:
            return str(self.json.get("person", ""))
        if self.agent.name in ("copilot", "cline"):
            return str(self.json.get("additionalContext", self.json.get("context", "")))
        if self.agent.name == "grok":  # which drops text beside a refusal: it is in the reason
            return str(self.own.get("additionalContext", self.refusal or ""))
        return str(self.json.get("systemMessage", self.json.get("system_message", "")))

    @property
    def context(self) -> str:
        """What text the model is given beside everything else."""
        own = (self.own.get("additionalContext"), self.own.get("additional_context"))
        found = (*own, self.json.get("additionalContext"), self.json.get("context"))
        return "\n".join(str(text) for text in found if text)

    @property
    def args(self) -> Json | None:
        """All arguments that the tool gets instead, None where they are not changed."""
        places = [(self.own, "updatedInput"), (self.own, "tool_input")]
        places += [(self.json, name) for name in ("modifiedArgs", "args", "overrideInput")]
        return next((found[name] for found, name in places if name in found), None)


def person_of(agent: Agent, told: Told, session: str = "s1") -> str:
    """Return what the user sees; Qwen Code shows it at the end of a turn only."""
    if agent.name != "qwen":
        return told.person
    return agent.fire(json.loads(json.dumps(agent.stop()).replace('"s1"', f'"{session}"'))).person


AgentOf = Callable[[str], Agent]
"""Returns an agent with a project of its own, for the rows of a table."""
