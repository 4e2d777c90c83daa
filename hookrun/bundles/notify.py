"""Tells a person what the agent has to say, that something went wrong, or that it is done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING

from hookrun.bundles.channels import Bell, Channel, ChannelError, Command, Desktop, Note, Webhook
from hookrun.bundles.plain_text import one_line
from hookrun.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.library.context import Context
    from hookrun.library.engine import Engine

__all__ = ["Bell", "Channel", "ChannelError", "Command", "Desktop", "Note", "Notify", "Webhook"]

LEVELS = {"debug": 0, "info": 1, "notice": 1, "warn": 2, "warning": 2, "error": 3, "critical": 4, "fatal": 4}
"""How serious the levels are. One that nobody knows is as serious as an error: rather told than lost."""
UNKNOWN = LEVELS["error"]
LONGEST_TITLE = 100
LONGEST_TEXT = 500
"""Characters."""
PRIORITY = 1000
"""Last: when another hook has the agent go on, its end is not told."""


class Notify:
    """Tell a person of events, by one or more channels, without the agent waiting for it.

    What is told is the message of a notification, the error of an error, the answer at the end of a turn: as plain text
    on one line, credentials taken out, at most 500 characters. A channel that cannot work here (its program is missing,
    there is no terminal) says so once, in the `system_message`. A delivery that fails is logged by the engine and given
    to the hook's `on_error`.

    Args:
        via: A channel or several: `Bell()`, `Desktop()`, `Webhook(url)`, `Command(args)`, or any `Channel`.
        events: Which events are told, by any of their names.
        minimum_level: Notes below it are not sent: debug, info, warning, error, critical. An event has its own level
            (`level`), an `error` is one, all else is info.
        every: Seconds: at most one note of each event in that time. What was left out is counted in the next one.
        name: The name of the hook in the engine.
        clock: Seconds, ever growing.

    Raises:
        ValueError: The level is none of those.
    """

    def __init__(
        self,
        via: Channel | Sequence[Channel],
        events: Sequence[str] = ("notification", "error", "stop"),
        minimum_level: str = "info",
        every: float = 0.0,
        *,
        name: str = "notify",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if minimum_level not in LEVELS:
            raise ValueError(f"Notify: minimum_level is {minimum_level!r}, expected one of {', '.join(LEVELS)}")
        self.channels: tuple[Channel, ...] = tuple(via) if isinstance(via, Sequence) else (via,)
        self.events = tuple(events)
        self.minimum_level = minimum_level
        self.every = every
        self.name = name
        self._clock = clock
        self._lock = Lock()
        self._last: dict[str, float] = {}
        self._left_out: dict[str, int] = {}
        self._said: set[int] = set()

    def register(self, engine: Engine) -> None:
        """Register for the events."""
        engine.register(
            self.events,
            self.tell,
            name=self.name,
            priority=PRIORITY,
            on_failure="continue",
            description="tell a person",
        )

    def tell(self, ctx: Context) -> Verdict | None:
        """Start what tells the person; return a word on channels that cannot work here, the first time."""
        level = _level(ctx)
        if LEVELS.get(level, UNKNOWN) < LEVELS[self.minimum_level]:
            return None
        usable, missing = self._usable()
        if usable and (left_out := self._turn(ctx.event)) is not None:
            note = _note(ctx, level, left_out)
            for channel in usable:
                ctx.background(channel.send(note), name=type(channel).__name__)
        return Verdict(system_message="\n".join(missing)) if missing else None

    def _usable(self) -> tuple[list[Channel], list[str]]:
        """Return the channels that can work here, and a line for each that cannot and has not said so yet."""
        usable: list[Channel] = []
        missing: list[str] = []
        for channel in self.channels:
            if (reason := channel.unavailable()) is None:
                usable.append(channel)
            elif id(channel) not in self._said:
                self._said.add(id(channel))
                missing.append(f"{self.name}: {type(channel).__name__} is not available: {reason}")
        return usable, missing

    def _turn(self, event: str) -> int | None:
        """Return how many notes of this event were left out before this one; None where it is to be left out too."""
        now = self._clock()
        with self._lock:
            last = self._last.get(event)
            if last is not None and now - last < self.every:
                self._left_out[event] = self._left_out.get(event, 0) + 1
                return None
            self._last[event] = now
            return self._left_out.pop(event, 0)


def _level(ctx: Context) -> str:
    level = ctx.get("level")
    if isinstance(level, str) and level:
        return one_line(level, LONGEST_TITLE).lower()
    return "error" if ctx.event in ("error", "post_tool_failure") else "info"


def _note(ctx: Context, level: str, left_out: int) -> Note:
    more = f" ({left_out} more since the last one)" if left_out else ""
    agent = one_line(ctx.agent, LONGEST_TITLE) if ctx.agent else None
    return Note(
        title=one_line(f"{agent or 'agent'}: {ctx.event.replace('_', ' ')}", LONGEST_TITLE),
        text=one_line(_text(ctx), LONGEST_TEXT) + more,
        level=level,
        event=ctx.event,
        session_id=ctx.session_id,
        agent=agent,
        timestamp=ctx.timestamp or datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )


def _text(ctx: Context) -> str:
    """Return the first there is of what an event may have to say."""
    error = ctx.own("error_info").get("error_message")
    for text in (ctx.get("message"), error, ctx.tool_result_error, ctx.assistant_response, ctx.get("reason")):
        if isinstance(text, str) and text.strip():
            return text
    return "it is done" if ctx.event in ("stop", "subagent_stop", "session_end") else ctx.event.replace("_", " ")
