"""What `hookrun explain --agent` adds: whether the agent sends the event, its answer, and what it does not support."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrun.agents.base import native_event
from hookrun.agents.formats import Reply
from hookrun.agents.reply import ARGUMENTS, NO_WORDS, build_response, degrade, replies_to
from hookrun.core.engine import combine_into
from hookrun.core.model import AnyVerdict, HookResult, Outcome
from hookrun.core.verdicts import apply_policies
from hookrun.edit.file_change import FileError
from hookrun.fire.dry_run import DEPENDS, ENDED, FAILS, RUNS
from hookrun.trust.notices import combine_failures
from hookrun.wiring import plan
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES, InstallLocation, WiredEvent
from hookrun.wiring.wired_command import this_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrun.agents.types import Agent
    from hookrun.cli.event_query import EventQuery
    from hookrun.cli.printing import Line
    from hookrun.fire.dry_run import Prediction

    # The predictions of each of a message's calls.
    Calls = Sequence[Sequence[Prediction]]

ACTIONS = ("allow", "ask", "modify", "block", "skip", "stop")


def agent_obstacle(agent: Agent, query: EventQuery) -> str | None:
    """Return what keeps every hook from running in the agent, or None."""
    if plan.unsupported_events(agent, [query.event]):
        return f"{agent.DISPLAY_NAME} has no such event: its hooks never run there"
    if plan.unsent_events(agent, [query.event]):
        version = plan.newest_measured(agent)
        return f"{agent.DISPLAY_NAME} never sends this event (seen up to {version}): its hooks never run there"
    wanted = plan.events_for(agent, [query.event])
    wired: list[WiredEvent] = []
    location = InstallLocation(query.sources.home, query.sources.project, dict(os.environ))
    for scope in SCOPES:
        with suppress(FileError):
            found = plan.wired_events(InstallRequest(agent, scope, location, this_program()))
            wired += [each for each in found if each.event in wanted]
    remedy = f"run `hookrun install {agent.NAME}`"
    if wanted and not wired:
        return f"{agent.DISPLAY_NAME} runs no hooks: hookrun is not installed for {wanted[0]}: {remedy}"
    if wired and all(each.only for each in wired):
        first = wired[0]
        where = f"only where {first.only} matches ({first.path}:{first.line})"
        return f"{agent.DISPLAY_NAME} runs hooks for {first.event} {where}: {remedy}"
    return None


def agent_lines(agent: Agent, query: EventQuery, predictions: Calls) -> Iterator[Line]:
    """Yield the agent's answer, and what it does not support at this event."""
    if plan.unsupported_events(agent, [query.event]):
        return
    known = known_answer(agent, query, predictions)
    if known is not None:
        yield f"{agent.DISPLAY_NAME} would get, with exit status 0: {known or 'nothing'}", "bold"
    fallbacks = ", ".join(dict.fromkeys(name for _, name in unsupported(agent, query)))
    if fallbacks:
        yield f"unsupported by {agent.DISPLAY_NAME}, with what it falls back to: {fallbacks}", "dim"


def known_answer(agent: Agent, query: EventQuery, predictions: Calls) -> str | None:
    """Return the agent's answer if known in advance, as hooks can only fail; else None."""
    every = [each for call in predictions for each in call]
    if query.message is None or any(each.state in (RUNS, DEPENDS) or each.depends for each in every):
        return None
    fires = []
    for call in predictions:
        runs = [
            HookResult(each.hook, Outcome(why), apply_policies(each.hook, why), why)
            for each in call
            if each.state == FAILS and (why := each.failure) is not None
        ]
        behind = [
            (each.hook, each.failure)
            for each in call
            if each.state == ENDED and each.never_approved and each.failure is not None
        ]
        combine_failures(runs, behind, query.sources.project)
        fires.append((combine_into(AnyVerdict(), runs), runs))
    return build_response(agent, query.message, replies_to(agent, query.message, fires)).stdout().decode().strip()


def unsupported(agent: Agent, query: EventQuery) -> Iterator[tuple[str, str]]:
    """Yield each unsupported action of the event, and its fallback."""
    message = query.message
    native = message.native if message is not None else native_event(agent, query.event)
    form = agent.RESPONSE_FORMATS.get(native)
    able = form.capabilities if form is not None else NO_WORDS
    if message is not None and message.tool is not None and message.to_native_args([{}]) is None:
        able -= ARGUMENTS
    for action in ACTIONS:
        reason = None if action in ("allow", "modify") else "no"
        wanted = Reply(action, reason, args={} if action == "modify" else None)
        for name in degrade(wanted, able, query.event)[1]:
            yield action, name
