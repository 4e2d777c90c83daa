"""What happens around one call of a tool, step by step, without doing any of it: tool_loop.py does."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrun.agents.message import CHANGES_FILES
from hookrun.agents.names import Names
from hookrun.integrations.answers import Said, approval, lines, log, said, spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from hookrun.library.result import Result


LONGEST_WAIT = 3600.0
"""Seconds until a tool is run again: a hook that wishes for more gets no further attempt."""


class ToolFailed(Exception):  # noqa: N818  # it says what happened to the tool
    """Raised by a tool to say that it failed, with exactly this text for hooks and model."""


class Fire(NamedTuple):
    """A step: fire this event; send back its Result."""

    event: str
    fields: dict[str, object]


class Ask(NamedTuple):
    """A step: ask the person; send back what was answered. Only True is a yes."""

    args: dict[str, object]
    reason: str


class Run(NamedTuple):
    """A step: run the tool with these arguments, by its own names; send back an Ended."""

    args: dict[str, object]


class Wait(NamedTuple):
    """A step: let these seconds pass."""

    seconds: float


class Ended(NamedTuple):
    """How a run of the tool ended: with a value, or with what it raised."""

    value: object = None
    exception: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What came of a tool call.

    `content` is what the model is to be told, all of it: what the tool gave or why it failed or did not run, and after
    it, in `notes` by themselves too, what hooks have to say. `ran` tells whether the tool ran at all, `action` what
    the hooks said to that (`continue`, `allow`, `modify`, `ask`, `skip`, `block`, `stop`), `args` the arguments in
    the end, by the tool's own names, `attempts` how often it ran. `result` is what it returned; `error` is why it
    failed, for which it may have raised `exception`. `stop` says that the turn is to end, for `stop_reason`.
    `to_person` is what the person should see.
    """

    content: str
    action: str
    ran: bool
    args: dict[str, object]
    attempts: int = 0
    result: object = None
    error: str | None = None
    exception: Exception | None = None
    notes: tuple[str, ...] = ()
    stop: bool = False
    stop_reason: str | None = None
    to_person: tuple[str, ...] = ()


@dataclass(slots=True)
class _Call:
    """One call of a tool while it goes on."""

    name: str
    args: dict[str, object]
    names: Names
    text: Callable[[object], str]
    fields: dict[str, object]
    notes: list[str] = field(default_factory=list)
    to_person: list[str] = field(default_factory=list)
    stop_reason: str | None = None
    attempts: int = 0
    action: str = "continue"

    def fire(self, event: str, **more: object) -> Generator[Fire, Any, tuple[Said, Result]]:
        about = {
            "agent_tool_name": self.name,
            **self.fields,
            "tool_name": self.names.tool(self.name),
            "tool_args": self.names.arguments(self.name, self.args),
            **more,
        }
        result: Result = yield Fire(event, about)
        answer = said(result)
        if answer.person:
            self.to_person.append(answer.person)
        if answer.action == "stop" and self.stop_reason is None:
            self.stop_reason = answer.reason
        return answer, result

    def tell(self, event: str, **more: object) -> Generator[Fire, Any, None]:
        answer, _ = yield from self.fire(event, **more)
        self.note(answer)

    def note(self, answer: Said) -> None:
        """Keep what an event has to say that comes too late to refuse anything: all of it is a note."""
        if answer.action == "ask":
            answer.reason = approval(answer.reason)
        if answer.text:
            self.notes.append(answer.text)

    def outcome(self, content: str | None, **more: Any) -> ToolOutcome:
        return ToolOutcome(
            content=lines(content, *self.notes) or "",
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


def steps(
    name: str,
    args: Mapping[str, object],
    fields: Mapping[str, object],
    *,
    can_ask: bool,
    names: Names | None = None,
    text: Callable[[object], str] | None = None,
) -> Generator[Fire | Ask | Run | Wait, Any, ToolOutcome]:
    """Yield the steps around one call of a tool, and return its outcome.

    `fields` are those of every context. Without `can_ask` what needs a person is refused.
    """
    call = _Call(name, dict(args), names or Names(), text or as_text, dict(fields))
    refusal = yield from _before(call, can_ask=can_ask)
    if refusal is not None:
        yield from call.tell("tool_call_aborted", reason=refusal)
        return call.outcome(refusal)
    while True:
        call.attempts += 1
        ended: Ended = yield Run(call.args)
        if ended.exception is None:
            return (yield from _succeeded(call, ended.value))
        error = why(ended.exception)
        answer, result = yield from call.fire("post_tool_failure", tool_result_error=error, attempt=call.attempts)
        after = _again(result, call.attempts)
        if after is None:
            call.note(answer)
            return call.outcome(error, error=error, exception=ended.exception)
        yield Wait(after)


def _before(call: _Call, *, can_ask: bool) -> Generator[Fire | Ask, Any, str | None]:
    """Return why the call is refused, or None; the arguments are then those that it is to run with."""
    answer, _ = yield from call.fire("pre_tool_use")
    call.action = answer.action
    if answer.context:
        call.notes.append(answer.context)
    if not answer.goes_on and answer.action != "ask":
        return answer.reason
    if answer.args is not None:
        call.args = call.names.own_arguments(call.name, answer.args)
    if answer.action != "ask":
        return None
    if not can_ask:
        return approval(answer.reason)
    agreed: object = yield Ask(dict(call.args), answer.reason or "")
    return None if agreed is True else f"{approval(answer.reason)} (it was not given)"


def _succeeded(call: _Call, value: object) -> Generator[Fire, Any, ToolOutcome]:
    output = _output(call, value)
    yield from call.tell("post_tool_use", tool_result_output=output, attempt=call.attempts)
    if call.names.tool(call.name) in CHANGES_FILES:
        path = call.names.arguments(call.name, call.args).get("file_path")
        if isinstance(path, str) and path:
            yield from call.tell("file_changed", file_path=path)
    return call.outcome(output, result=value)


def _again(result: Result, attempts: int) -> float | None:
    """Return after how many seconds the tool is to run again, as `metadata["retry"]` says, or None for not at all.

    It says `{"attempt": the next one's number, "of": how many there may be in all, "after_s": seconds}`. Of more
    than LONGEST_WAIT, or of no number, there is no further attempt.
    """
    wish = (result.modified_context or {}).get("retry")
    if result.action not in ("continue", "allow") or not isinstance(wish, dict):
        return None
    most, after = wish.get("of"), wish.get("after_s", 0)
    if not isinstance(most, int) or attempts >= most:
        return None
    if not isinstance(after, (int, float)) or not after <= LONGEST_WAIT:
        log.warning("hookrun: %.200r is no wish to run a tool again: expected at most %g s", wish, LONGEST_WAIT)
        return None
    return float(max(0, after))


def why(error: Exception) -> str:
    """Return what a tool raised as text for hooks and model."""
    text = spoken(error)
    if text is None:
        return type(error).__name__
    return text if isinstance(error, ToolFailed) else f"{type(error).__name__}: {text}"


def as_text(value: object) -> str:
    """Return what a tool gave as text: strings as they are, None as nothing, everything else as JSON.

    What is no JSON is what `str` says of it; what says nothing of itself is called by its type.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except Exception:  # keys that are no strings, a value within itself, a `__str__` that raises, ...
        text = spoken(value)
        return f"({type(value).__name__} without a text)" if text is None else text


def _output(call: _Call, value: object) -> str:
    """Return what the tool gave as the program wants it told, or as it would be without that: the tool has run."""
    try:
        return as_text(call.text(value))
    except Exception:
        log.exception("hookrun: what %s gave could not be made text by the program's own `text`", call.name)
        return as_text(value)
