"""Run hooks in a hand-written tool-calling loop: one function around each call of a tool, async and sync.

    outcome = await run_tool(engine, call.name, call.arguments, TOOLS[call.name], session_id=session)
    messages.append({"role": "tool", "content": outcome.content})
    if outcome.stop:
        return outcome.stop_reason

It fires `pre_tool_use`, which may change the arguments, block, or ask the user; runs the tool; then fires
`post_tool_use`, and `file_changed` after a write, an edit or a delete; or `post_tool_failure`, after which the tool
runs again if a hook set `metadata["retry"]` (hookrun.recipes.retry.Retry does). The model does not see failures that
are retried. Contexts after a tool have `attempt`, the number of the run. A blocked call fires `tool_call_aborted`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from hookrun.agents.base import CHANGES_FILES, NameMap, string_in
from hookrun.agents.formats import Reply, approval_needed, join_paragraphs
from hookrun.agents.known_tools import message_of_program
from hookrun.core.context import ContextError
from hookrun.core.text import HookrunError
from hookrun.integrations import OnError, check_fields, check_use, fire, log, reply_of
from hookrun.integrations.pending import Pending, PendingCalls, UndecidedError, digest_of
from hookrun.library import Result
from hookrun.library.calls import close_awaitable, result_at_once
from hookrun.library.embedded_engine import Engine
from hookrun.library.encoding import as_text, plain, safe_str

# Asks the user, given the tool's name, the arguments and the reason; only True approves.
Approve = Callable[[str, dict[str, object], str], bool | Awaitable[bool]]

__all__ = ["HookedCall", "NameMap", "ToolFailed", "ToolOutcome", "run_tool", "run_tool_sync"]


async def run_tool(
    engine: Engine,
    name: str,
    args: Mapping[str, object],
    call: Callable[..., object],
    *,
    session_id: str | None = None,
    approve: Approve | None = None,
    names: NameMap | None = None,
    text: Callable[[object], str] | None = None,
    on_error: OnError = None,
    pending: PendingCalls | None = None,
    decision: Mapping[str, object] | None = None,
    let_through: tuple[type[Exception], ...] = (),
    **fields: object,
) -> ToolOutcome:
    """Run a tool with the hooks of `engine` and return the outcome, which holds an exception that the tool raises.

    `call(**args)` is the tool. An awaitable result is awaited; run a slow function with `asyncio.to_thread`. `approve`
    is called if a hook asks; without it an `ask` blocks. With `pending` the call is kept there instead and is the
    outcome's `pending`; make the same call with the `decision` about it to resume it. `names` translates the tools'
    names. `text` turns the tool's result into text for hooks and model. `fields` are added to every context:
    `working_dir`, `tool_use_id`, `agent`, ...; `state` and `deadline` (seconds) are passed to every fire.

    Raises, before anything runs, ContextError for `fields` that the engine refuses, misspelled or of the wrong type,
    and ClosedError with a closed engine. After an internal error of hookrun `on_error` selects whether the call
    continues (with a log entry) or is blocked; by default it is where a hook with `on_failure="block"` would have been
    asked.
    `let_through` are exceptions of the tool and of `approve` that are raised, not handled as failures.
    """
    options: dict[str, Any] = {"approve": approve, "names": names, "text": text, "on_error": on_error, **fields}
    options |= {"session_id": session_id, "pending": pending, "decision": decision, "let_through": let_through}
    return await HookedCall(engine, name, args, **options).run(call)


def run_tool_sync(
    engine: Engine,
    name: str,
    args: Mapping[str, object],
    call: Callable[..., object],
    *,
    session_id: str | None = None,
    approve: Callable[[str, dict[str, object], str], bool] | None = None,
    names: NameMap | None = None,
    text: Callable[[object], str] | None = None,
    on_error: OnError = None,
    pending: PendingCalls | None = None,
    decision: Mapping[str, object] | None = None,
    let_through: tuple[type[Exception], ...] = (),
    **fields: object,
) -> ToolOutcome:
    """Run a tool as `run_tool` does, synchronously: `call` and `approve` are plain functions."""
    options: dict[str, Any] = {"approve": approve, "names": names, "text": text, "on_error": on_error, **fields}
    options |= {"session_id": session_id, "pending": pending, "decision": decision, "let_through": let_through}
    return result_at_once(HookedCall(engine, name, args, sync=True, **options).run(call))


# The events of a call, with the fields that only they have.
TOOL_EVENTS: dict[str, dict[str, object]] = {
    "pre_tool_use": {},
    "tool_call_aborted": {"reason": ""},
    "post_tool_use": {"tool_result_output": "", "attempt": 1},
    "post_tool_failure": {"tool_result_error": "", "attempt": 1},
    "file_changed": {"file_path": ""},
}

# The longest wait before a retry, in seconds; a hook that asks for more gets no further attempt.
MAX_RETRY_DELAY = 3600.0


class ToolFailed(HookrunError):  # noqa: N818  # describes what happened to the tool
    """Raised by a tool that failed, with the exact text for hooks and model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """The outcome of a tool call.

    `content` is the whole text for the model: the tool's result or why it failed or did not run, followed by the
    `notes` of hooks. `ran` is whether the tool ran at all, `action` the verdict on that (`continue`, `allow`, `modify`,
    `ask`, `skip`, `block`, `stop`), `args` are the final arguments under the tool's names, `attempts` is how often it
    ran. `result` is what it returned; `error` is why it failed, `exception` what it raised. With `stop` the turn ends,
    for `stop_reason`. `to_person` are messages for the user. `pending` is the call that waits for a decision.

    `output` is the text with which hooks replaced the result or the error. Then `result` is that text (for one that was
    JSON the JSON in it, if it is of the same type), or `exception` a ToolFailed with it; `returned` is what the tool
    itself returned.
    """

    content: str
    action: str
    ran: bool
    args: dict[str, object]
    attempts: int = 0
    result: object = None
    returned: object = None
    output: str | None = None
    error: str | None = None
    exception: Exception | None = None
    notes: tuple[str, ...] = ()
    stop: bool = False
    stop_reason: str | None = None
    to_person: tuple[str, ...] = ()
    pending: Pending | None = None


class HookedCall:
    """The events around one call of a tool: `run`, or `before`, and `after` or `failed`, where a framework calls it.

    `args` are the arguments to call the tool with, after `before`. The options are those of `run_tool`; between two
    callbacks a failed tool is not run again. One object is for one call. With `sync` its coroutines never wait.
    """

    def __init__(
        self,
        engine: Engine,
        name: str,
        args: Mapping[str, object],
        *,
        session_id: str | None = None,
        approve: Callable[..., Any] | None = None,
        names: NameMap | None = None,
        text: Callable[[object], str] | None = None,
        on_error: OnError = None,
        pending: PendingCalls | None = None,
        decision: Mapping[str, object] | None = None,
        let_through: tuple[type[Exception], ...] = (),
        sync: bool = False,
        **fields: object,
    ) -> None:
        self.engine = engine
        self.name = name
        self.args = dict(args)
        self.fields = fields if session_id is None else {"session_id": session_id, **fields}
        self.approve = approve
        self.names = names or NameMap()
        self.text = text or as_text
        self.on_error: OnError = on_error
        self.waiting = pending
        self.decision = decision
        self.through = let_through
        self.sync = sync
        self.notes: list[str] = []
        self.to_person: list[str] = []
        self.stop_reason: str | None = None
        self.attempts = 0
        self.action = "continue"
        self.pending: Pending | None = None

    async def run(self, call: Callable[..., object]) -> ToolOutcome:
        """Call the tool, as often as hooks want, and return the outcome."""
        check_use(self.engine, self.on_error, self.names, call=call)
        refused = await self.before()
        if refused is not None:
            return refused
        while True:
            self.attempts += 1
            value, exception = await self._attempt(call)
            if exception is None:
                return await self._succeeded(value)
            outcome, after = await self._failure(exception)
            if after is None:
                return outcome
            await asyncio.sleep(after) if not self.sync else time.sleep(after)  # noqa: ASYNC251

    async def after(self, result: object) -> ToolOutcome:
        """Return the outcome of a tool that has returned this."""
        self.attempts = 1
        return await self._succeeded(result)

    async def failed(self, error: Exception) -> ToolOutcome:
        """Return the outcome of a tool that has raised this."""
        self.attempts = 1
        return (await self._failure(error))[0]

    def before_sync(self) -> ToolOutcome | None:
        """Do as `before`, without a loop."""
        self.sync = True
        return result_at_once(self.before())

    def after_sync(self, result: object) -> ToolOutcome:
        """Do as `after`, without a loop."""
        self.sync = True
        return result_at_once(self.after(result))

    def failed_sync(self, error: Exception) -> ToolOutcome:
        """Do as `failed`, without a loop."""
        self.sync = True
        return result_at_once(self.failed(error))

    async def before(self) -> ToolOutcome | None:
        """Return the outcome of a refused call, None for one that may run."""
        check_use(self.engine, self.on_error, self.names, approve=self.approve, text=self.text)
        name = plain(self.name)  # tables have texts
        if name == "" or isinstance(name, bool) or not isinstance(name, (str, int, float)):
            raise ContextError(f"run_tool needs the tool's name, not {name!r}: no hook can be asked without it")
        self.name = str(name)
        check_fields(self._context(), TOOL_EVENTS)
        refusal = await (self._before() if self.decision is None else self._resume(self.decision))
        if refusal is None:
            return None
        if self.pending is not None:
            return self._outcome(refusal, pending=self.pending)
        await self._tell("tool_call_aborted", reason=refusal)
        return self._outcome(refusal)

    async def _failure(self, exception: Exception) -> tuple[ToolOutcome, float | None]:
        """Fire what comes after a failure; return the outcome, and in how many seconds a hook wants another attempt."""
        error = why(exception)
        answer, result = await self._fire("post_tool_failure", tool_result_error=error, attempt=self.attempts)
        after = _retry_delay(result, self.attempts)
        if after is None:
            self._note(answer)
        if answer.output is not None:
            error = str(answer.output)
            exception = ToolFailed(error)
        return self._outcome(error, error=error, exception=exception, output=answer.output), after

    async def _resume(self, decision: Mapping[str, object]) -> str | None:
        """Do as `_before` for a call that was decided: its hooks have run."""
        if self.waiting is None:
            raise ContextError("a decision needs `pending`, where its call is kept")
        self.action = "ask"
        try:
            kept, decided = self.waiting.take(digest_of(self.name, self.args, self.fields), decision)
        except (UndecidedError, OSError, TypeError, ValueError) as error:
            return f"{approval_needed(None)} ({error})"
        self.args = kept.arguments
        if decided["action"] == "edit":
            self.args = decided["arguments"]
            return await self._before()
        self.notes.extend(kept.notes)
        if decided["action"] == "answer":
            self.action = "skip"
            return decided["text"]
        return None if decided["action"] == "approve" else f"{_not_given(kept.reason)} {decided['text']}".rstrip()

    async def _before(self) -> str | None:
        """Return why the call is blocked, or None after setting the arguments that it runs with."""
        made = self.args
        answer, _ = await self._fire("pre_tool_use")
        self.action = answer.action
        if answer.context:
            self.notes.append(answer.context)
        if not answer.allows and answer.action != "ask":
            return answer.reason
        if answer.args is not None:
            self.args = self.names.to_native(self.name, answer.args)
        if answer.action != "ask" or self.decision is not None:  # whoever edited the arguments was asked
            return None
        if self.approve is not None:
            agreed = await self._ask(self.approve, answer.reason or "")
            return None if agreed is True else _not_given(answer.reason)
        if self.waiting is not None:
            try:
                call = digest_of(self.name, made, self.fields)
                self.pending = self.waiting.add(call, self.name, self.args, answer.reason or "", [*self.notes])
            except (OSError, TypeError, ValueError) as error:
                log.error("hookrun: %s cannot wait for a decision, so it is blocked: %s", self.name, why(error))
        return approval_needed(answer.reason)

    async def _ask(self, approve: Callable[[str, dict[str, object], str], object], reason: str) -> object:
        """Return the user's decision; an error in asking is logged and does not approve."""
        try:
            return await self._settled(approve(self.name, dict(self.args), reason))
        except self.through:
            raise
        except Exception:
            log.exception("hookrun: the user could not be asked about %s, so it is blocked", self.name)
            return False

    async def _attempt(self, call: Callable[..., object]) -> tuple[object, Exception | None]:
        try:
            return await self._settled(call(**self.args)), None
        except self.through:
            raise
        except Exception as error:
            return None, error

    async def _succeeded(self, value: object) -> ToolOutcome:
        """Fire what comes after the tool, and return the outcome."""
        try:
            output = as_text(self.text(value))
        except Exception:  # the program's `text` failed, but the tool has run
            log.exception("hookrun: the program's `text` could not convert the result of %s", self.name)
            output = as_text(value)
        answer, _ = await self._fire("post_tool_use", tool_result_output=output, attempt=self.attempts)
        self._note(answer)
        result = value
        if answer.output is not None:
            output = str(answer.output)
            result = _replaced(value, output)
        message = message_of_program(context := self._context())
        for fields in [context] if message is None else [call.fields for call in message.calls]:
            path = string_in(plain(fields["tool_args"]), "file_path")
            if path and fields["tool_name"] in CHANGES_FILES:
                await self._tell("file_changed", file_path=path)
        return self._outcome(output, result=result, returned=value, output=answer.output)

    async def _fire(self, event: str, **more: object) -> tuple[Reply, Result]:
        result = await fire(self.engine, event, self._context(**more), self.on_error, sync=self.sync)
        answer = reply_of(result)
        if answer.user_message:
            self.to_person.append(answer.user_message)
        if answer.action == "stop" and self.stop_reason is None:
            self.stop_reason = answer.reason
        return answer, result

    def _context(self, **more: object) -> dict[str, object]:
        return {
            "agent_tool_name": self.name,
            **self.fields,
            "tool_name": self.names.tool(self.name),
            "tool_args": self.names.arguments(self.name, self.args),
            **more,
        }

    async def _tell(self, event: str, **more: object) -> None:
        answer, _ = await self._fire(event, **more)
        self._note(answer)

    def _note(self, answer: Reply) -> None:
        """Keep the text of a reply that comes too late to block anything."""
        if answer.action == "ask":
            answer.reason = approval_needed(answer.reason)
        if answer.text:
            self.notes.append(answer.text)

    async def _settled(self, value: Any) -> object:
        """Return the value, awaited if it is awaitable; with `sync` that raises TypeError, since there is no loop."""
        if not self.sync:
            return await value if isawaitable(value) else value
        if close_awaitable(value):
            raise TypeError("it is asynchronous: use run_tool instead of run_tool_sync")
        return value

    def _outcome(self, content: str | None, **more: Any) -> ToolOutcome:
        return ToolOutcome(
            content=join_paragraphs(content, *self.notes) or "",
            action=self.action,
            args=self.args,
            attempts=self.attempts,
            ran=self.attempts > 0,
            notes=tuple(self.notes),
            stop=self.stop_reason is not None,
            stop_reason=self.stop_reason,
            to_person=tuple(self.to_person),
            **more,
        )


def _retry_delay(result: Result, attempts: int) -> float | None:
    """Return the seconds to wait before a retry, from `metadata["retry"]`, or None for no retry.

    It is `{"attempt": number of the next attempt, "of": most attempts, "after_s": seconds}`. There is no retry if the
    seconds are more than MAX_RETRY_DELAY or not a number.
    """
    retry = (result.modified_context or {}).get("retry")
    if result.action not in ("continue", "allow") or not isinstance(retry, dict):
        return None
    most, after = retry.get("of"), retry.get("after_s", 0)
    if not isinstance(most, int) or attempts >= most:
        return None
    if not isinstance(after, (int, float)) or not after <= MAX_RETRY_DELAY:
        log.warning("hookrun: %.200r is not a valid retry request: wait at most %g s", retry, MAX_RETRY_DELAY)
        return None
    return float(max(0, after))


def _replaced(value: object, text: str) -> object:
    """Return what stands for a tool's result whose text a hook has replaced."""
    if isinstance(value, (dict, list, int, float)):
        try:
            new = json.loads(text)
        except ValueError:
            return text
        return new if type(new) is type(value) else text
    return text


def _not_given(reason: str | None) -> str:
    return f"{approval_needed(reason)} (it was not given)"


def why(error: Exception) -> str:
    """Return a tool's exception as text for hooks and model."""
    text = safe_str(error)
    if text is None:
        return type(error).__name__
    return text if isinstance(error, ToolFailed) else f"{type(error).__name__}: {text}"
