"""What an agent makes of an event that is explained: whether it sends it, what it would get, what it cannot do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hookrun.agents.base import native_event
from hookrun.agents.formats import Reply, reply_from_verdict
from hookrun.agents.reply import ARGUMENTS, NO_WORDS, build_response, degrade
from hookrun.cli.event_query import ConfigSources, EventQuery
from hookrun.cli.printing import BOLD, DIM
from hookrun.dry_run import DEPENDS, ENDED, FAILS, RUNS, Prediction
from hookrun.edit.file_change import FileError
from hookrun.engine import combine
from hookrun.model import HookResult, Outcome
from hookrun.trust.notices import combine_failures
from hookrun.verdicts import apply_policies
from hookrun.wiring import plan
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES, InstallLocation, WiredEvent
from hookrun.wiring.wired_command import this_program

if TYPE_CHECKING:
    from hookrun.agents.types import Agent
    from hookrun.cli.printing import Line

ACTIONS = ("allow", "ask", "modify", "block", "skip", "stop")


class AgentSide:
    """The agent of a query, with the predictions for each call in its message."""

    def __init__(
        self, agent: Agent, query: EventQuery, sources: ConfigSources, predictions: list[list[Prediction]]
    ) -> None:
        self.agent = agent
        self._query = query
        self._sources = sources
        self._predictions = predictions

    def obstacles(self) -> Iterator[str]:
        """Yield what keeps every hook from running in the agent, independent of the declarations."""
        agent = self.agent
        if plan.unsupported_events(agent, [self._query.event]):
            yield f"{agent.DISPLAY_NAME} has no such event: its hooks never run there"
            return
        if plan.unsent_events(agent, [self._query.event]):
            version = plan.newest_measured(agent)
            yield f"{agent.DISPLAY_NAME} never sends this event (seen up to {version}): its hooks never run there"
            return
        wanted = plan.events_for(agent, [self._query.event])
        wired = self._installed(wanted)
        remedy = f"run `hookrun install {agent.NAME}`"
        if wanted and not wired:
            yield f"{agent.DISPLAY_NAME} runs no hooks: hookrun is not installed for {', '.join(wanted)}: {remedy}"
        elif wired and all(each.only for each in wired):
            only = wired[0]
            where = f"{only.path}:{only.line}"
            yield f"{agent.DISPLAY_NAME} runs hooks for {only.event} only where {only.only} matches ({where}): {remedy}"

    def _installed(self, wanted: Sequence[str]) -> list[WiredEvent]:
        found: list[WiredEvent] = []
        location = InstallLocation(self._sources.home, self._sources.project, dict(os.environ))
        for scope in SCOPES:
            try:
                found += plan.wired_events(InstallRequest(self.agent, scope, location, this_program()))
            except FileError:
                continue
        return [each for each in found if each.event in wanted]

    def lines(self) -> Iterator[Line]:
        """Yield what the agent would get, and what it does not support at this event."""
        if plan.unsupported_events(self.agent, [self._query.event]):
            return
        known = self.known_answer()
        if known is not None:
            yield f"{self.agent.DISPLAY_NAME} would get, with exit status 0: {known or 'nothing'}", BOLD
        fallbacks = ", ".join(dict.fromkeys(name for _, name in self.unsupported()))
        if fallbacks:
            yield f"unsupported by {self.agent.DISPLAY_NAME}, with what it falls back to: {fallbacks}", DIM

    def known_answer(self) -> str | None:
        """Return the agent's answer where it is known in advance, because hooks can only fail; else None."""
        message = self._query.message
        every = [each for predictions in self._predictions for each in predictions]
        if message is None or any(each.state in (RUNS, DEPENDS) or each.depends for each in every):
            return None
        replies = []
        for predictions in self._predictions:
            failed = [(each.hook, each.failure) for each in predictions if each.state == FAILS]
            runs = [
                HookResult(hook, apply_policies(hook, why), outcome=Outcome(why), failure=why)
                for hook, why in failed
                if why
            ]
            behind = [
                (each.hook, each.failure)
                for each in predictions
                if each.state == ENDED and each.never_approved and each.failure is not None
            ]
            combine_failures(runs, behind, self._sources.project)
            replies.append(reply_from_verdict(combine(runs, {}, changed=False), runs))
        return build_response(self.agent, message, replies).stdout().decode().strip()

    def unsupported(self) -> Iterator[tuple[str, str]]:
        """Yield each action that the agent's event does not support, and the name of what it falls back to."""
        message = self._query.message
        native = message.native if message is not None else native_event(self.agent, self._query.event)
        form = self.agent.RESPONSE_FORMATS.get(native)
        able = form.capabilities if form is not None else NO_WORDS
        if message is not None and message.tool is not None and message.to_native_args([{}]) is None:
            able -= ARGUMENTS
        for action in ACTIONS:
            reason = None if action in ("allow", "modify") else "no"
            wanted = Reply(action, reason, args={} if action == "modify" else None)
            for name in degrade(wanted, able, self._query.event)[1]:
                yield action, name
