"""The names of oats-coder's hook engine (`oats.hook.engine`), on hookrun's.

A program that uses them as documented only changes its import, and gains: a hook that times out is killed with
everything it started, a `modify` does not hide a later `block`, every change reaches later hooks, and failures are
reported (`result.failures`) instead of only logged.

>>> import asyncio
>>> from hookrun.compat.oats import HookContext, HookEngine, HookEvent
>>> engine = HookEngine([{"event": "pre_tool_use", "matcher": "bash", "command": "echo no >&2; exit 2"}])
>>> context = HookContext(session_id="s1", event=HookEvent.PRE_TOOL_USE, tool_name="bash", tool_args={"command": "ls"})
>>> result = asyncio.run(engine.fire(HookEvent.PRE_TOOL_USE, context))
>>> result.action, result.message
('block', 'no')
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Self

from hookrun.library import Result
from hookrun.library.embedded_engine import Engine

# The actions that oats calls block.
REFUSALS = frozenset({"block", "skip", "stop", "ask"})

# The timeout in seconds of a hook whose `timeout` is None, which a config file cannot express.
NO_LIMIT = 1e9


class HookEvent(str, Enum):  # noqa: UP042  # as in oats
    """The lifecycle events of oats."""

    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    USER_PROMPT_SUBMIT = "user_prompt_submit"
    SESSION_START = "session_start"
    FILE_CHANGED = "file_changed"
    ASSISTANT_RESPONSE = "assistant_response"


@dataclass
class HookContext:
    """What a hook reads: the eleven fields of oats."""

    session_id: str
    event: HookEvent
    tool_name: str | None = None
    tool_args: dict[str, Any] | None = None
    tool_result_output: str | None = None
    tool_result_error: str | None = None
    user_prompt: str | None = None
    assistant_response: str | None = None
    root_session_id: str | None = None
    file_path: str | None = None
    working_dir: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the context as plain data."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        data["event"] = HookEvent(self.event).value
        return data


@dataclass
class HookResult:
    """The result: `continue`, `block` or `modify`. `failures` maps hooks without a verdict to the reason."""

    action: str = "continue"
    modified_args: dict[str, Any] | None = None
    message: str | None = None
    failures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the result of a JSON object."""
        return cls(data.get("action", "continue"), data.get("modified_args"), data.get("message"))

    @classmethod
    def continue_result(cls) -> Self:
        """Return the result that allows the call."""
        return cls()

    @classmethod
    def block_result(cls, message: str = "") -> Self:
        """Return the result that blocks the call."""
        return cls("block", message=message)


HookHandler = Callable[[HookContext], HookResult | Awaitable[HookResult | None] | None]


class HookEngine:
    """Runs hook commands on lifecycle events, configured as in `coder.json` (`event`, `matcher`, `command`, `timeout`).

    A member that is None counts as missing; a `timeout` of None is no limit. All other fields of a declaration are
    supported too. Raises RegistrationError (a ValueError) for an invalid one. `engine` is hookrun's own, for everything
    that oats lacks.
    """

    def __init__(self, hooks: list[dict[str, Any]] | None = None) -> None:
        self.engine = Engine(hooks=[_without_nones(hook) if isinstance(hook, dict) else hook for hook in hooks or []])

    async def fire(self, event: HookEvent, context: HookContext) -> HookResult:
        """Run the matching hooks and return the result; a hook that fails blocks nothing by itself."""
        data = context.to_dict()
        return _result(await self.engine.fire(HookEvent(event).value, data))


def _without_nones(hook: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in hook.items() if value is not None}
    return {**fields, "timeout": NO_LIMIT} if "timeout" in hook and hook["timeout"] is None else fields


def _result(result: Result) -> HookResult:
    action = "block" if result.action in REFUSALS else "modify" if result.modified_args is not None else "continue"
    failures = {run.name: f"{run.failure.kind}: {run.failure.detail}" for run in result.runs if run.failure is not None}
    return HookResult(action, result.modified_args if action == "modify" else None, result.message, failures)
