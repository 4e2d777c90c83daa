"""The recipe `notify`: notifies the user when the agent needs input, fails or finishes."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from threading import Lock
from typing import TYPE_CHECKING

from hookrun import Context, Verdict
from hookrun.core.state import timestamp
from hookrun.recipes import recipe_state
from hookrun.recipes.notify_channels import Bell, Channel, ChannelError, Desktop, Notice, Webhook, terminal_device
from hookrun.recipes.output_excerpt import one_line
from hookrun.recipes.recipe import Option, Recipe, fail_option, known_words, one_of, option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun import Engine
    from hookrun.core.literals import EventName

NAME = "notify"
# Levels' severity. An unknown one counts as an error, so as not to be lost.
LEVELS = {"debug": 0, "info": 1, "notice": 1, "warn": 2, "warning": 2, "error": 3, "critical": 4, "fatal": 4}
# Characters.
MAX_TITLE, MAX_TEXT = 100, 500
# Last: a stop that another hook blocks is not reported.
PRIORITY = 1000

RECIPE = Recipe(
    NAME,
    "Notify you on the desktop, by terminal bell or webhook when the agent needs input, fails or finishes.",
    options=(
        Option(
            "via",
            "desktop",
            "How to notify: one or more of `desktop`, `bell`, `webhook`.",
            list_of=("desktop", "bell", "webhook"),
        ),
        Option("url", "", "URL of the webhook, http or https."),
        Option(
            "style",
            "json",
            'Body for the webhook: `json` (all fields) or `slack` (`{"text": ...}`).',
            choices=("json", "slack"),
        ),
        Option(
            "level",
            "info",
            f"Lowest level to report: {', '.join(LEVELS)}. Errors are `error`, all other events `info`.",
            choices=LEVELS,
        ),
    ),
    catches="""
        - Sends the message of a notification, the error, or the answer at the end of a turn: plain text on one line, up
          to 500 characters, with credentials redacted.
        - Notifies you once per session if a channel does not work here (no `notify-send`, no terminal).
        - If delivery fails, the hook fails and the agent continues.
    """,
    misses="""
        - Agents without `notification` and `error` events report only the end of a turn.
        - The agent waits for delivery: up to 5 seconds for a webhook that does not respond.
        - A stop is reported even if a hook of a later layer blocks it.
        - A desktop on another machine, for example over ssh: use a webhook.
        - The bell needs `ps` and an agent that runs in a terminal.
    """,
)


@dataclass(eq=False)
class Notify:
    """Notify the user of events by one or more channels, without delaying the agent.

    The text is the message of a notification, the error of an error, or the answer at the end of a turn: plain text on
    one line, without credentials, at most 500 characters. A channel that cannot work here (its program is missing,
    there is no terminal) is reported once, in the `system_message`. A failed delivery is logged by the engine and
    passed to the hook's `on_error`.

    Args:
        via: A channel or several: `Bell()`, `Desktop()`, `Webhook(url)`, `CommandChannel(args)`, or any `Channel`.
        events: The events to report, by any of their names.
        minimum_level: Less severe events are not reported: debug, info, warning, error, critical. An event has its own
            `level`; without one an `error` is an error, everything else info.
        every: Seconds: at most one notification per event in that time. Omitted ones are counted in the next one.
        name: The name of the hook in the engine.
        clock: Returns monotonic seconds.

    Raises:
        ValueError: The level is unknown.
    """

    via: Channel | Sequence[Channel]
    events: Sequence[EventName] = ("notification", "error", "stop")
    minimum_level: str = "info"
    every: float = 0.0
    _: KW_ONLY
    name: str = NAME
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if self.minimum_level not in LEVELS:
            raise ValueError(f"Notify: minimum_level must be one of {', '.join(LEVELS)}, not {self.minimum_level!r}")
        self.channels: tuple[Channel, ...] = tuple(self.via) if isinstance(self.via, Sequence) else (self.via,)
        self._lock = Lock()
        self._last: dict[str, tuple[float, int]] = {}
        self._reported: set[int] = set()

    def register(self, engine: Engine) -> None:
        """Register for the events."""
        engine.register(
            tuple(self.events),
            self.tell,
            name=self.name,
            priority=PRIORITY,
            on_failure="continue",
            description="notify the user",
        )

    def tell(self, ctx: Context) -> Verdict | None:
        """Start the deliveries; return a message about unavailable channels, the first time."""
        notice, channels, missing = self.due(ctx)
        if notice is not None:
            for channel in channels:
                ctx.background(channel.send(notice), name=type(channel).__name__)
        return Verdict(system_message=missing) if missing else None

    def due(self, ctx: Context) -> tuple[Notice | None, list[Channel], str | None]:
        """Return the notice, the channels for it, and a message about unavailable channels if not yet reported.

        The notice is None if the event needs none.
        """
        level = _level(ctx)
        if LEVELS.get(level, LEVELS["error"]) < LEVELS[self.minimum_level]:
            return None, [], None
        usable: list[Channel] = []
        missing: list[str] = []
        for channel in self.channels:
            if (reason := channel.unavailable()) is None:
                usable.append(channel)
            elif id(channel) not in self._reported:
                self._reported.add(id(channel))
                missing.append(f"{self.name}: {type(channel).__name__} is not available: {reason}")
        omitted = self._count_omitted(ctx.event) if usable else None
        return _notice(ctx, level, omitted) if omitted is not None else None, usable, "\n".join(missing) or None

    def _count_omitted(self, event: str) -> int | None:
        """Return how many of this event's notifications were omitted; None to omit this one, too."""
        now = self.clock()
        with self._lock:
            last, omitted = self._last.get(event, (float("-inf"), 0))
            if now - last < self.every:
                self._last[event] = last, omitted + 1
                return None
            self._last[event] = now, 0
            return omitted


# Last: a stop blocked by another hook is not reported. A failed delivery is reported, and blocks nothing.
@RECIPE.hook(["notification", "error", "stop"], "Notify the user", priority=1000, timeout=20, on_failure="continue")
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Notify the user; return a message about unavailable channels."""
    level = one_of(RECIPE, "level")
    channels = [CHANNELS[name]() for name in dict.fromkeys(known_words(RECIPE, "via"))]
    notice, usable, missing = Notify(channels, minimum_level=level).due(Context.of(dict(context)))
    problems = asyncio.run(_send(notice, usable)) if notice is not None else []
    if problems:
        raise SystemExit("\n".join(f"{NAME}: {problem}" for problem in problems))
    return recipe_state.once(context, f"{NAME} {missing}", missing) if missing else None


async def _send(notice: Notice, channels: Sequence[Channel]) -> list[str]:
    """Send by all channels at once; return the errors."""
    done = await asyncio.gather(*(each.send(notice) for each in channels), return_exceptions=True)
    errors = [each for each in done if isinstance(each, BaseException)]
    return [str(each) if isinstance(each, ChannelError) else f"{type(each).__name__}: {each}" for each in errors]


def _webhook() -> Channel:
    style = one_of(RECIPE, "style")
    try:
        return Webhook(option(RECIPE, "url").strip(), template=STYLES[style])
    except ValueError as error:
        fail_option(RECIPE, "url", re.sub(r".*must be ", "", str(error)))


CHANNELS: dict[str, Callable[[], Channel]] = {
    "desktop": Desktop,
    "bell": lambda: Bell(terminal_device() or "/dev/tty"),  # /dev/tty reports why there is no terminal
    "webhook": _webhook,
}
STYLES: dict[str, Callable[[Notice], object] | None] = {
    "json": None,
    "slack": lambda notice: {"text": f"{notice.title}: {notice.text}"},
}


def _level(ctx: Context) -> str:
    level = ctx.get("level")
    if isinstance(level, str) and level:
        return one_line(level, MAX_TITLE).lower()
    return "error" if ctx.event in ("error", "post_tool_failure") else "info"


def _notice(ctx: Context, level: str, omitted: int) -> Notice:
    more = f" ({omitted} more since the last one)" if omitted else ""
    agent = one_line(ctx.agent, MAX_TITLE) if ctx.agent else None
    return Notice(
        title=one_line(f"{agent or 'agent'}: {ctx.event.replace('_', ' ')}", MAX_TITLE),
        text=one_line(_text(ctx), MAX_TEXT) + more,
        level=level,
        event=ctx.event,
        session_id=ctx.session_id,
        agent=agent,
        timestamp=ctx.timestamp or timestamp(),
    )


def _text(ctx: Context) -> str:
    """Return the first text of the event."""
    error = ctx.own("error_info").get("error_message")
    for text in (ctx.get("message"), error, ctx.tool_result_error, ctx.assistant_response, ctx.get("reason")):
        if isinstance(text, str) and text.strip():
            return text
    return "finished" if ctx.event in ("stop", "subagent_stop", "session_end") else ctx.event.replace("_", " ")
