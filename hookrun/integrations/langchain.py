"""Run hooks in LangChain agents: `create_agent(model, tools, middleware=[HookrunMiddleware(engine)])`.

LangChain's middleware (1.0 and later) can express every verdict, sync and async: block a tool with a reason, change its
arguments, add to its result, run it again, withhold a prompt, end a turn or continue it. (The guardrails of the OpenAI
Agents SDK 0.24 block a tool but cannot change its arguments.) Tools that a model's provider runs itself are not seen.

It fires `session_start` (if the conversation has no answer yet), `user_prompt_submit`, `before_request`, the events
around each inference and each tool (see tool_loop.py), `stop` and `after_request`, and logs at the start which hooks
are for other events. A block before a request or an inference ends the turn. Its state is kept in the conversation's
messages, so that checkpoints and parallel tools work without further support.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from hookrun.agents.base import NameMap
from hookrun.agents.formats import Reply, approval_needed, join_paragraphs
from hookrun.core.session import MAX_STOP_BLOCKS
from hookrun.integrations import OnError, check_fields, check_use, fire, log, reply_of, warn_of_undelivered
from hookrun.integrations.pending import PendingCalls, digest_of
from hookrun.integrations.tool_loop import TOOL_EVENTS, Approve, HookedCall, ToolFailed, ToolOutcome
from hookrun.library.calls import result_at_once
from hookrun.library.embedded_engine import Engine

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp
    from langgraph.types import Command, interrupt
except ImportError as error:
    raise ImportError(
        "hookrun.integrations.langchain needs the package langchain, 1.0 or later: pip install 'hookrun[langchain]'"
    ) from error

if TYPE_CHECKING:
    from langchain.agents.middleware.types import JumpTo, ToolCallRequest

    Answer: TypeAlias = ToolMessage | Command[Any]
    Update: TypeAlias = dict[str, Any] | None

AGENT = "langchain"
# The key in a message's `response_metadata`, which no model sees, that records what hookrun did to the turn.
MARK = "hookrun"
# The events fired here, with the fields that the middleware sets.
EVENTS: dict[str, dict[str, object]] = {
    "session_start": {"source": "startup"},
    "user_prompt_submit": {"user_prompt": ""},
    "before_request": {},
    "before_inference": {},
    "after_inference": {"model": "", "usage": {}},
    **{event: {"tool_name": "", "tool_args": {}, **own} for event, own in TOOL_EVENTS.items()},
    "stop": {"assistant_response": "", "stop_hook_active": False},
    "after_request": {},
}


def _step(method: str, *jumps: JumpTo) -> tuple[Any, Any]:
    """Return the sync and the async form of a step of the agent, from the method that takes its messages."""

    @hook_config(can_jump_to=[*jumps])
    def step(self: Any, state: Any, runtime: Any) -> Update:  # noqa: ARG001  # LangChain's signature
        return cast("Update", result_at_once(getattr(self, method)(state["messages"], sync=True)))

    @hook_config(can_jump_to=[*jumps])
    async def astep(self: Any, state: Any, runtime: Any) -> Update:  # noqa: ARG001  # LangChain's signature
        return cast("Update", await getattr(self, method)(state["messages"], sync=False))

    return step, astep


class HookrunMiddleware(AgentMiddleware[AgentState[Any], Any]):
    """Run an engine's hooks around an agent's prompts, requests, inferences, tools and ends of turns.

    `session_id` defaults to the thread's ID. `names` translates the tools' names. `approve` is called if a hook asks,
    and may call LangGraph's `interrupt` (the hooks run again when it is resumed); without it an `ask` blocks. With
    `pending` an `ask` interrupts the graph with the call that waits, as JSON, and `Command(resume=decision)` resumes it
    without its hooks running again; both are those of hookrun.integrations.pending. A tool that is resumed twice, since
    it interrupts too, is refused. `tell_person` is called with messages for the user. After an internal error of
    hookrun, `on_error` selects whether the agent continues (the error is logged) or its action is blocked; by default
    it is where a hook with `on_failure="block"` would have been asked.

    A tool's exception is raised as it would be without hookrun, unless a hook replaces it or has a message for the
    model: then the model gets the error and the message.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        session_id: str | None = None,
        names: NameMap | None = None,
        approve: Approve | None = None,
        pending: PendingCalls | None = None,
        tell_person: Callable[[str], object] = log.warning,
        on_error: OnError = None,
        **fields: object,
    ) -> None:
        """Create the middleware for `engine`; `fields` (`working_dir`, `agent`, ...) are added to every context.

        Raises ContextError for `fields` that the engine refuses, misspelled or of the wrong type, and ClosedError with
        a closed engine.
        """
        super().__init__()
        check_use(engine, on_error, names, approve=approve, tell_person=tell_person)
        warn_of_undelivered(engine, EVENTS, "LangChain")
        check_fields(fields if session_id is None else {"session_id": session_id, **fields}, EVENTS)
        self._engine = engine
        self._session_id = session_id
        self._options: dict[str, Any] = {"names": names, "approve": approve, "pending": pending, "on_error": on_error}
        self._tell_person = tell_person
        self._fields = {"agent": AGENT, **fields}

    before_agent, abefore_agent = _step("_begin", "end")
    before_model, abefore_model = _step("_before_model", "end")
    after_model, aafter_model = _step("_after_model")
    after_agent, aafter_agent = _step("_end", "model")

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        """Run a tool with its hooks."""

        def call(**args: object) -> Answer:
            return _checked(handler(_with(request, args)))

        return self._answer(request, result_at_once(self._run(request, call, sync=True)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        """Run a tool with its hooks."""

        async def call(**args: object) -> Answer:
            return _checked(await handler(_with(request, args)))

        return self._answer(request, await self._run(request, call))

    async def _run(self, request: ToolCallRequest, call: Callable[..., Any], *, sync: bool = False) -> ToolOutcome:
        """Run a tool with its hooks; interrupt the graph for a decision."""

        def run(**more: Any) -> Awaitable[ToolOutcome]:
            return HookedCall(self._engine, sync=sync, **about, **more).run(call)

        about, calls = self._about(request), self._options["pending"]
        waits = None if calls is None else calls.find(digest_of(about["name"], about["args"], about))
        if waits is None:  # else it is resumed, and its hooks have run
            outcome = await run()
            if (waits := outcome.pending) is None:
                return outcome
            self._notify(outcome)
        return await run(decision=interrupt(waits.to_dict()))

    def _about(self, request: ToolCallRequest) -> dict[str, Any]:
        call = request.tool_call
        about = {"name": call["name"], "args": call["args"], "tool_use_id": call["id"], "session_id": self._session()}

        def text_of(answer: Any) -> str:
            message = _message_in(answer, call["id"])
            return message.text if message is not None else ""

        return {**self._fields, **self._options, **about, "text": text_of, "let_through": (GraphBubbleUp,)}

    def _answer(self, request: ToolCallRequest, outcome: ToolOutcome) -> Answer:
        self._notify(outcome)
        has_words = outcome.notes or outcome.output is not None
        if outcome.exception is not None and not has_words and not isinstance(outcome.exception, _ReportedFailure):
            raise outcome.exception
        if outcome.ran and outcome.exception is None:
            answer = _noted(cast("Answer", outcome.returned), outcome, request.tool_call["id"])
        else:
            status: Literal["success", "error"] = "success" if outcome.action == "skip" else "error"
            call = request.tool_call
            answer = ToolMessage(outcome.content, tool_call_id=call["id"], name=call["name"], status=status)
            answer.response_metadata.update(_mark(outcome))
        return answer

    def _notify(self, outcome: ToolOutcome) -> None:
        for text in outcome.to_person:
            self._tell_person(text)

    async def _fire(self, event: str, fields: dict[str, object], *, sync: bool) -> Reply:
        context = {**self._fields, "session_id": self._session(), **fields}
        reply = reply_of(await fire(self._engine, event, context, self._options["on_error"], sync=sync))
        if reply.user_message:
            self._tell_person(reply.user_message)
        return reply

    def _session(self) -> str | None:
        if self._session_id is not None:
            return self._session_id
        try:
            thread = get_config().get("configurable", {}).get("thread_id")
        except RuntimeError:
            return None
        return None if thread is None else str(thread)

    async def _begin(self, messages: list[AnyMessage], *, sync: bool) -> Update:
        """Return the change to a beginning turn: without a blocked prompt, or with the hooks' context."""
        texts: list[str | None] = []
        changed = []
        for event, fields in _beginning(messages):
            reply = await self._fire(event, fields, sync=sync)
            only_tells = event == "session_start"
            if reply.action == "stop" or not (only_tells or reply.allows):
                withheld = HumanMessage("(a hook withheld this prompt)", id=messages[-1].id)
                return {"messages": [withheld, _refusal(reply)], "jump_to": "end"}
            texts.append(reply.text if only_tells else reply.context)
            if reply.prompt is not None:
                changed = [HumanMessage(reply.prompt, id=messages[-1].id)]
        context = join_paragraphs(*texts)
        if context:
            changed.append(HumanMessage(context, response_metadata={MARK: "context"}))
        return {"messages": changed} if changed else None

    async def _before_model(self, messages: list[AnyMessage], *, sync: bool) -> Update:
        for message in takewhile(lambda each: isinstance(each, ToolMessage), reversed(messages)):
            if (reason := message.response_metadata.get(MARK)) is not None:
                return {"messages": [AIMessage(reason, response_metadata={MARK: "stopped"})], "jump_to": "end"}
        reply = await self._fire("before_inference", {}, sync=sync)
        return None if reply.allows else {"messages": [_refusal(reply)], "jump_to": "end"}

    async def _after_model(self, messages: list[AnyMessage], *, sync: bool) -> None:
        # With a `response_format`, a message of LangChain's own stands behind it.
        answer = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
        if answer is not None:
            given = answer.response_metadata
            about = {"model": given.get("model_name") or given.get("model"), "usage": answer.usage_metadata}
            await self._fire("after_inference", about, sync=sync)

    async def _end(self, messages: list[AnyMessage], *, sync: bool) -> Update:
        update = await self._stop(messages, sync=sync)
        if update is None:
            await self._fire("after_request", {}, sync=sync)
        return update

    async def _stop(self, messages: list[AnyMessage], *, sync: bool) -> Update:
        """Return the change to an ending turn: a block continues it, unless a hook has ended it."""
        last = messages[-1] if messages else None
        if last is None or MARK in last.response_metadata:
            return None
        blocks = _blocks(messages)
        fields: dict[str, object] = {"assistant_response": last.text, "stop_hook_active": blocks > 0}
        verdict = await self._fire("stop", fields, sync=sync)
        if verdict.action != "block":
            if verdict.text and verdict.action != "stop":
                self._tell_person(verdict.text)
            return None
        if blocks >= MAX_STOP_BLOCKS:
            log.warning("hookrun: the turn ends after %d blocks: %s", MAX_STOP_BLOCKS, verdict.reason)
            return None
        return {"messages": [HumanMessage(verdict.text or "", response_metadata={MARK: "go on"})], "jump_to": "model"}


class _ReportedFailure(ToolFailed):
    """A tool's failure that LangChain has already made into a message."""


def _refusal(reply: Reply) -> AIMessage:
    """Return the last message of a turn that a hook ended."""
    reason = approval_needed(reply.reason) if reply.action == "ask" else reply.reason or ""
    return AIMessage(reason, response_metadata={MARK: "refused"})


def _beginning(messages: list[AnyMessage]) -> list[tuple[str, dict[str, object]]]:
    """Return the events at a turn's beginning, none without a prompt."""
    if not messages or not isinstance(messages[-1], HumanMessage):
        return []
    known = any(isinstance(message, AIMessage) for message in messages)
    start: list[tuple[str, dict[str, object]]] = [] if known else [("session_start", {"source": "startup"})]
    return [*start, ("user_prompt_submit", {"user_prompt": messages[-1].text}), ("before_request", {})]


def _blocks(messages: list[AnyMessage]) -> int:
    marks = (each.response_metadata.get(MARK) for each in reversed(messages) if isinstance(each, HumanMessage))
    return sum(mark == "go on" for mark in takewhile(lambda mark: mark is not None, marks))


def _with(request: ToolCallRequest, args: dict[str, object]) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": args})


def _checked(answer: Answer) -> Answer:
    if isinstance(answer, ToolMessage) and answer.status == "error":
        raise _ReportedFailure(answer.text)
    return answer


def _message_in(answer: Any, call_id: str | None) -> ToolMessage | None:
    """Return the message for the model in a tool's result: that of its call, which may be in a Command or a list."""
    if isinstance(answer, Command):
        answer = answer.update.get("messages", ()) if isinstance(answer.update, dict) else ()
    if isinstance(answer, (list, tuple)):
        return next(filter(None, (_message_in(each, call_id) for each in answer)), None)
    return answer if isinstance(answer, ToolMessage) and answer.tool_call_id == call_id else None


def _noted(answer: Answer, outcome: ToolOutcome, call_id: str | None) -> Answer:
    """Return the result of a tool call with the notes of hooks appended, and the output with which they replaced it."""
    mark = _mark(outcome)
    message = _message_in(answer, call_id)
    if not outcome.notes and not mark and outcome.output is None:
        return answer
    if message is None:
        log.warning("hookrun: not shown to the model: %s", join_paragraphs(outcome.output, *outcome.notes))
        return answer
    note = join_paragraphs(*outcome.notes)
    content: Any = message.content if outcome.output is None else outcome.output
    if note:
        content = (
            join_paragraphs(content, note) if isinstance(content, str) else [*content, {"type": "text", "text": note}]
        )
    metadata = {**message.response_metadata, **mark}
    changed = message.model_copy(update={"content": content, "response_metadata": metadata})
    return cast("Answer", _exchanged(answer, message, changed))


def _exchanged(answer: Any, message: ToolMessage, new: ToolMessage) -> Any:
    """Return a tool's result with the new message where the old one is."""
    if isinstance(answer, list):
        return [_exchanged(each, message, new) for each in answer]
    if isinstance(answer, Command) and isinstance(answer.update, dict) and "messages" in answer.update:
        return replace(
            answer, update={**answer.update, "messages": _exchanged([*answer.update["messages"]], message, new)}
        )
    return new if answer is message else answer


def _mark(outcome: ToolOutcome) -> dict[str, str]:
    return {MARK: outcome.stop_reason or ""} if outcome.stop else {}
