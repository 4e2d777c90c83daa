"""What `explain` tells of the fates of hooks: the answer in one line, each hook in order, what an agent can be told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrun.agents.base import native_event
from hookrun.agents.formats import Reply, reply_from_verdict
from hookrun.agents.reply import ARGUMENTS, DEGRADATIONS, NO_WORDS, build_response, degrade
from hookrun.cli import painted
from hookrun.edit.file_change import FileError
from hookrun.explain import marks
from hookrun.foresee import DEPENDS, ENDED, FAILS, NOT, OFF, RUNS
from hookrun.model import HookResult, Outcome
from hookrun.verdicts import apply_policies, combine
from hookrun.wiring import plan
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES, InstallLocation
from hookrun.wiring.wired_command import this_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookrun.agents.types import Agent
    from hookrun.cli.explain import Explanation
    from hookrun.foresee import Fate
    from hookrun.wiring.targets import WiredEvent

STATES = {
    RUNS: ("would run", painted.GOOD),
    DEPENDS: ("may run", painted.DOUBTFUL),
    FAILS: ("would fail", painted.BAD),
    OFF: ("is switched off", painted.DOUBTFUL),
    ENDED: ("would not be reached", painted.DOUBTFUL),
    NOT: ("does not apply", painted.QUIET),
}
"""What can become of a hook -> how it is said, and in which colour."""

MOST = 3
"""Hooks of a kind that the first line names with their cause."""
ACTIONS = ("allow", "ask", "modify", "block", "skip", "stop")


def first_line(told: Explanation) -> str:
    """Return the answer: which hooks would run, or why none does; of a message with several calls for each of them."""
    before = "".join(f"{each}; " for each in _in_the_way(told))
    said = [_call_answer(told, fates) for fates in told.fates]
    problems = told.where.declarations.problems
    trouble = f"; {problems[0]}" if problems and all(problems[0] not in each for each in said) else ""
    if len(said) > 1:
        said = [f"call {number} of {len(said)}: {each}" for number, each in enumerate(said, 1)]
    more = f"; {len(said) - MOST} more calls" if len(said) > MOST else ""
    return f"{told.asked.event}: {before}{'; '.join(said[:MOST])}{more}{trouble}"


def _call_answer(told: Explanation, fates: Sequence[Fate]) -> str:
    if told.hook is not None and told.hook not in [fate.hook.name for fate in fates]:
        events = next(each.events for each in told.where.declarations.hooks if each.name == told.hook)
        return f"{told.hook} is not declared for it, but for {', '.join(events)}"
    if told.hook is not None:
        return _of_one(told.hook, fates)
    if not fates:
        return f"no hook would run: {told.where.why_nothing(told.asked.event)}"
    return _of_all(fates)


def _of_one(name: str, fates: Iterable[Fate]) -> str:
    return "; ".join(text for fate in fates if fate.hook.name == name for text, _ in _alike([fate]))


def _alike(fates: Iterable[Fate]) -> list[tuple[str, int]]:
    """Return what is said of hooks of one state, those of one cause together, and how many they are."""
    by_cause: dict[str, list[str]] = {}
    state = ""
    for fate in fates:
        state = STATES[fate.state][0]
        depends = f"depends on {', '.join(fate.depends)}" if fate.depends and not fate.why else ""
        by_cause.setdefault(fate.why or depends, []).append(fate.hook.name)
    return [
        (f"{', '.join(names)} {state}{f': {cause}' if cause else ''}", len(names)) for cause, names in by_cause.items()
    ]


def _of_all(fates: Sequence[Fate]) -> str:
    by_state = {state: [fate for fate in fates if fate.state == state] for state in STATES}
    running = by_state[RUNS]
    parts = []
    if running:
        names = ", ".join(fate.hook.name for fate in running)
        parts.append(f"{len(running)} of {len(fates)} hook{'s' if len(fates) > 1 else ''} would run: {names}")
    elif not by_state[DEPENDS]:
        parts.append("no hook would run")
    for state in (DEPENDS, FAILS, OFF, ENDED, *(() if running else (NOT,))):
        alike = _alike(by_state[state])
        parts += [text for text, _ in alike[:MOST]]
        if len(alike) > MOST:
            parts.append(f"{sum(count for _, count in alike[MOST:])} more {STATES[state][0]}")
    if running or by_state[DEPENDS]:
        return "; ".join(parts)
    return f"{parts[0]}: {'; '.join(parts[1:])}"


def _in_the_way(told: Explanation) -> Iterator[str]:
    """Yield what keeps every hook from running, whatever is declared."""
    agent = told.asked.agent
    if agent is None:
        if os.environ.get("HOOKRUN") == "0":
            yield "HOOKRUN=0 is set, with which `hookrun fire` runs no hook (an agent's fire pays no heed to it)"
        return
    if plan.unsupported_events(agent, [told.asked.event]):
        yield f"{agent.DISPLAY_NAME} has no such event: hooks of it never run there"
        return
    wanted = plan.events_for(agent, [told.asked.event])
    wired = _wired(told, agent, wanted)
    remedy = f"run `hookrun install {agent.NAME}`"
    if wanted and not wired:
        yield f"{agent.DISPLAY_NAME} fires no hook: hookrun is not wired for {', '.join(wanted)}: {remedy}"
    elif wired and all(each.only for each in wired):
        only = wired[0]
        where = f"{only.path}:{only.line}"
        yield f"{agent.DISPLAY_NAME} fires hooks of {only.event} only where {only.only} fits ({where}): {remedy}"


def _wired(told: Explanation, agent: Agent, wanted: Sequence[str]) -> list[WiredEvent]:
    """Return what of hookrun is wired for these events of the agent."""
    found: list[WiredEvent] = []
    spot = InstallLocation(told.home, told.where.project, dict(os.environ))
    for scope in SCOPES:
        try:
            found += plan.wired_events(InstallRequest(agent, scope, spot, this_program()))
        except FileError:
            continue
    return [each for each in found if each.event in wanted]


def hook_lines(fates: Sequence[Fate]) -> Iterator[painted.Line]:
    """Yield what becomes of each hook, in order, and why."""
    before: list[str] = []
    for number, fate in enumerate(fates, 1):
        word, style = STATES[fate.state]
        decided = f", {fate.trust}" if fate.trust else ""
        yield f"  {number}. {fate.hook.name} {word} ({marks(fate.hook)}{decided}; {fate.hook.location()})", style
        if fate.why:
            yield f"      {fate.why}", ""
        if fate.depends:
            yield f"      {'if it applies, which ' if fate.state != DEPENDS else ''}depends on:", ""
            yield from ((f"        {each}", "") for each in fate.depends)
        if fate.failure is not None and fate.state == FAILS:
            refuses = fate.hook.on_failure == "block" and fate.hook.enforcing
            yield f"      its failure {'refuses the call' if refuses else 'is told, and the call goes on'}", ""
        if fate.state in (RUNS, DEPENDS):
            if before and not fate.hook.always:
                yield f"      unless {' or '.join(before)} before it ends the chain", painted.QUIET
            if fate.hook.enforcing:
                before.append(fate.hook.name)


def other_lines(told: Explanation) -> Iterator[painted.Line]:
    """Yield, briefly, the hooks of other events, and what the agent cannot be told at this one."""
    others = told.where.others(told.asked.event)
    if others:
        listed = "; ".join(f"{event}: {', '.join(names)}" for event, names in others.items())
        yield f"  declared for other events: {listed}", painted.QUIET
    agent = told.asked.agent
    if agent is None or told.running or plan.unsupported_events(agent, [told.asked.event]):
        return
    known = known_answer(told, agent)
    if known is not None:
        yield f"  {agent.DISPLAY_NAME} would be told, with exit status 0: {known or 'nothing'}", painted.STRONG
    for action, name in cannot_be_told(told, agent):
        yield f"  {agent.DISPLAY_NAME} cannot be told {action}: {name}: {DEGRADATIONS[name]}", painted.QUIET


def known_answer(told: Explanation, agent: Agent) -> str | None:
    """Return what the agent would read where that is known before anything runs: no hook would, at most fail."""
    message = told.asked.message
    every = [fate for fates in told.fates for fate in fates]
    if message is None or any(fate.state in (RUNS, DEPENDS) or fate.depends for fate in every):
        return None
    saids = []
    for fates in told.fates:
        failed = [(fate.hook, fate.failure) for fate in fates if fate.state == FAILS and fate.failure is not None]
        runs = [HookResult(hook, apply_policies(hook, why), outcome=Outcome(why), failure=why) for hook, why in failed]
        saids.append(reply_from_verdict(combine(runs, {}, changed=False), runs))
    return build_response(agent, message, saids).stdout().decode().strip()


def cannot_be_told(told: Explanation, agent: Agent) -> Iterator[tuple[str, str]]:
    """Yield each action that the agent's event cannot say, and the name of what becomes of it."""
    message = told.asked.message
    native = message.native if message is not None else native_event(agent, told.asked.event)
    form = agent.RESPONSE_FORMATS.get(native)
    able = form.capabilities if form is not None else NO_WORDS
    if message is not None and message.tool is not None and message.to_native_args([{}]) is None:
        able -= ARGUMENTS
    for action in ACTIONS:
        wanted = Reply(action, None if action in ("allow", "modify") else "no", args={} if action == "modify" else None)
        for name in degrade(wanted, able, told.asked.event)[1]:
            yield action, name
