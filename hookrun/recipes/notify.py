"""The recipe `notify`: a person is told that the agent wants something, has failed, or is done."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from hookrun.bundles.channels import Bell, Channel, ChannelError, Desktop, Note, Webhook
from hookrun.bundles.notify import LEVELS, Notify
from hookrun.library.context import Context
from hookrun.recipes import state, terminal
from hookrun.recipes.options import among, known_words, out_of, wrong
from hookrun.recipes.recipe import Option, Recipe, option

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

NAME = "notify"
NO_TERMINAL = "/dev/tty"
"""Where a bell looks when no terminal was found: there is none, which it says."""

RECIPE = Recipe(
    NAME,
    "Tells you on the desktop, by the terminal's bell or a webhook, when the agent needs you, fails or is done.",
    hooks=(
        {
            "name": NAME,
            "description": "Tells a person",
            "event": ["notification", "error", "stop"],
            "python": "hookrun.recipes.notify:check",
            "cwd": "/",
            "priority": 1000,  # last: an end that another hook has refused is not told
            "timeout": 20,
            "on_failure": "continue",  # nobody was told: that is said, and refuses nothing
        },
    ),
    options=(
        Option(
            "via",
            "desktop",
            "How you are told, one or several of: desktop bell webhook.",
            out_of(("desktop", "bell", "webhook")),
        ),
        Option("url", "", "The webhook's address, http or https."),
        Option(
            "style",
            "json",
            'What the webhook is sent: json, all that is known, or slack, `{"text": ...}`.',
            among("json", "slack"),
        ),
        Option(
            "level",
            "info",
            f"What is told at least: {', '.join(LEVELS)}. An error is one, all else is info.",
            among(*LEVELS),
        ),
    ),
    catches=(
        (
            "The message of a notification, the error of an error, the answer at the end of a turn: as plain text on "
            "one line, at most 500 characters, with credentials taken out."
        ),
        "A way of telling that cannot work here (no notify-send, no terminal): you are told, once in a session.",
        "A message that could not be delivered: the hook fails, and the agent goes on.",
    ),
    misses=(
        "Agents that fire no `notification` or `error` (docs/agents.md): there only the end of a turn is told.",
        "The agent waits until the message is sent: up to 5 seconds for a webhook that does not answer.",
        "An end that a hook of a later layer refuses: it is told before that one is asked.",
        "A desktop on another machine, as over ssh: use a webhook.",
        "The bell needs `ps`, and an agent that runs in a terminal.",
    ),
)


class _Work:
    """Takes the work that the bundle wants done in the background: here it is waited for."""

    def __init__(self) -> None:
        self.all: list[Coroutine[Any, Any, object]] = []

    def in_background(self, _handler: object, work: Coroutine[Any, Any, object], _name: str | None) -> None:
        """Take it."""
        self.all.append(work)


def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Tell the person; return a word on what cannot work here, None where there is none."""
    level = option(RECIPE, "level").strip()
    if level not in LEVELS:
        wrong(RECIPE, "level", f"one of {', '.join(LEVELS)}")
    made = [CHANNELS[name]() for name in dict.fromkeys(known_words(RECIPE, "via", CHANNELS))]
    work = _Work()
    given: Context = Context.of(dict(context), call=(work, None))  # type: ignore[arg-type]  # no engine, no handler
    verdict = Notify(made, minimum_level=level, name=NAME).tell(given)
    problems = asyncio.run(_all(work.all))
    if problems:
        raise SystemExit("\n".join(f"{NAME}: {problem}" for problem in problems))
    if verdict is None or verdict.system_message is None:
        return None
    return state.once(context, f"{NAME} {verdict.system_message}", verdict.system_message)


async def _all(work: list[Coroutine[Any, Any, object]]) -> list[str]:
    """Do it all at once; return what went wrong."""
    done = await asyncio.gather(*work, return_exceptions=True)
    return [_told(each) for each in done if isinstance(each, BaseException)]


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, ChannelError) else f"{type(error).__name__}: {error}"


def _bell() -> Channel:
    return Bell(terminal.device() or NO_TERMINAL)


def _webhook() -> Channel:
    style = option(RECIPE, "style").strip()
    if style not in STYLES:
        wrong(RECIPE, "style", f"one of {', '.join(STYLES)}")
    try:
        return Webhook(option(RECIPE, "url").strip(), template=STYLES[style])
    except ValueError as error:
        wrong(RECIPE, "url", re.sub(r".*expected ", "", str(error)))


def _slack(note: Note) -> object:
    return {"text": f"{note.title}: {note.text}"}


CHANNELS: dict[str, Callable[[], Channel]] = {"desktop": Desktop, "bell": _bell, "webhook": _webhook}
STYLES: dict[str, Callable[[Note], object] | None] = {"json": None, "slack": _slack}
