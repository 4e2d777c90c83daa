"""hookrun in a tool-calling loop of one's own: one function around each call of a tool, async and sync.

    outcome = await run_tool(engine, call.name, call.arguments, TOOLS[call.name], session_id=session)
    messages.append({"role": "tool", "content": outcome.content})
    if outcome.stop:
        return outcome.stop_reason

In this order: `pre_tool_use`, which may change the arguments, refuse, or ask a person; the tool; then `post_tool_use`,
and `file_changed` after a write, an edit or a delete; or `post_tool_failure`, after which the tool runs again where a
hook left `metadata["retry"]` (hookrun.recipes.retry.Retry does): of a failure that is tried again the model hears
nothing. The contexts after a tool have `attempt`, which run it was. A refused call fires `tool_call_aborted` instead.
"""

from __future__ import annotations

import asyncio
import time
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from hookrun.agents.names import Names
from hookrun.integrations import answers
from hookrun.integrations.answers import OnError, log
from hookrun.integrations.tool_call import Ask, Ended, Fire, Run, ToolFailed, ToolOutcome, Wait, steps

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookrun.library.engine import Engine

    Approve = Callable[[str, dict[str, object], str], bool | Awaitable[bool]]
    """Asks the person: given the tool's name, the arguments and the reason; True, and nothing else, is a yes."""

__all__ = ["Names", "ToolFailed", "ToolOutcome", "run_tool", "run_tool_sync"]


async def run_tool(
    engine: Engine,
    name: str,
    args: Mapping[str, object],
    call: Callable[..., object],
    *,
    session_id: str | None = None,
    approve: Approve | None = None,
    names: Names | None = None,
    text: Callable[[object], str] | None = None,
    on_error: OnError = "continue",
    let_through: tuple[type[Exception], ...] = (),
    **fields: object,
) -> ToolOutcome:
    """Run a tool as the hooks of `engine` let it, and return what came of it. What the tool raises is in the outcome.

    `call(**args)` is the tool. What it returns is awaited if it can be; a function that takes its time belongs in
    `asyncio.to_thread`. `approve` is called where a hook says `ask`; without it that is a refusal. `names` translates
    the tools' own names. `text` makes what the tool returned into what hooks and model read. `fields` go into every
    context: `working_dir`, `tool_use_id`, `agent`, ...; `state` and `deadline` (seconds) go to every fire.

    `on_error` says what hookrun's own trouble means: the call goes on and the log says so, or it is refused.
    `let_through` are exceptions of the tool and of `approve` that are no failure and are raised on.
    """
    script = steps(
        name, args, {"session_id": session_id, **fields}, can_ask=approve is not None, names=names, text=text
    )
    answer: Any = None
    while True:
        try:
            step = script.send(answer)
        except StopIteration as end:
            outcome: ToolOutcome = end.value
            return outcome
        match step:
            case Fire(event, context):
                answer = await answers.fire(engine, event, context, on_error)
            case Run(arguments):
                answer = await _ended(call, arguments, let_through)
            case Ask(arguments, reason):
                answer = await _agreed(approve, name, arguments, reason, let_through)
            case Wait(seconds):
                await asyncio.sleep(seconds)


def run_tool_sync(
    engine: Engine,
    name: str,
    args: Mapping[str, object],
    call: Callable[..., object],
    *,
    session_id: str | None = None,
    approve: Callable[[str, dict[str, object], str], bool] | None = None,
    names: Names | None = None,
    text: Callable[[object], str] | None = None,
    on_error: OnError = "continue",
    let_through: tuple[type[Exception], ...] = (),
    **fields: object,
) -> ToolOutcome:
    """Do what `run_tool` does, without a loop: `call` and `approve` are plain functions."""
    script = steps(
        name, args, {"session_id": session_id, **fields}, can_ask=approve is not None, names=names, text=text
    )
    answer: Any = None
    while True:
        try:
            step = script.send(answer)
        except StopIteration as end:
            outcome: ToolOutcome = end.value
            return outcome
        match step:
            case Fire(event, context):
                answer = answers.fire_sync(engine, event, context, on_error)
            case Run(arguments):
                answer = _ended_sync(call, arguments, let_through)
            case Ask(arguments, reason):
                answer = _agreed_sync(approve, name, arguments, reason, let_through)
            case Wait(seconds):
                time.sleep(seconds)


async def _ended(call: Callable[..., object], args: dict[str, object], through: tuple[type[Exception], ...]) -> Ended:
    try:
        value = call(**args)
        return Ended(await value if isawaitable(value) else value)
    except through:
        raise
    except Exception as error:
        return Ended(exception=error)


def _ended_sync(call: Callable[..., object], args: dict[str, object], through: tuple[type[Exception], ...]) -> Ended:
    try:
        return Ended(_plain(call(**args)))
    except through:
        raise
    except Exception as error:
        return Ended(exception=error)


async def _agreed(
    approve: Approve | None, name: str, args: dict[str, object], reason: str, through: tuple[type[Exception], ...]
) -> object:
    """Return what the person said; trouble with asking is a no, and in the log."""
    try:
        agreed = approve(name, args, reason) if approve else False
        return await agreed if isawaitable(agreed) else agreed
    except through:
        raise
    except Exception:
        log.exception("hookrun: nobody could be asked about %s, so it is refused", name)
        return False


def _agreed_sync(
    approve: Callable[[str, dict[str, object], str], object] | None,
    name: str,
    args: dict[str, object],
    reason: str,
    through: tuple[type[Exception], ...],
) -> object:
    try:
        return _plain(approve(name, args, reason)) if approve else False
    except through:
        raise
    except Exception:
        log.exception("hookrun: nobody could be asked about %s, so it is refused", name)
        return False


def _plain(value: object) -> object:
    """Return the value, which nobody here can await. Raises TypeError if that is what it is for."""
    if not isawaitable(value):
        return value
    close = getattr(value, "close", None)
    if callable(close):
        close()
    raise TypeError("it is asynchronous: that needs run_tool, not run_tool_sync")
