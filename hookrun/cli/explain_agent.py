"""What `hookrun explain --agent` adds: whether the agent sends the event, its answer, and what it does not support."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrun.agents.base import native_event
from hookrun.agents.formats import Reply, reply_from_verdict
from hookrun.agents.reply import ARGUMENTS, NO_WORDS, build_response, degrade
from hookrun.core.engine import combine
from hookrun.core.model import HookResult, Outcome
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
    from hookrun.cli.explain import Explanation
    from hookrun.cli.printing import Line

ACTIONS = ("allow", "ask", "modify", "block", "skip", "stop")


class AgentSide:
    """Whether the agent sends the event, its answer, and what it cannot do."""

    def __init__(self, agent: Agent, explanation: Explanation) -> None:
        self.agent = agent
        self._event, self._message = explanation.query.event, explanation.query.message
        self._explanation = explanation

    def obstacle(self) -> str | None:
        """Return what keeps every hook from running in the agent, or None."""
        agent = self.agent
        if plan.unsupported_events(agent, [self._event]):
            return f"{agent.DISPLAY_NAME} has no such event: its hooks never run there"
        if plan.unsent_events(agent, [self._event]):
            version = plan.newest_measured(agent)
            return f"{agent.DISPLAY_NAME} never sends this event (seen up to {version}): its hooks never run there"
        wanted = plan.events_for(agent, [self._event])
        wired = self._installed(wanted)
        remedy = f"run `hookrun install {agent.NAME}`"
        if wanted and not wired:
            return f"{agent.DISPLAY_NAME} runs no hooks: hookrun is not installed for {wanted[0]}: {remedy}"
        if wired and all(each.only for each in wired):
            first = wired[0]
            where = f"only where {first.only} matches ({first.path}:{first.line})"
            return f"{agent.DISPLAY_NAME} runs hooks for {first.event} {where}: {remedy}"
        return None

    def _installed(self, wanted: Sequence[str]) -> list[WiredEvent]:
        found: list[WiredEvent] = []
        location = InstallLocation(self._explanation.sources.home, self._explanation.sources.project, dict(os.environ))
        for scope in SCOPES:
            with suppress(FileError):
                found += plan.wired_events(InstallRequest(self.agent, scope, location, this_program()))
        return [each for each in found if each.event in wanted]

    def lines(self) -> Iterator[Line]:
        """Yield the agent's answer, and what it does not support at this event."""
        if plan.unsupported_events(self.agent, [self._event]):
            return
        known = self.known_answer()
        if known is not None:
            yield f"{self.agent.DISPLAY_NAME} would get, with exit status 0: {known or 'nothing'}", "bold"
        fallbacks = ", ".join(dict.fromkeys(name for _, name in self.unsupported()))
        if fallbacks:
            yield f"unsupported by {self.agent.DISPLAY_NAME}, with what it falls back to: {fallbacks}", "dim"

    def known_answer(self) -> str | None:
        """Return the agent's answer if known in advance, as hooks can only fail; else None."""
        message = self._message
        every = [each for predictions in self._explanation.predictions for each in predictions]
        if message is None or any(each.state in (RUNS, DEPENDS) or each.depends for each in every):
            return None
        replies = []
        for predictions in self._explanation.predictions:
            runs = [
                HookResult(each.hook, apply_policies(each.hook, why), outcome=Outcome(why), failure=why)
                for each in predictions
                if each.state == FAILS and (why := each.failure) is not None
            ]
            behind = [
                (each.hook, each.failure)
                for each in predictions
                if each.state == ENDED and each.never_approved and each.failure is not None
            ]
            combine_failures(runs, behind, self._explanation.sources.project)
            replies.append(reply_from_verdict(combine(runs), runs))
        return build_response(self.agent, message, replies).stdout().decode().strip()

    def unsupported(self) -> Iterator[tuple[str, str]]:
        """Yield each unsupported action of the event, and its fallback."""
        message = self._message
        native = message.native if message is not None else native_event(self.agent, self._event)
        form = self.agent.RESPONSE_FORMATS.get(native)
        able = form.capabilities if form is not None else NO_WORDS
        if message is not None and message.tool is not None and message.to_native_args([{}]) is None:
            able -= ARGUMENTS
        for action in ACTIONS:
            reason = None if action in ("allow", "modify") else "no"
            wanted = Reply(action, reason, args={} if action == "modify" else None)
            for name in degrade(wanted, able, self._event)[1]:
                yield action, name
