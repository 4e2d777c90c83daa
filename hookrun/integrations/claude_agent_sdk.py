"""Run hooks in the Claude Agent SDK for Python: `ClaudeAgentOptions(hooks=hooks_for(engine))`.

Hooks see hookrun's names (`bash`, `command`, `file_path`, ...); Claude's are in `agent_event` and `agent_tool_name`.
Measured with claude-agent-sdk 0.2.186: the SDK's callbacks get ten events, without SessionStart and SessionEnd; a
callback that raises lets the tool run, a late one blocks it. These callbacks never raise, and are late only if
`timeout` is too short for hooks that ignore their cancellation (see `hooks_for`). Older versions ignore some answers:
the `claude` of 0.1.50 runs an allowed tool in spite of an `ask`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any, cast, get_args

from hookrun.agents import claude
from hookrun.agents.base import Message as AgentMessage, knows_tool, placeholder_message
from hookrun.agents.formats import Reply, join_paragraphs
from hookrun.agents.reply import DEGRADATIONS, build_response
from hookrun.core.events import CLAUDE_EVENTS, GATES, WITH_TOOL, canonical
from hookrun.core.text import describe_exception
from hookrun.integrations import (
    CALLER_ERRORS,
    OnError,
    check_fields,
    check_use,
    decided,
    fire,
    fire_or_abort,
    internal_failure,
    log,
    reply_of,
    warn_of_undelivered,
)
from hookrun.library import Abort
from hookrun.library.awaiting import CANCEL_GRACE
from hookrun.library.calls import end_of
from hookrun.library.embedded_engine import Engine
from hookrun.library.fire_context import without_misspelled

NEEDS = (
    "hookrun.integrations.claude_agent_sdk needs the package claude-agent-sdk, 0.2.155 or later: "
    "pip install 'hookrun[claude-agent-sdk]'"
)
try:
    from claude_agent_sdk import (
        AssistantMessage,
        HookMatcher,
        ResultMessage,
        SystemMessage,
        UserMessage,
        __version__,
    )
    from claude_agent_sdk.types import HookEvent
except ImportError as error:
    raise ImportError(NEEDS) from error

if TYPE_CHECKING:
    from claude_agent_sdk.types import HookContext, HookInput, HookJSONOutput, Message

    from hookrun.core.literals import EventName

# The first version seen to obey every answer (0.2.150 does not; those between were not tried).
OLDEST = (0, 2, 155)
# The events that `with_model_events` fires.
MODEL_EVENTS = ("before_request", "before_inference", "after_inference", "after_request")
# Seconds that Claude gives a callback (`HookMatcher.timeout`).
TIMEOUT = 60.0
# The share of the timeout reserved for the answer, so that hookrun decides about a late hook, not Claude; and its limit
# in seconds.
MARGIN, MAX_MARGIN = 0.1, 0.5
# Longest time to build the answer, in seconds.
ANSWER_TIME = 0.25
# Seconds for a second fire if the first has used all of them.
MIN_DEADLINE = 0.01


def _check(version: str) -> None:
    numbers = version.split(".")[: len(OLDEST)]
    if all(number.isdecimal() for number in numbers) and tuple(map(int, numbers)) < OLDEST:
        raise ImportError(f"{NEEDS} (found {version})")


_check(__version__)


def hooks_for(
    engine: Engine, *, events: Iterable[str] | None = None, timeout: float = TIMEOUT, on_error: OnError = None
) -> dict[HookEvent, list[HookMatcher]]:
    """Return the value for `ClaudeAgentOptions(hooks=...)`: one callback per event that has hooks now.

    `events`, by any of their names, get a callback in any case: for hooks that are registered later. `timeout` is what
    Claude allows all hooks of an event together, in seconds. A tenth of it is reserved, or a second for each fire (a
    write needs two) in which a late hook may finish. Below 5 seconds, a coroutine that ignores its cancellation can
    make the answer late, and Claude then blocks the tool; a function that blocks the loop always can, and needs
    `thread=True`. After an internal error of hookrun, `on_error` selects whether Claude continues (the error is logged)
    or its action is blocked; by default it is where a hook with `on_failure="block"` would have been asked.

    Raises ValueError for one of `events` that the SDK does not deliver, ClosedError with a closed engine; hooks for
    events that are not delivered are logged. If the engine is closed later, tools are blocked.
    """
    check_use(engine, on_error)
    end_of(timeout)
    native = {name: each for each in _delivered() if (name := canonical(each)) is not None}
    native |= {event: made[0] for event, made in claude.SYNTHESIZED_FROM.items()}
    wanted = _native_events(events, native) if events is not None else _events_with_hooks(engine, native)
    matcher: dict[str, Any] = {"timeout": timeout}
    if on_error == "block" and "on_failure" in HookMatcher.__dataclass_fields__:
        matcher["on_failure"] = "block"
    # The SDK's types do not name the event of shell lines in skills and commands, but it passes it on.
    hooked = {claude.EVENTS[each] for each in wanted}
    wanted += [each for each, event in claude.EVENTS.items() if each not in CLAUDE_EVENTS and event in hooked]
    made = {each: [HookMatcher(hooks=[_Callback(engine, each, timeout, on_error)], **matcher)] for each in wanted}
    return cast("dict[HookEvent, list[HookMatcher]]", made)


async def with_model_events(
    engine: Engine, messages: AsyncIterator[Message], *, on_error: OnError = None, **fields: object
) -> AsyncIterator[Message]:
    """Yield the messages of `query` or `receive_response`, and fire the events of the request and its inferences.

    `after_inference` has an answer's `model` and `usage`, and at the end the result's `total_cost_usd`. Claude has sent
    the first request when its first message comes; `before_inference` comes before each later one, too. A block or stop
    there, as by a `CostTracker` whose budget is used up, closes the messages, and raises Abort; that ends a `query`,
    and a ClaudeSDKClient when it is left or its `interrupt()` is called. `fields` are added to every context.
    """
    check_use(engine, on_error)
    check_fields(fields, {event: {} for event in MODEL_EVENTS})
    about, begun, counted = dict(fields), False, set[str | None]()
    async for message in messages:
        data = message.data if isinstance(message, SystemMessage) else {}
        about["session_id"] = about.get("session_id") or data.get("session_id") or getattr(message, "session_id", None)
        later = ["before_inference"] if isinstance(message, UserMessage) else []  # a tool's result, for the model
        before = later if begun else ["before_request", "before_inference"]
        begun = not isinstance(message, ResultMessage)
        for event in before:
            try:
                await fire_or_abort(engine, event, about, on_error)
            except Abort:
                if isinstance(messages, AsyncGenerator):
                    await messages.aclose()
                raise
        for event, more in _told_by(message, counted):
            await fire_or_abort(engine, event, {**about, **more}, on_error)
        counted |= {getattr(message, "message_id", None)} - {None}
        yield message


def _told_by(message: Message, counted: set[str | None]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the events that a message tells of, unless its answer was `counted`: it is one message for each block."""
    if isinstance(message, AssistantMessage) and message.message_id not in counted:
        yield "after_inference", {"model": message.model, "usage": message.usage}
    if isinstance(message, ResultMessage):
        if message.total_cost_usd is not None:
            yield "after_inference", {"total_cost_usd": message.total_cost_usd}
        yield "after_request", {}


def margin(timeout: float, fires: int) -> float:
    """Return the seconds of the timeout to reserve: a fire may exceed its deadline by MIN_DEADLINE and CANCEL_GRACE."""
    return min(max(timeout * MARGIN, fires * (CANCEL_GRACE + MIN_DEADLINE) + ANSWER_TIME), timeout * MAX_MARGIN)


def _delivered(of: Any = HookEvent) -> list[str]:
    """Return the events that the installed SDK delivers, from its types."""
    return [of] if isinstance(of, str) else [name for each in get_args(of) for name in _delivered(each)]


def _native_events(events: Iterable[str], native: dict[str, str]) -> list[str]:
    found = []
    for each in events:
        name = native.get(canonical(each) or claude.EVENTS.get(each, each))
        if name is None:
            raise ValueError(f"{each!r}: the Claude Agent SDK does not deliver this event; use {', '.join(native)}")
        found.append(name)
    return list(dict.fromkeys(found))


def _events_with_hooks(engine: Engine, native: dict[str, str]) -> list[str]:
    warn_of_undelivered(engine, {*native, *MODEL_EVENTS}, "the Claude Agent SDK")
    return list(dict.fromkeys(name for event, name in native.items() if engine.hooks(cast("EventName", event))))


class _Callback:
    """The SDK's callback for `event`: fires a message's and returns the verdict in Claude's format. Never raises.

    If the message names no known event, it is of `event`, or before its tool if that has none.
    """

    def __init__(self, engine: Engine, event: str, timeout: float, on_error: OnError) -> None:
        self._engine = engine
        self._event = event
        self._timeout = timeout
        self._on_error = on_error

    async def __call__(self, data: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        payload: dict[str, object] = {**data} if isinstance(data, dict) else {}
        sent = payload.get("hook_event_name")
        event = sent if isinstance(sent, str) and sent in claude.EVENTS else self._event
        if event != sent:
            has_tool = isinstance(payload.get("tool_name"), str)
            event = "PreToolUse" if has_tool and claude.EVENTS[event] not in WITH_TOOL else event
            log.warning("hookrun: Claude sent an event that hookrun does not know: %r is treated as %s", sent, event)
        message = placeholder_message(claude, event)
        try:
            message = claude.read({**payload, "hook_event_name": event}, event)
            knows_tool(claude, message)
            replies = await self._replies(message)
        except Exception as error:
            # No hook was asked after a mistake of the program, and Claude runs the tool if a callback raises.
            refused = isinstance(error, CALLER_ERRORS) and message.event in GATES
            on_error = "block" if refused else decided(self._engine, message.event, None, self._on_error)
            replies = [reply_of(internal_failure(message.event, describe_exception(error), on_error, error))]
        response = build_response(claude, message, replies)
        for name in response.degraded:
            if name.endswith("-> nothing") or name == "output -> context":
                texts = join_paragraphs(*(text for each in replies for text in (each.text, each.user_message)))
                log.warning("hookrun: %s: %s%s", message.native, DEGRADATIONS[name], f": {texts}" if texts else "")
        if "continue" in response.data:
            response.data["continue_"] = response.data.pop("continue")
        return cast("HookJSONOutput", response.data)

    async def _replies(self, message: AgentMessage) -> list[Reply]:
        until = monotonic() + self._timeout - margin(self._timeout, len(message.calls))
        found = []
        for call in message.calls:
            event = call.event or message.event
            fields = without_misspelled(call.fields, event)
            context = {**fields, "deadline": max(until - monotonic(), MIN_DEADLINE)}
            found.append(reply_of(await fire(self._engine, event, context, self._on_error)))
        return found
