"""Hooks for the OpenAI Agents SDK, to copy: around its function tools, and around requests and inferences.

    calls = PendingCalls("pending")
    agent = Agent(name="helper", tools=[hooked_tool(engine, tool, pending=calls, session_id="s1") for tool in tools])
    result = await Runner.run(agent, prompt, hooks=ModelEvents(engine, session_id="s1"))

Measured with openai-agents 0.24. The tools that OpenAI runs itself, prompts and ends of turns are not seen.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from agents import FunctionTool, ModelResponse, RunContextWrapper, RunHooks
from agents.models import get_default_model
from agents.tool_context import ToolContext

from hookrun.agents.base import NameMap
from hookrun.integrations import OnError, check_use, fire_or_abort, warn_of_undelivered
from hookrun.integrations.hooked import HookedCall
from hookrun.integrations.pending import PendingCalls, digest_of
from hookrun.integrations.tool_loop import TOOL_EVENTS, ToolOutcome
from hookrun.library import Abort
from hookrun.library.embedded_engine import Engine

EVENTS = {*TOOL_EVENTS, "before_request", "before_inference", "after_inference", "after_request"}


class ModelEvents(RunHooks[Any]):
    """The `hooks=` of a run: fires the events of its requests, and of inferences with the `usage` of each.

    A block or stop before one, as by a `CostTracker` whose budget is used up, raises Abort out of the run. `fields`
    (`session_id`, ...) are added to every context; `model` names one that the agent does not, as that of a RunConfig.
    Hooks for events that this SDK never delivers are logged.
    """

    def __init__(self, engine: Engine, *, on_error: OnError = None, **fields: object) -> None:
        check_use(engine, on_error)
        warn_of_undelivered(engine, EVENTS, "the OpenAI Agents SDK")
        self._engine, self._on_error, self._fields = engine, on_error, fields

    async def _fire(self, event: str, **more: object) -> None:
        await fire_or_abort(self._engine, event, {**self._fields, **more}, self._on_error)

    async def on_agent_start(self, *_: Any) -> None:
        """Fire `before_request`."""
        await self._fire("before_request")

    async def on_llm_start(self, *_: Any) -> None:
        """Fire `before_inference`."""
        await self._fire("before_inference")

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:
        """Fire `after_inference`."""
        used, model = response.usage, get_default_model() if agent.model is None else agent.model
        name = model if isinstance(model, str) else getattr(model, "model", None)  # those of the SDK have it
        usage = {"input_tokens": used.input_tokens, "output_tokens": used.output_tokens}
        details = {"input_tokens_details": {"cached_tokens": used.input_tokens_details.cached_tokens}}
        known = {**usage, **details} if used.total_tokens else None  # the SDK has zeros where a provider told none
        await self._fire("after_inference", model=self._fields.get("model", name), usage=known)

    async def on_agent_end(self, *_: Any) -> None:
        """Fire `after_request`."""
        await self._fire("after_request")


def hooked_tool(
    engine: Engine,
    tool: FunctionTool,
    *,
    pending: PendingCalls | None = None,
    names: NameMap | None = None,
    on_error: OnError = None,
    **fields: object,
) -> FunctionTool:
    """Return the tool with the hooks of `engine` around each call; what a hook refuses, the model gets as its result.

    With `pending`, a call that a hook asks about is one of the run's `interruptions`; approved in its state, it is
    resumed without the hooks before it running again. The other options are those of `run_tool`. A stop raises Abort,
    which the SDK wraps in its UserError.
    """
    options: dict[str, Any] = {"pending": pending, "names": names, "on_error": on_error, **fields}
    begun: dict[str, tuple[HookedCall, ToolOutcome | None]] = {}

    def key_of(args: dict[str, Any], call_id: str) -> str:
        return digest_of(tool.name, args, {**fields, "tool_use_id": call_id})

    async def needs(context: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
        key, own = key_of(args, call_id), tool.needs_approval
        if pending is not None and pending.find(key) is not None:
            return True  # of several that wait others were decided
        call = HookedCall(engine, tool.name, args, tool_use_id=call_id, **options)
        refused = await call.before()
        if refused is not None and refused.pending is not None:
            return True
        begun[key] = call, refused
        return own if isinstance(own, bool) else await own(context, call.args, call_id)

    async def invoke(context: ToolContext[Any], text: str) -> Any:
        args, call_id = json.loads(text or "{}"), context.tool_call_id
        key = key_of(args, call_id)
        call, refused = begun.pop(key, (None, None))
        if call is None:
            waits = None if pending is None else pending.find(key)
            decision = waits.approve() if waits and context.is_tool_approved(tool.name, call_id) else None
            call = HookedCall(engine, tool.name, args, tool_use_id=call_id, decision=decision, **options)
            refused = await call.before()
        if refused is not None:
            return _given(refused, refused.content)
        try:
            result = await tool.on_invoke_tool(context, json.dumps(call.args))
        except Exception as error:
            outcome = await call.failed(error)
            _given(outcome, None)
            raise outcome.exception or error from None
        return _given(await call.after(result), result)

    return replace(tool, on_invoke_tool=invoke, needs_approval=needs)


def _given(outcome: ToolOutcome, result: object) -> object:
    """Return what the model gets: with the notes of hooks. Raises Abort if a hook stopped the run."""
    if outcome.stop:
        raise Abort(outcome.stop_reason or outcome.content)
    return outcome.content if isinstance(result, str) or outcome.notes or outcome.output is not None else result
