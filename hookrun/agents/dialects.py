"""Run an agent's own hooks in every other: which calls they are for, what they read, what their answers mean.

A dialect is an agent's module seen from the other side: its events, tools and timeouts, and in HOOKS what else differs
from Claude Code's form of hooks. What a hook reads is Claude Code's message in the agent's words; its answer is put
into Claude Code's form, and read by its rules. A refusal counts in whatever form it is written.
"""

from __future__ import annotations

from hookrun.agents import DIALECTS, SETTINGS_GLOBS, base, load, patch
from hookrun.agents.formats import RENDERERS, Reply, render_notification
from hookrun.claude import hook_protocol
from hookrun.claude.matcher import exact_names, fits, mcp_name
from hookrun.core.conditions import resolve_path
from hookrun.core.context import file_path
from hookrun.core.events import ALIASES, CLAUDE_TOOLS
from hookrun.core.fastjson import dumps, loads
from hookrun.core.globs import glob
from hookrun.core.model import BINDING_ACTIONS, Outcome, as_object
from hookrun.core.refusals import as_text, translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hookrun.agents.formats import Json
    from hookrun.agents.types import HookForm, WithHooks
    from hookrun.core.model import Hook

# The statuses of a shell that cannot start a program, for failures that come before one.
NOT_STARTED = {"missing": 127, "spawn": 126}
# A shell's status for a program that signal n ended is 128 + n.
SIGNALLED = 128
# No name of a tool.
NOTHING = "(?!)"


class Dialect:
    """The form of an agent's own hooks.

    `events` are its names -> hookrun's, `tools` its names in matchers -> hookrun's. `form` says what differs from
    Claude Code's.
    """

    def __init__(self, name: str) -> None:
        from hookrun.agents import documented, known_tools  # of all agents

        self._agent: WithHooks = documented.AGENTS[name] if name in documented.AGENTS else load(name)  # type: ignore[assignment]  # tests check the modules
        self.name, self.title = name, self._agent.DISPLAY_NAME
        self.form: HookForm = self._agent.HOOKS
        self.install = self._agent.INSTALL
        self.variables = self._agent.PROJECT_ENV_VARS
        self._narrow = self.form.get("narrow", {})
        self.events = {**self._agent.EVENTS, **{name: event for name, (event, _) in self._narrow.items()}}
        self.tools: dict[str, tuple[str, ...]] = {
            **{name: (name,) for name in known_tools.MORE_TOOLS.get(name, ())},
            **{name: (ours,) for name, ours in self._agent.TOOLS.items()},
            **self.form.get("tools", {}),
        }

    def claudes_event(self, native: str) -> str:
        """Return Claude Code's name of one of the agent's events, by whose rules it is read."""
        return hook_protocol.native_event(self.events[native])

    def native_event(self, event: str) -> str:
        """Return the agent's name of hookrun's event, hookrun's if it has none."""
        return base.sent_event(self._agent.EVENTS, event)

    def seconds(self, native: str, timeout: float | None) -> float:
        """Return the seconds of a handler with this `timeout`, in the agent's unit."""
        ordinary, most = self._agent.DEFAULT_TIMEOUTS, self._agent.MAX_TIMEOUTS
        if timeout is None:
            return ordinary.get(native, ordinary[""])
        in_ms = timeout >= self.form.get("milliseconds_from", float("inf"))
        return min(timeout / 1000 if in_ms else timeout, most.get(native, float("inf")))

    # --- which calls

    def selection(self, native: str, matcher: str | None, *, grouped: bool = True) -> dict[str, object]:
        """Return what `core.model.ClaudeForm` has of a hook at the agent's event: which calls it is for.

        `grouped`: the handler is in a group, as in Claude Code's form.
        """
        event = self.claudes_event(native)
        _, only = self._narrow.get(native, ("", ""))
        found: dict[str, object] = {"agent": self.name, "native": native, "event": event}
        if matcher is not None:
            found["matcher"] = matcher
        if event not in hook_protocol.TOOL_EVENTS:
            return found
        every = not matcher or (matcher == "*" and (grouped or self.form.get("star", True)))
        pattern = "" if every else self._pattern(str(matcher))
        if only:
            if pattern and only == "bash":
                found["text"] = pattern
            found["tools"] = [] if only == MCP else only.split("|")
            found["pattern"] = f"^{MCP}" if only == MCP else NOTHING
            return found
        if pattern:
            found["pattern"] = pattern
            found["tools"] = self.tools_of(pattern, str(matcher))
            found["mcp"] = self.form.get("mcp", "")
        return {name: value for name, value in found.items() if value not in ("", [])}

    def _pattern(self, matcher: str) -> str:
        """Return Claude Code's matcher that is equivalent to one of the agent's."""
        match self.form.get("matches", "names"):
            case "search":
                return f"(?:{matcher})"
            case "whole":
                return f"^(?:{matcher})$"
        return matcher

    def tools_of(self, pattern: str, matcher: str = "") -> list[str]:
        """Return hookrun's names of the tools that a pattern selects by the agent's names, or lists by any agent's."""
        from hookrun.agents import known_tools

        named = [name for each in exact_names(matcher, "PreToolUse") for name in known_tools.canonical_tools(each)]
        mine = [ours for name, all_ in self.tools.items() if fits(pattern, "PreToolUse", name) for ours in all_]
        return list(dict.fromkeys(name for name in (*mine, *named) if name in known_tools.ARGUMENTS))

    # --- what a hook reads

    def message(self, native: str, event: str, context: Mapping[str, object]) -> Json:
        """Return the message that the agent sends at its event `native`, for a context at hookrun's `event`."""
        message = hook_protocol.build_payload(event, {**context, "agent": None, "payload": None})
        message["hook_event_name"] = native
        if "tool_name" in message:
            message["tool_name"], message["tool_input"] = self._native_call(context, as_object(message["tool_input"]))
        if "tool_response" in message:
            message["tool_response"] = context.get("tool_result_output") or ""
        own = self.form.get("message")
        return message if own is None else own(message, context)

    def native_tool(self, context: Mapping[str, object]) -> str:
        """Return the agent's name of a context's tool; Claude Code's if it has no such tool."""
        tool = str(context.get("tool_name"))
        own = context.get("agent_tool_name")
        if context.get("agent") == self.name and isinstance(own, str):
            return own
        if tool.startswith(MCP) and "mcp" in self.form:
            return mcp_name(self.form["mcp"], tool)
        shared = next((name for name, ours in self._agent.TOOLS.items() if ours == tool), None)
        return shared or next((name for name, ours in self.tools.items() if tool in ours), CLAUDE_TOOLS.get(tool, tool))

    def _native_call(self, context: Mapping[str, object], args: Json) -> tuple[str, Json]:
        native = self.native_tool(context)
        if native == patch.TOOL:
            return native, {"command": patch.patch_of(str(context["tool_name"]), args, context.get("working_dir"))}
        return native, self._agent.NAMES.to_native(native, args)

    def _canonical_args(self, context: Mapping[str, object], args: Json) -> Json | None:
        """Return changed arguments by hookrun's names; None if they are no longer about the same tool and file."""
        native, tool = self.native_tool(context), context.get("tool_name")
        if native != patch.TOOL:
            return self._agent.NAMES.arguments(native, args)
        given = as_object(context.get("tool_args"))
        calls = patch.calls(str(args.get("command", "")))
        if len(calls) != 1 or calls[0][0] != tool:
            return None
        same = file_path({**context, "tool_args": calls[0][1]}) == file_path(context)
        return {**given, **calls[0][1], "file_path": given.get("file_path")} if same else None

    # --- what its answer means

    def outcome(self, native: str, context: Mapping[str, object], outcome: Outcome) -> Outcome:
        """Return a hook's outcome as that of one for Claude Code with the same meaning."""
        event, vetoes = self.claudes_event(native), self.form.get("veto_from", {})
        as_claudes = Outcome(outcome.failure)
        vars(as_claudes).update(vars(outcome))
        least = vetoes.get(event, vetoes.get("", 0))
        status = outcome.exit_code
        if outcome.failure is not None and least == 1 and outcome.failure.kind in NOT_STARTED:
            status, as_claudes.stderr = NOT_STARTED[outcome.failure.kind], outcome.failure.detail.encode()
            as_claudes.failure = None
        if status and least:
            vetoed = (SIGNALLED - status if status < 0 else status) >= least
            as_claudes.exit_code = 2 if vetoed else min(status, 1)
            if vetoed and not outcome.stderr.strip():
                how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
                as_claudes.stderr = f"{how}, no reason given".encode()
        text = outcome.stdout.decode("utf-8", "replace").strip()
        if not text and self.form.get("answers_on_stderr") and outcome.stderr.lstrip().startswith(b"{"):
            text = outcome.stderr.decode("utf-8", "replace").strip()
        try:
            answer = loads(text) if text.startswith("{") else None
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict):
            as_claudes.stdout = dumps(self._claudes_answer(event, answer, context)).encode("ascii")
        elif text and "{" not in text and (plain := self.form.get("plain", "model")) != "model":
            said = {"systemMessage": text} if plain == "user" else {}
            as_claudes.stdout = dumps(said).encode("ascii") if said else b""
            as_claudes.notes = [*outcome.notes, f"its stdout is plain text, which {self.title} gives no hook's model"]
        return as_claudes

    def _claudes_answer(self, event: str, answer: Json, context: Mapping[str, object]) -> Json:
        """Return an answer in Claude Code's form."""
        answer = self._translated(event, answer)
        own = as_object(answer.get("hookSpecificOutput"))
        if own.get("permissionDecision") == "allow" and not self.form.get("grants", True):
            own = {name: value for name, value in own.items() if name != "permissionDecision"}
        if not isinstance(wanted := own.get("updatedInput"), dict):
            return {**answer, "hookSpecificOutput": own} if own else answer
        args = self._canonical_args(context, wanted)
        if args is None:
            why = f"a hook for {self.title} wants a patch that this tool cannot make: {dumps(wanted)}"
            return as_claudes_answer(event, Reply("block", why))
        return {**answer, "hookSpecificOutput": {**own, "updatedInput": args}}

    def _translated(self, event: str, answer: Json) -> Json:
        places = self.form.get("answer")
        if places is None:
            return answer

        def at(part: str, kind: type) -> Any:
            found = (next(resolve_path(answer, path), None) for path in places.get(part, ()))
            return next((each for each in found if isinstance(each, kind)), None)

        refusal = translated(answer) or {}
        reason = at("reason", str) or as_text(refusal.get("message") or "")
        action = str(refusal.get("action", at("decision", str) if self.form.get("grants", True) else ""))
        if event in hook_protocol.CONTINUES_TURN and (more := at("next", str)):
            action, reason = "block", more
        if action not in BINDING_ACTIONS and action != "allow":
            action = "continue"
        return as_claudes_answer(event, Reply(action, reason, at("context", str), at("user", str), at("args", dict)))


MCP = "mcp__"

_KNOWN: dict[str, Dialect] = {}


def dialect(name: str) -> Dialect:
    """Return the dialect of one of `hookrun.agents.DIALECTS`."""
    if name not in _KNOWN:
        _KNOWN[name] = Dialect(name)
    return _KNOWN[name]


def of_file(path: str) -> tuple[str, str]:
    """Return the agent whose file with hooks a path names, by SETTINGS_GLOBS, and its project; "" for none."""
    name = f"/{path.lstrip('/')}"
    for agent, globs in SETTINGS_GLOBS.items():
        for each in globs:
            if glob(f"*/{each}", name):
                return agent, path.rsplit("/", each.count("/") + 1)[0] if path.count("/") > each.count("/") else "."
    return "", ""


def of_events(hooks: Mapping[str, object]) -> str:
    """Return the agent whose events alone have these names, and its form; "" if they are Claude Code's or nobody's."""
    if set(hooks) <= ALIASES.keys() or not set(hooks).isdisjoint(hook_protocol.NATIVE_EVENTS):
        return ""
    flat = not any(
        "hooks" in as_object(each) for groups in hooks.values() if isinstance(groups, list) for each in groups
    )
    known = (each for each in map(dialect, DIALECTS) if set(hooks) <= each.events.keys())
    return next((each.name for each in known if each.form.get("flat", False) is flat), "")


def as_claudes_answer(event: str, reply: Reply) -> Json:
    """Return a reply in Claude Code's form at its event."""
    return RENDERERS.get(event, render_notification)(reply, base.Message(event, []))


def _native(hook: Hook, event: str) -> str:
    return (hook.claude.native if hook.claude is not None else "") or dialect(hook.dialect).native_event(event)


def message_for(hook: Hook, event: str, context: Mapping[str, object]) -> Json:
    """Return what a hook in an agent's dialect reads at hookrun's `event`."""
    if hook.dialect == "claude":
        return hook_protocol.build_payload(event, context)
    return dialect(hook.dialect).message(_native(hook, event), event, context)


def as_claudes(hook: Hook, event: str, context: Mapping[str, object], outcome: Outcome) -> Outcome:
    """Return the outcome of a hook in an agent's dialect as one in Claude Code's."""
    if hook.dialect in ("hookrun", "claude"):
        return outcome
    return dialect(hook.dialect).outcome(_native(hook, event), context, outcome)
